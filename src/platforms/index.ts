/** Every platform zapd drives, a line each. */
import { kodi } from "./kodi/adapter.ts";
import type { Composition, Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { samsung } from "./samsung/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos, samsung];

/** How they go together where several of them reach one device; a Kodi runs on sets of LG, too. */
export const composition: Composition = {
  pairs: [["webos", "kodi"]],
  leading: ["roku", "webos", "samsung", "kodi"],
  preferred: {},
};
