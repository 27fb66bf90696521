/** What zapd remembers of a Kodi beyond its facts, and what lets it in there. */
import { z } from "zod";
import { isJson } from "../../transport/json.ts";
import type { Target } from "../platform.ts";

const port = z.int().min(1).max(65_535);

const memory = z
  .object({
    /** The port of its socket where that is all that it has; `null` where it has a web server, which is driven then. */
    socketOnly: port.nullable(),
    /** The port at which it announces its socket beside its web server. */
    socket: port,
    /** Whether a tuner was there when it was last asked. */
    tuner: z.boolean(),
    /** Whether pictures of its screen could be had then: it has a folder for them, and shows it to others. */
    screenshots: z.boolean(),
  })
  .partial();

export type KodiMemory = z.infer<typeof memory>;

/** The first edition kept words: `http` or `websocket:9090` as its transport, and `9090` as its socket. */
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

/** The name and the password that its user set on it. */
export const kodiSecret = z.looseObject({ user: z.string().optional(), password: z.string().optional() });

export type KodiSecret = z.infer<typeof kodiSecret>;
export type KodiTarget = Target<KodiMemory, KodiSecret>;
