/** zapd with one platform of its own, whose sets ask for a code or a login before they let anybody in. No network but zapd's. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeviceError, pairingFailed, ZapdError } from "../../src/api/errors.ts";
import type { Paired, Pairing, Platform } from "../../src/platforms/platform.ts";
import { currentRuntime } from "../../src/runtime/runtime.ts";
import { createLog } from "../../src/system/log.ts";
import { createZapd } from "../../src/zapd.ts";
import type { Answered } from "./daemon.ts";
import { fakePlatform, sightingOf } from "./fake-platform.ts";

/** A set, and how it asks. */
export class AskingSet {
  readonly asks: Pairing["step"];
  /** What lets in: the code that it shows, or `user:password`. */
  readonly secret: string;
  expiresMs = 60_000;
  /** Whether it asks for something now, and how often it has begun to. */
  showing = false;
  times = 0;
  /** Everything that was typed, right or wrong. */
  readonly typed: string[] = [];
  /** It thinks about what is typed until this ends. */
  thinks: Promise<unknown> = Promise.resolve();
  #user = Promise.withResolvers<Paired>();

  constructor(asks: Pairing["step"], secret: string) {
    this.asks = asks;
    this.secret = secret;
  }

  /** Somebody accepts at the set, or refuses. */
  answer(accepts: boolean): void {
    this.showing = false;
    if (accepts) this.#user.resolve(this.#key());
    else this.#user.reject(pairingFailed("denied", "was denied: somebody refused it there"));
  }

  pairing(): Pairing {
    this.showing = true;
    this.times++;
    this.#user = Promise.withResolvers<Paired>();
    this.#user.promise.catch(() => {});
    const enter = async (typed: string): Promise<Paired> => {
      this.typed.push(typed);
      await this.thinks;
      // As a careless set does, which says back what it was told.
      if (typed !== this.secret) throw pairingFailed("wrong", `does not know ${typed.split(":").at(-1)}`);
      this.showing = false;
      return this.#key();
    };
    const cancel = () => {
      this.showing = false;
      this.#user.reject(new DeviceError("device_error", "hung up", { phase: "sent", reason: "closed" }));
    };
    const { expiresMs } = this;
    if (this.asks === "code")
      return { step: "code", form: "digits", length: this.secret.length, expiresMs, enter, cancel };
    if (this.asks === "login")
      return { step: "login", expiresMs, cancel, enter: (user = "usual", password) => enter(`${user}:${password}`) };
    return { step: "confirm", expiresMs, cancel, done: this.#user.promise };
  }

  #key(): Paired {
    return { secret: { key: `key-of-${this.secret}` }, facts: { access: "full" } };
  }
}

export interface AskingHouse {
  readonly socket: string;
  readonly folder: string;
  /** What was logged, down to the finest. */
  log(): string;
  api(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answered>;
  /** The status that a page of another origin gets. */
  foreign(method: string, path: string): Promise<number>;
  /** Adds a set under a name, not paired yet. */
  add(name: string, set: AskingSet): Promise<string>;
  /** Ends zapd, and nothing else. */
  stop(): Promise<void>;
  dispose(): Promise<void>;
}

const firstPort = 4_711;

export async function openAskingHouse(): Promise<AskingHouse> {
  const folder = mkdtempSync(join(tmpdir(), "zapd-asking-"));
  const config = join(folder, "config.toml");
  writeFileSync(config, '[daemon]\nlog_level = "debug"\n', { mode: 0o600 });
  let log = "";
  const sets = new Map<number, { readonly name: string; readonly set: AskingSet }>();
  const setAt = (port: number) => {
    const here = sets.get(port);
    if (!here) throw new ZapdError("device_unreachable", "did not answer");
    return here;
  };
  const platform: Platform = {
    ...fakePlatform({
      name: "asking",
      port: firstPort,
      identify: async ({ port }) => sightingOf(`asking-${port}`, { name: setAt(port).name }, { pairing: "required" }),
      describe: ({ access }) => ({
        has: new Set(["pair", "state"]),
        withheld: new Set(access === "full" ? [] : ["state"]),
        keys: new Set(),
      }),
    }),
    pair: async ({ port }) => setAt(port).set.pairing(),
  };
  const write = (line: string) => {
    log += line;
  };
  const zapd = await createZapd({
    config,
    state: join(folder, "state"),
    platforms: [platform],
    log: createLog({ level: "debug", format: "text", colour: false, write }),
  });
  const runtime = currentRuntime();
  const socket = join(folder, "zapd.sock");
  const listening = await Promise.all(
    [{ path: socket }, { hostname: "127.0.0.1", port: 0 }].map((place) => runtime.listen(place, zapd.fetch)),
  );
  const port = listening.find((one) => one.port !== null)?.port;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= zapd.stop();
    return stopped;
  };
  const api: AskingHouse["api"] = async (method, path, body, signal) => {
    const json =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, { method, ...json, ...(signal && { signal }) });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return {
    socket,
    folder,
    log: () => log,
    api,
    stop,
    async foreign(method, path) {
      const headers = { origin: "http://example.org" };
      return (await fetch(`http://127.0.0.1:${port}/v1${path}`, { method, headers })).status;
    },
    async add(name, set) {
      const at = firstPort + sets.size;
      sets.set(at, { name, set });
      const { status, body } = await api("POST", "/devices", { host: "127.0.0.1", port: at, name });
      if (status !== 200) throw new Error(`${name} was not added: ${JSON.stringify(body)}`);
      return body.data.id;
    },
    async dispose() {
      await stop();
      await Promise.all(listening.map((one) => one.end()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
