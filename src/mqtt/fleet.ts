/**
 * Many sites on one broker, from the side of a client: their retained documents, and one command to many devices. There is no
 * coordinator: each daemon decides over its own devices, and answers for itself.
 */
import { type ErrorBody, toErrorCode, ZapdError } from "../api/errors.ts";
import { isObject } from "../system/json.ts";
import { caseFolded } from "../system/nearest.ts";
import { Semaphore } from "../system/semaphore.ts";
import { sleep } from "../system/sleep.ts";
import { withHint } from "../system/text.ts";
import { type Bus, BusError, type Message, objectIn } from "./bus.ts";
import { topicsOf } from "./topics.ts";

/** The status of a site. */
export interface FleetSite {
  readonly site: string;
  readonly online: boolean;
  readonly version: string | null;
  /** The number of its devices, as it reports it. */
  readonly devices: number;
  readonly labels: readonly string[];
  /** The commands that it accepts from the broker: `none`, `control`, `developer`. */
  readonly commands: string | null;
}

/** A device of a site, from its retained documents, which are untrusted. */
export interface FleetDevice {
  readonly site: FleetSite;
  readonly id: string;
  readonly name: string;
  /** Its own, and those of its site. */
  readonly labels: readonly string[];
  readonly document: Readonly<Record<string, unknown>>;
  /** The last published state; `null` without one. */
  readonly state: Readonly<Record<string, unknown>> | null;
}

/** Selects the devices that match all given fields. */
export interface Selection {
  /** Labels of the device or its site, each of which it must have. */
  readonly labels?: readonly string[];
  /** A site, by its id. */
  readonly site?: string | undefined;
  /** A device by its id or name, or `all`. */
  readonly device?: string | undefined;
}

export type FleetResult = { readonly device: FleetDevice } & (
  | { readonly ok: true; readonly data: unknown }
  | { readonly ok: false; readonly error: ErrorBody }
);

/**
 * Calls the site of a device; resolves with the data of the answer. Fails with its error, or with a `BusError`. `extraMs`: how
 * much longer than all commands together it may take.
 */
export type Send = (body: Readonly<Record<string, unknown>>, extraMs?: number) => Promise<unknown>;

export interface OpenOptions {
  /** Whether states are read too. */
  readonly states?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The silence after which all retained messages have arrived; 300 ms by default. */
  readonly settleMs?: number;
}

export interface RunOptions {
  /** The topic for answers of a site to this caller. */
  replyTo(site: string): string;
  /** The time for all commands together. */
  readonly timeoutMs: number;
  onResult(result: FleetResult): void;
}

/** A site runs 64 commands at a time, 200 at once, and then 100 a second: half of each is left for other clients. */
const perSite = { concurrent: 32, burst: 100, everyMs: 20 } as const;
/** Retained messages arrive in one burst: after this silence all have arrived. */
const defaultSettleMs = 300;
/** The same, before the first message. */
const firstMessageMs = 1_500;
const pauseMs = 10;
/** Devices to request at once, so that the broker drops none; and how many a site is taken to have at least. */
const maxBatch = 400;
const assumedDevices = 16;
/** Limits of what is kept in memory; the rest is ignored. */
const max = { sites: 20_000, devices: 400_000, topics: 820_000, text: 256, labels: 64 } as const;

/** The retained documents of all sites, kept up to date while the connection is open. */
export class Fleet {
  readonly #bus: Bus;
  readonly #prefix: string;
  readonly #settleMs: number;
  readonly #sites = new Map<string, FleetSite>();
  readonly #documents = new Map<string, Map<string, Readonly<Record<string, unknown>>>>();
  readonly #states = new Map<string, FleetDevice["state"]>();
  /** For each site that was called, what ends its calls when it goes offline. */
  readonly #called = new Map<string, AbortController>();
  /** For each site that was called, the earliest time of its next call but for the burst. */
  readonly #nextCall = new Map<string, number>();
  #devices = 0;

  private constructor(bus: Bus, prefix: string, settleMs: number) {
    this.#bus = bus;
    this.#prefix = prefix;
    this.#settleMs = settleMs;
  }

  /** Reads the retained documents. Fails with a `BusError`. */
  static async open(
    bus: Bus,
    prefix: string,
    { states = false, signal, settleMs = defaultSettleMs }: OpenOptions = {},
  ): Promise<Fleet> {
    const fleet = new Fleet(bus, prefix, settleMs);
    const { status, device, state } = topicsOf(prefix, "+");
    const filters = [status, device("+"), ...(states ? [state("+")] : [])];
    await fleet.#read(filters, () => false, signal);
    await fleet.#complete(states, signal);
    return fleet;
  }

  /**
   * Subscribes, and waits until no topic has been heard for the first time for a while, or until `isComplete`. Later messages of a
   * topic are changes, which never pause in a large fleet.
   */
  async #read(
    filters: readonly string[],
    isComplete: () => boolean,
    signal: AbortSignal | undefined,
  ): Promise<() => Promise<void>> {
    const heard = new Set<string>();
    let pauses = 0;
    const leave = await this.#bus.subscribe(
      filters,
      (message) => {
        if (!heard.has(message.topic) && heard.size < max.topics) {
          heard.add(message.topic);
          pauses = 0;
        }
        this.#take(message);
      },
      0,
    );
    while (!isComplete()) {
      // Pauses are counted, as a busy process reads nothing for a while: the time alone shows no silence.
      if (pauses++ * pauseMs >= (this.#sites.size > 0 ? this.#settleMs : firstMessageMs)) break;
      const over = this.#bus.ended.then((why) => Promise.reject(why));
      await Promise.race([sleep(pauseMs, signal), over]);
    }
    return leave;
  }

  /**
   * A broker drops messages to one client beyond some thousand at once: missing documents are requested again in batches of
   * sites. An offline site does not report its number of devices, so that after a drop it is requested again too.
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
      let count = 0;
      for (const next of asked) {
        count += Math.max(next.devices, assumedDevices);
        // A site with more is asked alone.
        if (count > maxBatch && batch.length > 0) break;
        batch.push(next);
      }
      asked.splice(0, batch.length);
      const topics = batch.map(({ site }) => topicsOf(this.#prefix, site));
      const filters = topics.flatMap((one) => [one.device("+"), ...(states ? [one.state("+")] : [])]);
      const leave = await this.#read(filters, () => batch.every((one) => one.online && isWhole(one)), signal);
      await leave();
    }
  }

  /** Every site, by its id. */
  get sites(): readonly FleetSite[] {
    return [...this.#sites.values()].sort((one, other) => (one.site < other.site ? -1 : 1));
  }

  /** The selected devices, by site and name. A name is matched regardless of case where no device is called exactly that. */
  select({ labels = [], site, device = "all" }: Selection = {}): readonly FleetDevice[] {
    const among = this.sites
      .filter((one) => site === undefined || one.site === site)
      .flatMap((one) => this.#devicesOf(one))
      .filter((one) => labels.every((label) => one.labels.includes(label)))
      .sort((one, other) => (one.site === other.site ? one.name.localeCompare(other.name) : 0));
    if (device === "all") return among;
    const given = device.trim().normalize("NFC");
    const exact = among.filter(({ id, name }) => id === given || name === given);
    const wanted = caseFolded(given);
    return exact.length > 0 ? exact : among.filter(({ id, name }) => [id, name].map(caseFolded).includes(wanted));
  }

  /**
   * Runs `work` for every device at once, and reports each result as it arrives. A device without an answer within the time
   * has failed.
   */
  async run(
    targets: readonly FleetDevice[],
    work: (send: Send, device: FleetDevice) => Promise<unknown>,
    { replyTo, timeoutMs, onResult }: RunOptions,
  ): Promise<readonly FleetResult[]> {
    const deadline = performance.now() + timeoutMs;
    const turns = new Map<string, Semaphore>();
    return Promise.all(
      targets.map(async (device): Promise<FleetResult> => {
        const { site } = device.site;
        const turn = turns.get(site) ?? new Semaphore(perSite.concurrent);
        turns.set(site, turn);
        const send: Send = (body, extraMs = 0) => this.#send(device, body, replyTo(site), deadline + extraMs);
        const result = await turn
          .run(() => work(send, device))
          .then(
            (data): FleetResult => ({ device, ok: true, data }),
            (thrown: unknown): FleetResult => ({ device, ok: false, error: failureOf(thrown, device, timeoutMs) }),
          );
        onResult(result);
        return result;
      }),
    );
  }

  async #send(
    { site }: FleetDevice,
    body: Readonly<Record<string, unknown>>,
    replyTo: string,
    deadline: number,
  ): Promise<unknown> {
    const known = this.#sites.get(site.site);
    if (!known?.online) throw offline(site.site);
    if (known.commands === "none")
      throw new ZapdError("unsupported_operation", `${site.site} accepts no commands from the broker`, {
        hint: "On that machine: zapd config set mqtt.commands control",
      });
    const called = this.#called.get(site.site) ?? new AbortController();
    this.#called.set(site.site, called);
    await this.#paced(site.site, called.signal);
    const timeoutMs = deadline - performance.now();
    if (timeoutMs <= 0) throw new ZapdError("device_timeout", "The time ran out before the command was sent");
    const { rpc } = topicsOf(this.#prefix, site.site);
    const { signal } = called;
    const answer = await this.#bus.request(rpc, body, { replyTo, timeoutMs, signal }).catch((error: unknown) => {
      throw signal.aborted ? offline(site.site, mayHaveWorked) : error;
    });
    return readAnswer(answer, site);
  }

  /** Waits until the site takes another call. */
  async #paced(site: string, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const next = Math.max(this.#nextCall.get(site) ?? now, now);
    this.#nextCall.set(site, next + perSite.everyMs);
    const waitMs = next - (perSite.burst - 1) * perSite.everyMs - now;
    if (waitMs > 0) await sleep(waitMs, signal);
  }

  #devicesOf(site: FleetSite): FleetDevice[] {
    return [...(this.#documents.get(site.site) ?? [])].map(([id, document]) => ({
      site,
      id,
      document,
      // The will of a site has no labels; the documents of its devices have them.
      labels: [...new Set([document["labels"], site.labels, document["site_labels"]].flatMap(textsIn))],
      name: textIn(document["name"]) ?? id,
      state: this.#states.get(`${site.site}/${id}`) ?? null,
    }));
  }

  #take({ topic, payload }: Message): void {
    const [, site = "", what, id = "", field] = topic.slice(this.#prefix.length + 1).split("/");
    if (what === "status") this.#takeStatus(site, objectIn(payload));
    else if (field === undefined) this.#takeDevice(site, id, objectIn(payload));
    else {
      const state = objectIn(payload)?.["state"];
      const key = `${site}/${id}`;
      if (state !== null && !isObject(state)) this.#states.delete(key);
      else if (this.#states.has(key) || this.#states.size < max.devices) this.#states.set(key, state);
    }
  }

  #takeStatus(site: string, status: Record<string, unknown> | null): void {
    if (status === null) this.#sites.delete(site);
    else if (this.#sites.has(site) || this.#sites.size < max.sites) {
      const before = this.#sites.get(site);
      // The will has only `online`: the rest stays known.
      this.#sites.set(site, {
        site,
        online: status["online"] === true,
        version: textIn(status["version"]) ?? before?.version ?? null,
        devices: Number.isInteger(status["devices"]) ? Number(status["devices"]) : (before?.devices ?? 0),
        labels: status["labels"] === undefined ? (before?.labels ?? []) : textsIn(status["labels"]),
        commands: textIn(status["commands"]) ?? before?.commands ?? null,
      });
    }
    if (status?.["online"] === true) return;
    this.#called.get(site)?.abort(offline(site));
    this.#called.delete(site);
  }

  #takeDevice(site: string, id: string, document: Record<string, unknown> | null): void {
    const known = this.#documents.get(site) ?? new Map<string, Readonly<Record<string, unknown>>>();
    const before = known.size;
    if (document === null) known.delete(id);
    else if (known.has(id) || this.#devices < max.devices) known.set(id, document);
    this.#devices += known.size - before;
    if (known.size > 0) this.#documents.set(site, known);
    else this.#documents.delete(site);
  }
}

/** Each device once: two sites in one network know the same sets, and a key that both sent would be pressed twice. */
export function eachOnce(devices: readonly FleetDevice[]): readonly FleetDevice[] {
  const chosen = new Map<string, FleetDevice>();
  for (const device of devices) {
    const { id, document, site } = device;
    const host = String(document["host"]);
    // What a site reaches by a loopback address is on its own machine.
    const machine = /^(127\.|localhost$|::1$)/.test(host) ? site.site : "";
    const key = JSON.stringify([id, host, document["port"], machine]);
    const other = chosen.get(key);
    if (!other || rankOf(device) > rankOf(other)) chosen.set(key, device);
  }
  return [...chosen.values()];
}

/** How likely the site of a device is to run a command for it: a device is paired with each site on its own. */
function rankOf({ site: { online, commands }, document: { access, status } }: FleetDevice): number {
  const takes = [online && commands !== "none", access !== "unpaired", status === "online", commands === "developer"];
  return takes.reduce((rank, one) => rank * 2 + Number(one), 0);
}

const mayHaveWorked = "The command may have taken effect all the same";

function failureOf(thrown: unknown, { name, site }: FleetDevice, timeoutMs: number): ErrorBody {
  if (thrown instanceof ZapdError) return { code: thrown.code, message: thrown.message, hint: thrown.hint };
  if (!(thrown instanceof BusError)) throw thrown;
  if (thrown.reason !== "timeout") {
    const isNotSent = thrown.reason === "forbidden" || thrown.reason === "too_large";
    const hint = isNotSent ? thrown.hint : withHint(mayHaveWorked, thrown.hint);
    return { code: "site_offline", message: thrown.message, hint };
  }
  const message = `${site.site} did not answer for ${name} within ${Math.round(timeoutMs / 100) / 10} s`;
  return { code: "device_timeout", message, hint: "The command may still take effect" };
}

function offline(site: string, command = "The command was not queued"): ZapdError {
  return new ZapdError("site_offline", `${site} is offline`, {
    hint: `Check that its daemon is running and reaches the broker. ${command}`,
  });
}

/** The data of an answer. Fails with its error. */
function readAnswer(answer: unknown, site: FleetSite): unknown {
  if (isObject(answer) && answer["ok"] === true) return answer["data"];
  const error = isObject(answer) ? answer["error"] : undefined;
  const message = isObject(error) ? textIn(error["message"], 4_096) : null;
  if (!isObject(error) || message === null)
    throw new ZapdError("internal_error", `${site.site} sent an invalid answer`);
  throw new ZapdError(toErrorCode(error["code"]), message, { hint: textIn(error["hint"], 4_096) ?? undefined });
}

function textIn(value: unknown, maxLength: number = max.text): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, maxLength) : null;
}

function textsIn(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all.slice(0, max.labels).filter((one): one is string => typeof one === "string" && one.length <= max.text);
}
