/** Programs started as a newcomer starts them, in a home of their own: no setting says where anything is. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, zapdWords } from "../support/daemon.ts";
import { saidBy } from "../support/said.ts";
import { root } from "../support/sources.ts";

export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

interface Place {
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What it reads; nothing, when left out. */
  readonly input?: string;
}

/** Runs a program to its end. */
export async function runProgram(command: readonly string[], { cwd = root, env, input = "" }: Place): Promise<Ended> {
  const child = Bun.spawn([...command], { cwd, env, stdin: new Blob([input]), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { stdout, stderr, status: child.exitCode };
}

/** The command line under test, run to its end. */
export function runZapd(words: readonly string[], place: Place): Promise<Ended> {
  return runProgram([...zapdWords(), ...words], place);
}

export interface Running {
  readonly child: ChildProcess;
  /** What it has said so far, on both streams. */
  said(): string;
  /** Waits until it has said this. */
  says(what: string | RegExp): Promise<void>;
  /** Its exit status, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

export interface Home {
  readonly folder: string;
  /** Where the config of a user is, on this system as on Linux. */
  readonly configFile: string;
  readonly port: number;
  start(command: string, words: readonly string[], cwd?: string): Running;
  run(command: string, words: readonly string[], cwd?: string): Promise<Ended>;
  /** Ends what still runs, and removes everything. */
  leave(): Promise<void>;
}

export async function makeHome(): Promise<Home> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-home-"));
  const port = await freePort();
  const configFile = join(folder, ".config", "zapd", "config.toml");
  mkdirSync(join(folder, ".config", "zapd"), { recursive: true, mode: 0o700 });
  mkdirSync(join(folder, "run"), { mode: 0o700 });
  const quiet = `[daemon]\nhttp_port = ${port}\n[discovery]\non_start = false\ninterfaces = ["lo"]\n`;
  writeFileSync(configFile, quiet, { mode: 0o600 });
  const { PATH = "" } = process.env;
  const env = {
    PATH,
    HOME: folder,
    TMPDIR: folder,
    XDG_RUNTIME_DIR: join(folder, "run"),
    LANG: "C.UTF-8",
    TZ: "UTC",
    npm_config_update_notifier: "false",
    npm_config_loglevel: "error",
  };
  const all: Running[] = [];
  const start = (command: string, words: readonly string[], cwd = root): Running => {
    // A group of its own, as a terminal gives a command: so that all of it can be ended.
    const child = spawn(command, [...words], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const said = saidBy(child);
    const running: Running = {
      child,
      said: () => said.all,
      async says(what) {
        const heard = () => (typeof what === "string" ? said.all.includes(what) : what.test(said.all));
        for (let tries = 0; tries < 1_000 && !heard() && child.exitCode === null; tries++) await Bun.sleep(20);
        if (!heard()) throw new Error(`${command} ${words.join(" ")} never said ${what}, but:\n${said.all}`);
      },
      ended: new Promise((resolve) => child.on("close", (status, signal) => resolve(signal ?? status))),
    };
    all.push(running);
    return running;
  };
  return {
    folder,
    configFile,
    port,
    start,
    run: (command, words, cwd = root) => runProgram([command, ...words], { cwd, env }),
    async leave() {
      for (const { child } of all) if (child.exitCode === null && child.signalCode === null) endGroup(child);
      await Promise.all(all.map(({ ended }) => ended));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function endGroup({ pid = 0 }: ChildProcess): void {
  try {
    if (pid > 0) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
