/** Every platform zapd drives, a line each. */
import { androidtv } from "./androidtv/adapter.ts";
import { cast } from "./cast/adapter.ts";
import { dlna } from "./dlna/adapter.ts";
import { kodi } from "./kodi/adapter.ts";
import type { Composition, Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { samsung } from "./samsung/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos, samsung, androidtv, cast, dlna];

/** Platforms for playback, the best first. */
const players = ["roku", "webos", "samsung", "kodi", "cast", "androidtv", "dlna"];
/** For volume: Cast reports what a key of a remote has changed; Kodi's volume is that of a program on the device. */
const speakers = ["roku", "webos", "samsung", "cast", "androidtv", "kodi", "dlna"];

/**
 * How platforms that reach the same device are combined: Kodi runs on sets of LG and Google; those of Google speak Android TV
 * and Cast, those of LG webOS and, from 2024 on, Cast; and nearly every set is a DLNA renderer.
 */
export const composition: Composition = {
  pairs: [
    ["webos", "kodi"],
    ["webos", "cast"],
    ["androidtv", "kodi"],
    ["androidtv", "cast"],
    ["kodi", "cast"],
  ],
  partial: ["dlna"],
  leading: ["roku", "webos", "samsung", "androidtv", "kodi", "cast", "dlna"],
  facts: ["roku", "webos", "samsung", "androidtv", "cast", "kodi", "dlna"],
  preferred: { volume: speakers, mute: speakers, playback: players },
  behind: { androidtv: ["volume"], kodi: ["volume"] },
};
