/** What zapd remembers of a Cast device beyond its facts. */
import { z } from "zod";
import type { Target } from "../platform.ts";

const memory = z
  .object({
    /** `fixed`: its volume is that of what it is plugged into, and cannot be set. */
    volume: z.enum(["attenuation", "fixed", "master"]),
    /** Several speakers under one name, led by one of them at its own address. */
    group: z.boolean(),
    /** It has told its id over the connection that it is driven by: what does not is another. */
    tellsId: z.boolean(),
  })
  .partial();

export type CastMemory = z.infer<typeof memory>;
export const castMemory: z.ZodType<CastMemory> = memory;

export type CastTarget = Target<CastMemory>;
