/**
 * A simulated Cast device: CASTV2 over TLS, announced over mDNS. As on hardware (players.md 3.3) a message before CONNECT is
 * dropped, a silent client is disconnected, and a running app is addressed by its own transport id.
 */
import { randomUUID } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { sharedCertificate } from "./bench/certificate.ts";
import { type JsonObject, objectIn, parseObject } from "./bench/json.ts";
import { createTlsServer, type Listener } from "./bench/listeners.ts";
import { createAnnouncer } from "./bench/mdns.ts";
import { pushCapped, SimulatedSet } from "./bench/set.ts";
import { type Message, readMessages, writeMessage } from "./cast/messages.ts";
import { type CastOptions, type CastSimulatorOptions, resolve, type SimulatedCastApp } from "./cast/options.ts";
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
/** Hardware pings from and to this address (thibauts/node-castv2#47). */
const TRANSPORT = "Tr@n$p0rt-0";
const AUTH = `${PREFIX}tp.deviceauth`;
/** A response with a signature and a certificate of one byte each, which strict senders refuse. */
const AUTHENTIC = Buffer.from("12060a0100120100", "hex");
const BACKDROP = "E8C28D3C";

/** A client connection with its virtual connections, as `source destination`. */
interface Client {
  readonly socket: TLSSocket;
  readonly connectedPaths: Set<string>;
  lastMessageAt: number;
}

/** The running app. */
interface Session {
  readonly app: SimulatedCastApp;
  readonly sessionId: string;
  readonly transportId: string;
}

export interface ReceivedCommand {
  readonly type: string;
  readonly content: JsonObject;
}

export class CastSimulator extends SimulatedSet {
  /** The announced id: 32 hex characters. */
  readonly id: string;
  /** The received commands in order, refused or not: LAUNCH, STOP, SET_VOLUME, LOAD, PLAY, ... */
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
    const resolved = resolve(options);
    super(resolved);
    this.id = resolved.id;
    this.#options = resolved;
    this.#name = resolved.name;
    this.#level = resolved.volume.level;
    this.#standBy = resolved.standBy;
    this.#player = new Player(resolved, () => this.#broadcastMediaStatus());
    this.#listener = this.addPort(resolved.port, (track) =>
      createTlsServer({ ...sharedCertificate("cast") }, (socket) => this.#serve(socket), track),
    );
    this.addInterval(resolved.heartbeatMs, () => this.#sendPings());
    if (resolved.mdns)
      this.setDiscovery(
        createAnnouncer({
          host: resolved.host,
          // Some senders connect to the announced host name, so each device needs its own (3.5).
          hostName: resolved.hostName,
          services: () => [
            {
              type: "_googlecast._tcp",
              name: `${resolved.model.replaceAll(" ", "-")}-${this.id}`,
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

  /** 0 before the first start if any free port was asked for. */
  get port(): number {
    return this.#listener.port;
  }

  /** A snapshot of the state. */
  get state() {
    return {
      name: this.#name,
      power: this.#power,
      app: this.#session?.app.appId ?? null,
      transportId: this.#session?.transportId ?? null,
      level: this.#level,
      muted: this.#muted,
      playback: this.#player.state,
      /** How many connections are open. */
      clients: this.#clients.size,
    };
  }

  setName(name: string): void {
    this.#name = name;
  }

  /** The volume is changed at the device, or by another sender, whose request has this id. */
  setVolume(level: number, muted = this.#muted, requestId = 0): void {
    this.#level = level;
    this.#muted = muted;
    this.#broadcastReceiverStatus(requestId);
  }

  /** The TV over HDMI goes to standby or turns on; null if it does not report that. */
  setStandBy(standBy: boolean | null): void {
    this.#standBy = standBy;
    this.#broadcastReceiverStatus();
  }

  /** Another sender launches an app. */
  launch(appId: string): void {
    if (!this.#startApp(appId)) throw new Error(`the device has no app ${appId}`);
    this.#broadcastReceiverStatus();
  }

  leave(): void {
    this.#endApp();
    this.#broadcastReceiverStatus();
  }

  /** Another sender plays something in the running app. */
  play(media: SharedMedia = {}): void {
    this.#player.play(media);
  }

  pause(): void {
    this.#player.command("PAUSE", {});
  }

  /** Playback reaches its end. */
  endPlayback(): void {
    this.#player.end("FINISHED");
  }

  /** Its connections stay open, but it neither answers nor sends (3.4). */
  fallSilent(silent = true): void {
    this.#silent = silent;
  }

  /** Forgets its open connections, as one that lost power for a moment; whoever is connected hears nothing of it (3.4). */
  forgetConnections(): void {
    for (const { socket } of this.#clients) socket.removeAllListeners("data").resume();
    this.#clients.clear();
  }

  /** Closes its connections; its port stays open. */
  hangUp(): void {
    for (const { socket } of this.#clients) socket.destroy();
  }

  /** Loses power, as with the USB port of a TV that turns off. */
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
    await this.goOnline();
  }

  protected unplug(): void {
    this.#player.end("INTERRUPTED");
  }

  /** Pings all clients, and disconnects those that were silent for two and a half intervals (3.4). */
  #sendPings(): void {
    const { heartbeatMs } = this.#options;
    for (const client of this.#clients) {
      if (performance.now() - client.lastMessageAt > 2.5 * heartbeatMs) client.socket.destroy();
      else this.#send(client, TRANSPORT, TRANSPORT, HEARTBEAT, { type: "PING" });
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
    const path = `${source} ${destination}`;
    const { type } = content;
    if (namespace === CONNECTION) {
      const isThere = destination === PLATFORM || destination === this.#session?.transportId;
      if (type === "CONNECT" && isThere) client.connectedPaths.add(path);
      else if (type === "CONNECT") this.#send(client, destination, source, CONNECTION, { type: "CLOSE" });
      else if (type === "CLOSE") client.connectedPaths.delete(path);
      return;
    }
    if (namespace === HEARTBEAT) {
      if (type === "PING") this.#send(client, destination, source, HEARTBEAT, { type: "PONG" });
      return;
    }
    // Some senders, such as VLC, send nothing else before this is answered.
    if (namespace === AUTH && !client.socket.destroyed)
      client.socket.write(
        writeMessage({ source: destination, destination: source, namespace, text: "", bytes: AUTHENTIC }),
      );
    // Hardware drops what comes before CONNECT (3.3).
    if (!client.connectedPaths.has(path)) return;
    const answer = (response: JsonObject) => this.#send(client, destination, source, namespace, response);
    const { requestId } = content;
    if (destination === PLATFORM) {
      const { reportsId } = this.#options;
      if (namespace === RECEIVER) this.#handleReceiver(content, answer);
      else if (namespace === DISCOVERY && type === "GET_DEVICE_INFO" && reportsId !== null)
        answer({ type: "DEVICE_INFO", requestId, ...this.#deviceInfo });
      else if (namespace === SETUP && type === "eureka_info" && reportsId !== null) answer(this.#eureka(content));
    } else if (destination === this.#session?.transportId && namespace === MEDIA && this.#session.app.media !== false) {
      const { numbers } = this.#session.app;
      // Some apps only broadcast what a command has changed (thibauts/node-castv2-client#64).
      const toAll = (response: JsonObject) =>
        (type === "GET_STATUS" || type === "LOAD" || response["type"] !== "MEDIA_STATUS") &&
        this.#send(client, destination, "*", namespace, { ...response, requestId: undefined });
      this.#handleMedia(
        content,
        numbers === "none" || (numbers === "status" && type !== "GET_STATUS") ? toAll : answer,
      );
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

  #handleReceiver(content: JsonObject, answer: (response: JsonObject) => void): void {
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
      // Newer receivers send these two before the response (3.3).
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
      const { controlType, steps } = this.#options.volume;
      if (controlType !== "fixed") {
        if (typeof level === "number" && level >= 0 && level <= 1) this.#level = Math.round(level * steps) / steps;
        if (typeof muted === "boolean") this.#muted = muted;
        this.emit("volume", `volume ${this.#muted ? "muted" : Math.round(this.#level * 100)}`);
      } else if (this.#options.volume.refuses)
        return answer({ type: "INVALID_REQUEST", requestId, reason: "INVALID_COMMAND" });
      this.#broadcastReceiverStatus();
      return answer(this.#receiverStatus(requestId));
    }
    answer({ type: "INVALID_REQUEST", requestId, reason: "INVALID_COMMAND" });
  }

  #handleMedia(content: JsonObject, answer: (response: JsonObject) => void): void {
    const { type, requestId, mediaSessionId } = content;
    if (type === "GET_STATUS") return answer(this.#mediaStatus(requestId));
    this.#recordCommand(content);
    if (this.#session?.app.quits && (type === "LOAD" || type === "STOP")) return this.leave();
    if (type === "LOAD") {
      const isPlayer = this.#session?.app.plays !== false;
      const failed = isPlayer ? this.#player.load(content) : "LOAD_FAILED";
      // The status is broadcast before the response.
      if (failed !== null && this.#options.reportsLoading) {
        // What a request changes may be reported under its number (home-assistant/core#16319).
        if (failed !== "IDLE") answer(this.#mediaStatus(requestId));
        this.#player.end("ERROR");
        if (failed === "IDLE") return;
      }
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
    const refused = this.#session?.app.refuses ? "INVALID_COMMAND" : this.#player.command(String(type), content);
    if (refused !== null) return answer({ type: "INVALID_REQUEST", requestId, reason: refused });
    this.emit("media", String(type).toLowerCase().replace("queue_update", "skip"));
    answer(this.#mediaStatus(requestId));
  }

  #recordCommand(content: JsonObject): void {
    const type = String(content["type"]);
    pushCapped(this.commands as ReceivedCommand[], { type, content });
  }

  #startApp(appId: string): boolean {
    const app = this.#options.apps.find((one) => one.appId === appId);
    if (!app) return false;
    // A running app is only brought to the front.
    if (this.#session?.app === app) return true;
    this.#endApp();
    const transportId = randomUUID();
    this.#session = { app, transportId, sessionId: transportId };
    this.#player.reset();
    // Launching an app turns the TV on over HDMI.
    if (this.#standBy === true) this.#standBy = false;
    this.emit("launch", `shows ${app.name}`);
    return true;
  }

  #endApp(): void {
    const ended = this.#session;
    if (ended === null) return;
    this.#session = null;
    this.#player.end("CANCELLED");
    for (const client of this.#clients)
      for (const path of [...client.connectedPaths]) {
        const [source = "", destination] = path.split(" ");
        if (destination !== ended.transportId) continue;
        client.connectedPaths.delete(path);
        this.#send(client, ended.transportId, source, CONNECTION, { type: "CLOSE" });
      }
    this.emit("stop", `leaves ${ended.app.name}`);
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

  #broadcastReceiverStatus(requestId = 0): void {
    this.#broadcast(PLATFORM, RECEIVER, this.#receiverStatus(requestId));
  }

  #broadcastMediaStatus(): void {
    if (!this.#session) return;
    const { app, transportId } = this.#session;
    this.#broadcast(transportId, MEDIA, this.#mediaStatus(app.numbers === undefined ? 0 : undefined));
  }

  /** Sends to all clients connected to `source`, addressed to `*`: some senders accept status only in broadcasts (3.5). */
  #broadcast(source: string, namespace: string, content: JsonObject): void {
    for (const client of this.#clients)
      if ([...client.connectedPaths].some((path) => path.endsWith(` ${source}`)))
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
