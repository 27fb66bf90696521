/** Lengths of time as they are typed. */
import { UsageError } from "./failure.ts";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** A longer timer would overflow and be none. */
const most = 24 * 3_600_000;

/** Milliseconds of `30s`, `500ms`, `1.5m`; a bare number is seconds. Fails with UsageError. */
export function milliseconds(option: string, given: string): number {
  const [, amount = "", unit = "s"] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(given.trim()) ?? [];
  const ms = Math.round(Number(amount) * (units[unit] ?? 0));
  if (amount === "" || ms < 1 || ms > most)
    throw new UsageError(`--${option} takes a time such as 30s, 500ms or 2m, and ${JSON.stringify(given)} is none`);
  return ms;
}

/** `500 ms`, `30 s`. */
export function spoken(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
}
