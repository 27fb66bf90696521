/**
 * Publishes the devices to a broker: the status of the site, each device and its state as retained documents, and events.
 * Commands from the broker run as those of any client. The bridge follows the events of the API in the same process.
 */
import { type Client, createClient, type Device, type Result, type State } from "../api/client.ts";
import { insideClient } from "../api/client-inside.ts";
import { textOf } from "../api/errors.ts";
import type { Log } from "../system/log.ts";
import { orAborted, sleep } from "../system/sleep.ts";
import { withHint } from "../system/text.ts";
import { version } from "../system/version.ts";
import { connectBus, takenOver } from "./broker.ts";
import { type Bus, BusError, objectIn } from "./bus.ts";
import { Commands } from "./commands.ts";
import { discoveryTopic, HomeAssistant, type HomeAssistantOptions, isDiscoveryTopic } from "./home-assistant.ts";
import { RetainedDocuments } from "./retained.ts";
import { brokerOf, caOf, type MqttSettings, ownSite } from "./settings.ts";
import type { ArtifactSettings } from "./sideload.ts";
import { partsOf, type SiteTopics, topicsOf } from "./topics.ts";

/** The state of the connection to the broker, as the API shows it. */
export type BridgeStatus = NonNullable<Result<"status">["mqtt"]>;

export interface BridgeOptions extends Pick<HomeAssistantOptions, "address" | "page"> {
  readonly settings: MqttSettings;
  /** The state folder. */
  readonly state: string;
  /** Calls the API of this daemon; `isUse`: what it reads is a use of the device. */
  ask(request: Request, isUse: boolean): Response | Promise<Response>;
  readonly log: Log;
  /** Allowed origins of packages, and the folder for downloads. */
  readonly artifacts: Pick<ArtifactSettings, "origins" | "folder">;
  /** Topics of a former site at this broker, which are to be cleared. */
  readonly left?: readonly string[] | undefined;
}

/**
 * The delay before the next attempt is a random part of this, which doubles each time: many daemons that lost one broker do not
 * reconnect at the same moment.
 */
const backoff = { firstMs: 1_000, maxMs: 60_000 } as const;
/** Another daemon that took over this client id has published its status by then, so that this one does not take it back. */
const minDelayMs = 250;
/** A connection that lasted this long resets the backoff. */
const stableMs = 60_000;
/** How long the last message may take. */
const farewellMs = 1_000;
/** A retained message arrives within this time after subscribing. */
const retainedWithinMs = 300;
const notCleared =
  "the connection ended while zapd asked for the topics homeassistant/device/+/config, to clear what it published there while mqtt.home_assistant was on. It does not ask again. To have them cleared, allow zapd to read and write them in the broker's ACL (src/mqtt/README.md has one to copy), and restart zapd";
/** The broker drops events after this time. */
const eventExpiryS = 60;

export class Bridge {
  readonly #options: BridgeOptions;
  readonly #closing = new AbortController();
  readonly #retained = new RetainedDocuments(isDiscoveryTopic);
  readonly #client: Client;
  readonly #commands: Commands | null;
  readonly #devices = new Map<string, Device>();
  readonly #topics: SiteTopics;
  readonly #homeAssistant: HomeAssistant;
  /** Why the id of the site is not kept. */
  readonly #unkept: BusError | undefined;
  /** Topics of a former site, until there is a connection to clear them. */
  #left: readonly string[];
  #bus: Bus | undefined;
  /** The connection over which the status was published: commands are subscribed to, and no other daemon has this site. */
  #served: Bus | undefined;
  #boot = "";
  /** Whether this daemon has published its status before. */
  #hasPublishedStatus = false;
  /** Boot ids of other daemons in the status of this site, since the last stable connection. */
  readonly #otherBoots = new Set<string>();
  #status: BridgeStatus;
  readonly #snapshot = Promise.withResolvers<void>();
  #work: Promise<unknown> = Promise.resolve();

  private constructor(options: BridgeOptions, topics: SiteTopics, unkept: BusError | undefined) {
    this.#options = options;
    this.#unkept = unkept;
    this.#topics = topics;
    this.#left = options.left?.filter((topic) => !topic.startsWith(`${topics.base}/`)) ?? [];
    const api = insideClient("mqtt", (request) => options.ask(request, true));
    // Nobody asks for what the bridge reads by itself: a found device that nobody uses gives way (SECURITY.md T30).
    this.#client = createClient(insideClient("mqtt", (request) => options.ask(request, false)));
    const { settings, artifacts, log } = options;
    const { url: broker, commands } = settings;
    const since = new Date().toISOString();
    const publish = (event: object) => this.#publishEvent(event);
    this.#homeAssistant = new HomeAssistant({ ...options, topics });
    const own = { topics, api, log, publish, artifacts: { ...artifacts, ca: () => caOf(settings) } };
    this.#commands = commands === "none" ? null : new Commands({ ...own, level: commands });
    const { site } = topics;
    this.#status = { url: broker, site, state: "connecting", commands, since, problem: null, hint: null };
  }

  /** Determines the site. Connects only with `start`. */
  static async open(options: BridgeOptions): Promise<Bridge> {
    const { settings, state, log } = options;
    const { site, unkept } = await siteOf(settings, state);
    if (unkept) log.warn(`MQTT: ${withHint(unkept.message, unkept.hint)}`);
    return new Bridge(options, topicsOf(settings.prefix, site), unkept);
  }

  get status(): BridgeStatus {
    const why = this.#retained.refused ?? this.#unkept;
    if (!why || this.#status.problem !== null) return this.#status;
    return { ...this.#status, problem: why.message, hint: why.hint ?? null };
  }

  start(): void {
    this.#work = Promise.all([this.#follow(), this.#connect()]).catch((error: unknown) => {
      if (!this.#closing.signal.aborted)
        this.#setState("stopped", new BusError("closed", textOf(error), { cause: error }));
    });
  }

  /**
   * Publishes that the site is offline, and disconnects. Where the `next` settings have other topics at the same broker, clears
   * all retained documents but those that they replace; gives the topics that it could not clear without a connection.
   */
  async stop(next?: MqttSettings): Promise<readonly string[]> {
    const { url, site, prefix } = this.#options.settings;
    const isSameBroker = next?.url === url;
    const renamed = isSameBroker && (next.site !== site || next.prefix !== prefix);
    const bus = this.#bus;
    this.#bus = undefined;
    this.#retained.detach();
    // Home Assistant forgets what its user has set there, such as the area, of a device whose payload is cleared.
    const keeps = (topic: string) => next?.home_assistant === true && isDiscoveryTopic(topic);
    const { status } = this.#topics;
    const former = renamed ? [...this.#retained.topics.filter((topic) => !keeps(topic)), status] : [];
    if (bus) {
      const last = renamed ? former.map((topic) => [topic, ""] as const) : [[status, this.#offline] as const];
      const published = last.map(([topic, payload]) => bus.publish(topic, payload, { retain: true, qos: 1 }));
      await Promise.race([Promise.allSettled(published), sleep(farewellMs, this.#closing.signal)]);
    }
    // Where another daemon has taken over the site, they are its documents.
    const isOwn = this.#status.state !== "stopped";
    this.#commands?.end();
    this.#closing.abort(new BusError("left", "zapd is disconnecting from the broker"));
    await bus?.close();
    await this.#work;
    return isSameBroker ? [...this.#left, ...(bus || !isOwn ? [] : former)] : [];
  }

  async #connect(): Promise<void> {
    const { settings, log } = this.#options;
    const { signal } = this.#closing;
    const { site, status } = this.#topics;
    await orAborted(this.#snapshot.promise, signal);
    for (let tries = 0; ; tries++) {
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
        const serving = this.#serve(bus).catch((error: unknown) =>
          error instanceof BusError && error.reason !== "closed" ? error : undefined,
        );
        why = await Promise.race([bus.ended, serving.then((failed) => failed ?? bus.ended)]);
        await bus.close();
      } catch (error) {
        why = error instanceof BusError ? error : new BusError("closed", textOf(error), { cause: error });
      }
      this.#bus = undefined;
      this.#retained.detach();
      this.#commands?.detach();
      if (signal.aborted) return;
      if (why.reason === "taken_over") return this.#setState("stopped", why);
      if (performance.now() - since >= stableMs) {
        tries = 0;
        this.#otherBoots.clear();
      }
      this.#setState("waiting", why);
      const most = Math.min(backoff.maxMs, backoff.firstMs * 2 ** tries);
      await sleep(Math.max(minDelayMs, Math.random() * most), signal);
    }
  }

  /** Subscribes to commands and publishes all documents over a new connection. */
  async #serve(bus: Bus): Promise<void> {
    const topics = this.#topics;
    if (this.#hasPublishedStatus && (await this.#isTaken(bus))) throw takenOver(this.#options.settings.url);
    const commands = this.#commands;
    if (commands) await bus.subscribe(commands.filters, (message) => commands.handle(message, bus));
    // `stop` has said meanwhile that the site is offline: that is the last word.
    if (this.#bus !== bus) return;
    this.#served = bus;
    await this.#publishStatus(bus);
    for (const topic of this.#left) bus.publish(topic, "", { retain: true, qos: 1 }).catch(() => {});
    this.#left = [];
    const filters = [topics.device("+"), topics.state("+")];
    const isKnown = (topic: string) => {
      const id = partsOf(topics, topic)?.[0] ?? "";
      if (this.#devices.has(id)) return true;
      for (const topic of this.#homeAssistant.topicsFor(id)) this.#retained.clearUnread(topic);
      return false;
    };
    const { signal } = this.#closing;
    await this.#retained.attach(bus, filters, isKnown, signal);
    // Last, because the broker may close the connection for it.
    await this.#homeAssistant.clearDisabled(bus, [...this.#devices.keys()], signal).catch((error: unknown) => {
      if (error instanceof BusError && error.reason === "closed") this.#options.log.warn(`MQTT: ${notCleared}`);
    });
  }

  /** The status of the site once it is offline. */
  get #offline(): string {
    return JSON.stringify({ online: false, boot: this.#boot });
  }

  /**
   * Whether another zapd uses this site, which not every broker reports when it disconnects us. Then its status replaces ours,
   * repeatedly: a single foreign status may be an old one of ours that a crashed broker restored from disk.
   */
  async #isTaken(bus: Bus): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const leave = await bus
      .subscribe([this.#topics.status], ({ payload }) => {
        const boot = objectIn(payload)?.["boot"];
        resolve(typeof boot === "string" ? boot : this.#boot);
      })
      .catch(() => null);
    // Reading is not allowed.
    if (!leave) return false;
    const boot = await Promise.race([promise, sleep(retainedWithinMs).then(() => this.#boot)]);
    await leave();
    if (boot === this.#boot) return false;
    const isAgain = this.#otherBoots.has(boot);
    this.#otherBoots.add(boot);
    return isAgain;
  }

  async #publishStatus(bus: Bus): Promise<void> {
    const { commands, site_labels: labels } = this.#options.settings;
    const status = { online: true, boot: this.#boot, version, devices: this.#devices.size, labels, commands };
    await bus.publish(this.#topics.status, JSON.stringify(status), { retain: true, qos: 1 });
    this.#hasPublishedStatus = true;
  }

  #setState(state: BridgeStatus["state"], why?: BusError): void {
    const { log } = this.#options;
    const problem = why?.message ?? null;
    const hint = why?.hint ?? null;
    const isNew = problem !== null && problem !== this.#status.problem;
    const since = state === this.#status.state ? this.#status.since : new Date().toISOString();
    this.#status = { ...this.#status, state, since, problem, hint };
    if (isNew) log.warn(`MQTT: ${withHint(problem, hint)}`);
  }

  /** Follows the events, and publishes what they change. */
  async #follow(): Promise<void> {
    const { signal } = this.#closing;
    /** Devices of a snapshot, which may have several parts. */
    let shown = new Set<string>();
    for await (const event of this.#client.events({ signal })) {
      const [boot = "", seq = ""] = event.id.split(".");
      this.#boot = boot;
      if (event.type === "snapshot") {
        if (event.part === 1) shown = new Set();
        for (const { device, state } of event.devices) {
          shown.add(device.id);
          this.#homeAssistant.stateChanged(device, state);
          this.#publishDevice(device);
          this.#publishState(device.id, state, Number(seq), []);
        }
        if (!event.last) continue;
        for (const id of this.#devices.keys()) if (!shown.has(id)) this.#removed(id);
        this.#snapshot.resolve();
        this.#publishCount();
      } else if (event.type === "state.changed") {
        const changed = event.changed.filter((path) => path !== "playback.position_ms");
        if (changed.length > 0) this.#publishState(event.device_id, event.state, Number(seq), changed);
        const device = this.#devices.get(event.device_id);
        if (device && this.#homeAssistant.stateChanged(device, event.state)) void this.#publishDiscovery(device.id);
      } else {
        if (event.type === "device.added" || event.type === "device.changed") this.#publishDevice(event.device);
        // Its state is published once it is known.
        if (event.type === "device.added") this.#publishState(event.device_id, null, Number(seq), []);
        if (event.type === "device.removed") this.#removed(event.device_id);
        if (event.type === "lease.changed" && event.lease === null) this.#commands?.leaseEnded(event.device_id);
        if (event.type === "apps.changed") void this.#publishDiscovery(event.device_id);
        this.#publishEvent(event);
        if (event.type === "device.added" || event.type === "device.removed") this.#publishCount();
      }
    }
  }

  #publishDevice(device: Device): void {
    this.#devices.set(device.id, device);
    const { site_labels } = this.#options.settings;
    // The will has no labels: those of an offline site stay known through its devices.
    this.#retained.set(this.#topics.device(device.id), site_labels.length > 0 ? { ...device, site_labels } : device);
    void this.#publishDiscovery(device.id);
  }

  /** Publishes a state without the playback position, which changes all the time; `null`: the broker's may be of days ago. */
  #publishState(id: string, state: State | null, seq: number, changed: readonly string[]): void {
    const playback = state?.playback && { ...state.playback, position_ms: null, position_at: null };
    this.#retained.set(this.#topics.state(id), { seq, state: state && { ...state, playback }, changed });
  }

  async #publishDiscovery(id: string): Promise<void> {
    const device = this.#devices.get(id);
    if (!device) return;
    try {
      const payload = await this.#homeAssistant.payloadFor(device, this.#client);
      // It may have been removed or changed meanwhile; a change leads to another call.
      if (payload && this.#devices.get(id) === device) this.#retained.set(discoveryTopic(device), payload);
    } catch (error) {
      this.#options.log.debug(`MQTT: ${device.name} could not be described to Home Assistant: ${textOf(error)}`);
    }
  }

  #removed(id: string): void {
    this.#devices.delete(id);
    this.#homeAssistant.forget(id);
    for (const topic of [this.#topics.device(id), this.#topics.state(id)]) this.#retained.set(topic, null);
    // The broker may have one of an earlier run of this daemon, which has not published it again yet.
    for (const topic of this.#homeAssistant.topicsFor(id)) this.#retained.clearUnread(topic);
  }

  #publishEvent(event: object): void {
    // An event that cannot be sent is dropped: the retained documents have the current state.
    this.#bus?.publish(this.#topics.events, JSON.stringify(event), { expiresInS: eventExpiryS }).catch(() => {});
  }

  #publishCount(): void {
    if (this.#bus && this.#bus === this.#served) this.#publishStatus(this.#bus).catch(() => {});
  }
}

async function siteOf(settings: MqttSettings, state: string): Promise<{ site: string; unkept?: BusError }> {
  if (settings.site) return { site: settings.site };
  try {
    return { site: await ownSite(state) };
  } catch (cause) {
    const problem = `The id of this site could not be read or saved, so it will change with the next restart: ${textOf(cause)}`;
    const hint =
      "Make mqtt.json in the state folder a regular file (no link), or name the site: zapd config set mqtt.site NAME";
    return { site: crypto.randomUUID(), unkept: new BusError("settings", problem, { hint, cause }) };
  }
}
