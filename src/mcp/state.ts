/** Reads states before and after a command. */
import type { Client } from "../api/client.ts";
import type { State } from "../api/schemas.ts";
import { sleep } from "../system/sleep.ts";

/** Between two reads of a device that does not show the effect yet. */
export const pollMs = 250;

/** Reads the state of a device; `null` where it does not answer in time. */
export async function readState(
  api: Client,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<State | null> {
  if (timeoutMs <= 0) return null;
  // Not every runtime takes a part of a millisecond.
  const limited = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(timeoutMs))]);
  try {
    return (await api.getState({ id, signal: limited })).state;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Reads the states of several devices at once, by their ids. */
export async function readStates(
  api: Client,
  ids: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, State | null>> {
  return new Map(await Promise.all(ids.map(async (id) => [id, await readState(api, id, timeoutMs, signal)] as const)));
}

/** Reads the state of a device until `isDone` or the time is over. Returns the last state, `null` where none could be read. */
export async function readUntil(
  api: Client,
  id: string,
  isDone: (state: State) => boolean,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<State | null> {
  const end = performance.now() + timeoutMs;
  let last: State | null = null;
  for (;;) {
    const left = end - performance.now();
    const state = await readState(api, id, left, signal);
    last = state ?? last;
    if (state && isDone(state)) return state;
    if (end - performance.now() <= pollMs) return last;
    await sleep(pollMs, signal);
  }
}
