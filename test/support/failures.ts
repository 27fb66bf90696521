/** What a run of tests says of those that failed: each with what stands before it, from the test before on. `bun failures.ts LOG` prints it. */
import { readFileSync } from "node:fs";

/** Lines of one failure, and characters of a line: that all of them can be read where little of a log is kept. */
const [mostLines, mostCharacters] = [60, 300];

export function failuresIn(said: string): string[] {
  const failures: string[] = [];
  let before: string[] = [];
  let inSummary = false;
  for (const line of said.split("\n")) {
    if (/^\d+ tests? (failed|skipped):$/.test(line)) inSummary = true;
    else if (/^Ran \d+ tests?/.test(line)) inSummary = false;
    else if (inSummary) continue;
    else if (line.startsWith("(fail)"))
      failures.push([...before.slice(-mostLines), line].map((one) => one.slice(0, mostCharacters)).join("\n"));
    else if (line.startsWith("  ^ this test ")) failures.push(`${failures.pop()}\n${line}`);
    if (/^\((fail|pass|skip)\)|^test\/.*:$|^Ran /.test(line)) before = [];
    else before.push(line);
  }
  return failures;
}

/** The same of one child that has failed: its last words where no test of it did. */
export function whyFailed(said: string): string {
  return failuresIn(said).join("\n") || said.slice(-2_000);
}

if (import.meta.main) process.stdout.write(`${whyFailed(readFileSync(process.argv[2] ?? "", "utf8"))}\n`);
