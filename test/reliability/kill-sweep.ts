/**
 * Kills a daemon at its system calls while it writes (SECURITY.md R6): before the n-th call of a kind, for each n until a round of
 * changes has no such call. After each kill the daemon is started again, and must know every change that it had answered.
 */
import { readdirSync } from "node:fs";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { attach, type FileCall, fileCalls } from "../support/strace.ts";
import { expectTaken, introduce, type Sets, type Writer } from "./writers.ts";

/** `sendto` sends the answer to the caller. */
export const killCalls = [...fileCalls, "sendto"] as const;

/** The results of a sweep over one writer. */
export interface Sweep {
  kills: number;
  /** Changes that were answered. */
  acknowledged: number;
  /** How often it was killed at each point: the call, and the file that it was about. */
  readonly points: Map<string, number>;
}

export function newSweep(): Sweep {
  return { kills: 0, acknowledged: 0, points: new Map() };
}

export interface SweepOptions {
  /** Changes in a round. */
  readonly changes: number;
  /** Which of the n are tried, for each call; each n by default. */
  readonly only?: (call: FileCall | "sendto", n: number) => boolean;
  /**
   * The thread of the file pool in which writes are counted; each of them by default. Each call of a thread ends with a write,
   * by which the main thread wakes: counted in all, that of the thread that opened the file always comes before the file's.
   */
  readonly writeThread?: number | undefined;
}

/** No round of changes makes so many calls of a kind in one thread. */
const mostCalls = 200;

export class KillSweep {
  readonly #sets: Sets;
  #daemon: TestDaemon;
  #turn = 0;

  private constructor(daemon: TestDaemon, sets: Sets) {
    this.#daemon = daemon;
    this.#sets = sets;
  }

  static async begin(sets: Sets): Promise<KillSweep> {
    const daemon = await startTestDaemon({ config: { daemon: { log_level: "info" } } });
    await introduce(daemon, sets);
    return new KillSweep(daemon, sets);
  }

  /** Adds its results to `sweep`. */
  async over(writer: Writer, options: SweepOptions, sweep = newSweep()): Promise<Sweep> {
    const { only = () => true } = options;
    for (const call of killCalls) {
      for (let n = 1; n <= mostCalls; n++) {
        if (!only(call, n)) {
          if (n > 40) break;
          continue;
        }
        if (!(await this.#killAt(writer, call, n, options, sweep))) break;
      }
    }
    return sweep;
  }

  /** All writers at work at once, killed after so many milliseconds. */
  async killAfter(writers: readonly Writer[], ms: number, sweep: Sweep): Promise<void> {
    const { folder } = this.#daemon;
    const working = writers.map(async (writer) => {
      const known = this.#turn;
      let [answered, attempted] = [known, known];
      for (let change = 1; change < 10_000; change++) {
        attempted = known + change;
        const status = await writer.change(this.#daemon, this.#sets, attempted).catch(() => null);
        if (status === null) break;
        expectTaken(status, writer.file);
        answered = attempted;
        sweep.acknowledged++;
      }
      return { writer, answered, attempted };
    });
    await Bun.sleep(ms);
    await this.#daemon.stop("SIGKILL");
    const ended = await Promise.all(working);
    sweep.kills++;
    this.#daemon = await startTestDaemon({ folder });
    for (const { writer, answered, attempted } of ended) {
      await this.#check(writer, [answered, attempted], `killed after ${ms} ms`);
      this.#turn = Math.max(this.#turn, attempted);
    }
    for (const writer of writers) expectTaken(await writer.change(this.#daemon, this.#sets, this.#turn), writer.file);
  }

  /** Kills it, starts again, and resolves with the temporary files that are still beside the config. */
  async leftAtLast(): Promise<string[]> {
    const { folder } = this.#daemon;
    await this.#daemon.stop("SIGKILL");
    this.#daemon = await startTestDaemon({ folder });
    const left = () => readdirSync(folder).filter((name) => name.endsWith(".tmp"));
    // The sweep runs after the daemon answers.
    for (let tries = 0; tries < 2_000 && left().length > 0; tries++) await Bun.sleep(10);
    return left();
  }

  async end(): Promise<void> {
    await this.#daemon.dispose();
  }

  /** Whether it was killed. */
  async #killAt(
    writer: Writer,
    call: string,
    n: number,
    { changes, writeThread }: SweepOptions,
    sweep: Sweep,
  ): Promise<boolean> {
    const { process, folder, stateFolder } = this.#daemon;
    // The first change loads code: it is made before calls are counted. A writer that cycles may have nothing to write at first.
    for (let change = 0; change < (writer.cycle ?? 1); change++)
      expectTaken(await writer.change(this.#daemon, this.#sets, ++this.#turn), writer.file);
    let known = this.#turn;
    const more = ["-e", `inject=${call}:signal=SIGKILL:when=${n}`];
    // The main thread also reads files and closes connections, and would be hit first each time.
    const thread = call === "write" ? writeThread : undefined;
    const trace = await attach(process.pid ?? 0, { calls: killCalls, more, filesOnly: call !== "sendto", thread });
    let attempted = known;
    for (let change = 0; change < changes; change++) {
      attempted = ++this.#turn;
      const status = await writer.change(this.#daemon, this.#sets, attempted).catch(() => null);
      if (status === null) break;
      expectTaken(status, writer.file);
      known = attempted;
      sweep.acknowledged++;
    }
    // The process dies a moment after its last answer.
    for (let tries = 0; tries < 4 && alive(this.#daemon); tries++) await Bun.sleep(5);
    const lines = await trace.end();
    // A daemon that answers is alive; the exit of a killed one may be seen late.
    const answers = () =>
      this.#daemon.api("GET", "/health").then(
        () => true,
        () => false,
      );
    if (!lines.some((line) => line.includes("killed by SIGKILL")) && (await answers())) return false;
    sweep.kills++;
    const point = pointOf(lines, call, [stateFolder, folder]);
    sweep.points.set(point, (sweep.points.get(point) ?? 0) + 1);
    await this.#daemon.stop("SIGKILL");
    this.#daemon = await startTestDaemon({ folder });
    await this.#check(writer, [known, attempted], `killed at ${point}`);
    return true;
  }

  /** Nothing unparseable, nothing lost, nothing left. */
  async #check(writer: Writer, allowed: readonly number[], where: string): Promise<void> {
    const found = await writer.read(this.#daemon);
    const said = allowed.map((turn) => (writer.cycle === undefined ? turn : turn % writer.cycle));
    if (!said.includes(found)) throw new Error(`${writer.file} says ${found}, not ${said.join(" or ")}: ${where}`);
    const { warnings } = (await this.#daemon.api("GET", "/health")).body.data;
    if (warnings.length > 0) throw new Error(`${warnings.join("; ")}: ${where}`);
    const { folder, stateFolder } = this.#daemon;
    const left = [...readdirSync(folder), ...readdirSync(stateFolder)].filter((name) => /\.tmp$|corrupt/.test(name));
    // Beside the config, in the user's folder, they are removed after the daemon answers.
    const young = left.filter((name) => name.startsWith(".config.toml."));
    if (left.length > young.length) throw new Error(`left behind: ${left.join(", ")}: ${where}`);
  }
}

function alive({ process }: TestDaemon): boolean {
  return process.exitCode === null && process.signalCode === null;
}

/** `fsync temporary`, `close folder` …: the last call of that kind that was begun. */
function pointOf(lines: readonly string[], call: string, folders: readonly string[]): string {
  const last = lines.findLast((line) => line.includes(` ${call}(`)) ?? "";
  if (/\.tmp/.test(last)) return `${call} temporary`;
  if (folders.some((folder) => last.includes(`<${folder}>`) || last.includes(`"${folder}"`))) return `${call} folder`;
  return folders.some((folder) => last.includes(folder)) ? `${call} file` : `${call} other`;
}
