/** The remote on the command line. Silence is success. */
import { call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";

export async function key(context: Context): Promise<void> {
  const [name, ...more] = context.words;
  if (!name) throw new UsageError("which key?");
  if (more.length > 0) throw new UsageError("one key at a time; for several there is zapd keys");
  await pressKey(context, name);
}

/** Presses one key; silence is success. */
export async function pressKey(context: Context, key: string): Promise<void> {
  await press(context, "/remote/key", { key });
}

export async function keys(context: Context): Promise<void> {
  const { delay } = context.options;
  if (context.words.length === 0) throw new UsageError("which keys?");
  if (delay !== undefined && !/^\d+$/.test(String(delay))) throw new UsageError("--delay takes milliseconds");
  await press(context, "/remote/sequence", {
    keys: context.words,
    ...(delay !== undefined && { delay_ms: Number(delay) }),
  });
}

export async function text(context: Context): Promise<void> {
  if (context.words.join("") === "") throw new UsageError("which text?");
  await press(context, "/remote/key", { key: `literal:${context.words.join(" ")}` });
}

async function press(context: Context, path: string, body: unknown): Promise<void> {
  const { text } = await call(context, "POST", devicePath(context.device, path), { body });
  if (context.json) context.print(text);
}
