/** The developer console of a set: one client, the old lines played again, CRLF, and bytes split anywhere. */
import net from "node:net";

export class FakeConsole {
  readonly lines: string[] = [];
  /** Bytes a client sent: a log reader must never send any. */
  received = Buffer.alloc(0);
  connections = 0;
  port = 0;
  /** Another program holds the console. */
  taken = false;
  #client: net.Socket | null = null;
  #server: net.Server | null = null;

  listen(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = net.createServer((socket) => this.#accept(socket));
      server.once("error", reject);
      server.listen(this.port, host, () => {
        const address = server.address();
        this.port = typeof address === "object" && address ? address.port : 0;
        this.#server = server;
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    this.#client?.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  get busy(): boolean {
    return this.#client !== null;
  }

  /** Drops the listener, as a set does that reboots. */
  drop(): void {
    this.#client?.destroy();
    this.#client = null;
  }

  /** Prints lines; with `raw`, bytes as they are. */
  print(...lines: string[]): void {
    this.lines.push(...lines);
    this.raw(Buffer.from(lines.map((line) => `${line}\r\n`).join("")));
  }

  raw(bytes: Buffer): void {
    // An odd cut, through the middle of a character if there is one.
    const cut = Math.floor(bytes.length / 2);
    const client = this.#client;
    client?.write(bytes.subarray(0, cut));
    setTimeout(() => client?.write(bytes.subarray(cut)), 5);
  }

  #accept(socket: net.Socket): void {
    this.connections++;
    socket.setNoDelay(true);
    socket.on("error", () => {});
    if (this.taken || this.#client) {
      socket.end("Console connection is already in use.\r\n");
      return;
    }
    this.#client = socket;
    socket.on("close", () => {
      if (this.#client === socket) this.#client = null;
    });
    socket.on("data", (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes]);
    });
    if (this.lines.length > 0) socket.write(this.lines.map((line) => `${line}\r\n`).join(""));
  }
}
