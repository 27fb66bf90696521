/** Every platform zapd drives, a line each. */
import { cast } from "./cast/adapter.ts";
import { kodi } from "./kodi/adapter.ts";
import type { Composition, Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { samsung } from "./samsung/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos, samsung, cast];

/**
 * How they go together where several of them reach one device: a Kodi runs on sets of LG and of Google, and those of LG take
 * what is cast from 2024 on.
 */
export const composition: Composition = {
  pairs: [
    ["webos", "kodi"],
    ["webos", "cast"],
    ["kodi", "cast"],
  ],
  leading: ["roku", "webos", "samsung", "kodi", "cast"],
  preferred: {},
};
