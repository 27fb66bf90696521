/** What a command waits for, told on a terminal while it waits. */
import type { Device } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { ask } from "./ask.ts";
import type { Context } from "./context.ts";
import { stderr } from "./output.ts";
import { progressOn } from "./progress.ts";

const within = 1_000;
const tellEvery = 1_000;

export interface Asked {
  readonly method: string;
  /** Below `/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

/** Begins to tell; what it gives ends it, and keeps the line where a set was woken. `since` is when the waiting began. */
export async function tellWaiting(context: Context, asked: Asked, since: number): Promise<(done: boolean) => void> {
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

async function waitingFor(context: Context, asked: Asked): Promise<{ text: string; wakes: boolean }> {
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
function wakes({ method, path, body }: Asked): boolean {
  const key = typeof body === "object" && body !== null && "key" in body ? body.key : undefined;
  return method === "POST" && !path.endsWith("/apps/stop") && key !== "power-off";
}
