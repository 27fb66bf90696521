/** A daemon among real sets and strangers, and what came of each try to drive one. */
import { expect } from "bun:test";
import { randomBytes } from "node:crypto";
import { strToU8, zipSync } from "fflate";
import { type Answered, type DaemonSetup, startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { leaksIn } from "./recorder.ts";
import { type AnyPlatform, type Driven, lockedPlatforms, openPlatforms, type Place, type RealSet } from "./sets.ts";
import type { Stranger } from "./strangers.ts";

/** Who took it: the set that was meant, a stranger, nobody though it was said to have worked; or the code of the refusal. */
export type Outcome = "real" | "stranger" | "nobody" | (string & {});

export interface Tried {
  readonly what: "key" | "text" | "install" | "state";
  readonly outcome: Outcome;
  readonly message: string;
  readonly hint: string;
}

/** Answers that say why nothing was done, and what to do. */
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
    // Sets and strangers of this process all answer at once: theirs is a busy house.
    speed: 2,
    ...setup,
    config: {
      ...setup.config,
      devices: { request_timeout_ms: 2_000, ...setup.config?.["devices"] },
      discovery: { timeout_ms: scanMs, ...setup.config?.["discovery"] },
    },
  });
}

const scanMs = 500;
const seenWithin = 600;
const scans = new WeakMap<TestDaemon, () => Promise<Answered>>();

/** Scans of one daemon: who wants one while one is under way shares the next with the others who do. */
function scansOf(daemon: TestDaemon): () => Promise<Answered> {
  const known = scans.get(daemon);
  if (known) return known;
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Answered> | undefined;
  const begin = async () => {
    next = undefined;
    // One that the daemon began by itself is over sooner than one of ours can be.
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

/** One real set, those who are after it, and the daemon that drives it. */
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
    // They have no arrows.
    if (openPlatforms.some((one) => one === real.platform)) this.key = "volume-up";
  }

  api(method: string, path: string, body?: unknown): Promise<Answered> {
    return this.daemon.api(method, path, body);
  }

  /** The id of the device that was added at a place, which must work. */
  async add(place: Place, name?: string): Promise<string> {
    const { status, body } = await this.api("POST", "/devices", { ...place, ...(name && { name }) });
    if (status !== 200) throw new Error(`not added: ${JSON.stringify(body)}`);
    return body.data.id;
  }

  /** Adds the real set and makes it one that zapd has secrets of; on Roku a package is installed, with the password. */
  async know({ secrets = true }: { secrets?: boolean } = {}): Promise<void> {
    this.id = await this.add(this.real.place, this.real.name);
    if (secrets) await this.shareSecrets();
  }

  /** `named`: the real one's address is given with it, as is wanted where another answers for it. */
  async shareSecrets({ named = false }: { named?: boolean } = {}): Promise<void> {
    const { real, id } = this;
    if (openPlatforms.some((one) => one === real.platform)) return;
    if (real.platform === "roku") {
      // One that a scan found has the usual ports.
      await this.api("PATCH", `/devices/${id}`, { ports: real.place.ports });
      expect((await this.try("install")).outcome).toBe("real");
      return;
    }
    const host = `${real.place.host}:${real.place.port}`;
    const { status, body } = await this.pair(named ? { host } : {});
    if (status !== 200) throw new Error(`not paired: ${JSON.stringify(body)}`);
  }

  /** Pairs with the real set: with its login, with the code that it shows, or by what its user does. */
  async pair(where: { readonly host?: string }): Promise<Answered> {
    const { real, id } = this;
    const pair = (given: object) => this.api("POST", `/devices/${id}/pair`, { ...given, ...where });
    if (real.platform !== "androidtv") return pair({ ...real.login });
    const begun = await pair({ begin: true });
    if (begun.status !== 200) return begun;
    const entered = await pair({ pin: real.code ?? "000000" });
    // Whoever shows another code is given up.
    if (entered.status !== 200) await this.api("DELETE", `/devices/${id}/pair`);
    return entered;
  }

  /** Everybody is asked anew, from now on: a scan under way may have asked some of them before what just happened. */
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
   * Tries something that must work on the real set. An LG or Samsung set takes nothing without its key, and on probation that
   * goes to nobody: there it is enough that zapd has it at its own address and says how its user vouches for it, which is done.
   */
  async driven(what: Tried["what"]): Promise<Tried> {
    const tried = await this.try(what);
    if (!lockedPlatforms.has(this.real.platform) || tried.outcome !== "device_unproven") return tried;
    if (!tried.hint.includes("zapd trust") || (await this.device()).host !== this.real.host) return tried;
    const { status, body } = await this.api("POST", `/devices/${this.id}/trust`);
    if (status !== 200) return { ...tried, outcome: body.error.code, message: body.error.message };
    return this.try(what);
  }

  /** Tries something, and tells who took it. */
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
        // The real set is the one that answered, unless a stranger was asked what no scan asks.
        return at > 0 && receivedBy(one, what) > then.received;
      });
    if (what === "state" || what === "install") return { ...said, outcome: took() > 0 ? "stranger" : "real" };
    // A button of an LG set, and a key of a Samsung one, is answered by nobody: it may come a moment after the answer.
    for (const end = performance.now() + seenWithin; took() === -1 && performance.now() < end; ) await Bun.sleep(5);
    const at = took();
    return { ...said, outcome: at === -1 ? "nobody" : at === 0 ? "real" : "stranger" };
  }

  async #ask(what: Tried["what"], all: readonly Driven[]): Promise<Answered> {
    const at = `/devices/${this.id}`;
    if (what === "key") return this.api("POST", `${at}/remote/key`, { key: this.key });
    if (what === "state") return this.api("GET", `${at}/state`);
    if (what === "install") return this.#install(at);
    for (const one of all) one.field();
    const text = `Zt${randomBytes(3).toString("hex")}`;
    this.#typed.push(text);
    return this.api("POST", `${at}/remote/key`, { key: `literal:${text}` });
  }

  /** One at a time: a daemon takes two packages at once, and these are not about that. */
  async #install(at: string): Promise<Answered> {
    const turn = installing.then(() => this.#send(at));
    installing = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #send(at: string): Promise<Answered> {
    const form = new FormData();
    form.append("archive", new Blob([packageOf(this.real.name)]), "p.zip");
    const response = await fetch(`${this.daemon.url}${at}/dev/install`, {
      method: "POST",
      body: form,
      keepalive: false,
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }

  /** What was typed so far, which nobody but the real set may get. */
  get texts(): readonly string[] {
    return this.#typed;
  }

  /** More text that counts as typed to it. */
  typing(text: string): void {
    this.#typed.push(text);
  }

  /** What any stranger got of the keys, passwords, logins, digests and typed text; `spared` are kinds that may be. */
  leaks(): string[] {
    const { real } = this;
    const secrets = { words: real.secrets, logins: real.login ? [real.login] : [], typed: this.#typed };
    return this.strangers.flatMap((one) =>
      leaksIn(one.recorder.received, secrets).map((leak) => `${one.manner}: ${leak}`),
    );
  }

  /** All unplugged, and the device forgotten. */
  async end(): Promise<void> {
    await Promise.all([this.real.off(), ...this.strangers.map((one) => one.off())]);
    if (this.id !== "") await this.api("DELETE", `/devices/${this.id}`);
  }
}

/** What only a reading of the state, or an installation, asks for. */
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

/** A package that sets take: more than 512 bytes, and another each time, for the same one again is no installation. */
function packageOf(name: string): Uint8Array<ArrayBuffer> {
  const files = {
    manifest: strToU8(`title=${name}\nmajor_version=1\nminor_version=0\nbuild_version=${Date.now() % 1e6}\n`),
    "source/main.brs": strToU8("sub main()\nend sub\n"),
    "images/icon.png": new Uint8Array(randomBytes(900)),
  };
  return new Uint8Array(zipSync(files));
}
