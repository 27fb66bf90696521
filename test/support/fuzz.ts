/**
 * How many generated cases a property is tried with: a few in `npm test`, and with `$ZAPD_FUZZ` that part of what SECURITY.md
 * asks of CI; `npm run test:slow` tries all (1). `$FC_SEED` repeats a run.
 */
const part = Number(process.env["ZAPD_FUZZ"] ?? 0);
export const isWhole = part > 0;

/** Of all cases; a runner prints it with what failed. */
export const seed = Number(process.env["FC_SEED"] ?? Date.now());

export function runs(few: number, whole: number): number {
  return isWhole ? Math.max(few, Math.round(whole * part)) : few;
}

/** The time for a property that takes `few` milliseconds: an hour when all its cases are tried. */
export function within(few: number): number {
  return isWhole ? 3_600_000 : few;
}
