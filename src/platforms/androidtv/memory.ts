/** What zapd remembers about an Android TV beside its facts, and its secrets. */
import { z } from "zod";
import type { Ports, Target } from "../platform.ts";

export const androidMemory = z
  .object({
    /** The features that it offered last, as bits. */
    features: z.int().min(0),
    /** Whether it has a volume of its own: a box may leave the volume to the TV. */
    volume: z.boolean(),
  })
  .partial();

export type AndroidMemory = z.infer<typeof androidMemory>;

/**
 * zapd's client certificate and its key, in DER as base64; they are what was paired, and never change. `certificate` is
 * the SHA-256 of the certificate that the TV showed.
 */
export const androidSecret = z.looseObject({ cert: z.string(), key: z.string(), certificate: z.string() });

export type AndroidSecret = z.infer<typeof androidSecret>;
export type AndroidTarget = Target<AndroidMemory, AndroidSecret>;

export const remotePort = 6_466;
/** The port for pairing is the one after the control port. */
export function pairingPortOf({ port, ports }: { readonly port: number; readonly ports?: Ports }): number {
  return ports?.["pairing"] ?? port + 1;
}
