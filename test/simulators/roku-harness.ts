import { afterEach } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { strToU8, zipSync } from "fflate";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../src/simulators/roku.ts";

const running: RokuSimulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.stop()));
});

/** A running set, stopped after the test. It stays out of searches unless the test is about them. */
export async function plugIn(options: Partial<RokuSimulatorOptions> = {}): Promise<RokuSimulator> {
  // Searches reach the sets of other test runs on this machine too: a serial of its own tells ours apart.
  const own = options.ssdp ? { serial: `X0${randomBytes(5).toString("hex").toUpperCase()}` } : {};
  const simulator = createRokuSimulator({ name: "Test Room", ssdp: false, launchMs: 0, ...own, ...options });
  running.push(simulator);
  await simulator.start();
  return simulator;
}

export interface Reply {
  status: number;
  /** As sent: order and case. */
  headers: [string, string][];
  body: string;
}

/** One request, byte for byte as given, so that Host and the path are exactly what the test says. */
export async function ask(
  simulator: { host: string; port: number },
  method: string,
  path: string,
  extra: { host?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Reply> {
  const body = Buffer.from(extra.body ?? "");
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${extra.host ?? `${simulator.host}:${simulator.port}`}`,
    "Connection: close",
    `Content-Length: ${body.length}`,
    ...Object.entries(extra.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  const sent = Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
  return parseReply(await exchange(simulator.host, simulator.port, sent));
}

/** Sends, and reads until the other side closes. */
export function exchange(host: string, port: number, sent: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    const socket = connect(port, host, () => socket.write(sent));
    socket.setTimeout(5000, () => socket.destroy(new Error("no answer within 5 s")));
    socket.on("data", (piece: Uint8Array) => pieces.push(piece));
    // A reset after the answer is how the installer hangs up on a body it did not read.
    socket.on("error", (error) => (pieces.length === 0 ? reject(error) : undefined));
    socket.on("close", () => resolve(Buffer.concat(pieces).toString("latin1")));
  });
}

export function parseReply(text: string): Reply {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const [, name = "", value = ""] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    return [name, value];
  });
  const body = Buffer.from(text.slice(end + 4), "latin1").toString("utf8");
  return { status: Number(first.split(" ")[1]), headers, body };
}

export function header(reply: Reply, name: string): string | undefined {
  return reply.headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

export const get = (simulator: RokuSimulator, path: string) => ask(simulator, "GET", path);
export const post = (simulator: RokuSimulator, path: string) => ask(simulator, "POST", path);

export async function press(simulator: RokuSimulator, ...keys: string[]): Promise<void> {
  for (const key of keys) await post(simulator, `/keypress/${key}`);
}

/** Waits for what must come true, at most five seconds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited 5 s in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A package as developers make it; big enough to be taken. */
export function packageOf(files: Record<string, string> = {}): Uint8Array {
  const content = {
    manifest: "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=1\n",
    "source/main.brs": 'sub Main()\n  print "hello"\nend sub\n',
    "images/noise.txt": Array.from({ length: 200 }, (_, index) =>
      createHash("md5").update(`${index}`).digest("hex"),
    ).join(""),
    ...files,
  };
  const entries = Object.entries(content).filter(([, text]) => text !== "");
  return zipSync(Object.fromEntries(entries.map(([path, text]) => [path, strToU8(text)])), { mtime: "2024-01-01" });
}

/** What arrives on a connection, as it arrives. */
export function listen(host: string, port: number): { socket: Socket; text: () => string; closed: () => boolean } {
  let text = "";
  let closed = false;
  const socket = connect(port, host);
  socket.on("data", (piece: Uint8Array) => {
    text += Buffer.from(piece).toString("utf8");
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  return { socket, text: () => text, closed: () => closed };
}
