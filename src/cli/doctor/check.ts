/** What a check is. All run at once, each with a deadline, and are told in the order of their table. */
import { textOf } from "../../api/errors.ts";
import { printable } from "../../system/log.ts";
import type { Examination } from "./examination.ts";

export type Verdict = "ok" | "warn" | "fail";

export interface Finding {
  readonly id: string;
  readonly status: Verdict;
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string;
}

export interface Check {
  /** What is looked at, for the line that says that it took too long. */
  readonly about: string;
  /** Milliseconds it may take. */
  readonly within: number;
  run(exam: Examination): Promise<readonly Finding[]>;
}

export const ok = (id: string, text: string): Finding => finding("ok", id, text);
export const warn = (id: string, text: string, hint?: string): Finding => finding("warn", id, text, hint);
export const fail = (id: string, text: string, hint?: string): Finding => finding("fail", id, text, hint);

/** Nothing that a device or a file is called reaches the terminal as it is. */
function finding(status: Verdict, id: string, text: string, hint?: string): Finding {
  return { id, status, text: printable(text), ...(hint !== undefined && { hint: printable(hint) }) };
}

/** Runs every check of a table; tells the findings of each as soon as those before it are told. */
export async function* runChecks(
  checks: Readonly<Record<string, Check>>,
  exam: Examination,
): AsyncGenerator<readonly Finding[]> {
  const running = Object.entries(checks).map(([id, check]) => bounded(id, check, exam));
  for (const one of running) yield await one;
}

async function bounded(id: string, check: Check, exam: Examination): Promise<readonly Finding[]> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    const text = `${check.about} could not be checked within ${check.within / 1000} s`;
    timer = setTimeout(() => resolve([warn(id, text)]), check.within);
  });
  const work = check
    .run(exam)
    .catch((error: unknown) => [warn(id, `${check.about} could not be checked: ${textOf(error)}`)]);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
