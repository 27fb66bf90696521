/** Files of `npm test` that are run whole: those that measure time have the machine to themselves. */
import { expect } from "bun:test";
import { whyFailed } from "../support/failures.ts";
import { root } from "../support/sources.ts";
import { isSample, part } from "./length.ts";

export const measured = ["test/security/xml-cost.test.ts"];

export interface RunOptions {
  /** The end of the titles of the tests that are run. Default: all of them. */
  readonly only?: string;
  /** A sample runs by the fast clock of `npm test`, but for what measures the limits of a runtime. */
  readonly realTime?: boolean;
}

/** Runs a file with all its cases, or the part of the generated ones that `$ZAPD_LONG` says. */
export async function runWhole(file: string, { only, realTime = !isSample }: RunOptions = {}): Promise<void> {
  const words = only === undefined ? [] : ["--test-name-pattern", `${RegExp.escape(only)}$`];
  const child = Bun.spawn([process.execPath, "test", "--timeout", "3600000", ...words, file], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ZAPD_WHOLE: String(part), ZAPD_TEST_CLOCK: realTime ? "real" : "" },
  });
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([status, status === 0 ? "" : whyFailed(out + err)]).toEqual([0, ""]);
}
