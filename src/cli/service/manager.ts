/** What a service manager is to zapd, and how its programs are run. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { exits, systemCode } from "../../api/errors.ts";
import { makeFolder, writeWhole } from "../../system/files.ts";
import { CommandError } from "../failure.ts";

/** What a program did; `status` is `null` when there is no such program. */
export interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export type Run = (program: string, words: readonly string[]) => Promise<Ran>;

export interface ServiceState {
  readonly installed: boolean;
  /** Whether it is started at login. */
  readonly enabled: boolean;
  readonly running: boolean;
}

export interface Manager {
  /** What the service is called there. */
  readonly name: string;
  /** The file that describes it, and its text as it would be now. */
  readonly file: string;
  readonly text: string;
  /** How its log is read. */
  readonly log: string;
  /** Fails with CommandError when the manager is not there. */
  ready(): Promise<void>;
  state(): Promise<ServiceState>;
  /** Has it run what the file says, from now on and at each login; `changed` when the file is another than before. */
  start(changed: boolean): Promise<void>;
  /** Ends it, and takes it from those that are started. The file is still there. */
  stop(): Promise<void>;
  /** After the file has been removed. */
  forget(): Promise<void>;
  /** What else its owner should know. */
  advice(): Promise<string[]>;
}

const programWithin = 30_000;

export const runProgram: Run = (program, words) =>
  new Promise((resolve) => {
    execFile(program, [...words], { timeout: programWithin, encoding: "utf8" }, (error, out, err) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ status: status === null && systemCode(error) !== "ENOENT" ? -1 : status, out, err });
    });
  });

/** Runs a program that must succeed. */
export async function mustRun(run: Run, program: string, words: readonly string[]): Promise<string> {
  const { status, out, err } = await run(program, words);
  if (status === 0) return out;
  const said = err.trim().split("\n")[0] || `it ended with ${status}`;
  throw new CommandError(`${[program, ...words].join(" ")} failed: ${said}`, exits.failed);
}

/** The file as it is, or `null`. Fails with CommandError when somebody else has written it. */
export async function ownFile(path: string, mark: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${path} could not be read (${systemCode(error)})`, exits.failed);
  });
  if (text === null || text.includes(mark)) return text;
  throw new CommandError(
    `${path} is there already, and zapd did not write it`,
    exits.failed,
    "Move it away; nothing was changed",
  );
}

/** Writes the file unless it says the same already; whether it did. */
export async function writeFileOf(path: string, text: string, before: string | null): Promise<boolean> {
  if (before === text) return false;
  makeFolder(dirname(path));
  await writeWhole(path, text);
  return true;
}
