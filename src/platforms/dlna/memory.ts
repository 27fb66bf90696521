/** What zapd remembers of a renderer beyond its facts: where its description is, and what that and its services' own documents say. */
import { z } from "zod";
import type { Target } from "../platform.ts";
import { stackNames } from "./stacks.ts";

/** A path and query on the device itself: nothing that it names elsewhere is ever called. */
const path = z
  .string()
  .max(2_048)
  .regex(/^\/[!-~]*$/);

const service = z.object({
  /** With its version, as the device's own description has it. */
  type: z.string().max(256),
  control: path,
  /** `null` where it tells nothing by itself. */
  events: path.nullable(),
});

const memory = z
  .object({
    /** Where its description is. */
    path,
    stack: z.enum(stackNames),
    /** Its services, as far as it has them: AVTransport, RenderingControl, ConnectionManager. */
    transport: service,
    rendering: service,
    connections: service,
    /** The range of its volume, in its own numbers; `null` where it has none. */
    volume: z.object({ min: z.number(), max: z.number(), step: z.number() }).nullable(),
    mutes: z.boolean(),
    /** What its transport can be told, in its own words. */
    actions: z.array(z.string().max(64)).max(64),
    /** Whether it goes to a time. */
    seeks: z.boolean(),
  })
  .partial();

export type DlnaMemory = z.infer<typeof memory>;
export type Service = z.infer<typeof service>;
export const dlnaMemory: z.ZodType<DlnaMemory> = memory;
export type DlnaTarget = Target<DlnaMemory>;
