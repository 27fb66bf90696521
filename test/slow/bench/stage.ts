/** What one measure works with: daemons, bare servers, sets and load, all ended with it; and its rounds. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeviceRecord } from "../../../src/devices/record.ts";
import type { RokuSimulatorOptions } from "../../../src/simulators/roku.ts";
import { freePort } from "../../support/daemon.ts";
import { lane } from "../../support/lane.ts";
import type { Place } from "./connection.ts";
import { type Call, type LoadOrders, startLoad } from "./load-worker.ts";
import { end, type Started, startUntilAnswer } from "./process.ts";
import type { Programs } from "./programs.ts";
import { type SetPlace, type SetsOrders, startSets } from "./sets-worker.ts";
import type { Worker } from "./worker.ts";

export interface BareServer extends Started {
  readonly port: number;
  readonly place: Place;
}

export interface Daemon extends BareServer {
  readonly folder: string;
  /** The control socket, as `$ZAPD_SOCKET` takes it. */
  readonly socket: string;
  /** One call below `/v1`, for what is not measured. Fails unless the answer is a 200. */
  api(method: string, path: string, body?: unknown): Promise<unknown>;
}

export interface DaemonSetup {
  /** What its registry holds when it starts. */
  readonly devices?: readonly DeviceRecord[];
  /** Sets that are added once it runs, as `S0`, `S1` and so on. */
  readonly sets?: readonly SetPlace[];
  /** Sections of the config, over those of a benchmark: no scan, the log quiet. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export const developerPassword = "bench";

const usual: NonNullable<DaemonSetup["config"]> = {
  daemon: { log_level: "warn" },
  discovery: { on_start: false, interval_s: 0, timeout_ms: 1_500, interfaces: ["lo"] },
  dev: { vendor_password: developerPassword },
};

export class Stage {
  readonly programs: Programs;
  readonly #rounds: number;
  readonly #say: (text: string) => void;
  readonly #endings: (() => unknown)[] = [];
  #sets: Worker<SetsOrders> | undefined;

  constructor(programs: Programs, rounds: number, say: (text: string) => void) {
    this.programs = programs;
    this.#rounds = rounds;
    this.#say = say;
  }

  /** Runs one round to warm up, which does not count, and then those that do. */
  async rounds<T>(round: () => Promise<T>): Promise<T[]> {
    await round();
    const results: T[] = [];
    for (let at = 1; at <= this.#rounds; at++) {
      this.#say(`round ${at} of ${this.#rounds}`);
      results.push(await round());
    }
    return results;
  }

  /** Something to do when the measure is over; the last first. */
  atEnd(ending: () => unknown): void {
    this.#endings.push(ending);
  }

  async close(): Promise<void> {
    for (const ending of this.#endings.splice(0).reverse()) await ending();
  }

  /** A folder that is removed at the end. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "zapd-bench-"));
    this.atEnd(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  load(): Worker<LoadOrders> {
    const load = startLoad();
    this.atEnd(() => load.stop());
    return load;
  }

  get sets(): Worker<SetsOrders> {
    if (!this.#sets) {
      const sets = startSets();
      this.atEnd(() => sets.stop());
      this.#sets = sets;
    }
    return this.#sets;
  }

  /** Simulated sets, each on an address of its own when there are several. */
  async plugIn(count = 1, options: Partial<RokuSimulatorOptions> = {}): Promise<SetPlace[]> {
    const sets = Array.from({ length: count }, (_, at) => ({
      name: `Bench ${process.pid} ${at}`,
      host: `127.${20 + lane}.${at >> 8}.${at & 255 || 200}`,
      ...options,
    }));
    return this.sets.ask("start", { sets });
  }

  /** The compiled hello-world server; with `body`, one that answers those bytes as JSON. */
  async hello(body?: string): Promise<BareServer> {
    const port = await freePort();
    const file = body === undefined ? [] : [join(this.folder(), "body.json")];
    if (file[0] !== undefined) writeFileSync(file[0], body ?? "");
    const started = await startUntilAnswer([this.programs.hello, String(port), ...file], { port, path: "/" });
    this.atEnd(() => end(started.child));
    return { ...started, port, place: { host: "127.0.0.1", port } };
  }

  async daemon(setup: DaemonSetup = {}): Promise<Daemon> {
    const port = await freePort();
    const { folder, command, env } = this.prepare(setup, port);
    const started = await startUntilAnswer(command, { port, path: "/v1/health", env });
    this.atEnd(() => end(started.child));
    const place = { host: "127.0.0.1", port };
    const daemon = { ...started, port, place, folder, socket: join(folder, "state", "zapd.sock"), api: apiOf(port) };
    await Promise.all(
      (setup.sets ?? []).map(({ host, port: ecp, installer }, at) =>
        daemon.api("POST", "/devices", {
          host,
          port: ecp,
          name: `S${at}`,
          ...(installer !== null && { ports: { installer } }),
        }),
      ),
    );
    return daemon;
  }

  /** The folder of a daemon that is not started yet, and how to start it. */
  prepare(
    { devices, config = {} }: DaemonSetup,
    port: number,
  ): { folder: string; command: string[]; env: Record<string, string> } {
    const folder = this.folder();
    const file = join(folder, "config.toml");
    const state = join(folder, "state");
    mkdirSync(state, { recursive: true, mode: 0o700 });
    writeFileSync(file, tomlOf({ ...config, daemon: { http_port: port, ...config["daemon"] } }));
    if (devices) writeFileSync(join(state, "devices.json"), JSON.stringify({ version: 1, devices }));
    return { folder, command: [this.programs.zapd, "serve", "--config", file], env: { ZAPD_STATE_DIR: state } };
  }
}

function tomlOf(config: NonNullable<DaemonSetup["config"]>): string {
  const names = new Set([...Object.keys(usual), ...Object.keys(config)]);
  return [...names]
    .map((name) => {
      const values = Object.entries({ ...usual[name], ...config[name] });
      return `[${name}]\n${values.map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join("\n")}\n`;
    })
    .join("\n");
}

function apiOf(port: number): Daemon["api"] {
  return async (method, path, body) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, { method, ...json, keepalive: false });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return (JSON.parse(text) as { data: unknown }).data;
  };
}

/** A key through the daemon, and the same key straight to a set. */
export const keyThrough = (name: string, key = "home"): Call => ({
  method: "POST",
  path: `/v1/devices/${name}/remote/key`,
  body: JSON.stringify({ key }),
});
export const keyStraight: Call = { method: "POST", path: "/keypress/Home" };
