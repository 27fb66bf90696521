/** What a device does before and after a command, read from the device itself. */
import type { Client } from "../api/client.ts";
import type { State } from "../api/schemas.ts";
import { sleep } from "../system/sleep.ts";

/** Between two looks at a device that does not show yet what it was told. */
const everyMs = 250;

/** Reads what a device does, for so long at most; `null` where it does not say in time. */
export async function readState(api: Client, id: string, withinMs: number, signal: AbortSignal): Promise<State | null> {
  if (withinMs <= 0) return null;
  const within = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
  try {
    return (await api.getState({ id, signal: within })).state;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** The last that was read of a device until it is so, or the time is over; `null` where it said nothing. */
export async function readUntil(
  api: Client,
  id: string,
  isSo: (state: State) => boolean,
  withinMs: number,
  signal: AbortSignal,
): Promise<State | null> {
  const end = performance.now() + withinMs;
  let last: State | null = null;
  for (;;) {
    const left = end - performance.now();
    const state = await readState(api, id, left, signal);
    last = state ?? last;
    if (state && isSo(state)) return state;
    if (end - performance.now() <= everyMs) return last;
    await sleep(everyMs, signal);
  }
}
