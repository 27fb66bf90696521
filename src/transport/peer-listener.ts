/**
 * A small HTTP listener for one peer: a device that fetches a file from here, or calls back. It listens at the one address that
 * faces the peer, closes connections from others before it reads a byte, and answers at one path that cannot be guessed. It
 * uses `node:net`, as a server of `node:http` reads, and on some runtimes answers, before it reports the caller's address.
 */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import net from "node:net";
import { networkInterfaces } from "node:os";
import { DeviceError } from "../api/errors.ts";
import { orAborted } from "../system/sleep.ts";

export interface PeerRequest {
  /** One of the `methods`. */
  readonly method: string;
  /** By name in lower case; of a header that came twice, the last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Ends when the peer has closed the connection, or the listener was closed. */
  readonly signal: AbortSignal;
}

export interface PeerAnswer {
  readonly status: number;
  /** `content-length` has to be among them where there is a body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Read no faster than the peer takes it, and not for HEAD. A failure ends the connection. */
  readonly body?: AsyncIterable<Uint8Array>;
}

interface PeerListenerOptions {
  /** The peer's IP address. */
  readonly peer: string;
  /** In capitals; other methods get 405. */
  readonly methods: readonly string[];
  /**
   * The file name after the secret part of the path, for peers that look at it. They may write it as they like, but another
   * extension means another file, such as the subtitles of a film.
   */
  readonly name?: string;
  /** A request with a longer body gets 413; 0 without it. */
  readonly maxBodyBytes?: number;
  /** A request must be complete within this time; 10 s without it. */
  readonly timeoutMs?: number;
  /** A failure is answered with 500. */
  answer(request: PeerRequest): PeerAnswer | Promise<PeerAnswer>;
}

export interface PeerListener {
  /** The secret URL to give to the peer. */
  readonly url: string;
  /** The address of this machine where it listens. */
  readonly address: string;
  /** Ends the listener and every connection. */
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;
/** Time for the peer to close the connection after the answer. */
const hangUpTimeoutMs = 2_000;
/** A player opens a connection for each place in a film that it reads, and leaves some of them open. */
const maxConnections = 16;
const maxHeadBytes = 16 * 1024;
/** 128 bits. */
const secretBytes = 16;
/** Notices a peer that is gone, also while a film is paused. */
const keepAliveMs = 30_000;

/** Listens at a free port. Fails with `device_unreachable` where no address of this machine faces the peer. */
export async function listenToPeer(options: PeerListenerOptions): Promise<PeerListener> {
  const address = await addressFacing(options.peer);
  const path = `/${randomBytes(secretBytes).toString("hex")}/`;
  const peer = plainAddress(options.peer);
  const open = new Set<Connection>();
  // A peer may end its side of the connection after the request, and read the answer.
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on("error", () => {});
    if (plainAddress(socket.remoteAddress ?? "") !== peer) return void socket.destroy();
    const connection = new Connection(socket, path, options, () => open.delete(connection));
    open.add(connection);
    // A peer that leaves connections open must still be able to open another.
    const oldest = open.size > maxConnections ? leastActive(open) : undefined;
    if (!oldest) return;
    open.delete(oldest);
    oldest.close();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  const port = typeof bound === "object" && bound ? bound.port : 0;
  const host = address.includes(":") ? `[${plainAddress(address)}]` : address;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${host}:${port}${path}${encodeURIComponent(options.name ?? "")}`,
    address,
    close: () =>
      (closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of open) connection.close();
      })),
  };
}

/** The address of this machine that faces another one, as its routes have it. Fails with `device_unreachable`. */
export async function addressFacing(peer: string): Promise<string> {
  const family = net.isIP(peer);
  if (family === 0) throw noAddressFacing(peer);
  const socket = createSocket(family === 6 ? "udp6" : "udp4");
  try {
    // Nothing is sent: connecting makes the system choose the local address.
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(9, peer, () => resolve());
    });
    const { address } = socket.address();
    // Some runtimes do not pass the connect on to the system.
    if (!/^(0\.0\.0\.0|::)$/.test(address)) return address;
  } catch (error) {
    throw noAddressFacing(peer, error);
  } finally {
    socket.close();
  }
  return addressInNetworkOf(peer, family === 6 ? "ipv6" : "ipv4");
}

/** The address in whose network the peer is, or the only one that is not internal. */
function addressInNetworkOf(peer: string, family: "ipv4" | "ipv6"): string {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter((one) => one.family.toLowerCase() === family && one.cidr !== null);
  const facing = own.find(({ address, cidr }) => {
    const network = new net.BlockList();
    network.addSubnet(address, Number(cidr?.split("/")[1]), family);
    return network.check(plainAddress(peer), family);
  });
  const outward = own.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  const found = facing ?? (outward.length === 1 ? outward[0] : undefined);
  if (!found) throw noAddressFacing(peer);
  return found.address;
}

function noAddressFacing(peer: string, cause?: unknown): DeviceError {
  return new DeviceError(
    "device_unreachable",
    `cannot connect to this machine, which has no address on the way to ${peer}`,
    {
      phase: "connect",
      reason: "no_route",
      hint: "Check that this machine is in the network of the device",
      cause,
    },
  );
}

/** Without a zone, and IPv4 in its own notation, however a runtime writes it. */
function plainAddress(address: string): string {
  return address
    .replace(/%.*$/s, "")
    .replace(/^::ffff:(?=\d+\.)/i, "")
    .toLowerCase();
}

function leastActive(connections: ReadonlySet<Connection>): Connection | undefined {
  return [...connections].sort((one, other) => one.activeAt - other.activeAt)[0];
}

/** One connection, with one request. */
class Connection {
  /** When a byte last came or went. */
  activeAt = performance.now();
  readonly #socket: net.Socket;
  readonly #path: string;
  readonly #options: PeerListenerOptions;
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout>;
  #received: Buffer = Buffer.alloc(0);
  #head: Head | undefined;
  /** Whether the request is complete, or was refused; further bytes are ignored. */
  #isRequestRead = false;

  constructor(socket: net.Socket, path: string, options: PeerListenerOptions, closed: () => void) {
    this.#socket = socket;
    this.#path = path;
    this.#options = options;
    this.#timer = setTimeout(() => this.#refuse(408), options.timeoutMs ?? requestTimeoutMs);
    socket.setKeepAlive(true, keepAliveMs);
    socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    socket.on("end", () => {
      if (!this.#isRequestRead) this.close();
    });
    socket.on("close", () => {
      clearTimeout(this.#timer);
      this.#ended.abort(new Error("The peer closed the connection"));
      closed();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#isRequestRead) return;
    this.activeAt = performance.now();
    this.#received = Buffer.concat([this.#received, bytes]);
    this.#head ??= this.#readHead();
    if (!this.#head || this.#received.length < this.#head.bodyBytes) return;
    this.#isRequestRead = true;
    clearTimeout(this.#timer);
    const body = this.#received.subarray(0, this.#head.bodyBytes);
    void this.#respond({ ...this.#head, body, signal: this.#ended.signal });
  }

  /** The head, once it is complete and not refused; received bytes of the body stay. */
  #readHead(): Head | undefined {
    const end = this.#received.indexOf("\r\n\r\n");
    if ((end === -1 ? this.#received.length : end) > maxHeadBytes) return this.#refuse(431);
    if (end === -1) return undefined;
    const head = readHead(this.#received.toString("latin1", 0, end));
    if (!head) return this.#refuse(400);
    const refusal = this.#refusalOf(head);
    if (refusal !== null) return this.#refuse(refusal);
    this.#received = this.#received.subarray(end + 4);
    return head;
  }

  /** The status that refuses a request by its head; `null` where it is accepted. */
  #refusalOf({ method, target, headers, bodyBytes }: Head): number | null {
    // Some peers send the absolute URL, as to a proxy.
    const path = target.replace(/^http:\/\/[^/]*|\?.*$/gi, "");
    if (!path.startsWith(this.#path)) return 404;
    const { name } = this.#options;
    const ending = name !== undefined && endingOf(path);
    if (ending && ending !== endingOf(name)) return 404;
    if (!this.#options.methods.includes(method)) return 405;
    if (headers["transfer-encoding"] !== undefined) return 411;
    if (!Number.isSafeInteger(bodyBytes)) return 400;
    return bodyBytes > (this.#options.maxBodyBytes ?? 0) ? 413 : null;
  }

  #refuse(status: number): undefined {
    this.#isRequestRead = true;
    const headers = status === 405 ? { allow: this.#options.methods.join(", ") } : {};
    void this.#send({ status, headers: { ...headers, "content-length": "0" } });
  }

  async #respond(request: PeerRequest): Promise<void> {
    let answer: PeerAnswer;
    try {
      answer = await this.#options.answer(request);
    } catch {
      this.#refuse(500);
      return;
    }
    const { body, ...head } = answer;
    await this.#send(request.method === "HEAD" || !body ? head : answer);
  }

  async #send({ status, headers = {}, body }: PeerAnswer): Promise<void> {
    clearTimeout(this.#timer);
    const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`);
    try {
      await this.#write(Buffer.from(`HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n${lines.join("")}\r\n`, "latin1"));
      for await (const bytes of body ?? []) await this.#write(bytes);
    } catch {
      return this.close();
    }
    // Counted from when the last byte has left: a player that is paused takes it late.
    this.#socket.end(() => {
      if (!this.#ended.signal.aborted) this.#timer = setTimeout(() => this.close(), hangUpTimeoutMs);
    });
  }

  /** Waits until the peer can take more. Fails when the connection has ended. */
  async #write(bytes: Uint8Array): Promise<void> {
    const { signal } = this.#ended;
    signal.throwIfAborted();
    const isTaken = this.#socket.write(bytes);
    if (!isTaken) await orAborted(new Promise((resolve) => this.#socket.once("drain", resolve)), signal);
    this.activeAt = performance.now();
  }
}

/** `mp4` for `Film.MP4`. */
function endingOf(name: string): string | undefined {
  return /\.(\w{1,8})$/.exec(name)?.[1]?.toLowerCase();
}

interface Head {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `NaN` for an invalid length. */
  readonly bodyBytes: number;
}

function readHead(text: string): Head | null {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method, target] = /^([A-Z]{1,16}) ([!-~]+) HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined || target === undefined) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    headers[name.toLowerCase()] = value;
  }
  const length = headers["content-length"] ?? "0";
  return { method, target, headers, bodyBytes: /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN };
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  206: "Partial Content",
  304: "Not Modified",
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  410: "Gone",
  411: "Length Required",
  412: "Precondition Failed",
  413: "Content Too Large",
  416: "Range Not Satisfiable",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
};
