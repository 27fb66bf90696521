/** The keys of a remote on the command line, which load nothing that a key press does not need. Silence is success. */
import type { KeyOrText } from "../api/schemas.ts";
import { call, groupOf } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function key(context: Context): Promise<void> {
  const [name, ...more] = context.words;
  if (!name) throw new UsageError("which key?");
  if (more.length > 0) throw new UsageError("one key at a time; for several there is zapd keys");
  await pressKey(context, name);
}

/** Presses one key; silence is success. */
export async function pressKey(context: Context, key: string, how: { readonly hold_ms?: number } = {}): Promise<void> {
  const body = { key: keyOf(key), ...how };
  if (groupOf(context)) return (await import("./group.ts")).callGroup(context, "pressKeyOfGroup", body);
  context.reportDone(await call(context, "pressKey", { id: context.device, body }));
}

/** Any word is sent: the daemon knows the keys, and suggests the one that was meant. */
function keyOf(word: string): KeyOrText {
  return word as KeyOrText;
}

export async function keys(context: Context): Promise<void> {
  const delay = context.option("delay");
  if (context.words.length === 0) throw new UsageError("which keys?");
  if (delay !== undefined && !/^\d+$/.test(delay)) throw new UsageError("--delay takes milliseconds");
  const body = { keys: context.words.map(keyOf), delay_ms: delay === undefined ? undefined : Number(delay) };
  if (groupOf(context)) return (await import("./group.ts")).callGroup(context, "pressKeysOfGroup", body);
  context.reportDone(await call(context, "pressKeys", { id: context.device, body }));
}

export async function text(context: Context): Promise<void> {
  if (context.words.join("") === "") throw new UsageError("which text?");
  await pressKey(context, `literal:${context.words.join(" ")}`);
}
