/**
 * A bus over one connection to an MQTT broker: MQTT 5, or 3.1.1 where the broker has no other. The session ends with the
 * connection, so that the broker queues nothing for it. Of npm `mqtt` only the client is imported: the main entry adds
 * WebSockets and proxies, 0.85 MB of the program (README.md).
 */
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import net from "node:net";
import { Duplex } from "node:stream";
import tls from "node:tls";
import type { MqttClient } from "mqtt";
import * as clientModule from "mqtt/lib/client";
import { systemCode, textOf } from "../api/errors.ts";
import { Semaphore } from "../system/semaphore.ts";
import { orAborted } from "../system/sleep.ts";
import { FrameSplitter } from "../transport/framed.ts";
import { SlicedConnection } from "../transport/sliced-connection.ts";
import {
  type Bus,
  BusError,
  type Message,
  networkErrors,
  objectIn,
  type PublishOptions,
  type RequestOptions,
} from "./bus.ts";
import { matches } from "./topics.ts";

/** The address of a broker, and our credentials. */
export interface Broker {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** `mqtts://broker.lan:8883`, for messages: without credentials. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** The CA of the broker's certificate, where the system does not trust it, PEM. */
  readonly ca?: string | undefined;
  /** The client certificate and its key, PEM. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface ConnectOptions {
  readonly clientId: string;
  /** The will: the broker publishes it, retained, when the connection is lost. */
  readonly will?: { readonly topic: string; readonly payload: string };
  /** Aborts the attempt; an open connection is ended by `close`. */
  readonly signal?: AbortSignal;
}

const connectTimeoutMs = 10_000;
const keepAliveS = 60;
/** The largest packet in either direction. */
const maxPacketBytes = 256 * 1024;
/** The first byte of a packet, and its length. */
const maxHeadBytes = 5;
/** The size of a packet without its topic, properties and payload, rounded up. */
const headerBytes = 32;
/** Unacknowledged messages: some brokers take no more than twenty. */
const maxInFlight = 16;
/** A broker that has left more than this unread does not read. */
const maxUnreadBytes = maxInFlight * maxPacketBytes;
/** The broker drops a command after this time. */
const commandExpiryS = 10;

type Version = 4 | 5;
type ConstructorOf = new (builder: () => Duplex, options: object) => MqttClient;

// A CommonJS module: its default is the export on some runtimes, the whole module on others.
const { default: exported } = clientModule as unknown as { default: ConstructorOf | { default: ConstructorOf } };
const Client = typeof exported === "function" ? exported : exported.default;

/** Connects. Fails with a `BusError`. */
export async function connectBus(broker: Broker, options: ConnectOptions): Promise<Bus> {
  try {
    return await connect(broker, options, 5);
  } catch (error) {
    if (!(error instanceof BusError) || (error.reason !== "protocol" && error.reason !== "closed")) throw error;
    // A broker with only MQTT 3.1.1 refuses version 5, or closes the connection. If it then refuses the login, that is reported.
    return await connect(broker, options, 4).catch((second: unknown) => {
      throw second instanceof BusError && second.reason !== error.reason ? second : error;
    });
  }
}

async function connect(broker: Broker, { clientId, will, signal }: ConnectOptions, version: Version): Promise<Bus> {
  const socket = await dial(broker, signal);
  let unwanted: BusError | undefined;
  const refuse = (what: string, hint: string) => {
    unwanted = sentUnwanted(what, hint, broker);
  };
  const client = new Client(() => packetStream(socket, refuse), {
    protocolVersion: version,
    clientId,
    clean: true,
    keepalive: keepAliveS,
    reconnectPeriod: 0,
    connectTimeout: connectTimeoutMs,
    resubscribe: false,
    queueQoSZero: false,
    // The cache has a buffer for each of 65,536 numbers, 11 MB, with no noticeable gain here.
    writeCache: false,
    ...(broker.username !== undefined && { username: broker.username }),
    ...(broker.password !== undefined && { password: broker.password }),
    ...(will && { will: { ...will, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
    ...(version === 5 && { properties: { sessionExpiryInterval: 0, maximumPacketSize: maxPacketBytes } }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<Connection["limits"]>();
  let why: BusError | undefined;
  const aborted = () => client.end(true);
  let isConnected = false;
  client.on("connect", ({ properties: { receiveMaximum = maxInFlight, maximumPacketSize = maxPacketBytes } = {} }) => {
    isConnected = true;
    // The library ignores the limits of the broker (MQTT 5.0, 3.2.2.3.3 and 3.2.2.3.6).
    resolve({ inFlight: Math.min(maxInFlight, receiveMaximum), packet: Math.min(maxPacketBytes, maximumPacketSize) });
  });
  client.on("error", (error) => {
    // The library passes on those of the network too, whose codes are words.
    const isNetwork = "code" in error && typeof error.code === "string";
    why ??= !isConnected ? refusal(error, broker) : isNetwork ? silent(broker) : protocolError(error, broker);
    // After a parse error the library reads nothing more, but would stay connected.
    client.end(true);
  });
  // The library reports it as an error without a code.
  client.onKeepaliveTimeout = () => {
    why ??= silent(broker);
    client.end(true);
  };
  client.on("disconnect", ({ reasonCode = 0 }) => {
    why = disconnected(reasonCode, broker);
    client.end(true);
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<BusError>();
  client.on("close", () => {
    const reason = why ?? ((isConnected && unwanted) || closed(broker, isConnected ? seeLog : closedHint(broker)));
    reject(reason);
    end(reason);
  });
  signal?.addEventListener("abort", aborted, { once: true });
  if (signal?.aborted) aborted();
  // From then on the connection ends with a DISCONNECT; without one the broker publishes the will.
  const limits = await promise.finally(() => signal?.removeEventListener("abort", aborted));
  const leave = (left: BusError) => {
    why ??= left;
  };
  return new MqttBus({ client, broker, clientId, version, limits, ended, leave });
}

/** An accepted connection. */
interface Connection {
  readonly client: MqttClient;
  readonly broker: Broker;
  readonly clientId: string;
  readonly version: Version;
  /** Messages in flight, and bytes of a packet. */
  readonly limits: { readonly inFlight: number; readonly packet: number };
  /** Resolves when the connection ends, with the reason. */
  readonly ended: Promise<BusError>;
  /** Sets the reason before the connection is closed from here. */
  leave(why: BusError): void;
}

interface Subscription {
  readonly filters: readonly string[];
  readonly listener: (message: Message) => void;
}

class MqttBus implements Bus {
  readonly #connection: Connection;
  readonly #subscriptions = new Set<Subscription>();
  /** Takes the answer of each request that has none yet, by its mark. */
  readonly #pending = new Map<string, (answer: unknown) => void>();
  /** Subscriptions to reply topics. */
  readonly #replies = new Map<string, Promise<unknown>>();
  /** Limits the unacknowledged messages. */
  readonly #turns: Semaphore;
  /** Aborted with the reason when the connection ends. */
  readonly #closed = new AbortController();

  constructor(connection: Connection) {
    this.#connection = connection;
    const { client, ended, limits } = connection;
    this.#turns = new Semaphore(limits.inFlight);
    client.on("message", (topic, payload, packet) => {
      const { properties } = packet;
      const message: Message = {
        topic,
        payload,
        retained: packet.retain,
        expiresInS: properties?.messageExpiryInterval ?? null,
        sentAt: firstOf(properties?.userProperties?.["sent_at"]),
        replyTo: properties?.responseTopic ?? null,
        correlation: properties?.correlationData ?? null,
      };
      for (const { filters, listener } of [...this.#subscriptions])
        if (filters.some((filter) => matches(filter, topic))) listener(message);
    });
    void ended.then((why) => this.#closed.abort(why));
  }

  get ended(): Promise<BusError> {
    return this.#connection.ended;
  }

  async publish(topic: string, payload: string | Uint8Array, options: PublishOptions = {}): Promise<void> {
    const { retain = false, qos = 0, expiresInS, correlation } = options;
    const properties = {
      ...(expiresInS !== undefined && { messageExpiryInterval: expiresInS }),
      ...(correlation && { correlationData: Buffer.from(correlation) }),
    };
    await this.#send(topic, payload, { qos, retain }, properties);
  }

  async #send(
    topic: string,
    payload: string | Uint8Array,
    options: { readonly qos: 0 | 1; readonly retain: boolean },
    properties: Readonly<Record<string, string | number | Buffer>>,
  ): Promise<void> {
    const { client, version, broker, limits, ended, leave } = this.#connection;
    const bytes = Buffer.from(payload as Uint8Array);
    const around = [topic, ...Object.values(properties)].reduce<number>((sum, one) => sum + lengthOf(one), headerBytes);
    if (bytes.length + around > limits.packet) throw tooLarge(bytes.length, topic, limits.packet);
    const publish = async () => {
      if (client.stream.writableLength > maxUnreadBytes) {
        leave(new BusError("closed", `The broker at ${broker.url} does not read what it is sent`));
        client.end(true);
        await ended;
      }
      await this.#bounded(client.publishAsync(topic, bytes, { ...options, ...(version === 5 && { properties }) }));
    };
    try {
      await (options.qos > 0 ? this.#turns.run(publish) : publish());
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === codes.forbidden) throw forbidden(`publish to ${topic}`, broker);
      if (typeof code === "number") throw rejected(topic, code, broker);
      if (error instanceof BusError) throw error;
      this.#closed.signal.throwIfAborted();
      throw new BusError("closed", `The message to ${topic} was not sent: ${textOf(error)}`, { cause: error });
    }
  }

  async subscribe(
    filters: readonly string[],
    listener: (message: Message) => void,
    qos: 0 | 1 = 1,
  ): Promise<() => Promise<void>> {
    const subscription = { filters, listener };
    this.#subscriptions.add(subscription);
    const leave = async () => {
      this.#subscriptions.delete(subscription);
      await this.#bounded(this.#connection.client.unsubscribeAsync([...filters])).catch(() => {});
    };
    try {
      // `rap` (retain as published): a live message keeps its retain flag.
      await this.#bounded(this.#connection.client.subscribeAsync([...filters], { qos, rap: true }));
    } catch (error) {
      await leave();
      this.#closed.signal.throwIfAborted();
      // The library adds the answer of the broker; without one the connection has ended.
      const isAnswered = error instanceof Error && "packet" in error && error.packet !== undefined;
      const { broker } = this.#connection;
      throw isAnswered ? forbidden(`subscribe to ${filters.join(", ")}`, broker) : closed(broker, seeLog);
    }
    return leave;
  }

  async request(
    topic: string,
    body: Readonly<Record<string, unknown>>,
    { replyTo, timeoutMs, signal }: RequestOptions,
  ): Promise<unknown> {
    await this.#subscribeTo(replyTo);
    const mark = randomBytes(12).toString("base64url");
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timeout = new BusError("timeout", `No answer came from ${topic} within ${timeoutMs / 1_000} s`);
    const timer = setTimeout(() => reject(timeout), timeoutMs);
    this.#pending.set(mark, resolve);
    try {
      // MQTT 3.1.1 has no properties, and the other side may use it where we use 5: the message itself has the reply topic.
      const content = { ...body, sent_at: new Date().toISOString(), reply_to: replyTo, transaction: mark };
      const sending = this.#send(
        topic,
        JSON.stringify(content),
        { qos: 1, retain: false },
        {
          responseTopic: replyTo,
          correlationData: Buffer.from(mark),
          messageExpiryInterval: commandExpiryS,
        },
      );
      const { signal: closed } = this.#closed;
      // The time counts while it is sent, too.
      const answered = Promise.race([promise, sending.then(() => promise)]);
      return await orAborted(answered, signal ? AbortSignal.any([signal, closed]) : closed);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(mark);
    }
  }

  #subscribeTo(replyTo: string): Promise<unknown> {
    const existing = this.#replies.get(replyTo);
    if (existing) return existing;
    const subscribing = this.subscribe([replyTo], ({ payload, correlation }) => {
      const answer = objectIn(payload);
      const mark = correlation ? Buffer.from(correlation).toString() : answer?.["transaction"];
      if (answer && typeof mark === "string") this.#pending.get(mark)?.(answer);
    });
    this.#replies.set(replyTo, subscribing);
    return subscribing;
  }

  async close(): Promise<void> {
    this.#connection.leave(
      new BusError("left", `${this.#connection.clientId} has disconnected from ${this.#connection.broker.url}`),
    );
    this.#connection.client.end();
    const cut = setTimeout(() => this.#connection.client.stream.destroy(), 1_500);
    await this.#connection.ended;
    clearTimeout(cut);
  }

  /** Fails when the connection ends before the broker has answered. */
  #bounded<T>(work: Promise<T>): Promise<T> {
    return orAborted(work, this.#closed.signal);
  }
}

function lengthOf(value: string | number | Buffer): number {
  return typeof value === "number" ? 4 : Buffer.byteLength(value);
}

/** A user property may occur more than once: the first counts. */
function firstOf(value: string | readonly string[] | undefined): string | null {
  const text = typeof value === "string" ? value : value?.[0];
  return text === undefined ? null : text.slice(0, 64);
}

/** Checks certificates and keys here, since the errors of the library do not name the setting. */
function checkFiles({ secure, ca, cert, key }: Broker): void {
  if (!secure) return;
  const read = <T>(setting: string, what: string, reader: () => T): T => {
    try {
      return reader();
    } catch (cause) {
      const hint = "It must be PEM, as openssl writes it: -----BEGIN …";
      throw new BusError("settings", `The file of ${setting} contains no ${what}`, { hint, cause });
    }
  };
  if (ca !== undefined) read("mqtt.ca", "certificate", () => new X509Certificate(ca));
  if (cert === undefined || key === undefined) return;
  const own = read("mqtt.cert", "certificate", () => new X509Certificate(cert));
  const secret = read("mqtt.key", "readable key", () => createPrivateKey(key));
  if (!own.checkPrivateKey(secret))
    throw new BusError("settings", "The key in mqtt.key does not belong to the certificate in mqtt.cert", {
      hint: "Set both to the files of one pair",
    });
}

/** Opens a socket to the broker; with TLS its certificate is verified. */
function dial(broker: Broker, signal?: AbortSignal): Promise<net.Socket> {
  const { host, port, secure, ca, cert, key } = broker;
  return new Promise((resolve, reject) => {
    checkFiles(broker);
    const socket = secure
      ? tls.connect({
          host,
          port,
          ...(net.isIP(host) === 0 && { servername: host }),
          ca,
          cert,
          key,
          rejectUnauthorized: true,
        })
      : net.connect({ host, port });
    const finish = (error?: BusError) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      socket.removeAllListeners();
      socket.setNoDelay(true);
      if (!error) return resolve(socket);
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const aborted = () => finish(new BusError("left", "The connection attempt was cancelled"));
    const timer = setTimeout(() => finish(timedOut(broker)), connectTimeoutMs);
    socket.once("error", (error) => finish(unreachable(error, broker)));
    socket.once("close", () => finish(closed(broker, closedHint(broker))));
    socket.once(secure ? "secureConnect" : "connect", () => finish());
    signal?.addEventListener("abort", aborted, { once: true });
    if (signal?.aborted) aborted();
  });
}

/**
 * The packets of a broker as the stream that the library reads, in slices, so that a flood leaves time for other work. The
 * connection ends where a packet is too long, before it is in memory, and where a message comes with QoS 2, which zapd never asks
 * for, since the library keeps each until the broker releases it. `refuse` is told before.
 */
function packetStream(socket: net.Socket, refuse: (what: string, hint: string) => void): Duplex {
  const leave = (what: string, hint: string): never => {
    refuse(what, hint);
    throw new Error(what);
  };
  let cause: Error | undefined;
  socket.on("error", (error) => {
    cause = error;
  });
  const stream = new Duplex({
    allowHalfOpen: false,
    read() {},
    // The library writes a packet in pieces, some of one byte, and holds them back until all are there.
    writev(pieces: readonly { readonly chunk: Buffer }[], done) {
      if (socket.write(Buffer.concat(pieces.map(({ chunk }) => chunk)))) return done();
      const sent = () => {
        socket.off("drain", sent).off("close", sent);
        done();
      };
      socket.on("drain", sent).on("close", sent);
    },
    final(done) {
      socket.end();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  const readShortHead = (bytes: Buffer) => {
    const head = readHead(bytes);
    return head && head.body > maxPacketBytes
      ? leave(`a packet of more than ${maxPacketBytes} bytes`, limitPackets)
      : head;
  };
  const packets = new FrameSplitter({ readHead: readShortHead, headBytes: maxHeadBytes, maxBytes: maxPacketBytes });
  new SlicedConnection<Buffer>(socket, {
    slice: { ms: 20, frames: 400 },
    split: (piece) => packets.push(piece),
    bytesOf: (packet) => packet.length,
    take(packet) {
      if (((packet[0] ?? 0) & 0xf4) === 0x34) leave("a message with QoS 2, which zapd does not ask for", updateBroker);
      stream.push(packet);
    },
    onEnd() {
      if (cause) stream.destroy(cause);
      else if (!stream.destroyed) stream.push(null);
    },
  });
  return stream;
}

/** The length of a packet with its header (MQTT 5.0, 1.5.5), as that of a frame without a head. */
function readHead(bytes: Buffer): { head: 0; body: number } | null {
  let length = 0;
  for (let at = 1; at < maxHeadBytes; at++) {
    const byte = bytes[at];
    if (byte === undefined) return null;
    length += (byte & 0x7f) * 2 ** (7 * (at - 1));
    if ((byte & 0x80) === 0) return { head: 0, body: at + 1 + length };
  }
  return { head: 0, body: Number.POSITIVE_INFINITY };
}

const seeLog = "See the broker's own log for the reason";

function closed({ url }: Broker, hint: string): BusError {
  return new BusError("closed", `The broker at ${url} closed the connection`, { hint });
}

function closedHint({ secure }: Broker): string {
  return secure
    ? "Its port may not use TLS (then mqtt.url begins with mqtt://, usually port 1883), or it may require a client certificate (mqtt.cert and mqtt.key)"
    : `If it requires TLS, mqtt.url must begin with mqtts:// (usually port 8883). ${seeLog}`;
}

function timedOut({ url }: Broker): BusError {
  return new BusError("timeout", `The broker at ${url} did not answer within ${connectTimeoutMs / 1_000} s`, {
    hint: "Check mqtt.url, the broker, and any firewall in between",
  });
}

function silent({ url }: Broker): BusError {
  return new BusError("unreachable", `The broker at ${url} does not answer any more`, {
    hint: "Check the broker, and the network between it and zapd",
  });
}

/** Why there is no connection: without a network code, the error is about certificates. */
function unreachable(error: unknown, broker: Broker): BusError {
  const code = systemCode(error);
  const why = networkErrors[code];
  const { url, secure } = broker;
  if (why !== undefined || !secure) {
    const message = `The broker at ${url} cannot be reached: ${why ?? (code || textOf(error))}`;
    const usual = secure ? "mqtts://HOST:8883" : "mqtt://HOST:1883";
    const hint = `Start the broker, or set its address: zapd config set mqtt.url ${usual}`;
    return new BusError("unreachable", message, {
      hint: code === "ECONNRESET" ? closedHint(broker) : hint,
      cause: error,
    });
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return new BusError("tls", `The server at ${url} does not use TLS`, {
      hint: "Set mqtt.url to the broker's TLS port, usually 8883, or begin it with mqtt:// if the broker has none",
      cause: error,
    });
  return new BusError("tls", `zapd and the broker at ${url} could not verify each other: ${textOf(error)}`, {
    hint: "Set mqtt.ca to the PEM file of the CA that signed the broker's certificate, which must be for the host in mqtt.url and must not have expired. If the broker requires a client certificate, set mqtt.cert and mqtt.key. For a port without TLS use mqtt://",
    cause: error,
  });
}

/** Reason codes of a refused connection (MQTT 5.0, 3.2.2.2; MQTT 3.1.1, 3.2.2.3). */
const codes = {
  login: [0x86, 0x87, 0x8c, 4, 5],
  version: [0x84, 1],
  name: [0x85, 2],
  forbidden: 0x87,
  takenOver: 0x8e,
} as const;

/** What zapd needs and the broker's own settings turn off, by its reason code. */
const needs: ReadonlyMap<number, string> = new Map([
  [0x9a, "zapd needs a broker that keeps retained messages (Mosquitto: retain_available true)"],
  [0x9b, "zapd needs a broker that takes messages with QoS 1 (Mosquitto: max_qos 1, or 2)"],
]);

function refusal(error: unknown, broker: Broker): BusError {
  const { url, username } = broker;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === undefined) {
    return new BusError("protocol", `The server at ${url} is not an MQTT broker, or stopped answering`, {
      hint: "Set mqtt.url to the broker's own port: 1883, or 8883 with mqtts://",
      cause: error,
    });
  }
  if (codes.login.some((one) => one === code)) {
    const who = username === undefined ? "without a user name" : `of ${JSON.stringify(username)}`;
    return new BusError("login", `The broker at ${url} refused the login ${who}`, {
      hint: "Check mqtt.username, and the password in the file of mqtt.password_file (mode 0600) or in $ZAPD_MQTT_PASSWORD",
      cause: error,
    });
  }
  if (codes.version.some((one) => one === code))
    return new BusError("protocol", `The broker at ${url} does not support MQTT 5`, { cause: error });
  if (codes.name.some((one) => one === code))
    return new BusError("forbidden", `The broker at ${url} refused zapd's client id`, {
      hint: "Choose another mqtt.site, or allow client ids that begin with zapd- at the broker",
      cause: error,
    });
  if (typeof code === "string") return unreachable(error, broker);
  return new BusError("closed", `The broker at ${url} refused the connection (reason 0x${Number(code).toString(16)})`, {
    hint: needs.get(Number(code)) ?? seeLog,
    cause: error,
  });
}

/** Why the broker ended an accepted connection. */
function disconnected(code: number, { url }: Broker): BusError {
  if (code === codes.takenOver) return takenOver(url);
  return new BusError("closed", `The broker at ${url} closed the connection (reason 0x${code.toString(16)})`, {
    hint:
      code === codes.forbidden
        ? "Allow zapd's topics in the broker's ACL: src/mqtt/README.md has one to copy"
        : (needs.get(code) ?? seeLog),
  });
}

/** Another client has connected with our client id. */
export function takenOver(url: string): BusError {
  return new BusError("taken_over", `Another zapd has connected to ${url} with the same site`, {
    hint: "Give each daemon its own site: zapd config set mqtt.site NAME. Then run zapd config reload",
  });
}

/** The broker broke the protocol, as Mosquitto 2.0 does where its `message_size_limit` drops a message. */
function protocolError(cause: unknown, { url }: Broker): BusError {
  return new BusError("protocol", `The broker at ${url} sent an invalid MQTT packet, so zapd closed the connection`, {
    hint: "If it is Mosquitto, raise message_size_limit to 262144, or remove it. For another broker, see its log",
    cause,
  });
}

const limitPackets = `Limit what the broker takes from the clients that publish to zapd's topics (Mosquitto: max_packet_size ${maxPacketBytes})`;
const updateBroker = "The broker does not keep to MQTT: update it, or see its log for the client that publishes so";

/** The broker sent what zapd does not take. */
function sentUnwanted(what: string, hint: string, { url }: Broker): BusError {
  return new BusError("protocol", `The broker at ${url} sent ${what}, so zapd closed the connection`, { hint });
}

function tooLarge(bytes: number, topic: string, most: number): BusError {
  const message = `A message of ${bytes} bytes to ${topic} was not sent: a packet may have at most ${most} bytes`;
  const hint = `Raise the broker's limit to ${maxPacketBytes} (Mosquitto: max_packet_size)`;
  return new BusError("too_large", message, most < maxPacketBytes ? { hint } : {});
}

/** The broker refused a message for another reason than its ACL. */
function rejected(topic: string, code: number, { url }: Broker): BusError {
  const message = `The broker at ${url} refused a message to ${topic} (reason 0x${code.toString(16)})`;
  return new BusError("forbidden", message, { hint: seeLog });
}

function forbidden(what: string, { url }: Broker): BusError {
  return new BusError("forbidden", `The broker at ${url} does not allow zapd to ${what}`, {
    hint: "Allow it in the broker's ACL: src/mqtt/README.md has one to copy",
  });
}
