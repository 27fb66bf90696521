/** All measures, in the order of the table. */
import { crowd } from "./crowd.ts";
import { discovery } from "./discovery.ts";
import { freshness } from "./freshness.ts";
import { keyRelay } from "./key-relay.ts";
import { listing } from "./listing.ts";
import type { Measure } from "./measure.ts";
import { memory } from "./memory.ts";
import { oneShot } from "./one-shot.ts";
import { pageKey } from "./page-key.ts";
import { sequence } from "./sequence.ts";
import { sharedState } from "./shared-state.ts";
import { sideload } from "./sideload.ts";
import { size } from "./size.ts";
import { start } from "./start.ts";

export const measures: readonly Measure[] = [
  keyRelay,
  oneShot,
  start,
  memory,
  sequence,
  discovery,
  listing,
  sharedState,
  sideload,
  crowd,
  size,
  freshness,
  pageKey,
];
