/** The part of each long test that is run, from `$ZAPD_LONG`, such as 0.05. Default: all of it. */
export const part = Number(process.env["ZAPD_LONG"] ?? 1);

/** Whether so little is run that generated cases and tables are no longer than in `npm test`, and one runtime stands for all. */
export const isSample = part < 0.1;

/** That part of `whole`, but not less than `least`. */
export function some(whole: number, least: number): number {
  return Math.max(least, Math.round(whole * part));
}
