/**
 * Reads the documents of Roku sets into zapd's values. Pure: documents in, values out. Facts and their evidence:
 * protocols/roku.md, by section.
 */

import { child, childrenOf, childText, type Element, readXml } from "../../transport/xml.ts";
import type { PlatformApp, PlatformState, Playback } from "../platform.ts";
import { rokuServices } from "./services.ts";

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

/** The app id of an input. */
export function appOfInput(input: string): string | undefined {
  return [...inputs].find(([, word]) => word === input)?.[0];
}

/** Whether a text could be the id of a Roku app (1.4). */
export function isRokuAppId(text: string): boolean {
  return /^(\d{1,10}(_[0-9a-f]{1,64})?|dev|tvinput\.[a-z0-9]{1,16})$/i.test(text);
}

/** As in a catalog: an app with a longer id is not listed. The one that is shown is, with its id cut. */
const longestId = 128;

/** `/query/apps` (1.4). Menus and screensavers are not apps. */
export function readApps(text: string): PlatformApp[] {
  const root = readXml(text, "apps");
  return childrenOf(root, "app").flatMap((element) => {
    const { attributes } = element;
    const { id, type } = attributes;
    if (!id || id.length > longestId || type === "menu" || type === "ssvr") return [];
    return [appOf(element, attributes, id)];
  });
}

function appOf(element: Element, attributes: Element["attributes"], platformId: string): PlatformApp {
  const input = inputOf(platformId);
  const name = (element.text || platformId).slice(0, 256);
  const common = { platformId, name, version: attributes["version"] || null };
  if (platformId === "dev") return { ...common, type: "dev", id: "dev" };
  if (input !== null) return { ...common, type: input === "tuner" ? "tuner" : "input", id: input };
  if (attributes["type"] === "tvin") return { ...common, type: "input" };
  return { ...common, type: "app", id: rokuServices.get(platformId) };
}

/** Since OS 11 some sets call their home screen by this id, which `/query/apps` does not know (1.5). */
const dynamicMenu = "562859";

/** `/query/active-app` (1.5): home is `null`, in whichever of its spellings. */
export function readActiveApp(text: string): { app: PlatformApp | null; screensaver: boolean } {
  const root = readXml(text, "active-app");
  const element = childrenOf(root, "app")[0];
  const attributes = element?.attributes ?? {};
  const { type, "ui-location": location = "" } = attributes;
  // Some TVs show live TV as an app of its own (595596), and tell the input only here.
  const isInput = inputs.has(location);
  const id = isInput ? location : (attributes["id"] ?? "");
  const home = !isInput && (["", dynamicMenu, "home"].includes(id) || type === "home" || type === "menu");
  return {
    app: !element || home ? null : appOf(element, attributes, id.slice(0, longestId).toWellFormed()),
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
  const player = readXml(text, "player");
  const status = playing.get(player.attributes["state"]?.toLowerCase() ?? "");
  const plugin = child(player, "plugin")?.attributes["id"];
  const foreign = plugin !== undefined && active !== undefined && plugin !== active;
  if (status === undefined || (status === "stopped" && (foreign || active === null))) return null;
  const live = childText(player, "is_live");
  return {
    status,
    position_ms: foreign ? null : milliseconds(childText(player, "position")),
    // Of what is live it may be 0: it is not known.
    duration_ms: foreign
      ? null
      : milliseconds(childText(player, "duration")) || milliseconds(childText(player, "runtime")) || null,
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
  const root = readXml(text, "audio-device");
  const global = child(root, "global") ?? root;
  const level = Number.parseInt(childText(global, "volume") ?? "", 10);
  const muted = childText(global, "muted");
  if (Number.isNaN(level) && muted === null) return null;
  return {
    level: Number.isNaN(level) ? null : Math.min(100, Math.max(0, level)),
    muted: muted === null ? null : muted === "true",
  };
}
