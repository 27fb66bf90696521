/**
 * The house told to a broker: its status, every device and what it does, kept there; what happens, as it happens; and commands
 * from there, which go the way of any other client's. It follows the API's own events, in the same process.
 */
import { type Client, createClient, type Device, type State } from "../api/client.ts";
import { textOf } from "../api/errors.ts";
import { clientHeader } from "../api/routes.ts";
import type { Log } from "../system/log.ts";
import { sleep } from "../system/sleep.ts";
import { version } from "../system/version.ts";
import { connectBus, takenOver } from "./broker.ts";
import { type Bus, BusError } from "./bus.ts";
import { Commands } from "./commands.ts";
import { Kept } from "./kept.ts";
import { brokerOf, type MqttSettings, ownSite } from "./settings.ts";
import type { ArtifactSettings } from "./sideload.ts";
import { partsOf, type SiteTopics, topicsOf } from "./topics.ts";

/** A document that the broker keeps. */
export interface Retained {
  readonly topic: string;
  readonly payload: object;
}

/** What else is kept at the broker for each device, such as what others discover it by. */
export interface Companion {
  /** Every topic that it may keep for a device: they are cleared once that is gone. */
  topicsOf(deviceId: string): readonly string[];
  /** What it keeps for a device as it is now; asked again with every change of the device and of its apps. */
  of(device: Device, zapd: Client): Promise<readonly Retained[]>;
  /** There is a connection: what the broker kept for these devices, and is not wanted any more, can be cleared. */
  attached?(bus: Bus, deviceIds: readonly string[]): Promise<void>;
}

/** How it stands with the broker. */
export interface BridgeStatus {
  readonly url: string;
  readonly site: string;
  /** `waiting`: it is tried again in a while; `stopped`: not before the config is read again. */
  readonly state: "connecting" | "connected" | "waiting" | "stopped";
  readonly commands: MqttSettings["commands"];
  /** When it came to be so. */
  readonly since: string;
  readonly problem: string | null;
  readonly hint: string | null;
}

export interface BridgeOptions {
  readonly settings: MqttSettings;
  /** The state folder. */
  readonly state: string;
  /** Asks zapd itself. */
  ask(request: Request): Response | Promise<Response>;
  readonly log: Log;
  /** Where packages may come from, and where they wait. */
  readonly artifacts: Pick<ArtifactSettings, "origins" | "folder">;
  readonly companions?: (topics: SiteTopics) => readonly Companion[];
  readonly random?: () => number;
}

/** Between two tries lies a random part of this, doubled each time: those who were cut off together come back one by one. */
const backoff = { firstMs: 1_000, mostMs: 60_000 } as const;
/** Who has taken our place at the broker has told its own status by then, so that we do not take it back. */
const soonestMs = 250;
/** A connection that has lasted for so long was a good one. */
const lastedMs = 60_000;
/** The broker has taken the last words within this time, or is not waited for. */
const leavesWithinMs = 1_000;
/** What is kept at a topic comes within this time. */
const statusWithinMs = 300;
/** Events and answers that are older are told to nobody. */
const newsExpiryS = 60;

export class Bridge {
  readonly #options: BridgeOptions;
  readonly #over = new AbortController();
  readonly #kept: Kept;
  readonly #client: Client;
  readonly #commands: Commands | null;
  readonly #devices = new Map<string, Device>();
  readonly #topics: SiteTopics;
  readonly #companions: readonly Companion[];
  #bus: Bus | undefined;
  #boot = "";
  /** The broker has been told of this very daemon. */
  #hasTold = false;
  #status: BridgeStatus;
  readonly #known = Promise.withResolvers<void>();
  #work: Promise<unknown> = Promise.resolve();

  private constructor(options: BridgeOptions, topics: SiteTopics) {
    this.#options = options;
    this.#topics = topics;
    this.#companions = options.companions?.(topics) ?? [];
    this.#kept = new Kept(options.random);
    this.#client = createClient({ url, fetch: (request) => this.#ask(request) });
    const { url: broker, commands } = options.settings;
    const since = new Date().toISOString();
    const { log } = options;
    const fetch = (request: Request) => this.#ask(request);
    const tell = (event: object) => this.#tellEvent(event);
    const { settings, artifacts } = options;
    const ca = () => brokerOf(settings, process.env).ca;
    const own = { topics, url, fetch, log, tell, artifacts: { ...artifacts, ca } };
    this.#commands = commands === "none" ? null : new Commands({ ...own, level: commands });
    const { site } = topics;
    this.#status = { url: broker, site, state: "connecting", commands, since, problem: null, hint: null };
  }

  /** A bridge that has its site; it begins with `start`. */
  static async open(options: BridgeOptions): Promise<Bridge> {
    const { settings, state, log } = options;
    const site = settings.site || (await siteOf(state, log));
    return new Bridge(options, topicsOf(settings.prefix, site));
  }

  get status(): BridgeStatus {
    return this.#status;
  }

  start(): void {
    this.#work = Promise.all([this.#follow(), this.#connect()]).catch((error: unknown) => {
      if (!this.#over.signal.aborted) this.#stand("stopped", new BusError("closed", textOf(error), { cause: error }));
    });
  }

  /** Says that the site is not there any more, and leaves; `renamed`: nothing of it is left behind, for it has other topics now. */
  async stop({ renamed = false } = {}): Promise<void> {
    const bus = this.#bus;
    this.#bus = undefined;
    if (bus) {
      const cleared = renamed ? this.#kept.clear(bus) : Promise.resolve();
      const left = bus.publish(this.#topics.status, renamed ? "" : this.#away, { retain: true, qos: 1 });
      await Promise.race([Promise.allSettled([cleared, left]), sleep(leavesWithinMs)]);
    }
    this.#commands?.end();
    this.#over.abort(new BusError("left", "zapd leaves the broker"));
    await bus?.close();
    await this.#work;
  }

  async #ask(request: Request): Promise<Response> {
    request.headers.set(clientHeader, "mqtt");
    return this.#options.ask(request);
  }

  async #connect(): Promise<void> {
    const { settings, log, random = Math.random } = this.#options;
    const { signal } = this.#over;
    const { site, status } = this.#topics;
    await this.#known.promise;
    for (let tries = 0; !signal.aborted; tries++) {
      let since = Number.POSITIVE_INFINITY;
      let why: BusError;
      try {
        const broker = brokerOf(settings, process.env);
        if (broker.password !== undefined) log.hide(broker.password);
        const will = { topic: status, payload: this.#away };
        const bus = await connectBus(broker, { clientId: `zapd-${site}`, will, signal });
        since = performance.now();
        this.#bus = bus;
        this.#stand("connected");
        log.info(`MQTT: connected to ${broker.url} as the site ${site}`);
        const serving = this.#serve(bus).catch((error: unknown) => {
          if (error instanceof BusError && error.reason !== "closed") return error;
          return undefined;
        });
        why = await Promise.race([bus.ended, serving.then((failed) => failed ?? bus.ended)]);
        await bus.close();
      } catch (error) {
        why = error instanceof BusError ? error : new BusError("closed", textOf(error), { cause: error });
      }
      this.#bus = undefined;
      this.#kept.detach();
      if (signal.aborted) return;
      if (why.reason === "taken_over") return this.#stand("stopped", why);
      if (performance.now() - since >= lastedMs) tries = 0;
      this.#stand("waiting", why);
      const most = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(tries, 10));
      await sleep(Math.max(soonestMs, random() * most), signal).catch(() => {});
    }
  }

  /** What is done with a connection; ends when all that waited is under way. */
  async #serve(bus: Bus): Promise<void> {
    const topics = this.#topics;
    if (this.#hasTold && (await this.#isOthers(bus))) throw takenOver(this.#options.settings.url);
    const commands = this.#commands;
    if (commands) await bus.subscribe(commands.filters, (message) => commands.take(message, bus));
    await this.#tellStatus(bus);
    const filters = [topics.device("+"), topics.state("+")];
    const isKnown = (topic: string) => {
      const id = partsOf(topics, topic)?.[0] ?? "";
      if (this.#devices.has(id)) return true;
      for (const other of this.#companions.flatMap((one) => one.topicsOf(id)))
        void bus.publish(other, "", { retain: true, qos: 1 }).catch(() => {});
      return false;
    };
    const ids = [...this.#devices.keys()];
    for (const companion of this.#companions) void companion.attached?.(bus, ids).catch(() => {});
    await this.#kept.attach(bus, filters, isKnown, this.#over.signal);
  }

  /** What the broker says of the site when it is gone. */
  get #away(): string {
    return JSON.stringify({ online: false, boot: this.#boot });
  }

  /**
   * Whether the last word of this site at the broker, which was ours, is another's by now: another zapd has taken our place
   * since. Not every broker says so when it cuts us off.
   */
  async #isOthers(bus: Bus): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const leave = await bus.subscribe([this.#topics.status], ({ payload }) => resolve(bootIn(payload) ?? this.#boot));
    const boot = await Promise.race([promise, sleep(statusWithinMs).then(() => this.#boot)]);
    await leave();
    return boot !== this.#boot;
  }

  async #tellStatus(bus: Bus): Promise<void> {
    const { commands, site_labels: labels } = this.#options.settings;
    const status = { online: true, boot: this.#boot, version, devices: this.#devices.size, labels, commands };
    await bus.publish(this.#topics.status, JSON.stringify(status), { retain: true, qos: 1 });
    this.#hasTold = true;
  }

  #stand(state: BridgeStatus["state"], why?: BusError): void {
    const { log } = this.#options;
    const problem = why?.message ?? null;
    const hint = why?.hint ?? null;
    const isNew = problem !== null && problem !== this.#status.problem;
    const isSame = state === this.#status.state && !isNew;
    const since = isSame ? this.#status.since : new Date().toISOString();
    this.#status = { ...this.#status, state, since, problem, hint };
    if (isNew) log.warn(`MQTT: ${problem}${hint === null ? "" : `. ${hint}`}`);
  }

  /** Follows what happens, and has the broker told. */
  async #follow(): Promise<void> {
    const { signal } = this.#over;
    /** Devices of a snapshot that comes in parts. */
    let shown = new Set<string>();
    for await (const event of this.#client.events({ signal })) {
      const [boot = "", seq = ""] = event.id.split(".");
      this.#boot = boot;
      if (event.type === "snapshot") {
        if (event.part === 1) shown = new Set();
        for (const { device, state } of event.devices) {
          shown.add(device.id);
          this.#tellDevice(device);
          if (state) this.#tellState(device.id, state, Number(seq), []);
        }
        if (!event.last) continue;
        for (const id of this.#devices.keys()) if (!shown.has(id)) this.#removed(id);
        this.#known.resolve();
        this.#counted();
      } else if (event.type === "state.changed") {
        const changed = event.changed.filter((path) => path !== "playback.position_ms");
        if (changed.length > 0) this.#tellState(event.device_id, event.state, Number(seq), changed);
      } else {
        if (event.type === "device.added" || event.type === "device.changed") this.#tellDevice(event.device);
        if (event.type === "device.removed") this.#removed(event.device_id);
        if (event.type === "lease.changed" && event.lease === null) this.#commands?.freed(event.device_id);
        if (event.type === "apps.changed") this.#tellCompanions(event.device_id);
        this.#tellEvent(event);
        if (event.type === "device.added" || event.type === "device.removed") this.#counted();
      }
    }
  }

  #tellDevice(device: Device): void {
    this.#devices.set(device.id, device);
    const { site_labels } = this.#options.settings;
    // The will of a site says no more than that it is gone: its labels stay known with its devices.
    this.#kept.set(this.#topics.device(device.id), site_labels.length > 0 ? { ...device, site_labels } : device);
    this.#tellCompanions(device.id);
  }

  /** A position runs on by itself: it is told to nobody. */
  #tellState(id: string, state: State, seq: number, changed: readonly string[]): void {
    const playback = state.playback && { ...state.playback, position_ms: null, position_at: null };
    this.#kept.set(this.#topics.state(id), { seq, state: { ...state, playback }, changed });
  }

  #tellCompanions(id: string): void {
    for (const companion of this.#companions) void this.#tellCompanion(companion, id);
  }

  async #tellCompanion(companion: Companion, id: string): Promise<void> {
    const device = this.#devices.get(id);
    if (!device) return;
    try {
      const documents = await companion.of(device, this.#client);
      // It may have gone meanwhile, or be another by now, which is told by its own turn.
      if (this.#devices.get(id) !== device) return;
      for (const { topic, payload } of documents) this.#kept.set(topic, payload);
    } catch (error) {
      this.#options.log.debug(`MQTT: ${device.name} could not be described to others: ${textOf(error)}`);
    }
  }

  #removed(id: string): void {
    this.#devices.delete(id);
    const others = this.#companions.flatMap((one) => one.topicsOf(id));
    for (const topic of [this.#topics.device(id), this.#topics.state(id), ...others]) this.#kept.set(topic, null);
  }

  #tellEvent(event: object): void {
    // Whoever is not there has missed it: the documents that are kept say what holds.
    this.#bus?.publish(this.#topics.events, JSON.stringify(event), { expiresInS: newsExpiryS }).catch(() => {});
  }

  #counted(): void {
    if (this.#bus) this.#tellStatus(this.#bus).catch(() => {});
  }
}

/** The same process: nothing listens at it. */
const url = "http://zapd/v1";

function bootIn(payload: Uint8Array): string | null {
  try {
    const { boot } = JSON.parse(Buffer.from(payload).toString()) as { readonly boot?: unknown };
    return typeof boot === "string" ? boot : null;
  } catch {
    return null;
  }
}

async function siteOf(state: string, log: Log): Promise<string> {
  try {
    return await ownSite(state);
  } catch (error) {
    log.warn(`MQTT: the name of this site could not be kept, and is another after a restart: ${textOf(error)}`);
    return crypto.randomUUID();
  }
}
