/**
 * A simulated Cast device: CASTV2 over TLS, announced over mDNS. It refuses what hardware refuses (players.md 3.3): a message
 * before CONNECT is dropped, whoever says nothing for a while is hung up on, and what runs is spoken to over its own transport.
 */
import { randomUUID } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { sharedCertificate } from "./bench/certificate.ts";
import { type JsonObject, objectIn, parseObject } from "./bench/json.ts";
import { createTlsServer, type Listener } from "./bench/listeners.ts";
import { createAnnouncer } from "./bench/mdns.ts";
import { pushCapped, SimulatedSet } from "./bench/set.ts";
import { type Message, readMessages, writeMessage } from "./cast/messages.ts";
import { type CastOptions, type CastSimulatorOptions, identify, type SimulatedCastApp } from "./cast/options.ts";
import { Player, type SharedMedia } from "./cast/player.ts";

export type { CastSimulatorOptions } from "./cast/options.ts";

const PREFIX = "urn:x-cast:com.google.cast.";
const CONNECTION = `${PREFIX}tp.connection`;
const HEARTBEAT = `${PREFIX}tp.heartbeat`;
const RECEIVER = `${PREFIX}receiver`;
const MEDIA = `${PREFIX}media`;
const DISCOVERY = `${PREFIX}receiver.discovery`;
const SETUP = `${PREFIX}setup`;
const PLATFORM = "receiver-0";
const AUTH = `${PREFIX}tp.deviceauth`;
/** A response with a signature and a certificate of a byte each, which senders that check them refuse. */
const AUTHENTIC = Buffer.from("12060a0100120100", "hex");
const BACKDROP = "E8C28D3C";

/** One that has connected, and to whom it said CONNECT, under which name. */
interface Client {
  readonly socket: TLSSocket;
  readonly connectedPaths: Set<string>;
  lastMessageAt: number;
}

/** What runs. */
interface Session {
  readonly app: SimulatedCastApp;
  readonly sessionId: string;
  readonly transportId: string;
}

/** One message that did something, or was to. */
export interface ReceivedCommand {
  readonly type: string;
  readonly content: JsonObject;
}

export class CastSimulator extends SimulatedSet {
  /** As it is announced: 32 characters of hex. */
  readonly id: string;
  /** What it was told to do, in order, refused or not: LAUNCH, STOP, SET_VOLUME, LOAD, PLAY, ... */
  readonly commands: readonly ReceivedCommand[] = [];
  readonly #options: CastOptions;
  readonly #listener: Listener;
  readonly #clients = new Set<Client>();
  readonly #player: Player;
  #name: string;
  #session: Session | null = null;
  #level: number;
  #muted = false;
  #standBy: boolean | null;
  #power = true;
  #silent = false;

  constructor(options: CastSimulatorOptions) {
    const known = identify(options);
    const emit = (type: "wake" | "discovery", text: string) => options.onEvent?.({ type, text });
    super({ host: known.host, wakeMac: known.mac, wakePort: 0, emit });
    this.id = known.id;
    this.#options = known;
    this.#name = known.name;
    this.#level = known.volume.level;
    this.#standBy = known.standBy;
    this.#player = new Player(known, () => this.#broadcastMediaStatus());
    this.#listener = this.addPort(known.port, (track) =>
      createTlsServer({ ...sharedCertificate("cast") }, (socket) => this.#serve(socket), track),
    );
    this.addInterval(known.heartbeatMs, () => this.#sendPings());
    if (known.mdns)
      this.setDiscovery(
        createAnnouncer({
          host: known.host,
          // Each port of a machine announces a host name of its own: some senders dial it (3.5).
          hostName: known.hostName,
          services: () => [
            {
              type: "_googlecast._tcp",
              name: `${known.model.replaceAll(" ", "-")}-${this.id}`,
              port: this.port,
              txt: this.#announcement,
            },
          ],
        }),
      );
  }

  get #announcement(): Readonly<Record<string, string>> {
    const { model, capabilities } = this.#options;
    const app = this.#session?.app.name ?? "";
    return {
      id: this.id,
      cd: this.id,
      fn: this.#name,
      md: model,
      ca: String(capabilities),
      ve: "05",
      ic: "/setup/icon.png",
      st: app === "" ? "0" : "1",
      rs: app,
      bs: "FA8FCA000000",
      nf: "1",
      rm: "",
    };
  }

  /** 0 before the first start when a free port was asked for; kept from then on. */
  get port(): number {
    return this.#listener.port;
  }

  /** A view of it at one moment. */
  get state() {
    return {
      name: this.#name,
      power: this.#power,
      app: this.#session?.app.appId ?? null,
      transportId: this.#session?.transportId ?? null,
      level: this.#level,
      muted: this.#muted,
      standBy: this.#standBy,
      playback: this.#player.state,
      /** Connections that are open now. */
      clients: this.#clients.size,
    };
  }

  setName(name: string): void {
    this.#name = name;
  }

  /** Somebody turns its knob, or uses another sender. */
  setVolume(level: number, muted = this.#muted): void {
    this.#level = level;
    this.#muted = muted;
    this.#broadcastReceiverStatus();
  }

  /** The screen that it is plugged into goes to standby or comes on; `null`: it does not say. */
  setStandBy(standBy: boolean | null): void {
    this.#standBy = standBy;
    this.#broadcastReceiverStatus();
  }

  /** Another sender launches an app, or leaves it. */
  launch(appId: string): void {
    if (!this.#startApp(appId)) throw new Error(`the device has no app ${appId}`);
    this.#broadcastReceiverStatus();
  }

  leave(): void {
    this.#endApp();
    this.#broadcastReceiverStatus();
  }

  /** Another sender plays something in the app that runs. */
  play(media: SharedMedia = {}): void {
    this.#player.play(media);
  }

  pause(): void {
    this.#player.command("PAUSE", {});
  }

  /** What plays comes to its end. */
  endPlayback(): void {
    this.#player.end("FINISHED");
  }

  /** Its lines stay open, and nothing is heard of it any more (3.4). */
  fallSilent(silent = true): void {
    this.#silent = silent;
  }

  /** Its power is cut, with that of the set it is plugged into. */
  cutPower(): Promise<void> {
    return this.enqueue(async () => {
      this.#power = false;
      this.#endApp();
      await this.goOffline();
    });
  }

  protected get isReachable(): boolean {
    return this.#power;
  }

  protected get isAsleep(): boolean {
    return !this.#power;
  }

  protected async powerOn(): Promise<void> {
    if (this.#power) return;
    this.#power = true;
    if (this.isPluggedIn) await this.goOnline();
  }

  protected unplug(): void {
    this.#player.end("INTERRUPTED");
  }

  /** Pings all, and hangs up on those who have said nothing since the last two (3.4). */
  #sendPings(): void {
    const { heartbeatMs } = this.#options;
    for (const client of this.#clients) {
      if (performance.now() - client.lastMessageAt > 2.5 * heartbeatMs) client.socket.destroy();
      else this.#send(client, PLATFORM, "*", HEARTBEAT, { type: "PING" });
    }
  }

  #serve(socket: TLSSocket): void {
    const client: Client = { socket, connectedPaths: new Set(), lastMessageAt: performance.now() };
    this.#clients.add(client);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#clients.delete(client));
    const read = readMessages((message) => {
      client.lastMessageAt = performance.now();
      if (!this.#silent) this.#handleMessage(client, message);
    });
    socket.on("data", (bytes: Buffer) => {
      if (!read(bytes)) socket.destroy();
    });
  }

  #handleMessage(client: Client, { source, destination, namespace, text }: Message): void {
    const content = parseObject(text);
    const way = `${source} ${destination}`;
    const { type } = content;
    if (namespace === CONNECTION) {
      const isThere = destination === PLATFORM || destination === this.#session?.transportId;
      if (type === "CONNECT" && isThere) client.connectedPaths.add(way);
      else if (type === "CONNECT") this.#send(client, destination, source, CONNECTION, { type: "CLOSE" });
      else if (type === "CLOSE") client.connectedPaths.delete(way);
      return;
    }
    if (namespace === HEARTBEAT) {
      if (type === "PING") this.#send(client, destination, source, HEARTBEAT, { type: "PONG" });
      return;
    }
    // Some senders say nothing else before this is answered, such as VLC.
    if (namespace === AUTH && !client.socket.destroyed)
      client.socket.write(
        writeMessage({ source: destination, destination: source, namespace, text: "", bytes: AUTHENTIC }),
      );
    // Hardware drops what comes before CONNECT (3.3).
    if (!client.connectedPaths.has(way)) return;
    const answer = (said: JsonObject) => this.#send(client, destination, source, namespace, said);
    const { requestId } = content;
    if (destination === PLATFORM) {
      const { reportsId } = this.#options;
      if (namespace === RECEIVER) this.#handleReceiver(content, answer);
      else if (namespace === DISCOVERY && type === "GET_DEVICE_INFO" && reportsId !== null)
        answer({ type: "DEVICE_INFO", requestId, ...this.#deviceInfo });
      else if (namespace === SETUP && type === "eureka_info" && reportsId !== null) answer(this.#eureka(content));
    } else if (destination === this.#session?.transportId && namespace === MEDIA && this.#session.app.media !== false) {
      this.#handleMedia(content, answer);
    }
  }

  get #deviceInfo(): JsonObject {
    const { model, reportsId, capabilities } = this.#options;
    return {
      deviceId: reportsId,
      friendlyName: this.#name,
      deviceModel: model,
      deviceCapabilities: capabilities,
      controlNotifications: 1,
      deviceIconUrl: "/setup/icon.png",
      wifiProximityId: "",
    };
  }

  #eureka({ request_id }: JsonObject): JsonObject {
    const { model, reportsId, mac } = this.#options;
    const udn = reportsId?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    const device_info = {
      mac_address: mac.toUpperCase(),
      manufacturer: "Google Inc.",
      product_name: model,
      ssdp_udn: udn,
    };
    const data = { build_info: { cast_build_revision: "1.56.281627" }, device_info, name: this.#name, version: 12 };
    return { type: "eureka_info", request_id, response_code: 200, response_string: "OK", data };
  }

  #handleReceiver(content: JsonObject, answer: (said: JsonObject) => void): void {
    const { type, requestId } = content;
    if (type === "GET_STATUS") return answer(this.#receiverStatus(requestId));
    if (type === "GET_APP_AVAILABILITY") {
      const asked = Array.isArray(content["appId"]) ? content["appId"] : [];
      const has = (appId: unknown) => this.#options.apps.some((app) => app.appId === appId);
      const availability = Object.fromEntries(
        asked.map((appId) => [appId, has(appId) ? "APP_AVAILABLE" : "APP_UNAVAILABLE"]),
      );
      return answer({ responseType: "GET_APP_AVAILABILITY", requestId, availability });
    }
    this.#recordCommand(content);
    if (type === "LAUNCH") {
      const appId = String(content["appId"]);
      const fails = this.#options.launchErrors[appId];
      if (fails !== undefined || !this.#startApp(appId))
        return answer({ type: "LAUNCH_ERROR", requestId, reason: fails ?? "NOT_FOUND" });
      // Newer receivers say all this before the answer (3.3).
      answer({ type: "LAUNCH_STATUS", launchRequestId: requestId, requestId: 0, status: "USER_ALLOWED" });
      this.#broadcastReceiverStatus();
      return answer(this.#receiverStatus(requestId));
    }
    if (type === "STOP") {
      const { sessionId } = content;
      if (sessionId !== undefined && sessionId !== this.#session?.sessionId)
        return answer({ type: "INVALID_REQUEST", requestId, reason: "INVALID_SESSION_ID" });
      this.#endApp();
      this.#broadcastReceiverStatus();
      return answer(this.#receiverStatus(requestId));
    }
    if (type === "SET_VOLUME") {
      const { level, muted } = objectIn(content["volume"]);
      if (this.#options.volume.controlType !== "fixed") {
        if (typeof level === "number" && level >= 0 && level <= 1) this.#level = level;
        if (typeof muted === "boolean") this.#muted = muted;
        this.#options.onEvent?.({
          type: "volume",
          text: `volume ${this.#muted ? "muted" : Math.round(this.#level * 100)}`,
        });
      } else if (this.#options.volume.refuses)
        return answer({ type: "INVALID_REQUEST", requestId, reason: "INVALID_COMMAND" });
      this.#broadcastReceiverStatus();
      return answer(this.#receiverStatus(requestId));
    }
    answer({ type: "INVALID_REQUEST", requestId, reason: "INVALID_COMMAND" });
  }

  #handleMedia(content: JsonObject, answer: (said: JsonObject) => void): void {
    const { type, requestId, mediaSessionId } = content;
    if (type === "GET_STATUS") return answer(this.#mediaStatus(requestId));
    this.#recordCommand(content);
    if (type === "LOAD") {
      const isPlayer = this.#session?.app.plays !== false;
      const failed = isPlayer ? this.#player.load(objectIn(content["media"])) : "LOAD_FAILED";
      // Its status comes to all before the answer to the one who asked.
      return answer(
        failed === null
          ? this.#mediaStatus(requestId)
          : { type: failed, requestId, ...(failed === "LOAD_FAILED" && { detailedErrorCode: 104 }) },
      );
    }
    if (this.#player.sessionId === null || mediaSessionId !== this.#player.sessionId) {
      const reason = "INVALID_MEDIA_SESSION_ID";
      return answer(
        this.#player.sessionId === null
          ? { type: "INVALID_PLAYER_STATE", requestId }
          : { type: "INVALID_REQUEST", requestId, reason },
      );
    }
    const refused = this.#player.command(String(type), content);
    this.#options.onEvent?.({ type: "media", text: String(type).toLowerCase().replace("queue_update", "skip") });
    answer(refused === null ? this.#mediaStatus(requestId) : { type: "INVALID_REQUEST", requestId, reason: refused });
  }

  #recordCommand(content: JsonObject): void {
    const type = String(content["type"]);
    pushCapped(this.commands as ReceivedCommand[], { type, content });
  }

  #startApp(appId: string): boolean {
    const app = this.#options.apps.find((one) => one.appId === appId);
    if (!app) return false;
    // What runs already is only brought to the front.
    if (this.#session?.app === app) return true;
    this.#endApp();
    const transportId = randomUUID();
    this.#session = { app, transportId, sessionId: transportId };
    this.#player.reset();
    // By HDMI it turns the screen on.
    if (this.#standBy === true) this.#standBy = false;
    this.#options.onEvent?.({ type: "launch", text: `shows ${app.name}` });
    return true;
  }

  #endApp(): void {
    const ended = this.#session;
    if (ended === null) return;
    this.#session = null;
    this.#player.end("CANCELLED");
    for (const client of this.#clients)
      for (const way of [...client.connectedPaths]) {
        const [source = "", destination] = way.split(" ");
        if (destination !== ended.transportId) continue;
        client.connectedPaths.delete(way);
        this.#send(client, ended.transportId, source, CONNECTION, { type: "CLOSE" });
      }
    this.#options.onEvent?.({ type: "stop", text: `leaves ${ended.app.name}` });
  }

  #receiverStatus(requestId: unknown): JsonObject {
    const { volume, idle } = this.#options;
    const { controlType, stepInterval } = volume;
    const applications = this.#session
      ? [applicationOf(this.#session)]
      : idle === "backdrop"
        ? [
            {
              appId: BACKDROP,
              displayName: "Backdrop",
              isIdleScreen: true,
              sessionId: "b",
              transportId: "b",
              statusText: "",
              namespaces: [],
            },
          ]
        : null;
    const status = {
      ...(applications && { applications }),
      ...(this.#standBy !== null && { isActiveInput: !this.#standBy, isStandBy: this.#standBy }),
      userEq: {},
      volume: { controlType, level: this.#level, muted: this.#muted, stepInterval },
    };
    return { type: "RECEIVER_STATUS", requestId, status };
  }

  #mediaStatus(requestId: unknown): JsonObject {
    const status = this.#player.status;
    return { type: "MEDIA_STATUS", requestId, status: status === null ? [] : [status] };
  }

  #broadcastReceiverStatus(): void {
    this.#broadcast(PLATFORM, RECEIVER, this.#receiverStatus(0));
  }

  #broadcastMediaStatus(): void {
    if (this.#session) this.#broadcast(this.#session.transportId, MEDIA, this.#mediaStatus(0));
  }

  /** To all who have said CONNECT to who tells it: some senders take nothing else than what is for everybody (3.5). */
  #broadcast(source: string, namespace: string, content: JsonObject): void {
    for (const client of this.#clients)
      if ([...client.connectedPaths].some((way) => way.endsWith(` ${source}`)))
        this.#send(client, source, "*", namespace, content);
  }

  #send({ socket }: Client, source: string, destination: string, namespace: string, content: JsonObject): void {
    if (this.#silent || socket.destroyed) return;
    socket.write(writeMessage({ source, destination, namespace, text: JSON.stringify(content) }));
  }
}

function applicationOf({ app, sessionId, transportId }: Session): JsonObject {
  const { appId, name, media = true } = app;
  return {
    appId,
    displayName: name,
    statusText: name,
    isIdleScreen: false,
    launchedFromCloud: false,
    sessionId,
    transportId,
    universalAppId: appId,
    appType: "WEB",
    namespaces: media
      ? [{ name: MEDIA }, { name: `${PREFIX}debugoverlay` }]
      : [{ name: `urn:x-cast:com.example.${appId}` }],
  };
}

export function createCastSimulator(options: CastSimulatorOptions): CastSimulator {
  return new CastSimulator(options);
}
