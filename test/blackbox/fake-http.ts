/** The shape of HTTP on the wire, read and written by hand: what came in is kept byte for byte. */

export interface RawRequest {
  readonly method: string;
  /** The target exactly as it stood in the request line. */
  readonly target: string;
  readonly path: string;
  readonly query: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly head: string;
  readonly body: Buffer;
  /** The number of the connection, counted from 1. */
  readonly connection: number;
  readonly at: number;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** `hang`: never answered. `close`: hung up without a word. `reset`: hung up with a RST. */
export type Answer = Reply | "hang" | "close" | "reset";

/** How answers are framed. Every one of these is legal, or was seen on a set. */
export interface Style {
  /** `said` announces the end with `Connection: close`; `rude` just ends. */
  readonly close?: "said" | "rude";
  /** HTTP/1.0: no length, the end of the connection ends the body. */
  readonly old?: boolean;
  readonly chunked?: boolean;
  /** Written in pieces of odd sizes, split anywhere. */
  readonly dribble?: boolean;
  /** Empty answers carry no `Content-Length`, and the connection stays open. */
  readonly lengthless?: boolean;
  readonly server?: string;
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  500: "Internal Server Error",
  501: "Not Implemented",
  577: "Unknown",
};

export function frame(reply: Reply, style: Style): { head: string; body: Buffer; ends: boolean } {
  const body = Buffer.from(reply.body ?? "");
  const chunked = style.chunked === true && body.length > 0 && !style.old;
  const lines = [`HTTP/1.${style.old ? 0 : 1} ${reply.status} ${reasons[reply.status] ?? "Status"}`];
  lines.push(`Server: ${style.server ?? "Roku/14.6.4 UPnP/1.0 Roku/14.6.4"}`);
  for (const [name, value] of Object.entries(reply.headers ?? {})) lines.push(`${name}: ${value}`);
  if (chunked) lines.push("Transfer-Encoding: chunked");
  else if (!style.old && !(style.lengthless && body.length === 0)) lines.push(`Content-Length: ${body.length}`);
  if (style.close === "said") lines.push("Connection: close");
  return {
    head: `${lines.join("\r\n")}\r\n\r\n`,
    body: chunked ? inChunks(body) : body,
    ends: style.close !== undefined || style.old === true,
  };
}

function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (const piece of oddPieces(body))
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n"));
  parts.push(Buffer.from("0\r\n\r\n"));
  return Buffer.concat(parts);
}

export function oddPieces(bytes: Buffer): Buffer[] {
  const sizes = [1, 3, 17, 101, 2, 251];
  const pieces: Buffer[] = [];
  for (let from = 0, turn = 0; from < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(bytes.subarray(from, from + size));
    from += size;
  }
  return pieces;
}

type Taken = { request: RawRequest; bytes: number } | { hasty: Reply } | { needed: number };

export function readRequest(bytes: Buffer, connection: number, hasty: (head: RawRequest) => Reply | null): Taken {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return { needed: bytes.length + 1 };
  const head = bytes.subarray(0, end).toString("latin1");
  const [line = "", ...rest] = head.split("\r\n");
  const [method = "", target = ""] = line.split(" ");
  const headers = new Map<string, string>();
  for (const field of rest) {
    const colon = field.indexOf(":");
    headers.set(field.slice(0, colon).trim().toLowerCase(), field.slice(colon + 1).trim());
  }
  const cut = target.indexOf("?");
  const path = cut < 0 ? target : target.slice(0, cut);
  const query = cut < 0 ? "" : target.slice(cut + 1);
  const request: RawRequest = {
    method,
    target,
    path,
    query,
    headers,
    head,
    connection,
    at: performance.now(),
    body: Buffer.alloc(0),
  };
  const refusal = hasty(request);
  if (refusal) return { hasty: refusal };
  const from = end + 4;
  if (headers.get("transfer-encoding")?.toLowerCase() === "chunked") {
    const whole = unchunk(bytes.subarray(from));
    return whole
      ? { request: { ...request, body: whole.body }, bytes: from + whole.bytes }
      : { needed: bytes.length + 1 };
  }
  const length = Number(headers.get("content-length") ?? 0);
  if (bytes.length < from + length) return { needed: from + length };
  return { request: { ...request, body: bytes.subarray(from, from + length) }, bytes: from + length };
}

function unchunk(bytes: Buffer): { body: Buffer; bytes: number } | null {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return null;
    const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    const end = line + 2 + size + 2;
    if (bytes.length < end) return null;
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = end;
    if (size === 0) return { body: Buffer.concat(parts), bytes: at };
  }
}
