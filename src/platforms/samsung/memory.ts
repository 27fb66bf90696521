/** What zapd remembers of a Samsung TV beyond its facts, and what lets it in there. */
import { z } from "zod";
import type { Target } from "../platform.ts";

const memory = z
  .object({
    /** The year of the model (2021): what it can do is told by it. */
    year: z.int(),
    /** It wants a token, as TVs of 2018 on do, and is reached over TLS. */
    token: z.boolean(),
    /** It says by itself whether it is on. */
    saysPower: z.boolean(),
    /** A TV of the Frame series: a short press of power shows art there. */
    frame: z.boolean(),
    /** Whether it has a service for its volume; not known before it was asked. */
    renderer: z.boolean(),
    /** Whether it lists its apps: those that do not are not asked for them again. */
    lists: z.boolean(),
    /** The apps that it has; `native` are those whose state it keeps to itself, and which are started in another way. */
    apps: z.array(z.object({ id: z.string(), name: z.string(), native: z.boolean() })).max(200),
    /** How often it has asked its user anew, though it had given a token. */
    prompted: z.int().min(0),
  })
  .partial();

export type SamsungMemory = z.infer<typeof memory>;
export const samsungMemory: z.ZodType<SamsungMemory> = memory;

/** The token that the TV gave, and the certificate that it showed then. */
export const samsungSecret = z.looseObject({ token: z.string().optional(), certificate: z.string().optional() });

export type SamsungSecret = z.infer<typeof samsungSecret>;
export type SamsungTarget = Target<SamsungMemory, SamsungSecret>;
