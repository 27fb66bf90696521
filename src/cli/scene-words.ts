/** What comes of steps, in words. */
import type { StepResult } from "../api/client.ts";

export const statusWords: Readonly<Record<StepResult["status"], string>> = {
  did: "done",
  skipped: "skipped",
  failed: "failed",
  not_run: "not run",
};

export function stepsText(count: number): string {
  return count === 1 ? "one step" : `${count} steps`;
}
