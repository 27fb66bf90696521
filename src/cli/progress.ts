/** A progress line on a terminal; nothing where the output is no terminal. */
import { isPowerOff } from "../api/client-words.ts";
import { type OperationName, operationRoutes } from "../api/routes.ts";
import { printable } from "../system/printable.ts";
import type { CommonArguments } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { cut } from "./print.ts";
import { tryCall } from "./requests.ts";

export interface Progress {
  /** Replaces the line. */
  show(text: string): void;
  /** Replaces the line and ends it. */
  keep(text: string): void;
  /** Erases the line that was shown and not kept. */
  clear(): void;
}

const silent: Progress = { show() {}, keep() {}, clear() {} };

/** Whether a line can be drawn over the one before it. */
export function isRedrawn(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && process.env["TERM"] !== "dumb";
}

/** The columns of a line that is drawn over: some terminals break it when its last column is used. */
export function redrawnWidth(stream: NodeJS.WriteStream): number {
  return (stream.columns || 80) - 1;
}

export function progressOn(stream: NodeJS.WriteStream): Progress {
  if (!isRedrawn(stream)) return silent;
  const put = (text: string, end: string) => void stream.write(`\r${cut(text, redrawnWidth(stream))}\x1b[K${end}`);
  let shown = false;
  return {
    show(text) {
      shown = true;
      put(text, "");
    },
    keep(text) {
      shown = false;
      put(text, "\n");
    },
    clear() {
      if (shown) stream.write("\r\x1b[K");
      shown = false;
    },
  };
}

const barColumns = 18;

/** `█████████░░░░░░░░░` */
export function bar(done: number, total: number): string {
  const full = Math.floor((barColumns * Math.min(done, total)) / total);
  return "█".repeat(full) + "░".repeat(barColumns - full);
}

export const tellEveryMs = 1_000;

/**
 * Shows what a call waits for, until the returned function is called. The line stays where a device was woken. `since`: when
 * the call began.
 */
export async function showWaiting(
  context: Context,
  name: OperationName,
  given: CommonArguments,
  since: number,
): Promise<(done: boolean) => void> {
  const known = given.id === undefined ? null : await tryCall(context, "getDevice", { id: given.id }, 1_000);
  const asleep = known?.ok === true && isPowerOff(known.data.power);
  const waking = asleep && wakes(name, given.body);
  const set = printable((known?.ok ? known.data.name : (given.id ?? given.group)) ?? "the daemon");
  const text = waking ? `waking ${set}` : `waiting for ${set}`;
  const progress = progressOn(stderr());
  const seconds = () => Math.round((performance.now() - since) / 1_000);
  const show = () => progress.show(`${text} … ${seconds()} s`);
  show();
  const timer = setInterval(show, tellEveryMs);
  return (done) => {
    clearInterval(timer);
    if (done && waking) progress.keep(`${text} … on after ${seconds()} s`);
    else progress.clear();
  };
}

/** Whether an operation wakes a device; reads, turning off and leaving an app do not (src/api/README.md, Off and waking). */
function wakes(name: OperationName, body: unknown): boolean {
  const key = typeof body === "object" && body !== null && "key" in body ? body.key : undefined;
  const { method, reaches } = operationRoutes[name];
  return method === "post" && reaches === "device" && name !== "stopApp" && key !== "power-off";
}
