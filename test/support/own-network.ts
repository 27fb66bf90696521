/**
 * Tests with searches run in a network namespace of their own, or their daemons would find the sets of other files. The file
 * runs itself again there; where the system forbids that, it is skipped.
 */
import { test } from "bun:test";
import { execFileSync, spawn } from "node:child_process";
import { relative } from "node:path";
import { whyFailed } from "./failures.ts";
import { saidBy } from "./said.ts";
import { root } from "./sources.ts";
import { isWhole } from "./whole.ts";

/** Milliseconds for a file; whole tables take minutes. */
const within = isWhole ? 1_800_000 : 600_000;
const marker = "ZAPD_OWN_NETWORK";
const isRoot = process.getuid?.() === 0;
const unshare = ["unshare", isRoot ? "-n" : "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] as const;

/** Why that is impossible here, or `null`. */
function whyNot(): string | null {
  if (Bun.which("unshare") === null || Bun.which("ip") === null) return "there is no unshare or no ip";
  try {
    const [program, ...words] = unshare;
    execFileSync(program, [...words, "true"], { stdio: "pipe" });
    return null;
  } catch {
    return "network namespaces cannot be made";
  }
}

/** The command that runs a program in its own network; `null` where that is impossible. */
export const inOwnNetwork = whyNot() === null ? unshare : null;

/**
 * Whether this process is in its own network, so that the tests of a file may be defined. If not, one test with this title
 * runs the file in such a network.
 */
export function definesHere(file: string, title: string): boolean {
  if (process.env[marker] !== undefined) return true;
  const reason = whyNot();
  if (reason !== null) {
    process.stderr.write(`skipped: ${relative(root, file)}: ${reason}\n`);
    test.skip(`${title} (skipped: ${reason})`, () => {});
    return false;
  }
  test(
    title,
    async () => {
      const [program, ...words] = unshare;
      const child = spawn(
        program,
        [...words, process.execPath, "test", "--max-concurrency=4", "--timeout", "60000", file],
        {
          cwd: root,
          stdio: ["ignore", "pipe", "pipe"],
          env: { ...process.env, [marker]: "yes" },
        },
      );
      const said = saidBy(child);
      const timer = setTimeout(() => child.kill("SIGKILL"), within);
      const status = await new Promise((resolve) => child.on("close", (code, signal) => resolve(code ?? signal)));
      clearTimeout(timer);
      if (status === 0) return;
      throw new Error(`ended with ${status}:\n${whyFailed(said.all)}`);
    },
    within + 5_000,
  );
  return false;
}
