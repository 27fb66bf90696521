/**
 * A session over one connection that stays open: requests, whose answers come by id in any order, and messages that the device
 * sends by itself. A silent connection is closed, as devices that go to standby often leave their sockets open.
 */
import { closedBeforeSending } from "../api/errors.ts";
import type { PlatformHost } from "../platforms/platform.ts";
import { stopwatch } from "../system/clock.ts";
import { orAborted } from "../system/sleep.ts";
import { hungUp } from "./http-connection.ts";
import { isJson, type Json, readJson } from "./json.ts";
import type { Session, SessionEnd } from "./session.ts";
import type { ConnectionEnd, OpenConnection } from "./sliced-connection.ts";
import { openWebSocket, type WebSocketConnection, type WebSocketOptions } from "./websocket.ts";

interface RpcOptions {
  readonly platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">;
  /** Milliseconds between two heartbeats, and without a received byte until the connection is closed. */
  readonly heartbeatMs: number;
  readonly silenceTimeoutMs: number;
}

interface PendingRequest<T> {
  resolve(answer: T): void;
  reject(error: unknown): void;
}

export abstract class RpcSession<T, L extends OpenConnection> implements Session {
  readonly #options: RpcOptions;
  readonly #waiting = new Map<unknown, PendingRequest<T>>();
  #line: L | undefined;
  #holds = 0;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  /** Since the last heartbeat, counting the machine's sleep, during which the device may have closed the connection. */
  #sinceHeartbeat: () => number = () => 0;
  readonly #onEnd: ((end: SessionEnd & { readonly why: ConnectionEnd }) => void)[] = [];
  /** The device has told that it goes off: the session is not to be reopened in the background. */
  leaving = false;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Opens the connection, once. Fails as `connect` does. */
  async open(signal: AbortSignal): Promise<this> {
    const { heartbeatMs, silenceTimeoutMs } = this.#options;
    const line = await this.connect((why) => this.#ended(why), signal);
    this.#line = line;
    if (!line.open) return this;
    this.#sinceHeartbeat = stopwatch();
    const endIfSilent = () => {
      if (this.silentForMs >= silenceTimeoutMs) line.destroy();
    };
    this.#heartbeat = setInterval(() => {
      endIfSilent();
      if (!line.open) return;
      this.sendHeartbeat(line);
      this.#sinceHeartbeat = stopwatch();
      const leftMs = silenceTimeoutMs - this.silentForMs;
      if (leftMs < heartbeatMs) setTimeout(endIfSilent, leftMs + 1).unref?.();
    }, heartbeatMs);
    this.#heartbeat.unref?.();
    return this;
  }

  get alive(): boolean {
    return this.#line?.open === true;
  }

  get pending(): number {
    return this.#waiting.size + this.#holds;
  }

  /** Counts something beside requests as pending, such as a key that is held down. */
  hold(by: 1 | -1): void {
    this.#holds = Math.max(0, this.#holds + by);
  }

  /** Milliseconds since the last byte came, or that the machine has slept since the last heartbeat. */
  get silentForMs(): number {
    const silentMs = performance.now() - (this.#line?.lastReceivedAt ?? 0);
    return Math.max(silentMs, this.#sinceHeartbeat() - this.#options.heartbeatMs);
  }

  /** Whether nothing has come since `at` (of `performance.now()`), as when a device without power leaves its connection open. */
  isSilentSince(at: number): boolean {
    return this.silentForMs > performance.now() - at;
  }

  /** SHA-256 of the certificate that the device showed; `null` without TLS. */
  get fingerprint(): string | null {
    return this.#line?.fingerprint ?? null;
  }

  /** Milliseconds that the device has for one answer. */
  get timeoutMs(): number {
    return this.#options.platformHost.requestTimeoutMs();
  }

  onEnd(listener: (end: SessionEnd & { readonly why: ConnectionEnd }) => void): void {
    this.#onEnd.push(listener);
  }

  /** Closes the connection with the protocol's own close message. */
  close(): void {
    clearInterval(this.#heartbeat);
    this.#line?.close();
  }

  /** Closes the connection at once. */
  destroy(): void {
    clearInterval(this.#heartbeat);
    this.#line?.destroy();
  }

  /** Fails with `device_unreachable` or `device_error`; `onEnd` is called once, when an open connection ends. */
  protected abstract connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<L>;

  /** Sends something that the device answers. Not needed where it pings by itself. */
  protected sendHeartbeat(_line: L): void {}

  /** Sends a request and waits for its answer. Fails with `device_unreachable` when the connection has ended before, `device_error` when it ends meanwhile. */
  protected async sendRequest(id: number | string, send: (line: L) => void, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (!this.#line?.open) throw closedBeforeSending();
    const request = Promise.withResolvers<T>();
    this.#waiting.set(id, request);
    try {
      send(this.#line);
      return await orAborted(request.promise, signal);
    } finally {
      // Another request may have the same id by now.
      if (this.#waiting.get(id) === request) this.#waiting.delete(id);
    }
  }

  /** Sends a message that is not answered. Fails with `device_unreachable` when the connection has ended. */
  protected sendWithoutAnswer<R>(send: (line: L) => R): R {
    if (!this.#line?.open) throw closedBeforeSending();
    return send(this.#line);
  }

  /** The request that an answer belongs to. */
  protected pendingRequest(id: unknown): PendingRequest<T> | undefined {
    return this.#waiting.get(id);
  }

  #ended(why: ConnectionEnd): void {
    clearInterval(this.#heartbeat);
    const failure = hungUp("closed the connection before it answered");
    for (const { reject } of this.#waiting.values()) reject(failure);
    for (const listener of this.#onEnd) listener({ retry: !this.leaving, why });
  }
}

/** A session in JSON over a WebSocket. */
export abstract class WebSocketRpc<T> extends RpcSession<T, WebSocketConnection> {
  readonly #socket: Omit<WebSocketOptions, "onText" | "onEnd">;

  constructor(options: RpcOptions & Omit<WebSocketOptions, "onText" | "onEnd">) {
    super(options);
    this.#socket = options;
  }

  protected connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<WebSocketConnection> {
    const onText = (text: string) => {
      const message = readJson(text);
      if (isJson(message)) this.received(message);
    };
    return openWebSocket({ ...this.#socket, onText, onEnd }, signal);
  }

  protected abstract received(message: Json): void;

  protected ask(message: Json & { readonly id: number | string }, signal: AbortSignal): Promise<T> {
    return this.sendRequest(message.id, (line) => line.send(JSON.stringify(message)), signal);
  }
}
