/**
 * What zapd remembers about a renderer beside its facts: the content of its description and of the documents of its services.
 */
import { z } from "zod";
import type { Target } from "../platform.ts";
import { stackNames } from "./stacks.ts";

/** A path and query on the device itself: zapd never calls another host that it names. */
const path = z
  .string()
  .max(2_048)
  .regex(/^\/[!-~]*$/);

const service = z.object({
  /** With its version, as in the description. */
  type: z.string().max(256),
  control: path,
  /** `null` where it has no events. */
  events: path.nullable(),
});

export const dlnaMemory = z
  .object({
    /** Where the description is. */
    path,
    stack: z.enum(stackNames),
    /** AVTransport, RenderingControl and ConnectionManager, where it has them. */
    transport: service,
    rendering: service,
    connections: service,
    /** The range of its volume; `null` where it has no volume. */
    volume: z.object({ min: z.number(), max: z.number(), step: z.number() }).nullable(),
    mutes: z.boolean(),
    /** The actions of its AVTransport that zapd uses. */
    actions: z.array(z.string().max(64)).max(64),
    /** Whether it seeks to a time. */
    seeks: z.boolean(),
  })
  .partial();

export type DlnaMemory = z.infer<typeof dlnaMemory>;
export type Service = z.infer<typeof service>;
export type DlnaTarget = Target<DlnaMemory>;
