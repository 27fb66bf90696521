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

/** Whose volume and playback are a device's own, the best first: where a remote has keys for them, Cast knows what they come to. */
const players = ["roku", "webos", "samsung", "kodi", "cast", "androidtv", "dlna"];

/**
 * How they go together where several of them reach one device: a Kodi runs on sets of LG and of Google, those of Google have
 * a remote and take what is cast, as those of LG do from 2024 on, and nearly every set is a renderer, too.
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
