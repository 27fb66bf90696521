/** A daemon with real sets and strangers, and the outcome of each try to drive one. */
import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { install, packageWith } from "../../blackbox/packages.ts";
import { type Answered, type DaemonSetup, startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { leaksIn } from "./recorder.ts";
import { type AnyPlatform, type Driven, lockedPlatforms, openPlatforms, type Place, type RealSet } from "./sets.ts";
import type { Stranger } from "./strangers.ts";

/** Which set took it: the real one, a stranger, or none in spite of a success; or the error code. */
export type Outcome = "real" | "stranger" | "nobody" | (string & {});

export interface Tried {
  readonly what: "key" | "text" | "install" | "state";
  readonly outcome: Outcome;
  readonly message: string;
  readonly hint: string;
}

/** What was tried, and all that came of it, as a text. */
export const told = ({ what, outcome, message, hint }: Tried) => `${what}: ${outcome}: ${message} (${hint})`;

/** Error codes that explain why nothing was done. */
export const reasons: ReadonlySet<string> = new Set([
  "device_unproven",
  "device_elsewhere",
  "device_unreachable",
  "device_error",
  "device_timeout",
  "device_refused",
  "pairing_required",
  "pairing_failed",
  "dev_auth_failed",
  "dev_password_missing",
]);

export function startHouse(setup: DaemonSetup = {}): Promise<TestDaemon> {
  return startTestDaemon({
    // All sets and strangers run in this process: they answer more slowly than real ones.
    speed: 2,
    ...setup,
    config: {
      ...setup.config,
      devices: { request_timeout_ms: 4_000, ...setup.config?.["devices"] },
      discovery: { timeout_ms: scanMs, ...setup.config?.["discovery"] },
    },
  });
}

/** All sets answer from this process: on a busy machine that takes most of a second. */
const scanMs = 1_000;
const seenWithin = 600;
const scans = new WeakMap<TestDaemon, () => Promise<Answered>>();

/** Scans of one daemon: those who ask during a scan share the next one. */
function scansOf(daemon: TestDaemon): () => Promise<Answered> {
  const known = scans.get(daemon);
  if (known) return known;
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Answered> | undefined;
  const begin = async () => {
    next = undefined;
    // A shorter one joined a scan that the daemon had begun by itself.
    for (let tries = 0; ; tries++) {
      const start = performance.now();
      const answered = await daemon.api("POST", "/devices/discover");
      if (performance.now() - start > scanMs - 20 || tries === 2) return answered;
    }
  };
  const scan = () => {
    if (next) return next;
    next = running.then(begin, begin);
    running = next;
    return next;
  };
  scans.set(daemon, scan);
  return scan;
}
let installing: Promise<void> = Promise.resolve();

/** One real set, the strangers that pretend to be it, and the daemon that drives it. */
export class Scene<Platform extends AnyPlatform = AnyPlatform> {
  readonly daemon: TestDaemon;
  readonly real: RealSet<Platform>;
  readonly strangers: Stranger[] = [];
  readonly #typed: string[] = [];
  id = "";
  /** The key that is pressed. */
  key = "left";

  constructor(daemon: TestDaemon, real: RealSet<Platform>) {
    this.daemon = daemon;
    this.real = real;
    // Cast and DLNA have no arrow keys.
    if (openPlatforms.some((one) => one === real.platform)) this.key = "volume-up";
  }

  api(method: string, path: string, body?: unknown): Promise<Answered> {
    return this.daemon.api(method, path, body);
  }

  /** Adds a device by its address; resolves with its id. */
  async add(place: Place, name?: string): Promise<string> {
    const { status, body } = await this.api("POST", "/devices", { ...place, ...(name && { name }) });
    if (status !== 200) throw new Error(`not added: ${JSON.stringify(body)}`);
    return body.data.id;
  }

  /** Adds the real set, and pairs with it; on Roku installs a package with the developer password. */
  async know({ secrets = true }: { secrets?: boolean } = {}): Promise<void> {
    this.id = await this.add(this.real.place, this.real.name);
    if (secrets) await this.shareSecrets();
  }

  /** Pairs. `named`: with the address of the real set, as is needed while a rival answers. */
  async shareSecrets({ named = false }: { named?: boolean } = {}): Promise<void> {
    const { real, id } = this;
    if (openPlatforms.some((one) => one === real.platform)) return;
    if (real.platform === "roku") {
      // A scanned device has the default ports.
      await this.api("PATCH", `/devices/${id}`, { ports: real.place.ports });
      expect((await this.try("install")).outcome).toBe("real");
      return;
    }
    const host = `${real.place.host}:${real.place.port}`;
    const { status, body } = await this.pair(named ? { host } : {});
    if (status !== 200) throw new Error(`not paired: ${JSON.stringify(body)}`);
  }

  /** Pairs with the real set: with its login, with the code that it shows, or by its prompt. */
  async pair(where: { readonly host?: string }): Promise<Answered> {
    const { real, id } = this;
    const pair = (given: object) => this.api("POST", `/devices/${id}/pair`, { ...given, ...where });
    if (real.platform !== "androidtv") return pair({ ...real.login });
    const begun = await pair({ begin: true });
    if (begun.status !== 200) return begun;
    const entered = await pair({ pin: real.code ?? "000000" });
    // After a wrong code the pairing is cancelled.
    if (entered.status !== 200) await this.api("DELETE", `/devices/${id}/pair`);
    return entered;
  }

  /** A scan that begins now or later: one under way may have asked some sets already. */
  scan(): Promise<Answered> {
    return scansOf(this.daemon)();
  }

  /** The device as the daemon shows it. */
  async device(): Promise<Answered["body"]> {
    return (await this.api("GET", `/devices/${this.id}`)).body.data;
  }

  async health(): Promise<string[]> {
    return (await this.api("GET", "/health")).body.data.warnings;
  }

  /**
   * Tries something that must work on the real set. An LG or Samsung set takes nothing without its key, which is not sent on
   * probation: then zapd must have it at its own address and name `zapd trust`, which is done.
   */
  async driven(what: Tried["what"]): Promise<Tried> {
    const tried = await this.try(what);
    if (!lockedPlatforms.has(this.real.platform) || tried.outcome !== "device_unproven") return tried;
    if (!tried.hint.includes("zapd trust") || (await this.device()).host !== this.real.host) return tried;
    const { status, body } = await this.api("POST", `/devices/${this.id}/trust`);
    if (status !== 200) return { ...tried, outcome: body.error.code, message: body.error.message };
    return this.try(what);
  }

  /** Tries something; resolves with which set took it. */
  async try(what: Tried["what"]): Promise<Tried> {
    const all: Driven[] = [this.real, ...this.strangers];
    const before = all.map((one) => ({
      presses: one.presses,
      typed: one.typed.length,
      received: receivedBy(one, what),
    }));
    const answered = await this.#ask(what, all);
    const { status, body } = answered;
    const said = { what, message: body?.error?.message ?? "", hint: body?.error?.hint ?? "" };
    if (status !== 200) return { ...said, outcome: body?.error?.code ?? `status ${status}` };
    const took = () =>
      all.findIndex((one, at) => {
        const then = before[at];
        if (then === undefined) return false;
        if (what === "key") return one.presses > then.presses;
        if (what === "text") return one.typed.length > then.typed;
        // The real set answered, unless a stranger received a request that no scan makes.
        return at > 0 && receivedBy(one, what) > then.received;
      });
    if (what === "state" || what === "install") return { ...said, outcome: took() > 0 ? "stranger" : "real" };
    // LG buttons and Samsung keys have no answer: they may arrive a moment after the API's.
    for (const end = performance.now() + seenWithin; took() === -1 && performance.now() < end; ) await Bun.sleep(5);
    const at = took();
    return { ...said, outcome: at === -1 ? "nobody" : at === 0 ? "real" : "stranger" };
  }

  /** The real set, and nobody else, takes each of these. */
  async drives(...whats: Tried["what"][]): Promise<void> {
    for (const what of whats) {
      const tried = await this.driven(what);
      expect(tried.outcome, told(tried)).toBe("real");
    }
  }

  /** The real set takes each of these, or an error says why not. */
  async drivesOrExplains(...whats: Tried["what"][]): Promise<Tried[]> {
    const all: Tried[] = [];
    for (const what of whats) {
      const tried = await this.try(what);
      expect(["real", ...reasons], told(tried)).toContain(tried.outcome);
      if (tried.outcome !== "real") expect(tried.message, told(tried)).not.toBe("");
      all.push(tried);
    }
    return all;
  }

  async #ask(what: Tried["what"], all: readonly Driven[]): Promise<Answered> {
    const at = `/devices/${this.id}`;
    if (what === "key") return this.api("POST", `${at}/remote/key`, { key: this.key });
    if (what === "state") return this.api("GET", `${at}/state`);
    if (what === "install") return this.#install();
    for (const one of all) one.field();
    const text = `Zt${randomBytes(3).toString("hex")}`;
    this.#typed.push(text);
    return this.api("POST", `${at}/remote/key`, { key: `literal:${text}` });
  }

  /** Installs one package at a time: a daemon receives no more than two at once. */
  async #install(): Promise<Answered> {
    const turn = installing.then(() => install(this.daemon, this.id, packageWith(this.real.name)));
    installing = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  /** All typed text, which only the real set may get. */
  get texts(): readonly string[] {
    return this.#typed;
  }

  /** The keys, passwords, logins, digests and typed texts that strangers received. */
  leaks(): string[] {
    const { real } = this;
    const secrets = { words: real.secrets, logins: real.login ? [real.login] : [], typed: this.#typed };
    return this.strangers.flatMap((one) =>
      leaksIn(one.recorder.received, secrets).map((leak) => `${one.manner}: ${leak}`),
    );
  }

  /** Stops all sets, and removes the device. */
  async end(): Promise<void> {
    await Promise.all([this.real.off(), ...this.strangers.map((one) => one.off())]);
    if (this.id !== "") await this.api("DELETE", `/devices/${this.id}`);
  }
}

/** Requests that only a read of the state, or an installation, makes. */
const asked = {
  state: /\/query\/active-app|GetActivePlayers|getPowerState|getVolume|GetVolume/g,
  install: /POST \/plugin_install/g,
  key: null,
  text: null,
} as const;

function receivedBy(one: Driven, what: Tried["what"]): number {
  const pattern = asked[what];
  if (pattern === null || !("recorder" in one)) return 0;
  return (one as Stranger).recorder.received.match(pattern)?.length ?? 0;
}
