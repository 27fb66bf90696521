/** Every platform zapd drives, a line each. */
import { dlna } from "./dlna/adapter.ts";
import { kodi } from "./kodi/adapter.ts";
import type { Composition, Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos, dlna];

/** How they go together where several of them reach one device; a Kodi runs on sets of LG, too, and nearly each set is a renderer. */
export const composition: Composition = {
  pairs: [["webos", "kodi"]],
  partial: ["dlna"],
  leading: ["roku", "webos", "kodi", "dlna"],
  preferred: {},
};
