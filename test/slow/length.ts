/** How much of a long test is run: all of it, or the part that `$ZAPD_LONG` says, such as 0.05 where there is little time. */
export const part = Number(process.env["ZAPD_LONG"] ?? 1);

/** So little that generated cases and tables are no longer than in `npm test`, and that a runtime stands for all. */
export const isSample = part < 0.1;

/** So many of `whole`, and `least` at least. */
export function some(whole: number, least: number): number {
  return Math.max(least, Math.round(whole * part));
}
