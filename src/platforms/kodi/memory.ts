/** What zapd remembers of a Kodi beyond its facts, and its login. */
import { z } from "zod";
import { isJson } from "../../transport/json.ts";
import type { Target } from "../platform.ts";

const port = z.int().min(1).max(65_535);

const memory = z
  .object({
    /** The port of its socket where it has no web server; `null` where it has one, which is driven then. */
    socketOnly: port.nullable(),
    /** The port of its socket where it has a web server as well. */
    socket: port,
    /** Whether it had a tuner when it was last asked. */
    tuner: z.boolean(),
    /** Whether it could give screenshots then: it has a folder for them that is one of its sources. */
    screenshots: z.boolean(),
  })
  .partial();

export type KodiMemory = z.infer<typeof memory>;

/** Old files hold texts: `transport` as `http` or `websocket:9090`, and `socket` as `9090`. */
export const kodiMemory: z.ZodType<KodiMemory> = z.preprocess((kept) => {
  if (!isJson(kept)) return kept;
  const { transport, socket } = kept;
  const [, only] = /^websocket:(\d+)$/.exec(String(transport ?? "")) ?? [];
  return {
    ...(transport !== undefined && { socketOnly: only === undefined ? null : Number(only) }),
    ...kept,
    ...(typeof socket === "string" && { socket: Number(socket) || undefined }),
  };
}, memory);

/** The login that its user has set on it. */
export const kodiSecret = z.looseObject({ user: z.string().optional(), password: z.string().optional() });

export type KodiSecret = z.infer<typeof kodiSecret>;
export type KodiTarget = Target<KodiMemory, KodiSecret>;
