/** What zapd remembers of a Roku beyond its facts. */
import { z } from "zod";
import type { Target } from "../platform.ts";

/** `yes` and `no` are the words of the first edition. */
const flag = z.union([z.boolean(), z.enum(["yes", "no"]).transform((word) => word === "yes")]);

export const rokuMemory = z
  .object({
    /** What the set has beyond the keys of every Roku (1.3). */
    volume: flag,
    power: flag,
    inputs: flag,
    /** Whether its developer mode is on; missing where it does not say. */
    developer: flag,
    /** The realm in which the developer installer last took the password (2.1). */
    dev_realm: z.string().max(512),
  })
  .partial();

export type RokuMemory = z.infer<typeof rokuMemory>;
export type RokuTarget = Target<RokuMemory>;
