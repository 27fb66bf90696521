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

/** Platforms for volume and playback, the best first. Cast reports what a key of a remote has changed. */
const players = ["roku", "webos", "samsung", "kodi", "cast", "androidtv", "dlna"];

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
  preferred: { volume: players, mute: players, playback: players },
  behind: { androidtv: ["volume"] },
};
