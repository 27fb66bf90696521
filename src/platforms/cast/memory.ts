/** What zapd remembers about a Cast device beside its facts. */
import { z } from "zod";
import type { Target } from "../platform.ts";

export const castMemory = z
  .object({
    /** `fixed`: the volume is that of the TV or receiver it is plugged into, and cannot be set. */
    volume: z.enum(["attenuation", "fixed", "master"]),
    /** Several speakers under one name, at the address of the one that leads them. */
    group: z.boolean(),
    /** It has reported its id over the connection: a device that does not is another one. */
    tellsId: z.boolean(),
  })
  .partial();

export type CastMemory = z.infer<typeof castMemory>;

export type CastTarget = Target<CastMemory>;
