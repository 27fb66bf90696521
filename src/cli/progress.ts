/** One line on a terminal that changes while something goes on; silent elsewhere. */

import type { Device } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { ask } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { cut } from "./print.ts";

export interface Progress {
  /** Puts this in the place of what was shown. */
  show(text: string): void;
  /** The same, and keeps it. */
  keep(text: string): void;
  /** Takes away what was shown and not kept. */
  clear(): void;
}

const silent: Progress = { show() {}, keep() {}, clear() {} };

export function progressOn(stream: NodeJS.WriteStream): Progress {
  if (stream.isTTY !== true || process.env["TERM"] === "dumb") return silent;
  // One column is left free: some terminals break the line when the last is taken.
  const put = (text: string, end: string) =>
    void stream.write(`\r${cut(text, (stream.columns || 80) - 1)}\x1b[K${end}`);
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
  const full = total === 0 ? barColumns : Math.floor((barColumns * Math.min(done, total)) / total);
  return "█".repeat(full) + "░".repeat(barColumns - full);
}

const within = 1_000;
const tellEvery = 1_000;

export interface Waiting {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

/** Begins to tell; what it gives ends it, and keeps the line where a set was woken. `since` is when the waiting began. */
export async function tellWaiting(context: Context, asked: Waiting, since: number): Promise<(done: boolean) => void> {
  const what = await waitingFor(context, asked);
  const progress = progressOn(stderr());
  const seconds = () => Math.round((performance.now() - since) / 1_000);
  const show = () => progress.show(`${what.text} … ${seconds()} s`);
  show();
  const timer = setInterval(show, tellEvery);
  return (done) => {
    clearInterval(timer);
    if (done && what.wakes) progress.keep(`${what.text} … on after ${seconds()} s`);
    else progress.clear();
  };
}

async function waitingFor(context: Context, asked: Waiting): Promise<{ text: string; wakes: boolean }> {
  const segment = /^\/devices\/([^/]+)\//.exec(asked.path)?.[1];
  if (segment === undefined) return { text: "waiting for the daemon", wakes: false };
  const known = await ask<Device>(context, "GET", `/devices/${segment}`, { within });
  const name = known.ok ? printable(known.data.name) : printable(decodeURIComponent(segment));
  const asleep = known.ok && (known.data.power === "off" || known.data.power === "standby");
  return asleep && wakes(asked)
    ? { text: `waking ${name}`, wakes: true }
    : { text: `waiting for ${name}`, wakes: false };
}

/** Reading, turning off and leaving an app wake nobody (README, Off is a state). */
function wakes({ method, path, body }: Waiting): boolean {
  const key = typeof body === "object" && body !== null && "key" in body ? body.key : undefined;
  return method === "POST" && !path.endsWith("/apps/stop") && key !== "power-off";
}
