/**
 * How much of a test is run. `npm test` tries a few generated cases and a sample of long tables, without slow tests.
 * `npm run test:slow` (test/slow/whole.*.ts) runs the same files with `$ZAPD_WHOLE`, the part of all generated cases that
 * SECURITY.md asks of CI (1: all), with whole tables and slow tests. `$FC_SEED` repeats a run.
 */
import { test } from "bun:test";

const part = Number(process.env["ZAPD_WHOLE"] ?? 0);
export const isWhole = part > 0;
/** Whether tables whose sample has each kind of case once are run whole. */
export const hasWholeTables = part >= 0.1;

/** `npm test` itself: neither everything, nor another runtime, nor real time. */
export const isQuick =
  !isWhole && (process.env["ZAPD_TEST_RUNTIME"] ?? "bun") === "bun" && process.env["ZAPD_TEST_CLOCK"] !== "real";

/** The seed of all generated cases. */
export const seed = Number(process.env["FC_SEED"] ?? Date.now());

/** The number of generated cases for a property. */
export function runs(few: number, whole: number): number {
  return isWhole ? Math.max(few, Math.round(whole * part)) : few;
}

/** The timeout for a property: an hour for all its cases. */
export function within(): number {
  return isWhole ? 3_600_000 : 60_000;
}

/** `count` rows spread over a table in `npm test`; in a whole run that part of the table, at most all of it. */
export function sampleOf<T>(rows: readonly T[], count: number): T[] {
  const taken = Math.max(count, Math.ceil(rows.length * part));
  if (taken >= rows.length) return [...rows];
  return Array.from({ length: taken }, (_, at) => rows[Math.floor((at * rows.length) / taken)]).filter(
    (row) => row !== undefined,
  );
}

/** How the titles of slow tests end, so that they can be run alone. */
export const slowMark = " (slow)";

/** A test that is too slow for `npm test`, and part of whole runs alone. */
export function slowTest(title: string, body: () => unknown, timeoutMs?: number): void {
  if (isWhole) test(`${title}${slowMark}`, async () => void (await body()), timeoutMs);
}

/** As `slowTest`, concurrent. */
export function slowConcurrentTest(title: string, body: () => unknown, timeoutMs?: number): void {
  if (isWhole) test.concurrent(`${title}${slowMark}`, async () => void (await body()), timeoutMs);
}
