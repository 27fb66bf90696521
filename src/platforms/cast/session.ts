/**
 * One conversation with a Cast device (players.md 3.1): questions to it and to what runs on it, and what both say by
 * themselves. Silent lines are common (3.4), so it is asked for a sign of life, and hung up on when it gives none.
 */
import { ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, type Json, readJson, text } from "../../transport/json.ts";
import { RpcSession } from "../../transport/rpc.ts";
import type { ConnectionEnd } from "../../transport/websocket.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { decode, encode, framing } from "./frames.ts";
import { type Media, namespaces, type Receiver, readId, readMedia, readReceiver, receiverId } from "./protocol.ts";

type Host = Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">;

/** Sets ping every 5 s, and want to be pinged as often. */
const heartbeatMs = 5_000;
const silenceTimeoutMs = 12_000;
/** Our own name; each connection has its own room of names. */
const senderId = "sender-0";
/** What runs answers soon, or not to this at all. */
const mediaWithinMs = 1_500;
/** How long a device has to tell who it is; not all do. */
const tellsWithinMs = 1_000;

/** What a device tells of itself to whoever asks. */
export interface Told {
  /** It tells its id in two ways, which need not agree. */
  readonly ids: readonly string[];
  readonly name: string | null;
  readonly model: string | null;
  readonly manufacturer: string | null;
  readonly softwareVersion: string | null;
  readonly mac: string | null;
}

export class CastSession extends RpcSession<Json, FramedConnection> {
  readonly #address: Address;
  readonly #host: Host;
  #last = 0;
  #receiver: Receiver | null = null;
  #media: Media | null = null;
  /** What runs, where it has been joined: media is asked for and heard of there. */
  #joined: string | null = null;
  /** The one of those that has not answered: it is not waited for again. */
  #mute: string | null = null;
  #changed: () => void = () => {};

  constructor(address: Address, platformHost: Host) {
    super({ platformHost, heartbeatMs, silenceTimeoutMs });
    this.#address = address;
    this.#host = platformHost;
  }

  protected async connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<FramedConnection> {
    const onFrame = (body: Buffer) => this.#take(body);
    const options = { address: this.#address, platformHost: this.#host, ...framing, onFrame, onEnd };
    const line = await openFramed(options, signal);
    line.send(bytesOf(namespaces.connection, receiverId, { type: "CONNECT", origin: {} }));
    return line;
  }

  /** What the device said last; `null` before it said anything. */
  get receiver(): Receiver | null {
    return this.#receiver;
  }

  get media(): Media | null {
    return this.#media;
  }

  /** Has every change told from now on. */
  follow(changed: () => void): void {
    this.#changed = changed;
  }

  /** Asks the device how it is, and what runs there what it plays. */
  async refresh(signal: AbortSignal): Promise<Receiver> {
    const joined = this.#joined;
    const media = joined === null || joined === this.#mute ? null : this.#askMedia(joined, signal);
    const said = await this.ask(namespaces.receiver, receiverId, { type: "GET_STATUS" }, signal);
    await media;
    // What runs now may be another than a moment ago.
    if (this.#joined !== null && this.#joined !== joined) await this.#askMedia(this.#joined, signal);
    return this.#receiver ?? readReceiver(said);
  }

  /** A question to the device, or to what runs on it. Fails with `device_timeout`. */
  ask(
    namespace: string,
    destination: string,
    message: Json,
    signal: AbortSignal,
    withinMs = this.timeoutMs,
  ): Promise<Json> {
    const id = ++this.#last;
    // Setup has a word of its own for it.
    const numbered = { ...message, [namespace === namespaces.setup ? "request_id" : "requestId"]: id };
    const send = (line: FramedConnection) => line.send(bytesOf(namespace, destination, numbered));
    return this.sendRequest(id, send, deadline(withinMs, signal));
  }

  /** A question about media to what runs; fails with `device_refused` where nothing does that can play. */
  async askRunning(message: Json, signal: AbortSignal, withinMs?: number): Promise<Json> {
    if (this.#joined === null) throw playsNothing();
    return this.ask(namespaces.media, this.#joined, message, signal, withinMs);
  }

  /** Who it says it is: all that it says of itself, or what there is once it has told the id that is looked for. */
  async whoIsIt(
    signal: AbortSignal,
    { wanted = "", withinMs = tellsWithinMs }: { readonly wanted?: string; readonly withinMs?: number } = {},
  ): Promise<Told> {
    const params = ["name", "version", "device_info", "build_info"];
    const ask = (namespace: string, message: Json) =>
      this.ask(namespace, receiverId, message, signal, Math.min(withinMs, this.timeoutMs));
    const asked = [
      ask(namespaces.discovery, { type: "GET_DEVICE_INFO" }),
      ask(namespaces.setup, { type: "eureka_info", data: { params } }),
    ];
    const answers: Json[] = [];
    const telling = asked.map(async (answer, at) => {
      answers[at] = await answer;
      if (!readTold([answers[at]]).ids.includes(wanted)) throw new Error("it does not say that");
    });
    // Not all devices speak both: once one is answered, the other is not waited for as long.
    const waited = Promise.any(asked).then(() => sleep(tellsWithinMs, signal));
    await Promise.any([...telling, waited]).catch(() => {});
    signal.throwIfAborted();
    return readTold(answers.filter(isJson));
  }

  protected sendHeartbeat(): void {
    this.#say(namespaces.heartbeat, receiverId, { type: "PING" });
  }

  #say(namespace: string, destination: string, message: Json): void {
    this.sendWithoutAnswer((line) => line.send(bytesOf(namespace, destination, message)));
  }

  async #askMedia(transport: string, signal: AbortSignal): Promise<void> {
    const within = Math.min(mediaWithinMs, this.timeoutMs);
    await this.ask(namespaces.media, transport, { type: "GET_STATUS" }, signal, within).catch(() => {
      if (!signal.aborted) this.#mute = transport;
    });
  }

  #take(body: Buffer): void {
    const { source, destination, namespace, text: words } = decode(body);
    if (destination !== senderId && destination !== "*") return;
    const said = readJson(words);
    if (!isJson(said)) return;
    const type = said["type"] ?? said["responseType"];
    if (namespace === namespaces.heartbeat) {
      if (type === "PING") this.#say(namespace, source, { type: "PONG" });
      return;
    }
    if (namespace === namespaces.connection) return type === "CLOSE" ? this.#closed(source) : undefined;
    if (namespace === namespaces.receiver && type === "RECEIVER_STATUS") this.#heard(readReceiver(said));
    if (namespace === namespaces.media && type === "MEDIA_STATUS" && source === this.#joined) {
      this.#mute = null;
      this.#media = readMedia(said, this.#media);
      this.#changed();
    }
    // It goes before the answer (3.3), and is none.
    if (type === "LAUNCH_STATUS") return;
    this.pendingRequest(said["requestId"] ?? said["request_id"])?.resolve(said);
  }

  #heard(receiver: Receiver): void {
    this.#receiver = receiver;
    // A set that sleeps is not called again unasked: that would wake some.
    this.leaving = receiver.standby === true;
    const { transportId = "", hasMedia = false } = receiver.running ?? {};
    const transport = hasMedia && transportId !== "" ? transportId : null;
    if (transport !== this.#joined) {
      this.#joined = transport;
      this.#media = null;
      if (transport !== null) {
        this.#say(namespaces.connection, transport, { type: "CONNECT", origin: {} });
        this.#say(namespaces.media, transport, { type: "GET_STATUS", requestId: ++this.#last });
      }
    }
    this.#changed();
  }

  /** Who hung up: what ran, or the device itself. */
  #closed(source: string): void {
    if (source === receiverId) return this.destroy();
    if (source !== this.#joined) return;
    this.#joined = null;
    this.#media = null;
    this.#changed();
  }
}

function bytesOf(namespace: string, destination: string, message: Json): Buffer {
  return encode({ source: senderId, destination, namespace, text: JSON.stringify(message) });
}

/** `DEVICE_INFO`, and `eureka_info` of setup: what the one does not say, the other may. */
function readTold(answers: readonly Json[]): Told {
  const all = answers.map((said) => {
    const data = asJson(said["data"]);
    const [info, build] = [asJson(data["device_info"]), asJson(data["build_info"])];
    return {
      id: readId(said["deviceId"]) ?? readId(info["ssdp_udn"]) ?? readId(data["ssdp_udn"]),
      name: text(said["friendlyName"]) ?? text(data["name"]),
      model: text(said["deviceModel"]) ?? text(info["product_name"]),
      manufacturer: text(info["manufacturer"]),
      softwareVersion: text(build["cast_build_revision"]) ?? text(data["cast_build_revision"]),
      mac: text(info["mac_address"]),
    };
  });
  const first = (key: Exclude<keyof Told, "ids">) => all.find((one) => one[key] !== null)?.[key] ?? null;
  return {
    ids: all.flatMap(({ id }) => id ?? []),
    name: first("name"),
    model: first("model"),
    manufacturer: first("manufacturer"),
    softwareVersion: first("softwareVersion"),
    mac: first("mac"),
  };
}

export function playsNothing(): ZapdError {
  return new ZapdError("device_refused", "plays nothing", {
    hint: "Play something first: zapd play URL -d {device}, or from an app on a phone",
  });
}
