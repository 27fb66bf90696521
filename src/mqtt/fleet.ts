/**
 * Many sites on one broker, as a client sees them: what each keeps there of itself and its devices, and the same command to
 * many of them. There is no coordinator: each daemon alone decides over its devices, and answers for itself.
 */
import { type ErrorCode, toErrorCode, ZapdError } from "../api/errors.ts";
import { isObject } from "../system/json.ts";
import { Semaphore } from "../system/semaphore.ts";
import { type Bus, BusError, type Message, objectIn } from "./bus.ts";
import { topicsOf } from "./topics.ts";

/** What a site says of itself. */
export interface FleetSite {
  readonly site: string;
  readonly online: boolean;
  readonly version: string | null;
  /** How many devices it says that it has. */
  readonly devices: number;
  readonly labels: readonly string[];
  /** What it takes over the broker: `none`, `control`, `developer`. */
  readonly commands: string | null;
}

/** A device of a site: its document, as the API has it, so far as it is needed here. Nothing of it is to be trusted. */
export interface FleetDevice {
  readonly site: FleetSite;
  readonly id: string;
  readonly name: string;
  /** Its own, and those of its site. */
  readonly labels: readonly string[];
  readonly document: Readonly<Record<string, unknown>>;
  /** The state as it was last published; `null` where it was not. */
  readonly state: Readonly<Record<string, unknown>> | null;
}

/** Which devices are meant: those that match all that is given. */
export interface Selection {
  /** Labels of the device or its site, each of which it must have. */
  readonly labels?: readonly string[];
  /** A site, by its id. */
  readonly site?: string | undefined;
  /** A device, by its id or its name; `all` are all. */
  readonly device?: string | undefined;
}

/** Why a command failed, as an answer of the API says it. */
export interface FleetError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

export type FleetResult = { readonly device: FleetDevice } & (
  | { readonly ok: true; readonly data: unknown }
  | { readonly ok: false; readonly error: FleetError }
);

/** Calls the site of a device, and gives what it did; fails as the site says, or with a `BusError`. */
export type Ask = (body: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface OpenOptions {
  /** Whether states are read, too. */
  readonly states?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of silence after which all that is retained has come; 300 without it. */
  readonly settleMs?: number;
}

export interface RunOptions {
  /** The topic at which a site answers this caller. */
  replyTo(site: string): string;
  /** The deadline for all of it. */
  readonly timeoutMs: number;
  each(result: FleetResult): void;
}

/** A site takes 64 commands at a time: half of them are left to other clients. */
const mostPerSite = 32;
/** Retained messages come one right after another: after this much silence, all have come. */
const usualSettleMs = 300;
/** The same, while nothing has come at all. */
const firstMs = 1_500;
/** Devices whose documents are asked for at once, so that the broker drops none; and how many are counted for a site that does not say. */
const mostAtOnce = 400;
const usualDevices = 16;
/** What is kept in memory at most; the rest is ignored. */
const most = { sites: 20_000, devices: 400_000, text: 256, labels: 64 } as const;

/** What all sites publish, kept up to date while it is open. */
export class Fleet {
  readonly #bus: Bus;
  readonly #prefix: string;
  readonly #settleMs: number;
  readonly #sites = new Map<string, FleetSite>();
  readonly #documents = new Map<string, Map<string, Readonly<Record<string, unknown>>>>();
  readonly #states = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #leaving = new Map<string, Set<() => void>>();
  #devices = 0;
  #lastAt = performance.now();
  #leave: () => Promise<void> = async () => {};

  private constructor(bus: Bus, prefix: string, settleMs: number) {
    this.#bus = bus;
    this.#prefix = prefix;
    this.#settleMs = settleMs;
  }

  /** Reads what the sites keep on the broker. Fails with a `BusError`. */
  static async open(
    bus: Bus,
    prefix: string,
    { states = false, signal, settleMs = usualSettleMs }: OpenOptions = {},
  ): Promise<Fleet> {
    const fleet = new Fleet(bus, prefix, settleMs);
    const { status, device, state } = topicsOf(prefix, "+");
    const filters = [status, device("+"), ...(states ? [state("+")] : [])];
    fleet.#leave = await bus.subscribe(filters, (message) => fleet.#take(message), 0);
    await fleet.#settled(() => false, signal);
    await fleet.#complete(states, signal);
    return fleet;
  }

  /** Waits until nothing has come for a while, or until there is nothing to wait for. */
  async #settled(isThere: () => boolean, signal: AbortSignal | undefined): Promise<void> {
    const since = performance.now();
    while (!isThere()) {
      const quiet = performance.now() - Math.max(since, this.#lastAt);
      if (quiet >= (this.#sites.size > 0 ? this.#settleMs : firstMs)) return;
      signal?.throwIfAborted();
      const over = this.#bus.ended.then((why) => Promise.reject(why));
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 10)), over]);
    }
  }

  /**
   * A broker drops messages to one client beyond some thousand at once: what is missing is asked for again, site by site. A
   * site that is offline does not say how many devices it has: where anything was dropped, it is asked for again as well.
   */
  async #complete(states: boolean, signal: AbortSignal | undefined): Promise<void> {
    const isWhole = ({ site, devices }: FleetSite) => {
      const known = this.#documents.get(site);
      if ((known?.size ?? 0) < devices) return false;
      return !states || [...(known?.keys() ?? [])].every((id) => this.#states.has(`${site}/${id}`));
    };
    const missing = this.sites.filter((one) => one.online && !isWhole(one));
    if (missing.length === 0) return;
    const asked = [...missing, ...this.sites.filter(({ online }) => !online)];
    while (asked.length > 0) {
      const batch: FleetSite[] = [];
      for (let count = 0; asked[0] && count < mostAtOnce; count += Math.max(asked[0]?.devices ?? 0, usualDevices))
        batch.push(...asked.splice(0, 1));
      const topics = batch.map(({ site }) => topicsOf(this.#prefix, site));
      const filters = topics.flatMap((one) => [one.device("+"), ...(states ? [one.state("+")] : [])]);
      const leave = await this.#bus.subscribe(filters, (message) => this.#take(message), 0);
      await this.#settled(() => batch.every((one) => one.online && isWhole(one)), signal);
      await leave();
    }
  }

  /** Every site, by its id. */
  get sites(): readonly FleetSite[] {
    return [...this.#sites.values()].sort((one, other) => (one.site < other.site ? -1 : 1));
  }

  /** The devices that are meant, site by site, by their names. */
  select({ labels = [], site, device }: Selection = {}): readonly FleetDevice[] {
    return this.sites
      .filter((one) => site === undefined || one.site === site)
      .flatMap((one) => this.#devicesOf(one))
      .filter((one) => device === undefined || device === "all" || one.id === device || one.name === device)
      .filter((one) => labels.every((label) => one.labels.includes(label)))
      .sort((one, other) => (one.site === other.site ? one.name.localeCompare(other.name) : 0));
  }

  /**
   * Does the same with every device at once, and tells each result as it comes. A device that has not answered by the deadline
   * has failed.
   */
  async run(
    targets: readonly FleetDevice[],
    work: (ask: Ask, device: FleetDevice) => Promise<unknown>,
    { replyTo, timeoutMs, each }: RunOptions,
  ): Promise<readonly FleetResult[]> {
    const deadline = performance.now() + timeoutMs;
    const turns = new Map<string, Semaphore>();
    return Promise.all(
      targets.map(async (device): Promise<FleetResult> => {
        const { site } = device.site;
        const turn = turns.get(site) ?? new Semaphore(mostPerSite);
        turns.set(site, turn);
        const ask: Ask = (body) => this.#ask(device, body, replyTo(site), deadline - performance.now());
        const result = await turn
          .run(() => work(ask, device))
          .then(
            (data): FleetResult => ({ device, ok: true, data }),
            (thrown: unknown): FleetResult => ({ device, ok: false, error: failureOf(thrown, device, timeoutMs) }),
          );
        each(result);
        return result;
      }),
    );
  }

  /** Unsubscribes. */
  async close(): Promise<void> {
    await this.#leave();
  }

  async #ask(
    { site }: FleetDevice,
    body: Readonly<Record<string, unknown>>,
    replyTo: string,
    timeoutMs: number,
  ): Promise<unknown> {
    const known = this.#sites.get(site.site);
    if (!known?.online) throw offline(site);
    if (known.commands === "none")
      throw new ZapdError("unsupported_operation", `${site.site} takes nothing from the broker`, {
        hint: "On that machine: zapd config set mqtt.commands control",
      });
    if (timeoutMs <= 0) throw new BusError("timeout", "The time was over before it was asked");
    const given = new AbortController();
    const leaving = this.#leaving.get(site.site) ?? new Set();
    this.#leaving.set(site.site, leaving);
    const left = () => given.abort(offline(site));
    leaving.add(left);
    try {
      const { rpc } = topicsOf(this.#prefix, site.site);
      return readAnswer(await this.#bus.request(rpc, body, { replyTo, timeoutMs, signal: given.signal }), site);
    } finally {
      leaving.delete(left);
    }
  }

  #devicesOf(site: FleetSite): FleetDevice[] {
    return [...(this.#documents.get(site.site) ?? [])].map(([id, document]) => ({
      site,
      id,
      document,
      // The will of a site has no labels: then they come from its devices.
      labels: [...new Set([document["labels"], site.labels, document["site_labels"]].flatMap(textsIn))],
      name: textIn(document["name"]) ?? id,
      state: this.#states.get(`${site.site}/${id}`) ?? null,
    }));
  }

  #take({ topic, payload }: Message): void {
    this.#lastAt = performance.now();
    const [, site = "", what = "", id = "", field] = topic.slice(this.#prefix.length + 1).split("/");
    if (what === "status") this.#takeStatus(site, objectIn(payload));
    else if (what === "devices" && field === undefined) this.#takeDevice(site, id, objectIn(payload));
    else if (what === "devices" && field === "state") {
      const state = objectIn(payload)?.["state"];
      if (isObject(state)) this.#states.set(`${site}/${id}`, state);
      else this.#states.delete(`${site}/${id}`);
    }
  }

  #takeStatus(site: string, told: Record<string, unknown> | null): void {
    if (told === null) this.#sites.delete(site);
    else if (this.#sites.has(site) || this.#sites.size < most.sites) {
      const before = this.#sites.get(site);
      // A will says only that the site is offline: the rest stays known.
      this.#sites.set(site, {
        site,
        online: told["online"] === true,
        version: textIn(told["version"]) ?? before?.version ?? null,
        devices: Number.isInteger(told["devices"]) ? Number(told["devices"]) : (before?.devices ?? 0),
        labels: told["labels"] === undefined ? (before?.labels ?? []) : textsIn(told["labels"]),
        commands: textIn(told["commands"]) ?? before?.commands ?? null,
      });
    }
    if (told?.["online"] === true) return;
    for (const leave of this.#leaving.get(site) ?? []) leave();
  }

  #takeDevice(site: string, id: string, told: Record<string, unknown> | null): void {
    const known = this.#documents.get(site) ?? new Map<string, Readonly<Record<string, unknown>>>();
    this.#documents.set(site, known);
    const before = known.size;
    if (told === null) known.delete(id);
    else if (known.has(id) || this.#devices < most.devices) known.set(id, told);
    this.#devices += known.size - before;
  }
}

function failureOf(thrown: unknown, { name, site }: FleetDevice, timeoutMs: number): FleetError {
  if (thrown instanceof ZapdError) return { code: thrown.code, message: thrown.message, hint: thrown.hint };
  if (!(thrown instanceof BusError)) throw thrown;
  if (thrown.reason !== "timeout") return { code: "site_offline", message: thrown.message, hint: thrown.hint };
  const message = `${site.site} did not answer for ${name} within ${Math.round(timeoutMs / 100) / 10} s`;
  return { code: "device_timeout", message, hint: "What was asked of it may still come about" };
}

function offline(site: FleetSite): ZapdError {
  return new ZapdError("site_offline", `${site.site} is offline`, {
    hint: "Its daemon does not run, or does not reach the broker: nothing waits for it there",
  });
}

/** The data of an answer; fails with its error. */
function readAnswer(answer: unknown, site: FleetSite): unknown {
  if (isObject(answer) && answer["ok"] === true) return answer["data"];
  const error = isObject(answer) ? answer["error"] : undefined;
  const code = isObject(error) ? textIn(error["code"]) : null;
  const message = isObject(error) ? textIn(error["message"], 4_096) : null;
  if (!isObject(error) || code === null || message === null)
    throw new ZapdError("internal_error", `${site.site} answered with something else than an answer`);
  const hint = textIn(error["hint"], 4_096);
  throw new ZapdError(toErrorCode(code), message, { ...(hint !== null && { hint }) });
}

function textIn(value: unknown, longest: number = most.text): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, longest) : null;
}

function textsIn(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all.slice(0, most.labels).filter((one): one is string => typeof one === "string" && one.length <= most.text);
}
