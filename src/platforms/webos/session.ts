/**
 * One conversation with a set (smart-tvs.md 2.2 to 2.4): requests and subscriptions by id over one WebSocket, which is
 * asked every few seconds whether it still lives: a set on its way to standby often leaves it open and silent.
 */
import { ZapdError } from "../../errors.ts";
import { deadline } from "../http.ts";
import { asJson, isJson, text } from "../json.ts";
import type { Ending, Session } from "../link.ts";
import type { Address, Surroundings } from "../platform.ts";
import { Questions } from "../questions.ts";
import { type LineEnd, openWebSocket, type WebSocketLine } from "../websocket.ts";
import type { Payload } from "./protocol.ts";

const pingEvery = 5_000;
const silentAfter = 10_000;
/** Channel lists are huge (2.2). */
const maxBytes = 8 * 1024 * 1024;

/** Where a set is reached, and how. */
export interface Door extends Address {
  readonly tls: boolean;
}

type Message = Payload & { readonly type: string; readonly id: string };

export class WebosSession implements Session {
  readonly door: Door;
  readonly #line: WebSocketLine;
  readonly #questions: Questions<Payload>;
  readonly #subscribers = new Map<string, (payload: Payload) => void>();
  readonly #pulse: ReturnType<typeof setInterval>;
  readonly #surroundings: Pick<Surroundings, "requestTimeout">;
  #last = 0;
  #onEnd: (ending: Ending & { readonly why: LineEnd }) => void = () => {};
  /** The set said that it goes off: its silence is no accident. */
  leaving = false;

  private constructor(door: Door, line: WebSocketLine, surroundings: Pick<Surroundings, "requestTimeout">) {
    this.door = door;
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
    door: Door,
    surroundings: Pick<Surroundings, "isOwnDoor" | "requestTimeout">,
    signal: AbortSignal,
  ): Promise<WebosSession> {
    let session: WebosSession | undefined;
    const line = await openWebSocket(
      {
        ...{ address: door, path: "/", tls: door.tls, surroundings, maxBytes },
        onText: (message) => session?.received(message),
        onEnd: (why) => session?.ended(why),
      },
      signal,
    );
    session = new WebosSession(door, line, surroundings);
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

  /** Milliseconds since the set was last heard. */
  get quiet(): number {
    return performance.now() - this.#line.heardAt;
  }

  onEnd(told: (ending: Ending & { readonly why: LineEnd }) => void): void {
    this.#onEnd = told;
  }

  /** `hello`: the set says who it is (2.3, step 1). */
  hello(signal: AbortSignal): Promise<Payload> {
    // The answer may come without the id.
    return this.#questions.ask({ id: "hello", type: "hello", payload: {} }, signal);
  }

  /** Registers; `onPrompt` is called when the set shows its prompt. Gives the client key. */
  async register(payload: Payload, onPrompt: () => void, signal: AbortSignal): Promise<string | null> {
    const id = "register_0";
    this.#subscribers.set(id, (said) => {
      if (text(said["pairingType"]) !== null) onPrompt();
    });
    try {
      const registered = await this.#questions.ask({ id, type: "register", payload }, signal);
      return text(registered["client-key"]);
    } finally {
      this.#subscribers.delete(id);
    }
  }

  /** One request. Fails with `device_refused` (a permission), `unsupported_operation` (no such method), `device_error`, or `device_timeout`. */
  request(uri: string, payload: Payload = {}, signal: AbortSignal = never): Promise<Payload> {
    const within = deadline(this.#surroundings.requestTimeout(), signal);
    return this.#questions.ask({ id: `request_${++this.#last}`, type: "request", uri, payload }, within);
  }

  /** Subscribes; the first answer comes back, and every one is told. */
  subscribe(uri: string, told: (payload: Payload) => void, signal: AbortSignal): Promise<Payload> {
    const id = `subscribe_${++this.#last}`;
    this.#subscribers.set(id, told);
    const within = deadline(this.#surroundings.requestTimeout(), signal);
    return this.#questions.ask({ id, type: "subscribe", uri, payload: {} }, within);
  }

  /** Says something and waits for no answer. */
  say(uri: string): void {
    this.#line.send(JSON.stringify({ id: `request_${++this.#last}`, type: "request", uri, payload: {} }));
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
    const id = said.type === "hello" ? "hello" : said.id;
    const payload = asJson(said["payload"]);
    const failure = failureOf(said, payload);
    const waiting = this.#questions.under(id);
    const subscriber = this.#subscribers.get(id);
    if (!failure) subscriber?.(payload);
    // The prompt is not yet the registration.
    if (id === "register_0" && said.type === "response" && !failure) return;
    if (failure) waiting?.reject(failure);
    else waiting?.resolve(payload);
  }

  ended(why: LineEnd): void {
    clearInterval(this.#pulse);
    this.#questions.end();
    this.#onEnd({ again: !this.leaving, why });
  }
}

const never = new AbortController().signal;

function parsed(message: string): Message | null {
  try {
    const said: unknown = JSON.parse(message);
    return isJson(said) && typeof said["type"] === "string" ? { id: "", type: said["type"], ...said } : null;
  } catch {
    return null;
  }
}

/** Failures come in two shapes (2.4). What is missing from an answer is no failure. */
function failureOf(said: Message, payload: Payload): ZapdError | null {
  const isError = said.type === "error";
  if (!isError && payload["returnValue"] !== false) return null;
  const words = text(isError ? said["error"] : payload["errorText"]) ?? "";
  const cause = `${words} ${String(payload["errorCode"] ?? "")}`.trim();
  const [status = ""] = words.split(" ");
  if (status === "404") return new ZapdError("unsupported_operation", "has no such function", { cause });
  if (status === "401")
    return new ZapdError("device_refused", "was never allowed to let zapd do this", { hint: againHint, cause });
  if (status === "403") return new ZapdError("pairing_failed", "lets nobody in", { cause });
  return new ZapdError("device_error", "answered with a failure of its own", { cause });
}

const againHint = "Pair with it anew, and accept all that it asks: zapd pair";
