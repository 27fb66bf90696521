/** The failed tests in the output of a run, each with its own lines, and errors between tests. `bun failures.ts LOG` prints them. */
import { readFileSync } from "node:fs";

/** Limits for each failure, so that all of them fit where little of a log is kept. */
const [mostLines, mostCharacters] = [60, 300];

/** Stands before and behind an error that no test has caught. */
const rule = "-".repeat(31);

function failuresIn(said: string): string[] {
  const failures: string[] = [];
  let before: string[] = [];
  let inSummary = false;
  for (const line of said.split("\n")) {
    if (/^\d+ tests? (failed|skipped):$/.test(line)) inSummary = true;
    else if (/^Ran \d+ tests?/.test(line)) inSummary = false;
    else if (inSummary) continue;
    const isFailure = line.startsWith("(fail)") || (line === rule && before.includes(rule));
    if (isFailure)
      failures.push([...before.slice(-mostLines), line].map((one) => one.slice(0, mostCharacters)).join("\n"));
    else if (line.startsWith("  ^ this test ")) failures.push(`${failures.pop()}\n${line}`);
    if (isFailure || /^\((pass|skip)\)|^test\/.*:$|^Ran /.test(line)) before = [];
    else before.push(line);
  }
  return failures;
}

/** Why a child process failed: its failed tests, or the end of its output. */
export function whyFailed(said: string): string {
  return failuresIn(said).join("\n") || said.slice(-2_000);
}

if (import.meta.main) process.stdout.write(`${whyFailed(readFileSync(process.argv[2] ?? "", "utf8"))}\n`);
