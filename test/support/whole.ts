/**
 * How much of a test is run. `npm test` tries a few generated cases, a sample of long tables, and leaves out what is slow by
 * nature; `npm run test:slow` (test/slow/whole.*.ts) runs the same files with `$ZAPD_WHOLE`, the part of all generated
 * cases that SECURITY.md asks of CI (1: all), with whole tables and slow tests. `$FC_SEED` repeats a run. What `.ci/run` alone
 * runs, those and the other runtimes, has time for more than `npm test` (`isQuick`).
 */
import { test } from "bun:test";

const part = Number(process.env["ZAPD_WHOLE"] ?? 0);
export const isWhole = part > 0;
/** Whether long tables that name each kind of case once for `npm test` are played whole: for a small part they are not. */
export const hasWholeTables = part >= 0.1;

/** `npm test` itself: neither everything, nor another runtime, nor real time. */
export const isQuick =
  !isWhole && (process.env["ZAPD_TEST_RUNTIME"] ?? "bun") === "bun" && process.env["ZAPD_TEST_CLOCK"] !== "real";

/** Of all generated cases; a runner prints it with what failed. */
export const seed = Number(process.env["FC_SEED"] ?? Date.now());

/** How many generated cases a property is tried with. */
export function runs(few: number, whole: number): number {
  return isWhole ? Math.max(few, Math.round(whole * part)) : few;
}

/** The time for a property: an hour when all its cases are tried. */
export function within(): number {
  return isWhole ? 3_600_000 : 60_000;
}

/** `count` rows spread over a table in `npm test`; where more is tried, that part of the table, all of it in the end. */
export function sampleOf<T>(rows: readonly T[], count: number): T[] {
  const taken = Math.max(count, Math.ceil(rows.length * part));
  if (taken >= rows.length) return [...rows];
  return Array.from({ length: taken }, (_, at) => rows[Math.floor((at * rows.length) / taken)]).filter(
    (row) => row !== undefined,
  );
}

/** How the titles of slow tests end, so that they can be run alone. */
export const slowMark = " (slow)";

/** A test that waits, or works, too long for `npm test`: it is defined where everything is tried. */
export function slowTest(title: string, body: () => unknown, timeoutMs?: number): void {
  if (isWhole) test(`${title}${slowMark}`, async () => void (await body()), timeoutMs);
}

/** As `slowTest`, beside the others of its file. */
export function slowConcurrentTest(title: string, body: () => unknown, timeoutMs?: number): void {
  if (isWhole) test.concurrent(`${title}${slowMark}`, async () => void (await body()), timeoutMs);
}
