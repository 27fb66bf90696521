/** What zapd remembers of an Android TV beyond its facts, and what lets it in there. */
import { z } from "zod";
import type { Target } from "../platform.ts";

const memory = z
  .object({
    /** What it offered last, as bits. */
    features: z.int().min(0),
    /** Whether it has a volume of its own: a box may leave that to what it is plugged into. */
    volume: z.boolean(),
  })
  .partial();

export type AndroidMemory = z.infer<typeof memory>;
export const androidMemory: z.ZodType<AndroidMemory> = memory;

/**
 * Our certificate, and its key, in base64 without lines: the certificate is what was paired, and is kept for ever. `certificate`
 * is the fingerprint of the one that the TV showed.
 */
export const androidSecret = z.looseObject({ cert: z.string(), key: z.string(), certificate: z.string() });

export type AndroidSecret = z.infer<typeof androidSecret>;
export type AndroidTarget = Target<AndroidMemory, AndroidSecret>;

export const remotePort = 6_466;
/** Beside the other one, wherever that is. */
export function pairingPortOf({
  port,
  ports = {},
}: Pick<AndroidTarget, "port"> & { ports?: AndroidTarget["ports"] }): number {
  return ports["pairing"] ?? port + 1;
}
