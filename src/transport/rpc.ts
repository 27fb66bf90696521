/** Questions over one WebSocket, each waiting under its id for an answer that may come in any order. */
import { DeviceError } from "../api/errors.ts";
import { orAborted } from "../system/sleep.ts";
import { hungUp } from "./http-connection.ts";
import type { Json } from "./json.ts";
import type { WebSocketLine } from "./websocket.ts";

type Message = Json & { readonly id: number | string };

interface Question<T> {
  resolve(answer: T): void;
  reject(error: unknown): void;
}

export class Questions<T> {
  readonly #line: WebSocketLine;
  readonly #waiting = new Map<unknown, Question<T>>();

  constructor(line: WebSocketLine) {
    this.#line = line;
  }

  /** How many wait. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Sends one and waits. Fails with `device_unreachable` when the line has ended before, `device_error` when it ends meanwhile. */
  async ask(message: Message, signal: AbortSignal): Promise<T> {
    if (signal.aborted) throw signal.reason;
    if (!this.#line.open)
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
  under(id: unknown): Question<T> | undefined {
    return this.#waiting.get(id);
  }

  /** The line has ended. */
  end(): void {
    const gone = hungUp("hung up before it answered");
    for (const { reject } of this.#waiting.values()) reject(gone);
  }
}
