/**
 * A conversation in JSON over one WebSocket: questions, each waiting under its id for an answer that may come in any order,
 * and what the device says by itself. One that falls silent is hung up on, as devices on their way to standby often leave
 * their sockets open.
 */
import { DeviceError } from "../api/errors.ts";
import type { PlatformHost } from "../platforms/platform.ts";
import { orAborted } from "../system/sleep.ts";
import { hungUp } from "./http-connection.ts";
import { isJson, type Json, readJson } from "./json.ts";
import type { Ending, Session } from "./session.ts";
import { type LineEnd, openWebSocket, type WebSocketLine, type WebSocketOptions } from "./websocket.ts";

export interface RpcOptions extends Omit<WebSocketOptions, "onText" | "onEnd" | "platformHost"> {
  readonly platformHost: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">;
  /** Milliseconds between two signs of life that are asked for, and after which one that gives none is hung up on. */
  readonly beatMs: number;
  readonly silentMs: number;
}

interface Question<T> {
  resolve(answer: T): void;
  reject(error: unknown): void;
}

export abstract class RpcSession<T> implements Session {
  readonly #options: RpcOptions;
  readonly #waiting = new Map<unknown, Question<T>>();
  #line: WebSocketLine | undefined;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #onEnd: (ending: Ending & { readonly why: LineEnd }) => void = () => {};
  /** The device said that it goes off: its silence is no accident. */
  leaving = false;

  constructor(options: RpcOptions) {
    this.#options = options;
  }

  /** Opens the line, once. Fails as `openWebSocket` does. */
  async open(signal: AbortSignal): Promise<this> {
    const { beatMs, silentMs } = this.#options;
    const onText = (text: string) => this.#take(text);
    const line = await openWebSocket({ ...this.#options, onText, onEnd: (why) => this.#ended(why) }, signal);
    this.#line = line;
    if (!line.open) return this;
    this.#pulse = setInterval(() => {
      if (performance.now() - line.heardAt > silentMs) line.destroy();
      else this.beat(line);
    }, beatMs);
    this.#pulse.unref?.();
    return this;
  }

  get alive(): boolean {
    return this.#line?.open === true;
  }

  get pending(): number {
    return this.#waiting.size;
  }

  /** SHA-256 of the certificate that the device showed; `null` without TLS. */
  get fingerprint(): string | null {
    return this.#line?.fingerprint ?? null;
  }

  /** Milliseconds that the device has for one answer. */
  get timeoutMs(): number {
    return this.#options.platformHost.requestTimeoutMs();
  }

  onEnd(told: (ending: Ending & { readonly why: LineEnd }) => void): void {
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

  /** Asks for a sign of life. */
  protected abstract beat(line: WebSocketLine): void;

  /** Takes one message. */
  protected abstract received(said: Json): void;

  /** Sends a question and waits. Fails with `device_unreachable` when the line has ended before, `device_error` when it ends meanwhile. */
  protected async ask(message: Json & { readonly id: number | string }, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (!this.#line?.open)
      throw new DeviceError("device_unreachable", "hung up", { phase: "connect", reason: "closed" });
    const question = Promise.withResolvers<T>();
    this.#waiting.set(message.id, question);
    try {
      this.#line.send(JSON.stringify(message));
      return await orAborted(question.promise, signal);
    } finally {
      this.#waiting.delete(message.id);
    }
  }

  /** Who waits under the id that an answer came with. */
  protected waitingFor(id: unknown): Question<T> | undefined {
    return this.#waiting.get(id);
  }

  #take(message: string): void {
    const said = readJson(message);
    if (isJson(said)) this.received(said);
  }

  #ended(why: LineEnd): void {
    clearInterval(this.#pulse);
    const gone = hungUp("hung up before it answered");
    for (const { reject } of this.#waiting.values()) reject(gone);
    this.#onEnd({ again: !this.leaving, why });
  }
}
