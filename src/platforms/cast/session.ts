/**
 * One conversation with a Cast device (players.md 3.1): requests to it and to the running app, and what both push.
 * Connections often die silently (3.4), so the device is pinged, and the connection closed when it does not answer.
 */
import { randomInt } from "node:crypto";
import { ZapdError } from "../../api/errors.ts";
import { orAborted, sleep } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json, listOf, readJson, text } from "../../transport/json.ts";
import { RpcSession } from "../../transport/rpc.ts";
import type { ConnectionEnd } from "../../transport/sliced-connection.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { decode, encode, framing } from "./frames.ts";
import {
  type Media,
  namespaces,
  type Receiver,
  readId,
  readIdle,
  readMedia,
  readReceiver,
  receiverId,
} from "./protocol.ts";

type Host = Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">;

/** Devices ping every 5 s, and expect to be pinged as often. */
const heartbeatMs = 5_000;
const silenceTimeoutMs = 12_000;
/** Sender ids are local to a connection. */
const senderId = "sender-0";
/** An app answers soon, or never supports this request. */
const mediaTimeoutMs = 1_500;
/** A file that has not failed by then, and still loads, may take minutes. */
const loadingTimeoutMs = 5_000;
/** How long the answer of an app that names requests may follow what it told all senders; then that counts as the answer. */
const unnamedAnswerMs = 1_000;
/** Not all devices answer requests for their identity. */
const infoTimeoutMs = 1_000;

/** The answers to media requests that are no status (Google Cast, Media Playback Messages). */
const refusals: ReadonlySet<unknown> = new Set([
  "INVALID_PLAYER_STATE",
  "INVALID_REQUEST",
  "LOAD_FAILED",
  "LOAD_CANCELLED",
  "ERROR",
]);

/** A file that the running app was sent. */
interface Load {
  readonly id: number;
  /** The media session that ends for it. */
  readonly former: unknown;
  /** The app has said that it loads. */
  isLoading: boolean;
}

export class CastSession extends RpcSession<Json, FramedConnection> {
  readonly #address: Address;
  readonly #host: Host;
  /**
   * The id of the last request. Other senders count from 1, and what they change is broadcast under the id of their request
   * (vitalidze/chromecast-java-api-v2#28).
   */
  #lastId = randomInt(1, 2 ** 30);
  #receiver: Receiver | null = null;
  #media: Media | null = null;
  /** The media session of its last status, which may have ended. */
  #mediaSession: unknown;
  /** The transport of the running app, once joined: media is requested and pushed there. */
  #joined: string | null = null;
  /** Aborted when the running app is left: it answers no more. */
  #left = new AbortController();
  /** The requests to it by their ids, the oldest first. */
  readonly #mediaRequests = new Map<unknown, unknown>();
  /** The timers of those that get a message that may be their answer, where no other one comes. */
  readonly #lateAnswers = new Map<unknown, ReturnType<typeof setTimeout>>();
  #load: Load | null = null;
  /** It has named a request in what it sent. */
  #namesRequests = false;
  /** The transport that has not answered; it is not waited for again. */
  #unresponsive: string | null = null;
  #changed: () => void = () => {};

  constructor(address: Address, platformHost: Host) {
    super({ platformHost, heartbeatMs, silenceTimeoutMs });
    this.#address = address;
    this.#host = platformHost;
  }

  protected async connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<FramedConnection> {
    const onFrame = (body: Buffer) => this.#handle(body);
    const options = { address: this.#address, platformHost: this.#host, ...framing, onFrame, onEnd };
    const line = await openFramed(options, signal);
    line.send(bytesOf(namespaces.connection, receiverId, { type: "CONNECT", origin: {} }));
    return line;
  }

  /** The last status of the device; `null` before the first. */
  get receiver(): Receiver | null {
    return this.#receiver;
  }

  /** What it plays; nothing while a file loads, because loading may fail, and buffering confirms that it plays. */
  get media(): Media | null {
    return this.#media?.isLoading ? null : this.#media;
  }

  /** Calls the listener with every change from now on. */
  follow(changed: () => void): void {
    this.#changed = changed;
  }

  /** Requests the status of the device, and that of the media in the running app. */
  async refresh(signal: AbortSignal): Promise<Receiver> {
    const joined = this.#joined;
    const media = joined === null || joined === this.#unresponsive ? null : this.#askMedia(joined, signal);
    const answer = await this.askReceiver({ type: "GET_STATUS" }, signal);
    await media;
    // Another app may have been started in the meantime.
    if (this.#joined !== null && this.#joined !== joined) await this.#askMedia(this.#joined, signal);
    return this.#receiver ?? readReceiver(answer);
  }

  /** A request to the device, or to the running app. Fails with `device_timeout`. */
  #ask(
    namespace: string,
    destination: string,
    message: Json,
    signal: AbortSignal,
    withinMs = this.timeoutMs,
  ): Promise<Json> {
    const id = ++this.#lastId;
    // The setup namespace has another name for it.
    const numbered = { ...message, [namespace === namespaces.setup ? "request_id" : "requestId"]: id };
    const send = (line: FramedConnection) => line.send(bytesOf(namespace, destination, numbered));
    const answer = this.sendRequest(id, send, deadline(withinMs, signal));
    if (namespace !== namespaces.media) return answer;
    const { type } = message;
    this.#mediaRequests.set(id, type);
    if (type === "LOAD") this.#load = { id, former: this.#mediaSession, isLoading: false };
    return answer.finally(() => {
      this.#mediaRequests.delete(id);
      clearTimeout(this.#lateAnswers.get(id));
      this.#lateAnswers.delete(id);
      if (this.#load?.id === id) this.#load = null;
    });
  }

  /** A media request to the running app. Fails with `device_refused` where no app that plays media runs. */
  async askApp(message: Json, signal: AbortSignal, withinMs?: number): Promise<Json> {
    if (this.#joined === null) throw notPlaying();
    return orAborted(this.#ask(namespaces.media, this.#joined, message, signal, withinMs), this.#left.signal);
  }

  /** A request to the device itself. */
  askReceiver(message: Json, signal: AbortSignal, withinMs?: number): Promise<Json> {
    return this.#ask(namespaces.receiver, receiverId, message, signal, withinMs);
  }

  /** Requests what the device reports about itself; returns early once it has reported the `wanted` id. */
  async requestDeviceInfo(signal: AbortSignal, wanted = "", withinMs = infoTimeoutMs): Promise<DeviceInfo> {
    const params = ["name", "version", "device_info", "build_info"];
    const ask = (namespace: string, message: Json) =>
      this.#ask(namespace, receiverId, message, signal, Math.min(withinMs, this.timeoutMs));
    const asked = [
      ask(namespaces.discovery, { type: "GET_DEVICE_INFO" }),
      ask(namespaces.setup, { type: "eureka_info", data: { params } }),
    ];
    const answers: Json[] = [];
    const confirming = asked.map(async (request, index) => {
      const answer = await request;
      answers[index] = answer;
      if (!readDeviceInfo([answer]).ids.includes(wanted)) throw new Error("not the wanted id");
    });
    // Not all devices answer both: after the first answer, the other is waited for only a little longer.
    const over = new AbortController();
    const waited = Promise.any(asked).then(() => sleep(infoTimeoutMs, over.signal));
    await Promise.race([Promise.any([...confirming, waited]).catch(() => {}), Promise.allSettled(asked)]);
    over.abort();
    signal.throwIfAborted();
    return readDeviceInfo(answers.filter(isJson));
  }

  /** Pings the device; closes the connection where nothing has come over it after `ms`. */
  closeUnlessHeard(ms: number): ReturnType<typeof setTimeout> {
    const pingedAt = performance.now();
    this.sendHeartbeat();
    return setTimeout(() => {
      if (this.isSilentSince(pingedAt)) this.destroy();
    }, ms);
  }

  protected override sendHeartbeat(): void {
    this.#send(namespaces.heartbeat, receiverId, { type: "PING" });
  }

  #send(namespace: string, destination: string, message: Json, source = senderId): void {
    this.sendWithoutAnswer((line) => line.send(bytesOf(namespace, destination, message, source)));
  }

  async #askMedia(transport: string, signal: AbortSignal): Promise<void> {
    const within = Math.min(mediaTimeoutMs, this.timeoutMs);
    await this.#ask(namespaces.media, transport, { type: "GET_STATUS" }, signal, within).catch(() => {
      if (!signal.aborted) this.#unresponsive = transport;
    });
  }

  #handle(body: Buffer): void {
    const { source, destination, namespace, text: json } = decode(body);
    const message = readJson(json);
    if (!isJson(message)) return;
    const type = message["type"] ?? message["responseType"];
    if (namespace === namespaces.heartbeat) {
      // Hardware pings from and to an address of its own, Tr@n$p0rt-0 (thibauts/node-castv2#47).
      if (type === "PING")
        this.#send(namespace, source, { type: "PONG" }, destination === "*" ? senderId : destination);
      return;
    }
    if (destination !== senderId && destination !== "*") return;
    if (namespace === namespaces.connection) return type === "CLOSE" ? this.#closed(source) : undefined;
    if (namespace === namespaces.receiver && type === "RECEIVER_STATUS") this.#receiverChanged(readReceiver(message));
    if (namespace === namespaces.media && source === this.#joined) return this.#handleMedia(message, destination);
    // It precedes the answer (3.3).
    if (type === "LAUNCH_STATUS") return;
    this.pendingRequest(message["requestId"] ?? message["request_id"])?.resolve(message);
  }

  /**
   * A message of the running app. Some apps name no request in their answers (thibauts/node-castv2-client#64), and answer in
   * order. Whether a command had its effect is read back, so that a status that somebody else caused confirms nothing.
   */
  #handleMedia(message: Json, destination: string): void {
    const type = message["type"] ?? message["responseType"];
    const { requestId } = message;
    // 0 is a broadcast (3.2).
    const named = typeof requestId === "number" && requestId > 0 ? requestId : undefined;
    this.#namesRequests ||= named !== undefined;
    const isStatus = type === "MEDIA_STATUS";
    if (isStatus) {
      this.#unresponsive = null;
      this.#media = readMedia(message, this.#media);
      this.#changed();
      this.#mediaSession = listOf(message, "status", 1)[0]?.["mediaSessionId"] ?? this.#mediaSession;
      if (this.#load !== null && this.#answersLoad(this.#load, message, named)) return;
    }
    if (named !== undefined) return this.pendingRequest(named)?.resolve(message);
    const isAnswer = !this.#namesRequests || (!isStatus && destination === senderId);
    if ((!isStatus && !refusals.has(type)) || (!isAnswer && requestId === 0)) return;
    for (const [id, asked] of this.#mediaRequests) {
      if (asked === (isStatus ? "LOAD" : "GET_STATUS")) continue;
      // A status may be of something else: a refusal that follows it takes its place.
      if (isStatus && this.#lateAnswers.has(id)) continue;
      if (isAnswer || !isStatus) this.#mediaRequests.delete(id);
      if (isAnswer) return this.pendingRequest(id)?.resolve(message);
      this.#answerLater(id, message, unnamedAnswerMs);
    }
  }

  /** Answers a LOAD once the file has loaded or failed, or loads for long; whether the status answers nothing else. */
  #answersLoad(load: Load, message: Json, named: unknown): boolean {
    const idle = readIdle(message);
    const [{ mediaSessionId } = {} as Json] = listOf(message, "status", 1);
    const isNamed = named === load.id;
    const isUnnamed = named === undefined && !this.#namesRequests;
    if (idle === "loading") {
      if (!isNamed && !isUnnamed) return false;
      if (!load.isLoading) this.#answerLater(load.id, message, loadingTimeoutMs);
      load.isLoading = true;
      return true;
    }
    const isNew = mediaSessionId !== undefined && mediaSessionId !== load.former;
    const isOver = idle !== "former" && (isNamed || load.isLoading || (isNew && (isUnnamed || idle === "failed")));
    if (isOver) this.pendingRequest(load.id)?.resolve(message);
    else if (isNew && this.#media?.status === "playing" && this.#mediaRequests.delete(load.id))
      this.#answerLater(load.id, message, unnamedAnswerMs);
    return isNamed || (isOver && named === undefined);
  }

  #answerLater(id: unknown, message: Json, ms: number): void {
    const request = this.pendingRequest(id);
    if (!request) return;
    clearTimeout(this.#lateAnswers.get(id));
    const timer = setTimeout(() => request.resolve(message), ms);
    timer.unref?.();
    this.#lateAnswers.set(id, timer);
  }

  #receiverChanged(receiver: Receiver): void {
    this.#receiver = receiver;
    // The session is not reopened by itself while the device sleeps, as that would wake some; the next read opens one.
    this.leaving = receiver.standby === true;
    const transport = receiver.running?.mediaTransport ?? null;
    if (transport !== this.#joined) {
      this.#join(transport);
      if (transport !== null) {
        this.#send(namespaces.connection, transport, { type: "CONNECT", origin: {} });
        // Its answer, too, is in the order of answers.
        const asked = this.#ask(namespaces.media, transport, { type: "GET_STATUS" }, this.#left.signal, mediaTimeoutMs);
        asked.catch(() => {});
      }
    }
    this.#changed();
  }

  /** The running app, or the device itself, closed the virtual connection. */
  #closed(source: string): void {
    if (source === receiverId) return this.destroy();
    if (source !== this.#joined) return;
    this.#join(null);
    this.#changed();
  }

  /** Another app runs, or none: the requests to the former one fail. */
  #join(transport: string | null): void {
    this.#joined = transport;
    this.#media = null;
    this.#mediaSession = undefined;
    this.#mediaRequests.clear();
    this.#load = null;
    this.#namesRequests = false;
    this.#left.abort(closedApp());
    this.#left = new AbortController();
  }
}

function bytesOf(namespace: string, destination: string, message: Json, source = senderId): Buffer {
  return encode({ source, destination, namespace, text: JSON.stringify(message) });
}

/** Merges `DEVICE_INFO` and `eureka_info`: one may contain what the other leaves out. */
function readDeviceInfo(answers: readonly Json[]) {
  const all = answers.map((answer) => {
    const data = asJson(answer["data"]);
    const [info, build] = [asJson(data["device_info"]), asJson(data["build_info"])];
    return {
      id: readId(answer["deviceId"]) ?? readId(info["ssdp_udn"]) ?? readId(data["ssdp_udn"]),
      name: text(answer["friendlyName"]) ?? text(data["name"]),
      model: text(answer["deviceModel"]) ?? text(info["product_name"]),
      manufacturer: text(info["manufacturer"]),
      softwareVersion: text(build["cast_build_revision"]) ?? text(data["cast_build_revision"]),
      mac: text(info["mac_address"]),
      capabilities: typeof answer["deviceCapabilities"] === "number" ? String(answer["deviceCapabilities"]) : null,
    };
  });
  const first = (key: keyof (typeof all)[number]) => all.find((one) => one[key] !== null)?.[key] ?? null;
  return {
    /** It reports its id in two ways, which may differ. */
    ids: all.flatMap(({ id }) => id ?? []),
    name: first("name"),
    model: first("model"),
    manufacturer: first("manufacturer"),
    softwareVersion: first("softwareVersion"),
    mac: first("mac"),
    /** The bits that it announces as `ca`. */
    capabilities: first("capabilities"),
  };
}

/** What a device reports about itself without pairing. */
export type DeviceInfo = Readonly<ReturnType<typeof readDeviceInfo>>;

function closedApp(): ZapdError {
  return new ZapdError("device_error", "closed the app before it answered", {
    hint: "See what it shows with zapd state {device}, then try again",
  });
}

export function notPlaying(): ZapdError {
  return new ZapdError("device_refused", "is not playing anything", {
    hint: "Start something first: zapd play URL -d {device}, or cast from an app on a phone",
  });
}
