/**
 * One conversation with a set (smart-tvs.md 2.2 to 2.4): requests and subscriptions by id over one WebSocket, which is
 * asked every few seconds whether it still lives: a set on its way to standby often leaves it open and silent.
 */
import { ZapdError } from "../../api/errors.ts";
import { neverAborted } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, type Json, text } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import type { WebSocketLine } from "../../transport/websocket.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { failureOf } from "./failures.ts";
import type { Payload } from "./protocol.ts";

/** Channel lists are huge (2.2). */
const maxBytes = 8 * 1024 * 1024;

/** Subscriptions, and questions of which others have been answered, are waited for this long at most. */
const longestGrace = 1_000;

/** Where a set is reached, and how. */
export interface Endpoint extends Address {
  readonly tls: boolean;
}

/** Both go by ids of their own, since their answers may come without one (2.3). */
const helloId = "hello";
const registerId = "register_0";

export class WebosSession extends WebSocketRpc<Payload> {
  readonly endpoint: Endpoint;
  /** Told of what comes under an id, in the order in which it comes. */
  readonly #subscribers = new Map<unknown, (payload: Payload) => void>();
  #last = 0;
  #spokeAt = performance.now();
  #onPrompt: () => void = () => {};

  constructor(endpoint: Endpoint, platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">) {
    const { tls } = endpoint;
    super({ address: endpoint, path: "/", tls, platformHost, maxBytes, beatMs: 5_000, silentMs: 10_000 });
    this.endpoint = endpoint;
  }

  /** Milliseconds since the set last said something. That its socket answers pings does not mean that it does. */
  get quiet(): number {
    return performance.now() - this.#spokeAt;
  }

  /** Milliseconds that who asks for more than it needs waits for that. */
  get graceMs(): number {
    return Math.min(longestGrace, this.timeoutMs / 4);
  }

  /** `hello`: the set says who it is (2.3, step 1). */
  hello(signal: AbortSignal): Promise<Payload> {
    return this.ask({ id: helloId, type: "hello", payload: {} }, signal);
  }

  /** Registers; `onPrompt` is called when the set shows its prompt. Gives the client key. */
  async register(payload: Payload, onPrompt: () => void, signal: AbortSignal): Promise<string | null> {
    this.#onPrompt = onPrompt;
    try {
      const registered = await this.ask({ id: registerId, type: "register", payload }, signal);
      return text(registered["client-key"]);
    } finally {
      this.#onPrompt = () => {};
    }
  }

  /** One request. Fails with a `SetFailure` when the set answers with one, or with `device_timeout`. */
  request(uri: string, payload: Payload = {}, signal: AbortSignal = neverAborted): Promise<Payload> {
    return this.#askInTime(`request_${++this.#last}`, "request", uri, payload, signal);
  }

  /** One question, whose answer is told before anything that comes behind it, such as a push. */
  async read(uri: string, told: (payload: Payload) => void, signal: AbortSignal): Promise<void> {
    const id = `request_${++this.#last}`;
    this.#subscribers.set(id, told);
    try {
      await this.#askInTime(id, "request", uri, {}, signal);
    } finally {
      this.#subscribers.delete(id);
    }
  }

  /** Subscribes; the first answer comes back, and every one is told. */
  subscribe(uri: string, told: (payload: Payload) => void, signal: AbortSignal): Promise<Payload> {
    const id = `subscribe_${++this.#last}`;
    this.#subscribers.set(id, told);
    return this.#askInTime(id, "subscribe", uri, {}, signal);
  }

  protected beat(line: WebSocketLine): void {
    line.ping();
  }

  protected received(said: Json): void {
    const { type } = said;
    if (typeof type !== "string") return;
    this.#spokeAt = performance.now();
    const id = type === "hello" ? helloId : type === "registered" ? registerId : said["id"];
    const payload = asJson(said["payload"]);
    const failure = failureOf(said, payload);
    // The prompt is not yet the registration.
    if (id === registerId && type === "response" && !failure) return this.#onPrompt();
    const waiting = this.waitingFor(id);
    if (failure) return waiting?.reject(failure);
    this.#subscribers.get(id)?.(payload);
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
