/**
 * What Roku sets say, read into zapd's words. Pure: documents in, values out. Facts and their evidence:
 * protocols/roku.md, by section.
 */
import { ZapdError } from "../../errors.ts";
import type {
  Access,
  Address,
  Facts,
  Kind,
  PlatformApp,
  PlatformState,
  Playback,
  Power,
  SsdpAnswer,
} from "../platform.ts";
import { child, childrenOf, childText, type Element, readXml } from "../xml.ts";

/** The paths of ECP that zapd uses (1.2 to 1.8). */
export const paths = {
  description: "/",
  deviceInfo: "/query/device-info",
  apps: "/query/apps",
  activeApp: "/query/active-app",
  mediaPlayer: "/query/media-player",
  audioDevice: "/query/audio-device",
  key: (word: string) => `/keypress/${encodeURIComponent(word)}`,
  /** One character. Not form encoding: a space is %20, a plus is %2B (1.8). */
  character: (character: string) => `/keypress/Lit_${encodeURIComponent(character)}`,
  launch: (id: string, params: Readonly<Record<string, string>>) => {
    const query = Object.entries(params).map(
      ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    );
    return `/launch/${encodeURIComponent(id)}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  },
  exit: (id: string) => `/exit-app/${encodeURIComponent(id)}`,
} as const;

export const ecpPort = 8060;

/** Where the user sets who may control a Roku (1.2), in the set's own words. */
export const accessHint =
  "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled";

export const developerHint =
  "Turn developer mode on at the set: press Home three times, Up twice, Right, Left, Right, Left, Right, and choose a password";

/** What a Roku may have beyond the keys of every Roku. */
export type Trait = "volume" | "power" | "inputs";

/** Reads an answer to the search for `roku:ecp` (1.1). Other devices answer the multicast too: they are not ours. */
export function readSearchAnswer(answer: SsdpAnswer): Address | null {
  const usn = answer.headers.get("usn") ?? "";
  if (answer.headers.get("st")?.toLowerCase() !== "roku:ecp" && !/^uuid:roku:ecp:/i.test(usn)) return null;
  const location = answer.headers.get("location") ?? "";
  if (location.length > 2048 || !URL.canParse(location)) return null;
  const url = new URL(location);
  const literal = /^http:\/\/([0-9.]+)(?::\d+)?(?:\/|$)/i.exec(location)?.[1];
  // The host as written must be the sender's own address: never a name, another host or a disguised number (SECURITY.md T6).
  if (literal !== answer.source || url.hostname !== answer.source || url.port === "0") return null;
  return { host: answer.source, port: url.port === "" ? 80 : Number(url.port) };
}

/** `/query/device-info` (1.3): every element may be missing or empty. Without a serial it is no device to us. */
export function readDeviceInfo(text: string): Facts & { power: Power } {
  const info = readXml(text);
  const says = (name: string) => childText(info, name);
  const serial = says("serial-number");
  if (!serial) throw new ZapdError("device_error", "did not say its serial number");
  const kind = kindOf(info);
  return {
    identity: serial,
    serial,
    name: says("user-device-name") ?? says("friendly-device-name") ?? says("default-device-name") ?? modelName(info),
    kind,
    manufacturer: says("vendor-name"),
    model: says("model-name") ?? says("friendly-model-name") ?? says("model-number"),
    macs: macsOf(info),
    softwareVersion: softwareVersionOf(info),
    access: accessOf(says("ecp-setting-mode")),
    traits: traitsOf(info, kind),
    power: powerOf(says("power-mode"), kind),
  };
}

/** `GET /` (1.1): what remains when the set refuses everything else. Its manufacturer is the brand, never `Roku`. */
export function readDescription(text: string): Facts {
  const device = child(readXml(text), "device");
  const says = (name: string) => childText(device, name);
  const serial = says("serialNumber");
  if (!says("deviceType")?.startsWith("urn:roku-com:device:player") || !serial)
    throw new ZapdError("device_error", "is not a Roku");
  const name = says("friendlyName");
  return {
    identity: serial,
    serial,
    name,
    kind: "unknown",
    manufacturer: says("manufacturer"),
    model: says("modelName") ?? says("modelNumber"),
    macs: [],
    softwareVersion: null,
    access: null,
    traits: {},
  };
}

function modelName(info: Element): string | null {
  const parts = [childText(info, "vendor-name"), childText(info, "model-name")].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(" ") : null;
}

function kindOf(info: Element): Kind {
  if (isTrue(info, "is-tv")) return "tv";
  // 9101X reads is-tv=false, is-stick=false (1.3).
  if (/soundbar|speaker/i.test(childText(info, "model-name") ?? "")) return "soundbar";
  return child(info, "is-tv") || child(info, "is-stick") ? "player" : "unknown";
}

function macsOf(info: Element): string[] {
  const wired = childText(info, "ethernet-mac");
  const wireless = childText(info, "wifi-mac");
  const inUseFirst = childText(info, "network-type") === "ethernet" ? [wired, wireless] : [wireless, wired];
  return inUseFirst
    .map((mac) => mac?.toLowerCase().replaceAll("-", ":") ?? "")
    .filter((mac) => /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) && mac !== "00:00:00:00:00:00");
}

function softwareVersionOf(info: Element): string | null {
  const version = childText(info, "software-version");
  const build = childText(info, "software-build");
  return version && build ? `${version}.${build}` : version;
}

/** Old firmware says no mode: it knows no restriction (1.3). */
function accessOf(mode: string | null): Access {
  return mode === "limited" || mode === "disabled" ? mode : "full";
}

function powerOf(mode: string | null, kind: Kind): Power {
  if (mode === null) return "unknown";
  if (mode.toLowerCase() !== "poweron") return mode.toLowerCase() === "poweroff" ? "off" : "standby";
  // A player keeps PowerOn while the TV it feeds is off (HA core#172200): its word says nothing.
  return kind === "tv" || kind === "soundbar" ? "on" : "unknown";
}

/** A TV has its own sound, power and inputs; a player has them where it steers the TV over CEC or infrared (1.3). */
function traitsOf(info: Element, kind: Kind): Record<string, string> {
  const any = (...names: string[]) => names.some((name) => isTrue(info, name));
  const traits: Partial<Record<Trait | "developer", string>> = {};
  if (kind !== "player" || any("supports-audio-volume-control", "supports-cec-audio-volume-control"))
    traits.volume = "yes";
  if (kind !== "player" || any("supports-tv-power-control", "supports-cec-power-control")) traits.power = "yes";
  if (kind === "tv" || kind === "unknown") traits.inputs = "yes";
  const developer = childText(info, "developer-enabled");
  if (developer) traits.developer = developer === "true" ? "yes" : "no";
  return traits;
}

function isTrue(info: Element, name: string): boolean {
  return childText(info, name) === "true";
}

/** TV inputs by the set's id (1.4). A Map, as what is looked up in it comes from the network. */
const inputs: ReadonlyMap<string, string> = new Map([
  ["tvinput.hdmi1", "hdmi1"],
  ["tvinput.hdmi2", "hdmi2"],
  ["tvinput.hdmi3", "hdmi3"],
  ["tvinput.hdmi4", "hdmi4"],
  ["tvinput.cvbs", "av"],
  ["tvinput.dtv", "tuner"],
]);

/** The input that an app id stands for, or `null`. */
export function inputOf(platformId: string): string | null {
  return inputs.get(platformId) ?? null;
}

/** Whether a text could be the id of a Roku app (1.4). */
export function isRokuAppId(text: string): boolean {
  return /^(\d{1,10}(_[0-9a-f]{1,64})?|dev|tvinput\.[a-z0-9]{1,16})$/i.test(text);
}

/** `/query/apps` (1.4). Menus and screensavers are not apps. */
export function readApps(text: string): PlatformApp[] {
  const root = readXml(text);
  return childrenOf(root, "app").flatMap((element) => {
    const { id, type } = element.attributes;
    if (!id || type === "menu" || type === "ssvr") return [];
    return [appOf(element, id)];
  });
}

function appOf(element: Element, platformId: string): PlatformApp {
  const input = inputOf(platformId);
  const name = (element.text || platformId).slice(0, 256);
  const common = { platformId: platformId.slice(0, 128), name, version: element.attributes["version"] || null };
  if (platformId === "dev") return { ...common, type: "dev", id: "dev" };
  if (input !== null) return { ...common, type: input === "tuner" ? "tuner" : "input", id: input };
  return { ...common, type: element.attributes["type"] === "tvin" ? "input" : "app" };
}

/** Since OS 11 some sets call their home screen by this id, which `/query/apps` does not know (1.5). */
const dynamicMenu = "562859";

/** `/query/active-app` (1.5): home is `null`, in whichever of its spellings. */
export function readActiveApp(text: string): { app: PlatformApp | null; screensaver: boolean } {
  const root = readXml(text);
  const element = childrenOf(root, "app")[0];
  const { id, type } = element?.attributes ?? {};
  const home = !id || id === dynamicMenu || id === "home" || type === "home" || type === "menu";
  return {
    app: home || !element || !id ? null : appOf(element, id),
    screensaver: child(root, "screensaver") !== undefined || type === "ssvr",
  };
}

/** Player states (1.6); any other word is taken as idle. */
const playing: ReadonlyMap<string, Playback["status"]> = new Map([
  ["play", "playing"],
  ["pause", "paused"],
  ["buffer", "buffering"],
  ["open", "buffering"],
  ["startup", "buffering"],
  ["stop", "stopped"],
  ["close", "stopped"],
]);

/**
 * `/query/media-player` (1.6). `active` is the id of the app shown, `null` at home, `undefined` when unknown. The player
 * remembers the app before: its position is trusted only for the app that is shown.
 */
export function readPlayback(text: string, active: string | null | undefined): Playback | null {
  const player = readXml(text);
  const status = playing.get(player.attributes["state"]?.toLowerCase() ?? "");
  const plugin = child(player, "plugin")?.attributes["id"];
  const foreign = plugin !== undefined && active !== undefined && plugin !== active;
  if (status === undefined || (status === "stopped" && (foreign || active === null))) return null;
  const live = childText(player, "is_live");
  return {
    status,
    position_ms: foreign ? null : milliseconds(childText(player, "position")),
    duration_ms: foreign
      ? null
      : (milliseconds(childText(player, "duration")) ?? milliseconds(childText(player, "runtime"))),
    live: live === null ? null : live === "true",
    title: null,
  };
}

function milliseconds(text: string | null): number | null {
  const number = /^(\d{1,12})\s*ms$/.exec(text ?? "")?.[1];
  return number === undefined ? null : Number(number);
}

/** `/query/audio-device` (1.7): the only place where a volume can be read. */
export function readVolume(text: string): PlatformState["volume"] {
  const global = child(readXml(text), "global") ?? readXml(text);
  const level = Number.parseInt(childText(global, "volume") ?? "", 10);
  const muted = childText(global, "muted");
  if (Number.isNaN(level) && muted === null) return null;
  return {
    level: Number.isNaN(level) ? null : Math.min(100, Math.max(0, level)),
    muted: muted === null ? null : muted === "true",
  };
}
