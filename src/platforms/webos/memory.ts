/** What zapd remembers of an LG set beyond its facts, and what lets it in there. */
import { z } from "zod";
import { isJson } from "../../transport/json.ts";
import type { Target } from "../platform.ts";

/** How a set was reached: over the secure port or the plain one, under whatever number. */
const endpoint = z.object({ port: z.int().min(1).max(65_535), tls: z.boolean() });

const memory = z
  .object({
    /** Where it answered last. */
    endpoint,
    /** Its inputs, by its own ids; those of a set that was never asked are not known. */
    inputs: z.array(z.string()),
    /** How often it has shown its prompt for a key that it had given. */
    prompted: z.int().min(0),
    /** Its user has let us in though it does not say who it is. */
    nameless: z.boolean(),
  })
  .partial();

export type WebosMemory = z.infer<typeof memory>;

/** The first edition kept words: `wss:3001`, `HDMI_1 HDMI_2`, `2`, `yes`, and an empty one for nothing. */
export const webosMemory: z.ZodType<WebosMemory> = z.preprocess((kept) => {
  if (!isJson(kept)) return kept;
  const { door, inputs, prompted, nameless } = kept;
  const [, tls, port] = /^(wss?):(\d+)$/.exec(String(door ?? "")) ?? [];
  return {
    ...(port !== undefined && { endpoint: { port: Number(port), tls: tls === "wss" } }),
    ...kept,
    ...(typeof inputs === "string" && { inputs: inputs.split(" ").filter(Boolean) }),
    ...(typeof prompted === "string" && { prompted: Number(prompted) || 0 }),
    ...(typeof nameless === "string" && { nameless: nameless === "yes" }),
  };
}, memory);

/** The key that the set gave, and the certificate that it showed then, where it did. */
export const webosSecret = z.looseObject({ key: z.string().optional(), certificate: z.string().optional() });

export type WebosSecret = z.infer<typeof webosSecret>;
export type WebosTarget = Target<WebosMemory, WebosSecret>;
