/** The keys of a remote on the command line. Loads nothing that a key press does not need. Success prints nothing. */
import type { KeyOrText } from "../api/schemas.ts";
import { sendCommand } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function key(context: Context): Promise<void> {
  const [name, ...more] = context.words;
  if (!name) throw new UsageError("which key?");
  if (more.length > 0) throw new UsageError("one key at a time; for several use zapd keys");
  await pressKey(context, name);
}

/** Presses one key, or holds it for `hold_ms`. The daemon knows the keys, and suggests the one that was meant. */
export function pressKey(context: Context, key: string, how: { readonly hold_ms?: number } = {}): Promise<void> {
  return sendCommand(context, "pressKey", { key: key as KeyOrText, ...how });
}

export async function keys(context: Context): Promise<void> {
  const delay = context.option("delay");
  if (context.words.length === 0) throw new UsageError("which keys?");
  if (delay !== undefined && !/^\d+$/.test(delay)) throw new UsageError("--delay needs a number of milliseconds");
  const delay_ms = delay === undefined ? undefined : Number(delay);
  await sendCommand(context, "pressKeys", { keys: context.words as KeyOrText[], delay_ms });
}

export async function text(context: Context): Promise<void> {
  if (context.words.join("") === "") throw new UsageError("which text?");
  // Stands for bytes that are not.
  if (/\ufffd/.test(context.words.join())) throw new UsageError("the text is not UTF-8");
  await pressKey(context, `literal:${context.words.join(" ")}`);
}
