/** Every platform zapd drives, a line each. */
import { cast } from "./cast/adapter.ts";
import { dlna } from "./dlna/adapter.ts";
import { kodi } from "./kodi/adapter.ts";
import type { Composition, Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { samsung } from "./samsung/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos, samsung, cast, dlna];

/**
 * How they go together where several of them reach one device: a Kodi runs on sets of LG and of Google, those of LG take
 * what is cast from 2024 on, and nearly every set is a renderer, too.
 */
export const composition: Composition = {
  pairs: [
    ["webos", "kodi"],
    ["webos", "cast"],
    ["kodi", "cast"],
  ],
  partial: ["dlna"],
  leading: ["roku", "webos", "samsung", "kodi", "cast", "dlna"],
  preferred: {},
};
