/** What the checks look at beside the daemon. Tests give them a machine of their own. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { type Interface, interfacesNow } from "../../discovery/interfaces.ts";

export interface Machine {
  readonly platform: string;
  /** `null` where files have no owner by number. */
  readonly uid: number | null;
  now(): Date;
  interfaces(): readonly Interface[];
  /** The text of a file, or `null` when it cannot be read. */
  read(path: string): Promise<string | null>;
  /** What a program prints, whatever its exit status; `null` when there is none, or it takes longer than a second. */
  output(program: string, words: readonly string[]): Promise<string | null>;
}

const programWithin = 1_000;

export function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    now: () => new Date(),
    interfaces: interfacesNow,
    read: (path) => readFile(path, "utf8").catch(() => null),
    output: (program, words) =>
      new Promise((resolve) => {
        execFile(program, [...words], { timeout: programWithin, encoding: "utf8" }, (error, stdout) =>
          resolve(error && typeof error.code !== "number" ? null : stdout.trim()),
        );
      }),
  };
}
