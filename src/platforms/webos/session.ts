/**
 * One WebSocket conversation with a TV (smart-tvs.md 2.2 to 2.4): requests and subscriptions by id. It is pinged, since
 * a TV on its way to standby often leaves its socket open and silent.
 */
import { ZapdError } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, type Json, text } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import type { WebSocketConnection } from "../../transport/websocket.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { readError } from "./failures.ts";
import type { Payload } from "./protocol.ts";

/** Channel lists are huge (2.2). */
const maxBytes = 8 * 1024 * 1024;

/** The longest wait for subscriptions, and for requests while others are answered. */
const longestGraceMs = 1_000;

export interface Endpoint extends Address {
  readonly tls: boolean;
}

/** A fixed id, since the answer may come without one (2.3). */
const helloId = "hello";

export class WebosSession extends WebSocketRpc<Payload> {
  readonly endpoint: Endpoint;
  /** The listeners by id, called in the order of the messages. */
  readonly #listeners = new Map<unknown, (payload: Payload) => void>();
  #lastId = 0;
  #messageAt = performance.now();
  #onPrompt: () => void = () => {};
  #registrations = 0;
  /** Of the last registration, whose answer may come without it (2.3). */
  #registerId = "";

  constructor(endpoint: Endpoint, platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">) {
    const { tls } = endpoint;
    super({ address: endpoint, path: "/", tls, platformHost, maxBytes, heartbeatMs: 5_000, silenceTimeoutMs: 10_000 });
    this.endpoint = endpoint;
  }

  /** Milliseconds since the last message. Answered pings do not count: the socket may outlive the program on the TV. */
  get sinceMessageMs(): number {
    return performance.now() - this.#messageAt;
  }

  /** Milliseconds to wait for an answer that is not essential. */
  get graceMs(): number {
    return Math.min(longestGraceMs, this.timeoutMs / 4);
  }

  /** Asks the TV for its identity (2.3, step 1). */
  hello(signal: AbortSignal): Promise<Payload> {
    return this.ask({ id: helloId, type: "hello", payload: {} }, signal);
  }

  /** Registers; `onPrompt` is called when the TV shows its prompt. Returns the client key. */
  async register(payload: Payload, onPrompt: () => void, signal: AbortSignal): Promise<string | null> {
    this.#onPrompt = onPrompt;
    // A TV does not answer an id that it has answered before (home-assistant/core#147557).
    this.#registerId = `register_${this.#registrations++}`;
    try {
      const registered = await this.ask({ id: this.#registerId, type: "register", payload }, signal);
      return text(registered["client-key"]);
    } finally {
      this.#onPrompt = () => {};
    }
  }

  /** One request. Fails with a `WebosError` when the TV answers with an error, or with `device_timeout`. */
  request(uri: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    return this.#askInTime(`request_${++this.#lastId}`, "request", uri, payload, signal);
  }

  /** One request, whose answer reaches the listener before any push that follows it. */
  async read(uri: string, listener: (payload: Payload) => void, signal: AbortSignal): Promise<void> {
    const id = `request_${++this.#lastId}`;
    this.#listeners.set(id, listener);
    try {
      await this.#askInTime(id, "request", uri, {}, signal);
    } finally {
      this.#listeners.delete(id);
    }
  }

  /** Subscribes; returns the first answer, and passes every one to the listener. */
  subscribe(uri: string, listener: (payload: Payload) => void, signal: AbortSignal): Promise<Payload> {
    const id = `subscribe_${++this.#lastId}`;
    this.#listeners.set(id, listener);
    return this.#askInTime(id, "subscribe", uri, {}, signal);
  }

  ping(): void {
    this.sendWithoutAnswer((line) => line.ping());
  }

  protected override sendHeartbeat(line: WebSocketConnection): void {
    line.ping();
  }

  protected received(message: Json): void {
    const { type } = message;
    if (typeof type !== "string") return;
    this.#messageAt = performance.now();
    const id = type === "hello" ? helloId : type === "registered" ? this.#registerId : message["id"];
    const payload = asJson(message["payload"]);
    const error = readError(message, payload);
    // The prompt comes before the registration.
    if (id === this.#registerId && type === "response" && !error) return this.#onPrompt();
    const waiting = this.pendingRequest(id);
    if (error) return waiting?.reject(error);
    this.#listeners.get(id)?.(payload);
    waiting?.resolve(payload);
  }

  async #askInTime(id: string, type: string, uri: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    const within = deadline(this.timeoutMs, signal);
    try {
      return await this.ask({ id, type, uri, payload }, within);
    } catch (error) {
      if (signal.aborted || error !== within.reason || !(error instanceof ZapdError)) throw error;
      throw error.reworded(error.message, { hint: slowHint });
    }
  }
}

const slowHint = "It may be asleep or busy: give it more time with zapd config set devices.request_timeout_ms 10000";
