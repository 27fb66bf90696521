/** The ways a set, or what sits at its address, can go wrong on the wire. Each takes over a connection as it comes. */
import { type ChildProcess, spawn } from "node:child_process";
import net from "node:net";
import { gzipSync } from "node:zlib";
import { pour } from "../support/pour.ts";

export type Fault = (socket: net.Socket) => void;

const head = (fields: string): string =>
  `HTTP/1.1 200 OK\r\nServer: Roku/14.6.4\r\nContent-Type: text/xml\r\n${fields}\r\n\r\n`;

/** Waits for the request, as far as a set with a fault looks at one. */
const asked =
  (answer: (socket: net.Socket) => void): Fault =>
  (socket) => {
    socket.once("data", () => answer(socket));
  };

/** Writes a little, for as long as anyone listens. */
function drip(socket: net.Socket, pieces: (turn: number) => string): void {
  let turn = 0;
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else socket.write(pieces(turn++));
  }, 40);
  socket.on("close", () => clearInterval(timer));
}

/** 200 MB of blanks in about 200 kB: twenty members, one after the other, as gzip may have them (RFC 1952 2.2). */
const bomb = Buffer.concat(Array<Buffer>(20).fill(gzipSync(Buffer.alloc(10_000_000, 0x20), { level: 9 })));
const noise = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 131 + 7) % 256));
const megabyte = Buffer.alloc(1_048_576, "<a>");

export const faults: Readonly<Record<string, Fault>> = {
  "hang after accept": () => {},
  "hang after the request": asked(() => {}),
  "RST at once": (socket) => socket.resetAndDestroy(),
  "RST after the request": asked((socket) => socket.resetAndDestroy()),
  "closed without an answer": asked((socket) => socket.end()),
  "head cut short": asked((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Le")),
  "short body": asked((socket) => socket.end(`${head("Content-Length: 5000")}<device-info><udn>1</udn>`)),
  "body longer than said": asked((socket) => socket.end(`${head("Content-Length: 5")}${"<a/>".repeat(5_000)}`)),
  "drip head": asked((socket) => drip(socket, (turn) => (turn === 0 ? "HTTP/1.1 200 OK\r\n" : "X"))),
  "drip body": asked((socket) => drip(socket, (turn) => (turn === 0 ? head("Content-Length: 100000") : " "))),
  garbage: asked((socket) => socket.end(noise)),
  "garbage XML": asked((socket) =>
    socket.end(`${head("Connection: close")}<device-info><serial-number>X</device-info`),
  ),
  "another service": asked((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")),
  "bad length": asked((socket) => socket.end(`${head("Content-Length: -1\r\nContent-Length: 7")}<a/>`)),
  "bad chunks": asked((socket) => socket.end(`${head("Transfer-Encoding: chunked")}FFFFFFFFFFFFFFFF\r\nabc\r\n`)),
  "100 MB body": asked((socket) => {
    socket.write(head("Content-Length: 104857600"));
    pour(megabyte, 100)(socket);
  }),
  "endless body": asked((socket) => {
    socket.write(head("Connection: close"));
    pour(megabyte)(socket);
  }),
  "endless headers": asked((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    pour(Buffer.from("X-More: and more and more and more\r\n".repeat(1_000)))(socket);
  }),
  "one endless header": asked((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nX-Long: ");
    pour(Buffer.alloc(65_536, "x"))(socket);
  }),
  "100-continue for ever": asked(pour(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n".repeat(500)))),
  "gzip bomb": asked((socket) => {
    socket.write(head(`Content-Encoding: gzip\r\nContent-Length: ${bomb.length}`));
    socket.end(bomb);
  }),
  "deep XML": asked((socket) => {
    const body = `<device-info>${"<a>".repeat(60_000)}`;
    socket.end(`${head(`Content-Length: ${body.length}`)}${body}`);
  }),
  "billion laughs": asked((socket) => {
    const laughs = Array.from({ length: 9 }, (_, turn) => `<!ENTITY l${turn + 1} "${`&l${turn};`.repeat(10)}">`).join(
      "",
    );
    const body = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">${laughs}]><device-info><serial-number>&l9;</serial-number></device-info>`;
    socket.end(`${head(`Content-Length: ${body.length}`)}${body}`);
  }),
};

export const redirect = (status: number, location: string): Fault =>
  asked((socket) => socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`));

/** A port whose backlog is full: a connection is neither taken nor refused. `null` where this machine will not do it. */
export async function fullBacklog(host: string, port: number): Promise<{ release(): Promise<void> } | null> {
  const code = `require("node:net").createServer().listen({host:"${host}",port:${port},backlog:1},function(){console.log("up")})`;
  const child: ChildProcess = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "ignore"] });
  const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  await new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
  child.kill("SIGSTOP");
  const held: net.Socket[] = [];
  const release = async (): Promise<void> => {
    for (const socket of held) socket.destroy();
    child.kill("SIGKILL");
    await gone;
  };
  for (let tries = 0; tries < 1_024; tries++) {
    const socket = net.connect(port, host);
    socket.on("error", () => {});
    held.push(socket);
    const connected = await Promise.race([
      new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true))),
      Bun.sleep(250).then(() => false),
    ]);
    if (!connected) return { release };
  }
  await release();
  return null;
}
