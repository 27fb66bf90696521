/** The descriptions of a renderer and of its services. */
import { element, scpd, tag, textElements, upnpDescription, xmlDocument } from "../bench/documents.ts";
import { words } from "../bench/set.ts";
import type { Model } from "./model.ts";

export const SERVICES = ["AVTransport", "RenderingControl", "ConnectionManager"] as const;
export type ServiceName = (typeof SERVICES)[number];

export const pathsOf = (service: ServiceName) => ({
  description: `/upnp/${service}.xml`,
  control: `/upnp/control/${service}`,
  events: `/upnp/event/${service}`,
});

export function typeOf({ stack }: Model, service: ServiceName): string {
  return `urn:schemas-upnp-org:service:${service}:${stack.version}`;
}

export function description(model: Model): string {
  const { stack, options, name } = model;
  const { uuid, host } = options;
  const own = SERVICES.filter((service) => service !== "AVTransport" || !options.soundOnly);
  const services = own.map((service) => {
    const { description: SCPDURL, control, events } = pathsOf(service);
    return tag("service", {
      serviceType: typeOf(model, service),
      serviceId: `urn:upnp-org:serviceId:${service}`,
      SCPDURL,
      controlURL: control,
      eventSubURL: events,
    });
  });
  const device = {
    deviceType: `urn:schemas-upnp-org:device:MediaRenderer:${stack.version}`,
    friendlyName: name,
    manufacturer: options.manufacturer ?? stack.manufacturer,
    modelName: options.model ?? stack.model,
    modelNumber: "1.0",
    UDN: `uuid:${uuid}`,
    ...(options.page !== undefined && { presentationURL: `http://${host}:${options.page}/` }),
  };
  if (!options.embedded) return upnpDescription(device, services);
  const inner = tag("device", [...textElements(device), tag("serviceList", services)]);
  const outer = {
    deviceType: "urn:schemas-upnp-org:device:ZonePlayer:1",
    friendlyName: "Zone",
    UDN: `uuid:${uuid}-zone`,
  };
  return xmlDocument(
    element("root", { xmlns: "urn:schemas-upnp-org:device-1-0" }, [
      tag("device", [...textElements(outer), tag("deviceList", [inner])]),
    ]),
  );
}

export function serviceDescription(model: Model, service: ServiceName): string {
  return describeService(service, actionsOf(model, service), model.options.volumeMax);
}

export function describeService(service: ServiceName, names: readonly string[], volumeMax: number | null): string {
  const actions = names.map((name) => {
    const list = argumentsOf(service, name).map((argument) => tag("argument", argument));
    return tag("action", [tag("name", name), tag("argumentList", list)]);
  });
  const related = names.flatMap((name) => argumentsOf(service, name).map((one) => one.relatedStateVariable));
  return scpd(tag("actionList", actions), tag("serviceStateTable", variablesOf(service, related, volumeMax)));
}

/** The arguments that an action takes and those that it returns, each with its state variable. Clients read and send no others. */
const ARGUMENTS: Readonly<Record<string, readonly [taken: string, returned: string]>> = {
  SetAVTransportURI: ["CurrentURI:AVTransportURI CurrentURIMetaData:AVTransportURIMetaData", ""],
  GetMediaInfo: [
    "",
    `NrTracks:NumberOfTracks MediaDuration:CurrentMediaDuration CurrentURI:AVTransportURI
    CurrentURIMetaData:AVTransportURIMetaData NextURI:NextAVTransportURI NextURIMetaData:NextAVTransportURIMetaData
    PlayMedium:PlaybackStorageMedium RecordMedium:RecordStorageMedium WriteStatus:RecordMediumWriteStatus`,
  ],
  GetTransportInfo: [
    "",
    "CurrentTransportState:TransportState CurrentTransportStatus:TransportStatus CurrentSpeed:TransportPlaySpeed",
  ],
  GetPositionInfo: [
    "",
    `Track:CurrentTrack TrackDuration:CurrentTrackDuration TrackMetaData:CurrentTrackMetaData TrackURI:CurrentTrackURI
    RelTime:RelativeTimePosition AbsTime:AbsoluteTimePosition RelCount:RelativeCounterPosition
    AbsCount:AbsoluteCounterPosition`,
  ],
  GetCurrentTransportActions: ["", "Actions:CurrentTransportActions"],
  Play: ["Speed:TransportPlaySpeed", ""],
  Seek: ["Unit:A_ARG_TYPE_SeekMode Target:A_ARG_TYPE_SeekTarget", ""],
  GetMute: ["", "CurrentMute:Mute"],
  SetMute: ["DesiredMute:Mute", ""],
  GetVolume: ["", "CurrentVolume:Volume"],
  SetVolume: ["DesiredVolume:Volume", ""],
  GetProtocolInfo: ["", "Source:SourceProtocolInfo Sink:SinkProtocolInfo"],
};

/** What every action of a service takes before its own arguments. */
const COMMON: Readonly<Record<ServiceName, string>> = {
  AVTransport: "InstanceID:A_ARG_TYPE_InstanceID",
  RenderingControl: "InstanceID:A_ARG_TYPE_InstanceID Channel:A_ARG_TYPE_Channel",
  ConnectionManager: "",
};

function argumentsOf(service: ServiceName, action: string) {
  const [taken, returned] = ARGUMENTS[action] ?? ["", ""];
  const read = (text: string, direction: "in" | "out") =>
    [...text.matchAll(/(\w+):(\w+)/g)].map(([, name = "", relatedStateVariable = ""]) => ({
      name,
      direction,
      relatedStateVariable,
    }));
  return [...read(`${COMMON[service]} ${taken}`, "in"), ...read(returned, "out")];
}

const TRANSPORT = words(
  "SetAVTransportURI GetMediaInfo GetTransportInfo GetPositionInfo GetCurrentTransportActions Play Pause Stop Seek",
);

/** The actions of a service; gmediarender has no Next and Previous. */
export function actionsOf({ stack, options }: Model, service: ServiceName): readonly string[] {
  if (service === "ConnectionManager") return ["GetProtocolInfo"];
  if (service === "RenderingControl")
    return ["GetMute", "SetMute", ...(options.volumeMax === null ? [] : ["GetVolume", "SetVolume"])];
  return [...TRANSPORT, ...(stack.nextNothing === 501 ? [] : ["Next", "Previous"])];
}

/** The types of state variables that are no strings. */
const TYPES: Readonly<Record<string, string>> = {
  A_ARG_TYPE_InstanceID: "ui4",
  NumberOfTracks: "ui4",
  CurrentTrack: "ui4",
  RelativeCounterPosition: "i4",
  AbsoluteCounterPosition: "i4",
  Mute: "boolean",
  Volume: "ui2",
};

/** The variable that subscribers are told. */
export const eventedBy = (service: ServiceName) =>
  service === "ConnectionManager" ? "SinkProtocolInfo" : "LastChange";

function variablesOf(service: ServiceName, related: readonly string[], volumeMax: number | null): string[] {
  const evented = eventedBy(service);
  const units = ["TRACK_NR", "REL_TIME"].map((unit) => tag("allowedValue", unit));
  const range = { minimum: "0", maximum: String(volumeMax), step: "1" };
  const allowed: Readonly<Record<string, readonly string[]>> = {
    A_ARG_TYPE_SeekMode: [tag("allowedValueList", units)],
    Volume: [tag("allowedValueRange", range)],
  };
  return [...new Set([evented, ...related])].map((name) =>
    element("stateVariable", { sendEvents: name === evented ? "yes" : "no" }, [
      ...textElements({ name, dataType: TYPES[name] ?? "string" }),
      ...(allowed[name] ?? []),
    ]),
  );
}

export const SINK = ["video/mp4", "video/mpeg", "video/x-mkv", "audio/mpeg", "audio/mp4", "audio/x-flac", "image/jpeg"]
  .map((type) => `http-get:*:${type}:*`)
  .join(",");
