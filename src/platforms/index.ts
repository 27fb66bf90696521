/** Every platform zapd drives, a line each. */
import type { Platform } from "./platform.ts";
import { roku } from "./roku/adapter.ts";
import { webos } from "./webos/adapter.ts";

export const platforms: readonly Platform[] = [roku, webos];
