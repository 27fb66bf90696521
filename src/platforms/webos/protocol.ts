/** Messages of LG webOS, read and written. Pure. Facts and their evidence: protocols/smart-tvs.md, by section. */
import { ZapdError } from "../../api/errors.ts";
import { asJson, flag, isJson, type Json, listOf, number, text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { DeepLink, MediaItem, PlatformApp, PlatformChannel, Playback, Power } from "../platform.ts";
import { webosServices } from "./services.ts";

export type Payload = Json;

export const uris = {
  systemInfo: "ssap://system/getSystemInfo",
  power: "ssap://com.webos.service.tvpower/power/getPowerState",
  volume: "ssap://audio/getVolume",
  app: "ssap://com.webos.applicationManager/getForegroundAppInfo",
  media: "ssap://com.webos.media/getForegroundAppInfo",
  keyboard: "ssap://com.webos.service.ime/registerRemoteKeyboard",
  insertText: "ssap://com.webos.service.ime/insertText",
  launchPoints: "ssap://com.webos.applicationManager/listLaunchPoints",
  launch: "ssap://system.launcher/launch",
  close: "ssap://system.launcher/close",
  network: "ssap://com.webos.service.connectionmanager/getinfo",
  pointer: "ssap://com.webos.service.networkinput/getPointerInputSocket",
  turnOff: "ssap://system/turnOff",
  setMute: "ssap://audio/setMute",
  inputs: "ssap://tv/getExternalInputList",
  switchInput: "ssap://tv/switchInput",
  setVolume: "ssap://audio/setVolume",
  volumeUp: "ssap://audio/volumeUp",
  volumeDown: "ssap://audio/volumeDown",
  channels: "ssap://tv/getChannelList",
  channel: "ssap://tv/getCurrentChannel",
  openChannel: "ssap://tv/openChannel",
  toast: "ssap://system.notifications/createToast",
  viewer: "ssap://media.viewer/open",
  launchMedia: "ssap://com.webos.applicationManager/launch",
} as const;

/** Turns only the screen on; TVs before webOS 5 have the second (2.4). */
export const screenOn = [
  "ssap://com.webos.service.tvpower/power/turnOnScreen",
  "ssap://com.webos.service.tv.power/turnOnScreen",
] as const;

/**
 * Every permission that zapd will ever need: a key keeps those it was granted, and a missing one would mean pairing
 * again (2.3). Unsigned: firmware of 2026 refuses the signed manifest that open clients copied from each other (0.1).
 */
export const manifest = {
  manifestVersion: 1,
  appVersion: "1.1",
  permissions: [
    "LAUNCH",
    "LAUNCH_WEBAPP",
    "APP_TO_APP",
    "CLOSE",
    "CONTROL_AUDIO",
    "CONTROL_DISPLAY",
    "CONTROL_POWER",
    "CONTROL_TV_SCREEN",
    "CONTROL_INPUT_TV",
    "CONTROL_INPUT_MEDIA_PLAYBACK",
    "CONTROL_INPUT_JOYSTICK",
    "CONTROL_INPUT_TEXT",
    "CONTROL_MOUSE_AND_KEYBOARD",
    "READ_INSTALLED_APPS",
    "READ_RUNNING_APPS",
    "READ_APP_STATUS",
    "READ_INPUT_DEVICE_LIST",
    "READ_NETWORK_STATE",
    "READ_POWER_STATE",
    "READ_CURRENT_CHANNEL",
    "READ_TV_CHANNEL_LIST",
    "READ_SETTINGS",
    "READ_COUNTRY_INFO",
    "WRITE_NOTIFICATION_TOAST",
  ],
} as const;

/** The payload of `register` (2.3, step 3). */
export function registration(key: string | null): Payload {
  return { forcePairing: false, pairingType: "PROMPT", ...(key !== null && { "client-key": key }), manifest };
}

/** The states of a TV that is not on; any other means that it is (2.4). */
const powerStates: ReadonlyMap<string, Power> = new Map([
  ["Active Standby", "standby"],
  ["Suspend", "off"],
  ["Power Off", "off"],
]);

interface PowerReport {
  /** `null` where the TV does not report it. */
  readonly power: Power | null;
  readonly screensaver: boolean;
  readonly screen: boolean;
  readonly isTurningOff: boolean;
}

/** `getPowerState` (2.4). */
export function readPower(payload: Payload): PowerReport {
  const state = text(payload["state"]) ?? "";
  // It reports this for a second, and is silent from then on (2.5).
  const isTurningOff = /^(Prepare|Request) (Power Off|Suspend|Active Standby)/.test(text(payload["processing"]) ?? "");
  // Some firmware has the service, and reports "Unknown" (aiowebostv, `is_on`).
  const power = state === "" || state === "Unknown" ? null : (powerStates.get(state) ?? "on");
  return {
    power: isTurningOff && power === "on" ? "off" : power,
    screensaver: state === "Screen Saver",
    screen: state !== "Screen Off",
    isTurningOff,
  };
}

/** Volume in both shapes (2.4), 0 to 100; no level where that of a soundbar or an output is not known (2.5). */
export function readVolume(payload: Payload): { level: number | null; muted: boolean | null } {
  const from = volumeIn(payload);
  const level = number(from["volume"]);
  return {
    level:
      level === null || level < 0 || hidesLevel(from)
        ? null
        : Math.min(100, Math.round((level * 100) / scaleOf(payload))),
    muted: flag(from["muteStatus"]) ?? flag(from["muted"]) ?? flag(from["mute"]),
  };
}

/**
 * Whether it plays over a soundbar or an output whose level it does not know. Some TVs then report, and set, a level of their
 * own, which changes nothing (home-assistant/core#156874; merdok/homebridge-webos-tv#351, optical). In the older shape, where
 * the sound goes is the `scenario`: that of the TV's speakers with others beside them (`tv_speaker_ext`) has the TV's own level
 * (#283; openhab/openhab-addons#6411).
 */
function hidesLevel({ soundOutput, scenario, volumeSyncable, adjustVolume, externalDeviceControl }: Json): boolean {
  if (/^mastervolume_ext_/.test(text(scenario) ?? "")) return true;
  if (volumeSyncable === true && externalDeviceControl !== false) return false;
  return (
    adjustVolume === false ||
    soundOutput === "external_arc" ||
    (soundOutput === "external_optical" && adjustVolume !== true)
  );
}

/** The top of the TV's volume scale; 100 where it does not report it. */
export function scaleOf(payload: Payload): number {
  const from = volumeIn(payload);
  const most = number(from["maxVolume"] ?? from["volumeMax"]);
  return most !== null && most > 0 ? most : 100;
}

function volumeIn(payload: Payload): Json {
  const nested = payload["volumeStatus"];
  return isJson(nested) ? nested : payload;
}

/** Apps that are the home screen, or an overlay on it. */
const homes: ReadonlySet<string> = new Set([
  "",
  "com.webos.app.home",
  "com.webos.app.homelauncher",
  "com.webos.app.screensaver",
]);

export const liveTv = "com.webos.app.livetv";

/** The input that an app id stands for (2.4), in the word of its key. */
export function inputOf(appId: string): string | null {
  if (appId === liveTv) return "tuner";
  if (/^com\.webos\.app\.(externalinput\.)?(av|component|scart)\d*$/.test(appId)) return "av";
  return /^com\.webos\.app\.(hdmi[1-4])$/.exec(appId)?.[1] ?? null;
}

/** `getForegroundAppInfo`: the id of the app, or `null` for the home screen. */
export function readApp(payload: Payload): string | null {
  const id = text(payload["appId"]) ?? "";
  return homes.has(id) ? null : id;
}

export function appOf(platformId: string, title: string | null): PlatformApp {
  const input = inputOf(platformId);
  const id = input ?? webosServices.get(platformId);
  return {
    platformId,
    name: title ?? (input === null ? platformId : input === "tuner" ? "Live TV" : input.toUpperCase()),
    type: input === null ? "app" : input === "tuner" ? "tuner" : "input",
    version: null,
    id,
  };
}

/** `listLaunchPoints` (2.4): each app once, without those of the home screen. */
export function readLaunchPoints(payload: Payload): PlatformApp[] {
  if (!Array.isArray(payload["launchPoints"]))
    throw new ZapdError("device_error", "sent an answer without a list of apps");
  const apps = new Map<string, PlatformApp>();
  for (const point of listOf(payload, "launchPoints")) {
    const id = text(point["id"]);
    if (id !== null && !homes.has(id) && !apps.has(id)) apps.set(id, appOf(id, text(point["title"])));
  }
  return [...apps.values()];
}

const statuses: ReadonlyMap<string, Playback["status"]> = new Map([
  ["playing", "playing"],
  ["paused", "paused"],
  ["buffering", "buffering"],
  ["loading", "buffering"],
  ["loaded", "stopped"],
  ["stopped", "stopped"],
  ["unloaded", "stopped"],
]);

/** `com.webos.media/getForegroundAppInfo` (2.4). It has neither position nor title. */
export function readMedia(payload: Payload): Playback | null {
  const [first] = listOf(payload, "foregroundAppInfo", 1);
  const status = statuses.get(text(first?.["playState"])?.toLowerCase() ?? "");
  return status === undefined ? null : { status, position_ms: null, duration_ms: null, live: null, title: null };
}

/** `connectionmanager/getinfo`: the wired address first. A TV wakes only by the one in use, so packets go to both. */
export function readMacs(payload: Payload): string[] {
  const macs = ["wiredInfo", "wifiInfo"].flatMap((name) => {
    const mac = readMac(asJson(payload[name])["macAddress"]);
    return mac === null ? [] : [mac];
  });
  return [...new Set(macs)];
}

/** An input: the TV's own id (`HDMI_1`), the word that the state has for it, and the user's name for it. */
export interface WebosInput {
  readonly id: string;
  /** The foreground app while the input is shown. */
  readonly appId: string;
  readonly word: string;
  readonly name: string;
}

/** `getExternalInputList`. Of two inputs of one word, the second keeps its own id as its word. */
export function readInputs(payload: Payload): WebosInput[] {
  const words = new Set<string>();
  return listOf(payload, "devices", 32).flatMap((device) => {
    const id = text(device["id"]);
    if (id === null) return [];
    const appId = text(device["appId"]) ?? "";
    const known = inputOf(appId);
    const word = known === null || words.has(known) ? id : known;
    words.add(word);
    return [{ id, appId, word, name: text(device["label"]) ?? id }];
  });
}

const maxChannels = 5_000;

/** `getChannelList` (2.4). */
export function readChannels(payload: Payload): PlatformChannel[] {
  return listOf(payload, "channelList", maxChannels).flatMap((channel) => {
    const id = text(channel["channelId"]);
    const number = text(channel["channelNumber"]);
    return id === null ? [] : [{ id, number, name: text(channel["channelName"]) ?? number ?? id }];
  });
}

/** `getCurrentChannel`: the id of the current channel. */
export function readChannel(payload: Payload): string | null {
  return text(payload["channelId"]);
}

/** The URL of an app's icon; `null` where it has none. The larger one may be a mere file name (home-assistant/core, webostv). */
export function iconOf(payload: Payload, platformId: string): URL | null {
  const point = listOf(payload, "launchPoints").find(({ id }) => id === platformId);
  for (const name of ["largeIcon", "icon"]) {
    const address = text(point?.[name]) ?? "";
    if (/^https?:/i.test(address) && URL.canParse(address)) return new URL(address);
  }
  return null;
}

/** The payload of `media.viewer/open` (Connect SDK). */
export function viewerPayload({ url, mime, title, image }: MediaItem): Payload {
  return {
    target: url,
    mimeType: mime,
    ...(title !== null && { title }),
    ...(image !== null && { iconSrc: image }),
  };
}

/**
 * The app that plays a video by its URL, by the major version of the firmware (next/CONTROLS.md); the newest where it is
 * unknown.
 */
export function mediaAppOf(software: string | null): string {
  const major = Number.parseInt(software ?? "", 10);
  if (major <= 2) return "com.webos.app.smartshare";
  return major <= 5 ? "com.webos.app.photovideo" : "com.webos.app.mediadiscovery";
}

/** A video for that app, in the words of DLNA: seekable, of unknown length. */
export function mediaPayload(id: string, { url, mime, title, image }: MediaItem): Payload {
  const protocolInfo = `http-get:*:${mime}:DLNA.ORG_OP=01;DLNA.ORG_CI=0;DLNA.ORG_FLAGS=01700000000000000000000000000000`;
  const unknown = "-1";
  const film = {
    fullPath: url,
    fileName: title ?? url,
    mediaType: "VIDEO",
    deviceType: "DMR",
    thumbnail: image ?? "",
    artist: "",
    album: "",
    subtitle: "",
    lastPlayPosition: -1,
    dlnaInfo: { flagVal: 4096, cleartextSize: unknown, contentLength: unknown, opVal: 1, protocolInfo, duration: 0 },
  };
  return { id, params: { payload: [film] } };
}

/**
 * Whether a text that is on no list could be the id of a webOS app: a reverse domain name, or a known id without a dot.
 * Any other is treated as a mistyped name.
 */
export function isWebosAppId(text: string): boolean {
  return /^[a-z0-9][\w-]*(\.[\w-]+)+$/i.test(text) ? text.length <= 128 : webosServices.has(text);
}

/** A deep link (2.4): YouTube takes a URL, all other apps an id. */
export function linkOf(platformId: string, link: DeepLink): Payload {
  const { content_id, contentId = content_id, target, media_type: _type, ...rest } = link;
  const isYouTube = platformId.startsWith("youtube.");
  const address = target ?? (isYouTube && contentId !== undefined ? youTubeOf(contentId) : undefined);
  const params = { ...rest, ...(address !== undefined && { contentTarget: address }) };
  return {
    id: platformId,
    ...(contentId !== undefined && !isYouTube && { contentId }),
    ...(Object.keys(params).length > 0 && { params }),
  };
}

function youTubeOf(id: string): string {
  return URL.canParse(id) ? id : `https://www.youtube.com/tv?v=${encodeURIComponent(id)}`;
}
