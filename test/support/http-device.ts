/** A device that speaks HTTP on a bare TCP socket: requests and answers are exact to the byte. */
import net from "node:net";
import { listening } from "./listening.ts";

export interface Heard {
  /** The head as received, without the blank line. */
  readonly head: string;
  readonly method: string;
  readonly target: string;
  readonly body: Buffer;
  /** The number of the connection, counted from 1. */
  readonly connection: number;
}

/** `hang`: no answer. `close` and `reset`: ends the connection without one. `drip`: sends a byte at a time, for ever. */
export type Saying =
  | string
  | Uint8Array
  | { readonly thenClose: string }
  | { readonly answer: string; readonly later: string; readonly afterMs?: number };

export type HttpDevice = Awaited<ReturnType<typeof startHttpDevice>>;

/** A valid answer. */
export function answer(status: number, body = "", headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status} Said`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

export async function startHttpDevice(say: (heard: Heard) => Saying) {
  const heard: Heard[] = [];
  let taken = 0;
  const server = net.createServer((socket) => {
    const connection = ++taken;
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let request = take(); request; request = take()) {
        heard.push(request);
        utter(socket, say(request));
      }
    });
    function take(): Heard | undefined {
      const end = rest.indexOf("\r\n\r\n");
      if (end === -1) return undefined;
      const head = rest.subarray(0, end).toString("latin1");
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (rest.length < end + 4 + length) return undefined;
      const body = Buffer.from(rest.subarray(end + 4, end + 4 + length));
      rest = rest.subarray(end + 4 + length);
      const [method = "", target = ""] = head.split(" ");
      return { head, method, target, body, connection };
    }
  });
  const listener = await listening(server);
  return {
    address: { host: "127.0.0.1", port: listener.port },
    heard,
    hangUp: listener.hangUp,
    /** How many connections were accepted, and how many are open. */
    get taken() {
      return taken;
    },
    get open() {
      return listener.open;
    },
    stop: listener.stop,
  };
}

function utter(socket: net.Socket, saying: Saying): void {
  if (saying === "hang") return;
  if (saying === "close") socket.end();
  else if (saying === "reset") socket.resetAndDestroy();
  else if (saying === "drip") drip(socket);
  else if (typeof saying === "object" && "thenClose" in saying) socket.end(saying.thenClose);
  else if (typeof saying === "object" && "later" in saying) {
    socket.write(saying.answer);
    setTimeout(() => socket.write(saying.later), saying.afterMs ?? 50);
  } else socket.write(saying);
}

function drip(socket: net.Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nX: ");
  const timer = setInterval(() => socket.write("y"), 20);
  socket.on("close", () => clearInterval(timer));
}

/** Waits until something holds, which is checked every `everyMs`. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
  everyMs = 5,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs / 1_000} s in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
