/** HTTP on a bare socket: a request exact to the byte, and its answer. */
import net from "node:net";
import { Failure } from "../../src/api/operations.ts";

export interface RawAnswer {
  /** 0 where the connection ended without an answer. */
  readonly status: number;
  /** By name in lower case; a repeated one is joined with commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Milliseconds until the answer was complete, or the connection ended. */
  readonly ms: number;
}

export interface Sending {
  /** A port of 127.0.0.1, or the path of a socket. */
  readonly to: number | string;
  /** Fails after this many milliseconds. */
  readonly patienceMs?: number;
  /** The answer has no body, as to HEAD. */
  readonly bodyless?: boolean;
  /** Waits for the end of the connection, even after the answer. */
  readonly toTheEnd?: boolean;
  /** Reads nothing before all is sent, as most clients do. */
  readonly readsLast?: boolean;
}

/** The status and the code of an error in the envelope: `404 device_not_found`. */
export function refusal({ status, body }: Pick<RawAnswer, "status" | "body">): string {
  return `${status} ${codeOf({ body })}`;
}

export function codeOf({ body }: Pick<RawAnswer, "body">): string {
  return Failure.parse(JSON.parse(body)).error.code;
}

/** The bytes of a request. Headers are whole lines; `content-length` is added where no header gives the length of the body. */
export function requestOf(
  method: string,
  target: string,
  headers: readonly string[],
  body?: string | Uint8Array,
): Buffer {
  const bytes = Buffer.from(body ?? "");
  const framed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const length = body === undefined || framed ? [] : [`Content-Length: ${bytes.length}`];
  const head = [`${method} ${target} HTTP/1.1`, ...headers, ...length].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), bytes]);
}

/** Sends pieces as fast as the socket takes them, until the answer is complete or the connection ends. */
export function send(pieces: Uint8Array | Iterable<Uint8Array>, sending: Sending): Promise<RawAnswer> {
  const { to, patienceMs = 20_000 } = sending;
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const socket = typeof to === "number" ? net.connect(to, "127.0.0.1") : net.connect(to);
    let heard: Buffer = Buffer.alloc(0);
    let over = false;
    const end = (error?: Error) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve({ ...(read(heard, sending) ?? nothing), ms: performance.now() - start });
    };
    const timer = setTimeout(
      () => end(new Error(`no end within ${patienceMs} ms, after ${heard.length} bytes`)),
      patienceMs,
    );
    socket.on("connect", () => {
      if (sending.readsLast) socket.pause();
      void push(socket, pieces instanceof Uint8Array ? [pieces] : pieces, () => over).then(() => socket.resume());
    });
    socket.on("data", (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      if (!sending.toTheEnd && read(heard, sending)) end();
    });
    socket.on("error", () => end());
    socket.on("close", () => end());
  });
}

/** One request to a port of 127.0.0.1, which is its Host where no header is; and its answer. */
export function callTo(
  port: number,
  method: string,
  target: string,
  headers: readonly string[] = [],
  body?: string | Uint8Array,
  sending: Partial<Sending> = {},
): Promise<RawAnswer> {
  const host = headers.some((line) => line.startsWith("Host:")) ? [] : [`Host: 127.0.0.1:${port}`];
  const bytes = requestOf(method, target, [...host, ...headers], body);
  return send(bytes, { to: port, bodyless: method === "HEAD", ...sending });
}

/**
 * The answer so far: waits `firstMs` for the first byte, and until `moreMs` without a byte. A server that waits for more of
 * the request sends nothing.
 */
export function hear(port: number, bytes: Uint8Array, firstMs: number, moreMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(bytes));
    let heard = "";
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(heard);
    };
    let timer = setTimeout(end, firstMs);
    socket.on("data", (some: Buffer) => {
      heard += some.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(end, moreMs);
    });
    socket.on("error", end);
    socket.on("close", end);
  });
}

async function push(socket: net.Socket, pieces: Iterable<Uint8Array>, over: () => boolean): Promise<void> {
  let go = () => {};
  socket.on("drain", () => go()).on("close", () => go());
  for (const piece of pieces) {
    if (over() || socket.destroyed) return;
    if (socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      go = resolve;
    });
  }
}

const nothing = { status: 0, headers: new Map<string, string>(), body: "" };

/** The answer, once it is complete. */
function read(heard: Buffer, { bodyless }: Sending): Omit<RawAnswer, "ms"> | undefined {
  const end = heard.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = heard.subarray(0, end).toString("latin1").split("\r\n");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  const status = Number(first.split(" ")[1]);
  const body = heard.subarray(end + 4);
  const wanted = bodyless || status === 204 ? 0 : Number(headers.get("content-length") ?? 0);
  return body.length < wanted ? undefined : { status, headers, body: body.subarray(0, wanted).toString("utf8") };
}
