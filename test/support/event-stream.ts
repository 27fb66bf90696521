/** Reads a stream of events over a bare socket: it can stop reading, and close in the middle of a line. */
import net from "node:net";

/** An event, or a heartbeat, in either form. */
export interface Frame {
  /** The field `id` in server-sent events, a member of the line in JSON Lines. */
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: an event of any type
  readonly [field: string]: any;
}

export type Form = "sse" | "lines";

const accepts: Readonly<Record<Form, string>> = { sse: "text/event-stream", lines: "application/x-ndjson" };

export interface Asked {
  /** A port of 127.0.0.1, or the path of a socket. */
  readonly to: number | string;
  readonly form?: Form;
  /** Below `/v1`, `/events` without it. */
  readonly path?: string;
  /** Whole header lines. */
  readonly headers?: readonly string[];
  /** Closes after so many bytes. */
  readonly cutAfter?: number;
}

export class EventStream {
  /** The frames that are complete. */
  readonly frames: Frame[] = [];
  /** When each of them arrived, in milliseconds. */
  readonly times: number[] = [];
  readonly #socket: net.Socket;
  readonly #form: Form;
  readonly #waiting = new Set<() => void>();
  #bytes = 0;
  #raw: Buffer = Buffer.alloc(0);
  readonly #decoder = new TextDecoder();
  #text = "";
  /** Bytes that are missing of the current chunk. */
  #left = 0;
  #status = 0;
  #isOver = false;

  constructor({ to, form = "lines", path = "/events", headers = [], cutAfter }: Asked) {
    this.#form = form;
    this.#socket = typeof to === "number" ? net.connect(to, "127.0.0.1") : net.connect(to);
    const lines = [`GET /v1${path} HTTP/1.1`, "host: 127.0.0.1", `accept: ${accepts[form]}`, ...headers];
    this.#socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    this.#socket.on("data", (bytes: Buffer) => {
      if (this.#isOver) return;
      this.#bytes += bytes.length;
      const beyond = cutAfter === undefined ? 0 : Math.max(0, this.#bytes - cutAfter);
      this.#take(bytes.subarray(0, bytes.length - beyond));
      if (cutAfter !== undefined && this.#bytes >= cutAfter) this.close();
      this.#wake();
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  /** 0 until the head has arrived. */
  get status(): number {
    return this.#status;
  }

  /** Stops reading: data stays in the kernel, and then in the daemon. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#isOver = true;
    this.#socket.destroy();
    this.#wake();
  }

  /** Waits for a frame, among earlier ones as well; fails when the stream ends, or after the time. */
  async until(is: (frame: Frame) => boolean, withinMs = 30_000): Promise<Frame> {
    let at = 0;
    const next = () => {
      for (; at < this.frames.length; at++) {
        const frame = this.frames[at];
        if (frame && is(frame)) return frame;
      }
      return undefined;
    };
    const found = await this.#when(() => next() ?? (this.#isOver ? null : undefined), withinMs);
    if (found) return found;
    const last = JSON.stringify(this.frames.slice(-3));
    throw new Error(`${this.#isOver ? "the stream ended" : "it did not come"} after ${this.frames.length}: ${last}`);
  }

  /** Waits for the end of the connection; `false` after the time. */
  async ended(withinMs = 30_000): Promise<boolean> {
    return (await this.#when(() => (this.#isOver ? true : undefined), withinMs)) ?? false;
  }

  async #when<T>(look: () => T | undefined, withinMs: number): Promise<T | undefined> {
    const end = performance.now() + withinMs;
    for (;;) {
      const found = look();
      if (found !== undefined || performance.now() >= end) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, end - performance.now());
      this.#waiting.add(resolve);
      await promise;
      clearTimeout(timer);
      this.#waiting.delete(resolve);
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #take(bytes: Buffer): void {
    this.#raw = Buffer.concat([this.#raw, bytes]);
    if (this.#status === 0) {
      const end = this.#raw.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#status = Number(/^HTTP\/1\.1 (\d+)/.exec(this.#raw.toString("latin1", 0, end))?.[1] ?? -1);
      this.#raw = this.#raw.subarray(end + 4);
    }
    this.#text += this.#chunks();
    const ending = this.#form === "sse" ? "\n\n" : "\n";
    const parts = this.#text.split(ending);
    this.#text = parts.pop() ?? "";
    for (const part of parts) {
      const frame = this.#form === "sse" ? frameOf(part) : (JSON.parse(part) as Frame);
      if (!frame) continue;
      this.frames.push(frame);
      this.times.push(performance.now());
    }
  }

  /** The text of the chunks so far, with a part of the last one (RFC 9112, 7.1). */
  #chunks(): string {
    const parts: Buffer[] = [];
    for (;;) {
      if (this.#left > 0) {
        const part = this.#raw.subarray(0, this.#left);
        if (part.length === 0) break;
        parts.push(part);
        this.#left -= part.length;
        this.#raw = this.#raw.subarray(part.length);
        continue;
      }
      // The line end of the chunk before comes first.
      const [line, size] = /^(?:\r\n)?([0-9a-f]+)\r\n/i.exec(this.#raw.toString("latin1", 0, 24)) ?? [];
      if (line === undefined || size === undefined) break;
      this.#left = Number.parseInt(size, 16);
      this.#raw = this.#raw.subarray(line.length);
      if (this.#left === 0) break;
    }
    return this.#decoder.decode(Buffer.concat(parts), { stream: true });
  }
}

/** A frame of server-sent events: one with an id alone is a heartbeat; one without an id is none. */
function frameOf(text: string): Frame | null {
  const fields = new Map(
    text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]),
  );
  const [id, data] = [fields.get("id"), fields.get("data")];
  if (id === undefined) return null;
  return data === undefined ? { id, type: "heartbeat" } : { ...(JSON.parse(data) as Frame), id };
}

/** The sequence number of an event. */
export function seqOf({ id }: Pick<Frame, "id">): number {
  return Number(id.split(".")[1]);
}
