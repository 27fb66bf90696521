/** A daemon as a process, with its own config, state folder and port. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { street } from "./lane.ts";
import { saidBy } from "./said.ts";

const root = join(import.meta.dir, "..", "..");

// The daemon may close an idle connection at the moment of its next use: each call opens its own.
const { fetch: fetchKept } = globalThis;
globalThis.fetch = Object.assign(
  (to: Parameters<typeof fetch>[0], init?: RequestInit) => fetchKept(to, { keepalive: false, ...init }),
  fetchKept,
);

let nextPort = 0;

/** A TCP port that was free a moment ago, and that no other process of tests uses. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  for (let tries = 0; tries < street.ports; tries++) {
    const port = street.from + (nextPort++ % street.ports);
    const server = net.createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.on("error", () => resolve(false));
      server.listen(port, host, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
  throw new Error(`no port from ${street.from} on is free at ${host}`);
}

/** The source under Bun or Deno, or the compiled binary. */
export type Runtime = "bun" | "deno" | "binary";

/** The runtime of this run of tests. */
export const usualRuntime = (process.env["ZAPD_TEST_RUNTIME"] ?? "bun") as Runtime;

export interface DaemonSetup {
  /**
   * Sections of the config over the defaults of a test, which never scan. Timeouts are in real milliseconds, whatever the
   * speed of the daemon's clock.
   */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The folder of an earlier daemon, to use again. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** More words after `serve`, such as `--no-page`. */
  readonly words?: readonly string[];
  /** A program that runs the daemon, with its arguments, such as `unshare`. */
  readonly within?: readonly string[];
  /** The port of 127.0.0.1 at which its runtime's inspector listens. */
  readonly inspector?: number;
  /** Runs the source, not a compiled program: for tests that look into the process. */
  readonly fromSource?: true;
  /** `$ZAPD_TEST_RUNTIME` by default. */
  readonly runtime?: Runtime;
  /**
   * How many times as fast its clock runs, so that tests need not wait: by default as that of the earlier daemon of its folder,
   * else 4; 1 where time is measured, and always 1 for the binary and under Deno.
   */
  readonly speed?: 1 | 2 | 4;
}

/** An answer of the API. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape, and check them against the schema elsewhere
  readonly body: any;
}

/** For `await using`, or until it is disposed of. */
export interface TestDaemon extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly folder: string;
  readonly configFile: string;
  readonly stateFolder: string;
  readonly process: ChildProcess;
  /** What it has written to stderr so far. */
  log(): string;
  /** One call; `body` is sent as JSON, and a path is below `/v1`. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  /** How many times as fast as real time its clock runs. */
  readonly speed: number;
  /** Sleeps for so many milliseconds of its clock. */
  sleep(ms: number): Promise<void>;
  /** Ends it with a signal, and returns its exit status (`null` after SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Ends it and removes its folder. Fails when an error was uncaught (R18), or when it has crashed. */
  dispose(): Promise<void>;
}

const quiet = {
  daemon: { log_level: "debug" },
  discovery: { on_start: false, interval_s: 0, timeout_ms: 1_000, interfaces: ["lo"] },
  devices: { request_timeout_ms: 5_000 },
} as const;

/** The speed of the daemon that was first started in a folder: its config has the timeouts for that one. */
const speeds = new Map<string, number>();

/** The longest that the settings allow. */
const longestMs = 30_000;

/** The address of the inspector of Bun, or of a binary compiled by it. */
export const inspectorOfBun = (port: number) => `ws://127.0.0.1:${port}/zapd`;

/** Starts a daemon and waits for its first answer. */
export async function startTestDaemon(setup: DaemonSetup = {}): Promise<TestDaemon> {
  const folder = setup.folder ?? mkdtempSync(join(tmpdir(), "zapd-test-"));
  const configFile = join(folder, "config.toml");
  const stateFolder = join(folder, "state");
  const port = await freePort();
  const runtime = setup.runtime ?? usualRuntime;
  // Long runs measure real time; `npm run test:slow` says so.
  const usual = process.env["ZAPD_TEST_CLOCK"] === "real" ? 1 : 4;
  const speed = runtime === "bun" ? (setup.speed ?? speeds.get(folder) ?? usual) : 1;
  if (!speeds.has(folder)) speeds.set(folder, speed);
  if (!setup.folder || setup.config) writeFileSync(configFile, toml(setup.config ?? {}, port, speed), { mode: 0o600 });
  const used = setup.folder && !setup.config ? portIn(await Bun.file(configFile).text()) : port;
  const own = programOf(runtime, speed !== 1, setup);
  const [program = "", ...words] = [...(setup.within ?? []), ...own];
  // Deno takes a flag in its place.
  const inspected = setup.inspector && runtime !== "deno" ? { BUN_INSPECT: inspectorOfBun(setup.inspector) } : {};
  const child = spawn(program, [...words, "serve", "--config", configFile, ...(setup.words ?? [])], {
    env: { ...process.env, ZAPD_STATE_DIR: stateFolder, ZAPD_TEST_SPEED: String(speed), ...inspected, ...setup.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = saidBy(child);
  const exited = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  const url = `http://127.0.0.1:${used}/v1`;
  const daemon: TestDaemon = {
    port: used,
    url,
    folder,
    configFile,
    stateFolder,
    process: child,
    log: () => said.stderr,
    speed,
    async api(method, path, body, headers = {}) {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(url + path, { method, headers, ...json, keepalive: false });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
    },
    sleep: (ms) => Bun.sleep(ms / speed),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      const late = async () => {
        await Bun.sleep(30_000);
        throw new Error(`the daemon has not ended 30 s after ${signal}:\n${said.stderr.slice(-2_000)}`);
      };
      return Promise.race([exited, late()]);
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
  async function dispose(): Promise<void> {
    // Some tests kill the daemon; any other signal is a crash.
    const crashed = child.signalCode !== null && !sentByTests.has(child.signalCode);
    child.kill("SIGKILL");
    await exited;
    rmSync(folder, { recursive: true, force: true });
    const strays = straysIn(said.stderr);
    if (strays.length > 0) throw new Error(`nobody caught in the daemon:\n${strays.join("\n")}`);
    if (crashed) throw new Error(`the daemon ended by ${child.signalCode}:\n${said.stderr.slice(-2_000)}`);
  }
  for (let tries = 0; tries < 1_000; tries++) {
    if (child.exitCode !== null) {
      // What it said last may come after its end.
      await exited;
      throw new Error(`the daemon ended with ${child.exitCode}:\n${said.stderr}`);
    }
    const up = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (up) return daemon;
    await Bun.sleep(25);
  }
  await daemon.dispose();
  throw new Error(`the daemon did not answer:\n${said.stderr}`);
}

/** Signals that tests send. */
const sentByTests: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);

/** The log lines of uncaught errors, and of errors that a handler did not catch. */
export function straysIn(log: string): string[] {
  const stray = /^(?:error: |\{"time":"[^"]*","level":"error","message":")(?:uncaught error: |[A-Z]{3,7} \/v1)/;
  return log.split("\n").filter((line) => stray.test(line));
}

/** The program under test and its first arguments, with a clock in real time. */
export function programWords(runtime = usualRuntime, setup: Pick<DaemonSetup, "fromSource"> = {}): string[] {
  return programOf(runtime, false, setup);
}

/** The program and first arguments of the command line under test: under Deno only the daemon runs, so this is Bun's. */
export function zapdWords({ isFast = false } = {}): string[] {
  return programOf(usualRuntime === "binary" ? "binary" : "bun", isFast);
}

/** The program under test: the source under Bun or Deno, or the compiled binary. */
function programOf(
  runtime: Runtime,
  isFast: boolean,
  { fromSource, inspector }: Pick<DaemonSetup, "fromSource" | "inspector"> = {},
): string[] {
  const main = join(root, "src/main.ts");
  if (runtime === "binary") return [join(root, "dist/zapd")];
  const made = process.env["ZAPD_TEST_PROGRAM"];
  if (runtime === "bun" && made !== undefined && !fromSource) return [join(root, made)];
  const preload = isFast ? ["--preload", join(import.meta.dir, "fast-clock.ts")] : [];
  if (runtime === "bun") return [process.execPath, ...preload, main];
  const inspected = inspector === undefined ? [] : [`--inspect=127.0.0.1:${inspector}`];
  return [join(root, "node_modules/.bin/deno"), "run", ...inspected, ...denoFlags("start"), main];
}

/** The flags of a task in deno.json, so that the tests prove that they suffice; state and config are in a test's folder. */
export function denoFlags(task: "start" | "serve"): string[] {
  const { tasks } = JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as { tasks: Record<string, string> };
  const flags = (tasks[task] ?? "").split(" ").filter((word) => /^--(no-prompt|unstable|allow)/.test(word));
  return flags.map((flag) =>
    flag
      .replace(/^--allow-read=.*/, `--allow-read=${root},${tmpdir()}`)
      // As in the tasks: nothing in the checkout.
      .replace(/^--allow-write=.*/, `--allow-write=${tmpdir()}`),
  );
}

function toml(config: NonNullable<DaemonSetup["config"]>, port: number, speed: number): string {
  const sections = new Set([...Object.keys(quiet), ...Object.keys(config)]);
  return [...sections]
    .map((section) => {
      const values: Record<string, unknown> = {
        ...(section === "daemon" ? { http_port: port } : {}),
        ...(quiet as Record<string, object>)[section],
        ...config[section],
      };
      const lines = Object.entries(values).map(([key, value]) => {
        const isTime = typeof value === "number" && key.endsWith("timeout_ms");
        return `${key} = ${JSON.stringify(isTime ? Math.min(value * speed, longestMs) : value)}`;
      });
      return `[${section}]\n${lines.join("\n")}\n`;
    })
    .join("\n");
}

function portIn(text: string): number {
  return Number(/http_port = (\d+)/.exec(text)?.[1]);
}
