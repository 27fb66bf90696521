/** Reading back whether a command had its effect, for the devices that report it. */
import type { Confirmed, Connection, PlatformState, StatePart } from "../platforms/platform.ts";
import { until } from "../system/sleep.ts";
import type { Device } from "./device.ts";
import type { Endpoint } from "./endpoint.ts";

/** How long, and how often, an effect is polled for after the device took a command. */
export const effectPoll = { timeoutMs: 3_000, everyMs: 200 } as const;

/** Reads until `isDone`, or until the time is up; gives the last value. */
export async function readUntil<T>(
  read: () => Promise<T | null>,
  isDone: (value: T) => boolean,
  signal: AbortSignal,
  within: { readonly timeoutMs: number; readonly everyMs: number } = effectPoll,
): Promise<T | null> {
  let last: T | null = null;
  await until(
    async () => {
      last = await read();
      return last === null || isDone(last);
    },
    { ...within, signal },
  );
  return last;
}

/** What shows that a command had its effect. */
interface Effect {
  readonly parts: readonly StatePart[];
  /** Whether the device reports that at all, as far as is known by then; without it, it does. */
  isReported?(): boolean;
  isDone(state: Partial<PlatformState>): boolean;
}

/** Polls for the effect of a command, and publishes the last state; `null` where it cannot be known. */
export async function awaitEffect(
  { device, endpoint, connection }: { device: Device; endpoint: Endpoint; connection: Connection },
  { parts, isReported = () => true, isDone }: Effect,
  signal: AbortSignal,
): Promise<Confirmed> {
  const isEnough = (state: Partial<PlatformState>) => !isReported() || isDone(state);
  const state = await readUntil(() => tryReadParts(connection, parts, signal), isEnough, signal);
  if (!state) return null;
  const confirmed = isReported() ? isDone(state) : null;
  device.confirmEffect(state, confirmed === true, endpoint);
  return confirmed;
}

/** Parts of the state; `null` where the device reports none. */
export async function readParts(
  { state }: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return (await (state?.readParts?.(parts, signal) ?? state?.read(signal))) ?? null;
}

/** The same; `null` too where the device does not answer, since it took the command all the same. */
export function tryReadParts(
  connection: Connection,
  parts: readonly StatePart[],
  signal: AbortSignal,
): Promise<Partial<PlatformState> | null> {
  return readParts(connection, parts, signal).catch(() => null);
}
