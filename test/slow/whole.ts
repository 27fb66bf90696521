/** Files of `npm test` that are run whole: those that measure time have the machine to themselves. */
import { expect } from "bun:test";
import { whyFailed } from "../support/failures.ts";
import { root } from "../support/sources.ts";
import { part } from "./length.ts";

export const measured = ["test/security/xml-cost.test.ts"];

/** Runs a file with all its cases, or the part of the generated ones that `$ZAPD_LONG` says. */
export async function runWhole(file: string): Promise<void> {
  const child = Bun.spawn([process.execPath, "test", "--timeout", "3600000", file], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ZAPD_WHOLE: String(part) },
  });
  const [out, err, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([status, status === 0 ? "" : whyFailed(out + err)]).toEqual([0, ""]);
}
