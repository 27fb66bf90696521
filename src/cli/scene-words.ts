/** The results of steps, in words. */
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

export const reasonWords: Readonly<Record<NonNullable<StepResult["reason"]>, string>> = {
  already_so: "already in that state",
  nothing_before: "there was nothing to wait for",
  no_match: "the condition does not hold",
  stopped: "a step before it failed",
  other_branch: "it belongs to the other branch",
  cancelled: "the run was cancelled",
  dry_run: "it was only checked",
};
