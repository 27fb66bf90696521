/** The descriptions of a renderer and of its services. */
import { element, scpd, tag, textElements, upnpDescription, xmlDocument } from "../bench/documents.ts";
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
  const actions = actionsOf(model, service).map((name) => tag("action", { name }));
  return scpd(tag("actionList", actions), tag("serviceStateTable", variablesOf(model, service)));
}

const TRANSPORT = ["SetAVTransportURI", "GetTransportInfo", "GetPositionInfo", "GetCurrentTransportActions"];

/** The actions of a service; gmediarender has no Next and Previous. */
export function actionsOf({ stack, options }: Model, service: ServiceName): readonly string[] {
  if (service === "ConnectionManager") return ["GetProtocolInfo"];
  if (service === "RenderingControl")
    return ["GetMute", "SetMute", ...(options.volumeMax === null ? [] : ["GetVolume", "SetVolume"])];
  const skips = stack.nextNothing === 501 ? [] : ["Next", "Previous"];
  return [...TRANSPORT, "Play", "Pause", "Stop", "Seek", ...skips];
}

function variablesOf({ options: { volumeMax } }: Model, service: ServiceName): string[] {
  const variable = (name: string, dataType: string, more: readonly string[] = []) =>
    element("stateVariable", { sendEvents: name === "LastChange" ? "yes" : "no" }, [
      ...textElements({ name, dataType }),
      ...more,
    ]);
  if (service === "ConnectionManager") return [variable("SinkProtocolInfo", "string")];
  const lastChange = variable("LastChange", "string");
  if (service === "AVTransport") {
    const units = ["TRACK_NR", "REL_TIME"].map((unit) => tag("allowedValue", unit));
    return [lastChange, variable("A_ARG_TYPE_SeekMode", "string", [tag("allowedValueList", units)])];
  }
  const range = { minimum: "0", maximum: String(volumeMax), step: "1" };
  const volume = variable("Volume", "ui2", [tag("allowedValueRange", range)]);
  return [lastChange, variable("Mute", "boolean"), ...(volumeMax === null ? [] : [volume])];
}

export const SINK = ["video/mp4", "video/mpeg", "video/x-mkv", "audio/mpeg", "audio/mp4", "audio/x-flac", "image/jpeg"]
  .map((type) => `http-get:*:${type}:*`)
  .join(",");
