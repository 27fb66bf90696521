/**
 * A conversation over one line that stays open: questions, each waiting under its id for an answer that may come in any order,
 * and what the device says by itself. One that falls silent is hung up on, as devices on their way to standby often leave
 * their sockets open. Most talk in JSON over a WebSocket.
 */
import { closedBeforeSending } from "../api/errors.ts";
import type { PlatformHost } from "../platforms/platform.ts";
import { orAborted } from "../system/sleep.ts";
import { hungUp } from "./http-connection.ts";
import { isJson, type Json, readJson } from "./json.ts";
import type { Session, SessionEnd } from "./session.ts";
import {
  type ConnectionEnd,
  type OpenConnection,
  openWebSocket,
  type WebSocketConnection,
  type WebSocketOptions,
} from "./websocket.ts";

export interface RpcOptions {
  readonly platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">;
  /** Milliseconds between two signs of life that are asked for, and after which one that gives none is hung up on. */
  readonly heartbeatMs: number;
  readonly silenceTimeoutMs: number;
}

interface Question<T> {
  resolve(answer: T): void;
  reject(error: unknown): void;
}

export abstract class RpcSession<T, L extends OpenConnection> implements Session {
  readonly #options: RpcOptions;
  readonly #waiting = new Map<unknown, Question<T>>();
  #line: L | undefined;
  #held = 0;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #onEnd: (end: SessionEnd & { readonly why: ConnectionEnd }) => void = () => {};
  /** The device said that it goes off: its silence is no accident. */
  leaving = false;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Opens the line, once. Fails as `connect` does. */
  async open(signal: AbortSignal): Promise<this> {
    const { heartbeatMs, silenceTimeoutMs } = this.#options;
    const line = await this.connect((why) => this.#ended(why), signal);
    this.#line = line;
    if (!line.open) return this;
    this.#pulse = setInterval(() => {
      if (performance.now() - line.lastReceivedAt > silenceTimeoutMs) line.destroy();
      else this.sendHeartbeat(line);
    }, heartbeatMs);
    this.#pulse.unref?.();
    return this;
  }

  get alive(): boolean {
    return this.#line?.open === true;
  }

  get pending(): number {
    return this.#waiting.size + this.#held;
  }

  /** Something begins or ends that is no question, such as a key that is down: it is not hung up on meanwhile. */
  hold(by: 1 | -1): void {
    this.#held = Math.max(0, this.#held + by);
  }

  /** Milliseconds since the last byte came. */
  get silentForMs(): number {
    return performance.now() - (this.#line?.lastReceivedAt ?? 0);
  }

  /** SHA-256 of the certificate that the device showed; `null` without TLS. */
  get fingerprint(): string | null {
    return this.#line?.fingerprint ?? null;
  }

  /** Milliseconds that the device has for one answer. */
  get timeoutMs(): number {
    return this.#options.platformHost.requestTimeoutMs();
  }

  onEnd(told: (end: SessionEnd & { readonly why: ConnectionEnd }) => void): void {
    this.#onEnd = told;
  }

  /** Says goodbye, and hangs up. */
  close(): void {
    clearInterval(this.#pulse);
    this.#line?.close();
  }

  /** Hangs up without a word. */
  destroy(): void {
    clearInterval(this.#pulse);
    this.#line?.destroy();
  }

  /** Opens the line. Fails with `device_unreachable` or `device_error`; `onEnd` is called once, when an open line ends. */
  protected abstract connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<L>;

  /** Asks for a sign of life. */
  protected abstract sendHeartbeat(line: L): void;

  /** Sends a question and waits. Fails with `device_unreachable` when the line has ended before, `device_error` when it ends meanwhile. */
  protected async sendRequest(id: number | string, send: (line: L) => void, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (!this.#line?.open) throw closedBeforeSending();
    const question = Promise.withResolvers<T>();
    this.#waiting.set(id, question);
    try {
      send(this.#line);
      return await orAborted(question.promise, signal);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Says what is not answered. Fails with `device_unreachable` when the line has ended. */
  protected sendWithoutAnswer<R>(send: (line: L) => R): R {
    if (!this.#line?.open) throw closedBeforeSending();
    return send(this.#line);
  }

  /** Who waits under the id that an answer came with. */
  protected pendingRequest(id: unknown): Question<T> | undefined {
    return this.#waiting.get(id);
  }

  #ended(why: ConnectionEnd): void {
    clearInterval(this.#pulse);
    const gone = hungUp("hung up before it answered");
    for (const { reject } of this.#waiting.values()) reject(gone);
    this.#onEnd({ retry: !this.leaving, why });
  }
}

/** A conversation in JSON over a WebSocket. */
export abstract class WebSocketRpc<T> extends RpcSession<T, WebSocketConnection> {
  readonly #socket: Omit<WebSocketOptions, "onText" | "onEnd">;

  constructor(options: RpcOptions & Omit<WebSocketOptions, "onText" | "onEnd">) {
    super(options);
    this.#socket = options;
  }

  protected connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<WebSocketConnection> {
    const onText = (text: string) => {
      const said = readJson(text);
      if (isJson(said)) this.received(said);
    };
    return openWebSocket({ ...this.#socket, onText, onEnd }, signal);
  }

  /** Takes one message. */
  protected abstract received(said: Json): void;

  protected ask(message: Json & { readonly id: number | string }, signal: AbortSignal): Promise<T> {
    return this.sendRequest(message.id, (line) => line.send(JSON.stringify(message)), signal);
  }
}
