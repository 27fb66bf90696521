/**
 * One conversation with a set (smart-tvs.md 2.2 to 2.4): requests and subscriptions by id over one WebSocket, which is
 * asked every few seconds whether it still lives: a set on its way to standby often leaves it open and silent.
 */
import { ZapdError } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, text } from "../../transport/json.ts";
import { Questions } from "../../transport/rpc.ts";
import type { Ending, Session } from "../../transport/session.ts";
import { type LineEnd, openWebSocket, type WebSocketLine } from "../../transport/websocket.ts";
import type { Address, Surroundings } from "../platform.ts";
import { failureOf } from "./failures.ts";
import type { Payload } from "./protocol.ts";

const pingEvery = 5_000;
const silentAfter = 10_000;
/** Channel lists are huge (2.2). */
const maxBytes = 8 * 1024 * 1024;

/** Where a set is reached, and how. */
export interface Endpoint extends Address {
  readonly tls: boolean;
}

type Message = Payload & { readonly type: string; readonly id: string };

/** Both go by ids of their own, since their answers may come without one (2.3). */
const helloId = "hello";
const registerId = "register_0";

export class WebosSession implements Session {
  readonly endpoint: Endpoint;
  readonly #line: WebSocketLine;
  readonly #questions: Questions<Payload>;
  readonly #subscribers = new Map<string, (payload: Payload) => void>();
  readonly #pulse: ReturnType<typeof setInterval>;
  readonly #surroundings: Pick<Surroundings, "requestTimeout">;
  #last = 0;
  #spokeAt = performance.now();
  #onPrompt: () => void = () => {};
  #onEnd: (ending: Ending & { readonly why: LineEnd }) => void = () => {};
  /** The set said that it goes off: its silence is no accident. */
  leaving = false;

  private constructor(endpoint: Endpoint, line: WebSocketLine, surroundings: Pick<Surroundings, "requestTimeout">) {
    this.endpoint = endpoint;
    this.#line = line;
    this.#questions = new Questions(line);
    this.#surroundings = surroundings;
    this.#pulse = setInterval(() => {
      if (performance.now() - line.heardAt > silentAfter) line.destroy();
      else line.ping();
    }, pingEvery);
    this.#pulse.unref?.();
  }

  static async open(
    endpoint: Endpoint,
    surroundings: Pick<Surroundings, "isOwnListener" | "requestTimeout">,
    signal: AbortSignal,
  ): Promise<WebosSession> {
    let session: WebosSession | undefined;
    const line = await openWebSocket(
      {
        address: endpoint,
        path: "/",
        tls: endpoint.tls,
        surroundings,
        maxBytes,
        onText: (message) => session?.received(message),
        onEnd: (why) => session?.ended(why),
      },
      signal,
    );
    session = new WebosSession(endpoint, line, surroundings);
    return session;
  }

  get alive(): boolean {
    return this.#line.open;
  }

  get pending(): number {
    return this.#questions.pending;
  }

  /** SHA-256 of the certificate that the set showed; `null` over the plain port. */
  get fingerprint(): string | null {
    return this.#line.fingerprint;
  }

  /** Milliseconds that it has for one answer. */
  get timeoutMs(): number {
    return this.#surroundings.requestTimeout();
  }

  /** Milliseconds since the set last said something. That its socket answers pings does not mean that it does. */
  get quiet(): number {
    return performance.now() - this.#spokeAt;
  }

  onEnd(told: (ending: Ending & { readonly why: LineEnd }) => void): void {
    this.#onEnd = told;
  }

  /** `hello`: the set says who it is (2.3, step 1). */
  hello(signal: AbortSignal): Promise<Payload> {
    return this.#questions.ask({ id: helloId, type: "hello", payload: {} }, signal);
  }

  /** Registers; `onPrompt` is called when the set shows its prompt. Gives the client key. */
  async register(payload: Payload, onPrompt: () => void, signal: AbortSignal): Promise<string | null> {
    this.#onPrompt = onPrompt;
    try {
      const registered = await this.#questions.ask({ id: registerId, type: "register", payload }, signal);
      return text(registered["client-key"]);
    } finally {
      this.#onPrompt = () => {};
    }
  }

  /** One request. Fails with a `SetFailure` when the set answers with one, or with `device_timeout`. */
  request(uri: string, payload: Payload = {}, signal: AbortSignal = never): Promise<Payload> {
    return this.#ask(`request_${++this.#last}`, "request", uri, payload, signal);
  }

  /** Subscribes; the first answer comes back, and every one is told. */
  subscribe(uri: string, told: (payload: Payload) => void, signal: AbortSignal): Promise<Payload> {
    const id = `subscribe_${++this.#last}`;
    this.#subscribers.set(id, told);
    return this.#ask(id, "subscribe", uri, {}, signal);
  }

  close(): void {
    clearInterval(this.#pulse);
    this.#line.close();
  }

  /** Hangs up without a word. */
  destroy(): void {
    this.#line.destroy();
  }

  received(message: string): void {
    const said = parsed(message);
    if (!said) return;
    this.#spokeAt = performance.now();
    const id = said.type === "hello" ? helloId : said.type === "registered" ? registerId : said.id;
    const payload = asJson(said["payload"]);
    const failure = failureOf(said, payload);
    // The prompt is not yet the registration.
    if (id === registerId && said.type === "response" && !failure) return this.#onPrompt();
    const waiting = this.#questions.under(id);
    if (failure) return waiting?.reject(failure);
    this.#subscribers.get(id)?.(payload);
    waiting?.resolve(payload);
  }

  ended(why: LineEnd): void {
    clearInterval(this.#pulse);
    this.#questions.end();
    this.#onEnd({ again: !this.leaving, why });
  }

  async #ask(id: string, type: string, uri: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    const within = deadline(this.#surroundings.requestTimeout(), signal);
    try {
      return await this.#questions.ask({ id, type, uri, payload }, within);
    } catch (error) {
      if (signal.aborted || error !== within.reason || !(error instanceof ZapdError)) throw error;
      throw error.reworded(error.message, { hint: slowHint });
    }
  }
}

const never = new AbortController().signal;
const slowHint = "It may be asleep or busy: give it more time with zapd config set devices.request_timeout_ms 10000";

function parsed(message: string): Message | null {
  try {
    const said: unknown = JSON.parse(message);
    return isJson(said) && typeof said["type"] === "string" ? { id: "", type: said["type"], ...said } : null;
  } catch {
    return null;
  }
}
