/** The arithmetic of the benchmark: middles, spreads and ratios of what the rounds gave. Pure. */

/** What several rounds gave of one figure, in that figure's own unit. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** The middle value; between the two middle ones when there is an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The value that `share` (0 to 1) of all values do not exceed: the nearest rank, never one that was not measured. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/**
 * How many times the limit, round by round: what disturbs the machine disturbs both sides of a round, and so falls out.
 * Both lists are in order of the rounds, and in one unit.
 */
export function ratios(values: readonly number[], limits: readonly number[]): Spread {
  if (values.length !== limits.length) throw new Error("a ratio needs as many limits as values");
  return spreadOf(values.map((value, at) => value / (limits[at] ?? Number.NaN)));
}

/** Three digits that count, or as many as asked for, in plain decimals: `0.0512`, `1.28`, `31400`. */
export function short(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "none";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return size >= digits - 1 ? String(Math.round(value)) : value.toFixed(Math.min(5, digits - 1 - size));
}
