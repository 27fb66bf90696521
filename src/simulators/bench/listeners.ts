/** The TCP ports of a set, with faults to inject. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTls, type TLSSocket, type TlsOptions } from "node:tls";

/**
 * `refuse`: nothing listens. `hang`: connections are accepted and never answered. `slow`: everything is delayed by a second
 * in each direction.
 */
export type Fault = "refuse" | "hang" | "slow";

/** Creates the server of a port. It must pass every connection to `track` first. */
export type Build = (track: (socket: Socket) => void) => Server;

const SLOW_MS = 1_000;
/** How long a restarted set waits for its port if it is taken. */
const portRetryMs = 10_000;

/** A TCP port. A free port found at the first start is kept, so that a set comes back at the same address. */
export class Listener {
  readonly #host: string;
  readonly #build: Build;
  readonly #sockets = new Set<Socket>();
  #port: number;
  #servers: Server[] = [];
  #wasOpen = false;
  #fault: Fault | null = null;

  /** Port 0 means any free port. */
  constructor(host: string, port: number, build: Build) {
    this.#host = host;
    this.#port = port;
    this.#build = build;
  }

  /** 0 until the first start if any free port was asked for. */
  get port(): number {
    return this.#port;
  }

  async open(): Promise<void> {
    if (this.#servers.length > 0 || this.#fault === "refuse") return;
    const track = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
    };
    const fault = this.#fault;
    if (fault === null || fault === "slow") {
      const port = await this.#listen(() => this.#build(track), fault === null ? this.#port : 0);
      if (fault === null) this.#port = port;
      else this.#port = await this.#listen(() => createSlowServer(port, this.#host, track), this.#port);
    } else this.#port = await this.#listen(() => createHangingServer(track), this.#port);
    this.#wasOpen = true;
  }

  /** Retries: while the port was closed, the system may have given it to another connection. */
  async #listen(build: () => Server, port: number): Promise<number> {
    const latest = performance.now() + (this.#wasOpen ? portRetryMs : 0);
    for (;;) {
      const server = build();
      try {
        const opened = await listen(server, port, this.#host);
        this.#servers.push(server);
        return opened;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || performance.now() > latest) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  /** Closes the port and every connection. */
  async close(): Promise<void> {
    const closed = this.#servers
      .splice(0)
      .map((server) => new Promise<void>((resolve) => void server.close(() => resolve())));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  /** Injects a fault, or ends it with null. Open connections are closed. */
  async fault(kind: Fault | null): Promise<void> {
    if (kind === this.#fault) return;
    const open = this.#servers.length > 0 || this.#fault === "refuse";
    await this.close();
    this.#fault = kind;
    if (open) await this.open();
  }
}

/** A TLS server. `track` gets each connection before the handshake. */
export function createTlsServer(
  options: TlsOptions,
  serve: (socket: TLSSocket) => void,
  track: (socket: Socket) => void,
): Server {
  const server = createTls(options, serve);
  server.on("connection", track);
  server.on("tlsClientError", () => {});
  return server;
}

function createHangingServer(track: (socket: Socket) => void): Server {
  return createServer((socket) => {
    track(socket);
    socket.resume();
  });
}

function createSlowServer(port: number, host: string, track: (socket: Socket) => void): Server {
  return createServer((near) => {
    const far = connect(port, host);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      track(from);
      from.on("data", (chunk: Uint8Array) => setTimeout(() => to.writable && to.write(chunk), SLOW_MS));
      from.on("close", () => setTimeout(() => to.destroy(), SLOW_MS));
    }
  });
}

/** Later errors of the server are ignored. */
async function listen(server: Server, port: number, host: string): Promise<number> {
  const opened = once(server, "listening");
  server.listen(port, host);
  await opened;
  server.on("error", () => {});
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}
