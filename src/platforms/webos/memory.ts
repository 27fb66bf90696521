/** What zapd remembers about an LG TV beside its facts, and its secrets. */
import { z } from "zod";
import { isJson } from "../../transport/json.ts";
import type { Target } from "../platform.ts";

/** A port, and whether it uses TLS. */
const endpoint = z.object({ port: z.int().min(1).max(65_535), tls: z.boolean() });

const memory = z
  .object({
    /** Where the TV answered last. */
    endpoint,
    /** The TV's own ids of its inputs; absent until they have been listed. */
    inputs: z.array(z.string()),
    /** How often the TV has shown its prompt although zapd has a key. */
    prompted: z.int().min(0),
    /** The user paired it although it reported no uuid. */
    nameless: z.boolean(),
  })
  .partial();

export type WebosMemory = z.infer<typeof memory>;

/** Old files hold texts: `wss:3001`, `HDMI_1 HDMI_2`, `2`, `yes`, or an empty text for none. */
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

/** The client key, and the SHA-256 of the certificate that the TV showed when it was paired. */
export const webosSecret = z.looseObject({ key: z.string().optional(), certificate: z.string().optional() });

export type WebosSecret = z.infer<typeof webosSecret>;
export type WebosTarget = Target<WebosMemory, WebosSecret>;
