/**
 * How many generated cases a property is tried with: a few in `npm test`, and with `$ZAPD_FUZZ` the number that SECURITY.md
 * asks of CI, which `npm run test:long` sets. `$FC_SEED` repeats a run.
 */
export const isWhole = process.env["ZAPD_FUZZ"] !== undefined;

/** Of all cases; a runner prints it with what failed. */
export const seed = Number(process.env["FC_SEED"] ?? Date.now());

export function runs(few: number, whole: number): number {
  return isWhole ? whole : few;
}

/** The time for a property that takes `few` milliseconds: an hour when all its cases are tried. */
export function within(few: number): number {
  return isWhole ? 3_600_000 : few;
}
