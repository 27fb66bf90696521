/**
 * HTTP as old set-top firmware speaks it, on a bare TCP socket: what came in is kept byte for byte, and what goes out
 * can be framed in every way a set may choose. Nothing here comes from the daemon's sources.
 */
import net from "node:net";
import { type Answer, frame, oddPieces, type RawRequest, type Reply, readRequest, type Style } from "./fake-http.ts";

export type { Answer, RawRequest, Reply, Style } from "./fake-http.ts";

export class Wire {
  readonly requests: RawRequest[] = [];
  style: Style = {};
  /** Takes over each new connection, before a byte is read. */
  fault: ((socket: net.Socket) => void) | null = null;
  connections = 0;
  /** What is answered in the place of the usual: `POST /path` -> answer. */
  readonly answers = new Map<string, Answer>();
  /** Every byte that came in, on all connections together. */
  bytesRead = 0;
  port = 0;
  #server: net.Server | null = null;
  readonly #sockets = new Set<net.Socket>();
  readonly #answer: (request: RawRequest) => Answer | Promise<Answer>;
  /** Answers from the head alone and hangs up, the body unread; `null` reads on. */
  readonly #hasty: (head: RawRequest) => Reply | null;

  constructor(answer: (request: RawRequest) => Answer | Promise<Answer>, hasty?: (head: RawRequest) => Reply | null) {
    this.#answer = answer;
    this.#hasty = hasty ?? (() => null);
  }

  /** Without a port, one below those that the system gives out: no daemon can have it, on whichever address. */
  async listen(host: string, port = 0): Promise<void> {
    for (let tries = 0; port === 0 && tries < 5; tries++) {
      const free = await this.#listen(host, 10_000 + Math.floor(Math.random() * 20_000)).then(
        () => true,
        () => false,
      );
      if (free) return;
    }
    return this.#listen(host, port);
  }

  #listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = net.createServer((socket) => this.#accept(socket));
      server.once("error", reject);
      server.listen(port, host, () => {
        const address = server.address();
        this.port = typeof address === "object" && address ? address.port : 0;
        this.#server = server;
        resolve();
      });
    });
  }

  /** Stops listening and drops every connection; the port may be listened on again. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  #accept(socket: net.Socket): void {
    const connection = ++this.connections;
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    if (this.fault) {
      this.fault(socket);
      return;
    }
    let pending: Buffer[] = [];
    let held = 0;
    let needed = 1;
    let busy = false;
    const step = async (): Promise<void> => {
      if (busy) return;
      busy = true;
      while (held >= needed) {
        const bytes = pending.length === 1 && pending[0] ? pending[0] : Buffer.concat(pending);
        pending = [bytes];
        const taken = readRequest(bytes, connection, this.#hasty);
        if ("hasty" in taken) {
          socket.pause();
          socket.end(frame(taken.hasty, { ...this.style, close: "said" }).head);
          setTimeout(() => socket.destroy(), 20);
          return;
        }
        if ("needed" in taken) {
          needed = taken.needed;
          continue;
        }
        pending = [bytes.subarray(taken.bytes)];
        held -= taken.bytes;
        needed = 1;
        this.requests.push(taken.request);
        if (!(await this.#reply(socket, taken.request))) return;
      }
      busy = false;
    };
    socket.on("data", (bytes: Buffer) => {
      this.bytesRead += bytes.length;
      held += bytes.length;
      pending.push(bytes);
      void step();
    });
  }

  /** Whether the connection goes on. */
  async #reply(socket: net.Socket, request: RawRequest): Promise<boolean> {
    const answer = this.answers.get(`${request.method} ${request.path}`) ?? (await this.#answer(request));
    if (answer === "hang") return false;
    if (answer === "close" || answer === "reset") {
      if (answer === "reset") socket.resetAndDestroy();
      else socket.destroy();
      return false;
    }
    const framed = frame(answer, this.style);
    const head = Buffer.from(framed.head, "latin1");
    const all = request.method === "HEAD" ? head : Buffer.concat([head, framed.body]);
    for (const piece of this.style.dribble ? oddPieces(all) : [all]) {
      if (socket.destroyed) return false;
      socket.write(piece);
      if (this.style.dribble) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (framed.ends || request.headers.get("connection")?.toLowerCase() === "close") {
      socket.end();
      return false;
    }
    return true;
  }
}
