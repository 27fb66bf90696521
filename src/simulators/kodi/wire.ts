import { createServer, type Server, type Socket } from "node:net";
import { accept, BINARY, CLOSE, closeAnswer, PING, pongAnswer, readFrame, TEXT, textFrame } from "./frames.ts";
import type { Model } from "./model.ts";
import { splitObjects } from "./objects.ts";
import type { Ask } from "./web.ts";

const NOTHING = Buffer.alloc(0);
/** A client that never reads is cut off. */
const UNREAD_LIMIT = 4 * 1024 * 1024;
const HEAD_LIMIT = 16 * 1024;

/** Who is connected on the port that serves WebSocket and bare TCP alike, without asking for a password (players.md 7.1). */
export interface Wire {
  readonly clients: { readonly websocket: number; readonly tcp: number };
  server(track: (socket: Socket) => void): Server;
  tell(text: string): void;
  /** What a WebSocket is sent when the program quits: the broken close frame again (players.md 7.1). */
  sayGoodbye(): void;
}

type Via = "websocket" | "tcp";

interface Client {
  via: Via | null;
  say(text: string): void;
  goodbye(): void;
}

export function createWire(model: Model, ask: (via: Via) => Ask, crash: () => void): Wire {
  const clients = new Set<Client>();
  const count = (via: Via) => [...clients].filter((client) => (client.via ?? "tcp") === via).length;
  return {
    get clients() {
      return { websocket: count("websocket"), tcp: count("tcp") };
    },
    server: (track) =>
      createServer((socket) => {
        track(socket);
        const client = attach(socket, model, ask, crash);
        clients.add(client);
        socket.on("close", () => clients.delete(client));
      }),
    tell(text) {
      for (const client of clients) client.say(text);
    },
    sayGoodbye() {
      for (const client of clients) client.goodbye();
    },
  };
}

function attach(socket: Socket, model: Model, ask: (via: Via) => Ask, crash: () => void): Client {
  let rest: Buffer = NOTHING;
  const write = (bytes: Buffer | string) => {
    if (model.power !== "on" || socket.destroyed) return;
    if (socket.writableLength > UNREAD_LIMIT) socket.destroy();
    else socket.write(bytes);
  };
  const client: Client = {
    via: null,
    // Who has not said anything yet is taken for TCP.
    say: (text) => write(client.via === "websocket" ? textFrame(Buffer.from(text)) : text),
    goodbye: () => client.via === "websocket" && write(closeAnswer),
  };
  const reply = (via: Via, body: string) => {
    try {
      const said = ask(via)(body);
      if (said !== null) client.say(said);
    } catch {
      crash();
    }
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
    const split = splitObjects(rest.toString("utf8"));
    rest = Buffer.from(split.rest);
    for (const body of split.bodies) reply("tcp", body);
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
