/** One kept connection of the load client: raw HTTP/1.1 over TCP, one exchange at a time. */

/** Where a server listens. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** How an exchange ended: the status, and the milliseconds from the request's bytes to the answer's last. */
export interface Ended {
  readonly status: number;
  readonly ms: number;
}

const blankLine = Buffer.from("\r\n\r\n");

export class Connection {
  #socket: Bun.Socket<undefined> | undefined;
  #pending: Buffer = Buffer.alloc(0);
  /** Bytes of the answer's body that are still to come; `null` while its head is. */
  #left: number | null = null;
  #chunked = false;
  #status = 0;
  #sentAt = 0;
  #done: ((ended: Ended) => void) | undefined;

  static async open({ host, port }: Place): Promise<Connection> {
    const connection = new Connection();
    const socket = {
      data: (_socket: unknown, bytes: Buffer) => connection.#received(bytes),
      close: () => connection.#broke(),
      error: () => connection.#broke(),
    };
    connection.#socket = await Bun.connect({ hostname: host, port, socket });
    return connection;
  }

  /** Sends a whole request. `done` is told 0 as the status when the connection broke. */
  send(request: Uint8Array, done: (ended: Ended) => void): void {
    this.#done = done;
    this.#sentAt = performance.now();
    if (!this.#socket || this.#socket.write(request) < request.length) this.#broke();
  }

  exchange(request: Uint8Array): Promise<Ended> {
    return new Promise((resolve) => this.send(request, resolve));
  }

  close(): void {
    this.#done = undefined;
    this.#socket?.end();
    this.#socket = undefined;
  }

  #received(bytes: Buffer): void {
    if (this.#left !== null && !this.#chunked) return this.#body(bytes.length);
    this.#pending = this.#pending.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#pending, bytes]);
    if (this.#left === null && !this.#head()) return;
    // The last chunk is empty, and no answer here has trailers.
    if (this.#chunked && this.#pending.subarray(-5).toString("latin1") === "0\r\n\r\n") this.#end();
  }

  #head(): boolean {
    const end = this.#pending.indexOf(blankLine);
    if (end < 0) return false;
    const head = this.#pending.toString("latin1", 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#status = Number(head.slice(9, 12));
    this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    this.#left = Number(length ?? 0);
    const inside = this.#pending.length - end - blankLine.length;
    this.#pending = this.#chunked ? this.#pending.subarray(end + blankLine.length) : Buffer.alloc(0);
    if (!this.#chunked) this.#body(inside);
    return this.#left !== null;
  }

  #body(bytes: number): void {
    this.#left = (this.#left ?? 0) - bytes;
    if (this.#left <= 0) this.#end();
  }

  #end(): void {
    const done = this.#done;
    const ms = performance.now() - this.#sentAt;
    this.#left = null;
    this.#chunked = false;
    this.#pending = Buffer.alloc(0);
    this.#done = undefined;
    done?.({ status: this.#status, ms });
  }

  #broke(): void {
    this.#socket = undefined;
    this.#status = 0;
    this.#end();
  }
}

/** The bytes of a request; `body` is sent with its length. */
export function requestOf(method: string, path: string, host: string, body?: string): Uint8Array {
  const length = body === undefined && method === "GET" ? "" : `Content-Length: ${Buffer.byteLength(body ?? "")}\r\n`;
  const type = body === undefined ? "" : "Content-Type: application/json\r\n";
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${type}${length}\r\n${body ?? ""}`);
}
