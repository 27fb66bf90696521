/** What zapd remembers about a Samsung TV beside its facts, and its secrets. */
import { z } from "zod";
import type { Target } from "../platform.ts";

export const samsungMemory = z
  .object({
    /** The model year (2021): it decides what the TV can do. */
    year: z.int(),
    /** It gives tokens, as TVs since 2018 do, and so is reached over TLS. */
    token: z.boolean(),
    /** It reports its power. */
    saysPower: z.boolean(),
    /** A TV of the Frame series: a short press of the power key shows art. */
    frame: z.boolean(),
    /** Whether it has a UPnP renderer for its volume; unknown before it was asked. */
    renderer: z.boolean(),
    /** Whether it has listed its apps when it was asked. */
    lists: z.boolean(),
    /** Its apps; `native` ones have no status, and are started in another way. */
    apps: z.array(z.object({ id: z.string(), name: z.string(), native: z.boolean() })).max(200),
    /** How often it has shown its prompt again although it gave a token. */
    prompted: z.int().min(0),
  })
  .partial();

export type SamsungMemory = z.infer<typeof samsungMemory>;

/** The token, and the SHA-256 of the certificate that the TV showed when it was paired. */
export const samsungSecret = z.looseObject({ token: z.string().optional(), certificate: z.string().optional() });

export type SamsungSecret = z.infer<typeof samsungSecret>;
export type SamsungTarget = Target<SamsungMemory, SamsungSecret>;
