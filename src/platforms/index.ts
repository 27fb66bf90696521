/** Every platform zapd drives, a line each. */
import { kodi } from "./kodi/adapter.ts";
import type { Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, kodi, webos];
