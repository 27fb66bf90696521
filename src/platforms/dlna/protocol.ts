/**
 * Messages of renderers, read and written (players.md 8; UPnP Device Architecture 1.0, AVTransport:1,
 * RenderingControl:1). Pure.
 */
import { tryOr } from "../../system/try-or.ts";
import type { Answer } from "../../transport/http.ts";
import { escaped, type SoapValues } from "../../transport/soap.ts";
import { readUpnp, readUpnpService } from "../../transport/upnp.ts";
import { documentText, readXml } from "../../transport/xml.ts";
import type { Address, Facts, Kind, Lead, MediaItem, Playback, PlaybackCommand, SsdpAnswer } from "../platform.ts";
import { locationOf } from "../query.ts";
import type { DlnaMemory, Service } from "./memory.ts";
import { stackOf } from "./stacks.ts";

const rendererType = /^urn:schemas-upnp-org:device:MediaRenderer:\d+$/;

export function readSearchAnswer(answer: SsdpAnswer): Lead | null {
  const { headers } = answer;
  const types = [headers.get("st") ?? "", ...(headers.get("usn")?.split("::") ?? [])];
  return types.some((type) => rendererType.test(type)) ? locationOf(answer) : null;
}

function pageOf(url: string | null, { host }: Address): number | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, hostname, port } = new URL(url);
  return protocol === "http:" && hostname === host ? Number(port || 80) : null;
}

/** A renderer's description. */
export interface RendererDescription {
  readonly udn: string;
  /** What it is recognized by: its UDN, where that stays the same. */
  readonly identity: string;
  /** The port of its web page, where that is at its own address: for a Kodi, the port of its web server. */
  readonly page: number | null;
  readonly facts: Facts;
  readonly memory: DlnaMemory;
  /** Where AVTransport and RenderingControl are described. */
  readonly documents: { readonly transport: string | null; readonly rendering: string | null };
}

/** Reads a description. Fails with `device_error` where it is not one, or not that of a renderer. */
export function readDescription(
  answer: Pick<Answer, "headers" | "body">,
  at: Address,
  path: string,
): RendererDescription {
  const { udn, field, service } = readUpnp(documentText(answer), at, path, rendererType);
  const readService = (name: string): Service | undefined => {
    const { type = "", control = null, events = null } = service(name) ?? {};
    return control === null ? undefined : { type, control, events };
  };
  const [transport, rendering, connections] = [
    readService("AVTransport"),
    readService("RenderingControl"),
    readService("ConnectionManager"),
  ];
  const model = field("modelName");
  return {
    udn,
    identity: vidaaId(field("modelDescription")) ?? udn,
    page: pageOf(field("presentationURL"), at),
    facts: {
      name: field("friendlyName"),
      kind: kindOf(`${model} ${field("modelDescription")}`),
      manufacturer: field("manufacturer"),
      model,
      serial: field("serialNumber"),
      macs: [],
      softwareVersion: null,
      access: "full",
    },
    memory: {
      path,
      stack: stackOf(`${answer.headers.get("server")} ${field("manufacturer")} ${model}`),
      ...(transport && { transport }),
      ...(rendering ? { rendering } : { volume: null, mutes: false }),
      ...(connections && { connections }),
    },
    documents: {
      transport: service("AVTransport")?.document ?? null,
      rendering: service("RenderingControl")?.document ?? null,
    },
  };
}

/**
 * A hardware address in the description of a Hisense TV or another with VIDAA, which has a new UDN at each start
 * (home-assistant/core#77228, #73643; jellyfin/jellyfin#7303): `#CAP# macWifi=… macEthernet=… transport_protocol=1140 …`.
 */
function vidaaId(description: string | null): string | null {
  if (!description?.includes("transport_protocol=")) return null;
  return /\bmac(?:Wifi|Ethernet)=(?!0{12})([0-9a-f]{12})\b/i.exec(description)?.[1]?.toLowerCase() ?? null;
}

function kindOf(words: string): Kind {
  if (/sound ?bar|speaker/i.test(words)) return "soundbar";
  // Panasonic's and Sony's do not say TV (UniversalMediaServer, RendererConfigurationTest: "Panasonic VIErA").
  return /\btv\b|viera|bravia/i.test(words) ? "tv" : "player";
}

/** What AVTransport can do, by its document. */
export function readTransport(text: string): Pick<DlnaMemory, "actions" | "seeks"> {
  const { actions: own, values } = readUpnpService(text);
  const units = values("A_ARG_TYPE_SeekMode");
  const hasTime = units.length === 0 || units.includes("REL_TIME");
  return { actions: own.filter((name) => usedActions.has(name)), seeks: own.includes("Seek") && hasTime };
}

/** The actions of AVTransport for the commands of a player. */
export const actions: Readonly<Record<PlaybackCommand, string>> = {
  play: "Play",
  pause: "Pause",
  stop: "Stop",
  next: "Next",
  previous: "Previous",
};

const usedActions: ReadonlySet<string> = new Set([...Object.values(actions), "GetCurrentTransportActions"]);

/** For a document without a range. */
export const usualRange = { min: 0, max: 100, step: 1 } as const;

/** What RenderingControl can do, by its document. A range is not always 0 to 100, and some have no volume (players.md 8). */
export function readRendering(text: string): Pick<DlnaMemory, "volume" | "mutes"> {
  const { actions, range, lacks } = readUpnpService(text);
  const volume = actions.includes("SetVolume") && !lacks("Volume") ? (range("Volume") ?? usualRange) : null;
  return { volume, mutes: actions.includes("SetMute") };
}

const statuses: ReadonlyMap<string, Playback["status"]> = new Map([
  ["PLAYING", "playing"],
  ["PAUSED_PLAYBACK", "paused"],
  ["TRANSITIONING", "buffering"],
]);

/** GetTransportInfo; `null` where nothing is playing, whatever the state is called. */
export function readStatus(info: SoapValues): Playback["status"] | null {
  return statuses.get(info.get("CurrentTransportState")?.toUpperCase() ?? "") ?? null;
}

/** GetTransportInfo and GetPositionInfo together; what they do not contain is `null`. */
export function readPosition(status: Playback["status"], position: SoapValues): Playback {
  const duration = readTime(position.get("TrackDuration"));
  const item = readItem(position.get("TrackMetaData") ?? "");
  // Whole or a fraction, negative for backwards (AVTransport:1, TransportPlaySpeed).
  const [, speed, of = 1] = /^(-?[1-9]\d{0,3})(?:\/([1-9]\d{0,3}))?$/.exec(position.get("CurrentSpeed") ?? "") ?? [];
  return {
    status,
    ...(status === "playing" && speed !== undefined && { rate: Number(speed) / Number(of) }),
    position_ms: readTime(position.get("RelTime")),
    duration_ms: duration === 0 ? null : duration,
    live: null,
    title: item("title"),
    // The performer, or else the creator (ContentDirectory:1, 2.8).
    artist: item("artist") ?? item("creator"),
  };
}

/**
 * Milliseconds of `H+:MM:SS`, with or without a fraction (`.5`, or `.1/2`: AVTransport:1, CurrentTrackDuration); `null`
 * for `NOT_IMPLEMENTED` and the like.
 */
export function readTime(text: string | undefined): number | null {
  const [, hours, minutes, seconds, part = "0", of] =
    /^(\d{1,5}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9})(?:\/([1-9]\d{0,8}))?)?$/.exec(text ?? "") ?? [];
  if (hours === undefined) return null;
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const fraction = of === undefined ? Number(`0.${part}`) : Number(part) / Number(of);
  return whole * 1_000 + Math.round(fraction * 1_000);
}

/** A time in the form that `Seek` requires. */
export function timeOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** The fields of a DIDL-Lite item by name; `null` for one that is absent or unreadable. */
function readItem(didl: string): (name: string) => string | null {
  const fields = tryOr(() => readXml(didl, "didl-lite").children[0]?.children, undefined) ?? [];
  return (wanted) => fields.find(({ name }) => name.split(":").at(-1) === wanted)?.text.slice(0, 512) || null;
}

/** The actions that are possible now, in lower case. An escaped comma is part of a word (players.md 8). */
export function readActions(values: SoapValues): ReadonlySet<string> {
  const words = (values.get("Actions") ?? "").split(/(?<!\\),/);
  return new Set(words.map((word) => word.trim().toLowerCase()).filter(Boolean));
}

/** MIME types of the same kind of file; a device accepts the one that it lists. */
const equivalentTypes: readonly (readonly string[])[] = [
  ["audio/flac", "audio/x-flac"],
  ["audio/mpeg", "audio/mp3", "audio/x-mp3"],
  ["audio/mp4", "audio/x-m4a", "audio/m4a"],
  ["audio/wav", "audio/x-wav", "audio/wave"],
  ["audio/aac", "audio/x-aac"],
  ["audio/ogg", "application/ogg", "audio/x-ogg"],
  ["video/x-matroska", "video/x-mkv", "video/matroska"],
  ["video/mp2t", "video/vnd.dlna.mpeg-tts", "video/mpeg"],
  ["video/x-msvideo", "video/avi", "video/divx"],
  ["application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl"],
];

/** The MIME type, or an equivalent one, that the device lists in its `Sink` (GetProtocolInfo). */
export function typeFor(mime: string, sink: string): string {
  const listed = sink.split(/(?<!\\),/).flatMap((info) => {
    const [protocol, , type = ""] = info.trim().split(":");
    return protocol === "http-get" ? [(type.split(";")[0] ?? "").toLowerCase()] : [];
  });
  const bare = mime.toLowerCase();
  const same = equivalentTypes.find((types) => types.includes(bare)) ?? [bare];
  return [bare, ...same].find((type) => listed.includes(type)) ?? mime;
}

const classes: Readonly<Record<string, string>> = {
  audio: "object.item.audioItem.musicTrack",
  image: "object.item.imageItem.photo",
};

/** Seekable, not transcoded, and streamed (DLNA guidelines, 7.4.1.3). */
const features = "DLNA.ORG_OP=01;DLNA.ORG_CI=0;DLNA.ORG_FLAGS=01700000000000000000000000000000";

/** DIDL-Lite for a file. LG and Samsung TVs refuse a file without it (players.md 8). */
export function describeItem({ url, mime, title, image }: MediaItem): string {
  const kind = classes[mime?.split("/")[0] ?? ""] ?? "object.item.videoItem";
  const named = title ?? nameIn(url);
  return [
    '<DIDL-Lite xmlns="urn:schemas-upnp-org:metadata-1-0/DIDL-Lite/" xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ' xmlns:upnp="urn:schemas-upnp-org:metadata-1-0/upnp/"><item id="0" parentID="-1" restricted="1">',
    `<dc:title>${escaped(named)}</dc:title><upnp:class>${kind}</upnp:class>`,
    image === null ? "" : `<upnp:albumArtURI>${escaped(image)}</upnp:albumArtURI>`,
    `<res protocolInfo="http-get:*:${escaped(mime ?? "*")}:${features}">${escaped(url)}</res></item></DIDL-Lite>`,
  ].join("");
}

/** The file name in a URL. */
function nameIn(url: string): string {
  const last = new URL(url).pathname.split("/").findLast((part) => part !== "") ?? "";
  return tryOr(() => decodeURIComponent(last) || url, last);
}

/** A volume in the device's own range as a level of 0 to 100, and the other way round. */
export function levelOf(own: number, { min, max }: Range): number {
  return Math.min(100, Math.max(0, Math.round(((own - min) / (max - min)) * 100)));
}

export function ownVolume(level: number, { min, max, step }: Range): number {
  const steps = Math.round(((level / 100) * (max - min)) / step);
  return Math.min(max, min + steps * step);
}

/** One press of a volume key. */
const pressLevels = 2;

/** The level one press further, or one step of the device where that is more, since less would change nothing. */
export function pressedLevel(level: number, by: 1 | -1, range: Range): number {
  const own = ownVolume(level, range);
  const next = Math.min(100, Math.max(0, level + by * pressLevels));
  return ownVolume(next, range) === own ? levelOf(own + by * range.step, range) : next;
}

export type Range = NonNullable<DlnaMemory["volume"]>;
