/**
 * Publishes the house to a broker: its status and each device with its state as retained documents, and events as they happen.
 * Commands that come from the broker run as any other client's. It follows the API's own events, in the same process.
 */
import { type Client, createClient, type Device, type State } from "../api/client.ts";
import { textOf } from "../api/errors.ts";
import { clientHeader } from "../api/routes.ts";
import type { Log } from "../system/log.ts";
import { sleep } from "../system/sleep.ts";
import { withHint } from "../system/text.ts";
import { version } from "../system/version.ts";
import { connectBus, takenOver } from "./broker.ts";
import { type Bus, BusError, objectIn } from "./bus.ts";
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

/** Further documents that are retained for each device, such as those of discovery. */
export interface Companion {
  /** Every topic at which it may retain something for a device: they are cleared when the device is removed. */
  topicsOf(deviceId: string): readonly string[];
  /** The documents for a device as it is now; asked again whenever the device or its apps change. */
  of(device: Device, zapd: Client): Promise<readonly Retained[]>;
  /** Called with each new connection, to clear what the broker still retains for these devices and should not. */
  attached?(bus: Bus, deviceIds: readonly string[]): Promise<void>;
}

/** The state of the connection to the broker. */
export interface BridgeStatus {
  readonly url: string;
  readonly site: string;
  /** `waiting`: it connects again in a while; `stopped`: not before the config is read again. */
  readonly state: "connecting" | "connected" | "waiting" | "stopped";
  readonly commands: MqttSettings["commands"];
  /** Since when it is in this state, ISO 8601. */
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

/**
 * Between two attempts it waits for a random part of this, doubled each time: daemons that were cut off together do not come
 * back all at once.
 */
const backoff = { firstMs: 1_000, mostMs: 60_000 } as const;
/** By then another daemon that took our place has published its own status, so that we do not take it back. */
const soonestMs = 250;
/** A connection that lasted this long begins the backoff anew. */
const lastedMs = 60_000;
/** How long the broker has to take our last message. */
const leavesWithinMs = 1_000;
/** A retained message arrives within this time. */
const statusWithinMs = 300;
/** The broker drops events that are older. */
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
  /** Whether this daemon has published its status before. */
  #hasTold = false;
  /** Boots of others that stood in our status, since a connection has last lasted. */
  readonly #others = new Set<string>();
  #status: BridgeStatus;
  readonly #snapshot = Promise.withResolvers<void>();
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

  /** Finds out its site; nothing is connected before `start`. */
  static async open(options: BridgeOptions): Promise<Bridge> {
    const { settings, state, log } = options;
    const site = settings.site || (await siteOf(state, log));
    return new Bridge(options, topicsOf(settings.prefix, site));
  }

  get status(): BridgeStatus {
    const { refused } = this.#kept;
    if (!refused || this.#status.problem !== null) return this.#status;
    return { ...this.#status, problem: refused.message, hint: refused.hint ?? null };
  }

  start(): void {
    this.#work = Promise.all([this.#follow(), this.#connect()]).catch((error: unknown) => {
      if (!this.#over.signal.aborted)
        this.#setState("stopped", new BusError("closed", textOf(error), { cause: error }));
    });
  }

  /** Publishes that the site is offline, and disconnects; `renamed`: clears all that it has retained, since it has other topics now. */
  async stop({ renamed = false } = {}): Promise<void> {
    const bus = this.#bus;
    this.#bus = undefined;
    if (bus) {
      const cleared = renamed ? this.#kept.clear(bus) : Promise.resolve();
      const left = bus.publish(this.#topics.status, renamed ? "" : this.#offline, { retain: true, qos: 1 });
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
    await this.#snapshot.promise;
    for (let tries = 0; !signal.aborted; tries++) {
      let since = Number.POSITIVE_INFINITY;
      let why: BusError;
      try {
        const broker = brokerOf(settings, process.env);
        if (broker.password !== undefined) log.hide(broker.password);
        const will = { topic: status, payload: this.#offline };
        const bus = await connectBus(broker, { clientId: `zapd-${site}`, will, signal });
        since = performance.now();
        this.#bus = bus;
        this.#setState("connected");
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
      this.#commands?.detach();
      if (signal.aborted) return;
      if (why.reason === "taken_over") return this.#setState("stopped", why);
      if (performance.now() - since >= lastedMs) {
        tries = 0;
        this.#others.clear();
      }
      this.#setState("waiting", why);
      const most = Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(tries, 10));
      await sleep(Math.max(soonestMs, random() * most), signal).catch(() => {});
    }
  }

  /** Publishes everything over a new connection; done when all that waited has been sent. */
  async #serve(bus: Bus): Promise<void> {
    const topics = this.#topics;
    if (this.#hasTold && (await this.#isTaken(bus))) throw takenOver(this.#options.settings.url);
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

  /** The status of the site once it is offline. */
  get #offline(): string {
    return JSON.stringify({ online: false, boot: this.#boot });
  }

  /**
   * Whether another zapd has this site: not every broker says so when it disconnects us. Its status stands in place of ours, and
   * stands there again after ours was told: once alone it may be our own of long ago, which a broker that crashed has from its disk.
   */
  async #isTaken(bus: Bus): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const leave = await bus.subscribe([this.#topics.status], ({ payload }) => {
      const boot = objectIn(payload)?.["boot"];
      resolve(typeof boot === "string" ? boot : this.#boot);
    });
    const boot = await Promise.race([promise, sleep(statusWithinMs).then(() => this.#boot)]);
    await leave();
    if (boot === this.#boot) return false;
    const isAgain = this.#others.has(boot);
    this.#others.add(boot);
    return isAgain;
  }

  async #tellStatus(bus: Bus): Promise<void> {
    const { commands, site_labels: labels } = this.#options.settings;
    const status = { online: true, boot: this.#boot, version, devices: this.#devices.size, labels, commands };
    await bus.publish(this.#topics.status, JSON.stringify(status), { retain: true, qos: 1 });
    this.#hasTold = true;
  }

  #setState(state: BridgeStatus["state"], why?: BusError): void {
    const { log } = this.#options;
    const problem = why?.message ?? null;
    const hint = why?.hint ?? null;
    const isNew = problem !== null && problem !== this.#status.problem;
    const isSame = state === this.#status.state && !isNew;
    const since = isSame ? this.#status.since : new Date().toISOString();
    this.#status = { ...this.#status, state, since, problem, hint };
    if (isNew) log.warn(`MQTT: ${withHint(problem, hint)}`);
  }

  /** Follows the events, and publishes what they change. */
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
        this.#snapshot.resolve();
        this.#tellCount();
      } else if (event.type === "state.changed") {
        const changed = event.changed.filter((path) => path !== "playback.position_ms");
        if (changed.length > 0) this.#tellState(event.device_id, event.state, Number(seq), changed);
      } else {
        if (event.type === "device.added" || event.type === "device.changed") this.#tellDevice(event.device);
        if (event.type === "device.removed") this.#removed(event.device_id);
        if (event.type === "lease.changed" && event.lease === null) this.#commands?.leaseEnded(event.device_id);
        if (event.type === "apps.changed") this.#tellCompanions(event.device_id);
        this.#tellEvent(event);
        if (event.type === "device.added" || event.type === "device.removed") this.#tellCount();
      }
    }
  }

  #tellDevice(device: Device): void {
    this.#devices.set(device.id, device);
    const { site_labels } = this.#options.settings;
    // The will says only that the site is offline: its labels stay known with its devices.
    this.#kept.set(this.#topics.device(device.id), site_labels.length > 0 ? { ...device, site_labels } : device);
    this.#tellCompanions(device.id);
  }

  /** Publishes a state without the position, which changes all the time. */
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
      // It may have been removed or changed meanwhile; the change has a call of its own.
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
    // An event that cannot be sent is lost: the retained documents tell the present state.
    this.#bus?.publish(this.#topics.events, JSON.stringify(event), { expiresInS: newsExpiryS }).catch(() => {});
  }

  #tellCount(): void {
    if (this.#bus) this.#tellStatus(this.#bus).catch(() => {});
  }
}

/** The app in this process: nothing listens there. */
const url = "http://zapd/v1";

async function siteOf(state: string, log: Log): Promise<string> {
  try {
    return await ownSite(state);
  } catch (error) {
    log.warn(`MQTT: the name of this site could not be kept, and is another after a restart: ${textOf(error)}`);
    return crypto.randomUUID();
  }
}
