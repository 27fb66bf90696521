/** What a device does before and after a command, read from the device itself. */
import type { Client } from "../api/client.ts";
import type { State } from "../api/schemas.ts";
import { sleep } from "../system/sleep.ts";

/** Between two reads of a device that does not show the effect yet. */
const everyMs = 250;

/** Reads the state of a device; `null` where it does not answer in time. */
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

/** Reads what each of several does, all at once, by their ids. */
export async function readStates(
  api: Client,
  ids: readonly string[],
  withinMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, State | null>> {
  return new Map(await Promise.all(ids.map(async (id) => [id, await readState(api, id, withinMs, signal)] as const)));
}

/** Reads the state of a device until `isSo` holds or the time is over; the last that was read, `null` where it did not answer. */
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
