/** The port for both WebSocket and bare TCP, with the frames of Kodi 20.1 including its faults, as observed. */
import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { Model } from "./model.ts";
import { answerText } from "./rpc.ts";

const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** A client that sends a longer frame is disconnected. */
const LONGEST = 1024 * 1024;

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The response to an upgrade: any path, no subprotocol, no extension (Kodi 20.1, ran). Null if the request is no upgrade. */
function accept(head: string): string | null {
  const key = /^sec-websocket-key:\s*(\S+)/im.exec(head)?.[1];
  if (key === undefined || !/^upgrade:\s*websocket/im.test(head)) return null;
  const token = createHash("sha1").update(`${key}${GUID}`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${token}`,
    "\r\n",
  ].join("\r\n");
}

/** The first frame and the rest; null if more bytes must arrive first. */
function readFrame(bytes: Buffer): { frame: Frame; rest: Buffer } | "too-large" | null {
  const [first = 0, second = 0] = bytes;
  if (bytes.length < 2) return null;
  const short = second & 0x7f;
  const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
  const masked = (second & 0x80) !== 0;
  const start = 2 + extended + (masked ? 4 : 0);
  if (bytes.length < start) return null;
  const length = extended === 2 ? bytes.readUInt16BE(2) : extended === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (length > LONGEST) return "too-large";
  if (bytes.length < start + length) return null;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + length));
  if (masked) for (let at = 0; at < payload.length; at += 1) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return { frame: { opcode: first & 0x0f, payload }, rest: bytes.subarray(start + length) };
}

function textFrame(payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | TEXT;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** A close frame inside a text frame, whatever the close frame of the client held (players.md 7.1; bytes: Kodi 20.1, ran). */
const closeAnswer = textFrame(Buffer.from([0x80 | CLOSE, 2, 0x03, 0xe8]));

/** A pong without payload inside a text frame: clients that ping lose the connection (Kodi 20.1, ran). */
const pongAnswer = textFrame(Buffer.from([0x80 | PONG, 0]));

/**
 * Splits JSON objects and arrays that follow each other without a delimiter (players.md 7.1). Text between them is ignored,
 * and an incomplete one is kept as the rest (Kodi 20.1, ran).
 */
function splitObjects(text: string): { bodies: string[]; rest: string } {
  const bodies: string[] = [];
  let depth = 0;
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = depth > 0;
    else if (character === "{" || character === "[") {
      if (depth === 0) start = at;
      depth += 1;
    } else if ((character === "}" || character === "]") && depth > 0) {
      depth -= 1;
      if (depth === 0) bodies.push(text.slice(start, at + 1));
    }
  }
  return { bodies, rest: depth > 0 ? text.slice(start) : "" };
}

const NOTHING = Buffer.alloc(0);
/** A client that never reads is disconnected. */
const UNREAD_LIMIT = 4 * 1024 * 1024;
const HEAD_LIMIT = 16 * 1024;

type Via = "websocket" | "tcp";

interface Client {
  via: Via | null;
  send(text: string): void;
  goodbye(): void;
}

/** The clients of the port for WebSocket and TCP, which asks for no password (players.md 7.1). */
export function createWire(model: Model) {
  const clients = new Set<Client>();
  const count = (via: Via) => [...clients].filter((client) => (client.via ?? "tcp") === via).length;
  return {
    get clients() {
      return { websocket: count("websocket"), tcp: count("tcp") };
    },
    server: (track: (socket: Socket) => void) =>
      createServer((socket) => {
        track(socket);
        const client = attach(socket, model);
        clients.add(client);
        socket.on("close", () => clients.delete(client));
      }),
    broadcast(text: string) {
      for (const client of clients) client.send(text);
    },
    /** Sends WebSocket clients the broken close frame, as Kodi does when it quits (players.md 7.1). */
    sendGoodbye() {
      for (const client of clients) client.goodbye();
    },
  };
}

function attach(socket: Socket, model: Model): Client {
  let rest: Buffer = NOTHING;
  const write = (bytes: Buffer | string) => {
    if (model.power !== "on" || socket.destroyed) return;
    if (socket.writableLength > UNREAD_LIMIT) socket.destroy();
    else socket.write(bytes);
  };
  const client: Client = {
    via: null,
    // A client that has sent nothing yet counts as TCP.
    send: (text) => write(client.via === "websocket" ? textFrame(Buffer.from(text)) : text),
    goodbye: () => client.via === "websocket" && write(closeAnswer),
  };
  const reply = (via: Via, body: string) => {
    const response = answerText(model, via, body);
    if (response !== null) client.send(response);
  };
  const upgrade = () => {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0 && rest.length < HEAD_LIMIT) return false;
    const answer = accept(rest.subarray(0, end).toString("latin1"));
    rest = rest.subarray(end + 4);
    if (answer === null) socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    else write(answer);
    client.via = answer === null ? null : "websocket";
    return answer !== null;
  };
  const frame = () => {
    const read = readFrame(rest);
    if (read === "too-large") socket.destroy();
    if (read === null || read === "too-large") return false;
    rest = read.rest;
    const { opcode, payload } = read.frame;
    if (opcode === TEXT || opcode === BINARY) reply("websocket", payload.toString("utf8"));
    if (opcode === PING) write(pongAnswer);
    if (opcode !== CLOSE) return true;
    write(closeAnswer);
    socket.end();
    return false;
  };
  const objects = () => {
    // As bytes, because a segment may end within a character.
    const split = splitObjects(rest.toString("latin1"));
    rest = Buffer.from(split.rest, "latin1");
    for (const body of split.bodies) reply("tcp", Buffer.from(body, "latin1").toString("utf8"));
    return false;
  };
  socket.on("data", (chunk: Uint8Array) => {
    if (model.power !== "on") return;
    rest = Buffer.concat([rest, chunk]);
    if (client.via === null && rest.length < 4) return;
    if (client.via === null && rest.subarray(0, 4).toString("latin1") !== "GET ") client.via = "tcp";
    if (client.via === null && !upgrade()) return;
    if (client.via === "tcp") objects();
    else while (frame());
    if (rest.length > UNREAD_LIMIT) socket.destroy();
  });
  return client;
}
