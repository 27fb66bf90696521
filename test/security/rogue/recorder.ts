/**
 * Every byte that reaches a port of a stranger, over TCP, TLS (decrypted, as the stranger reads it) and UDP; and the search in it
 * for what a stranger must never get.
 */
import dgram from "node:dgram";
import net from "node:net";
import tls from "node:tls";
import { listening } from "../../support/listening.ts";
import { formsOf } from "../canaries.ts";

/** Where the bytes are forwarded to, so that somebody answers. */
export interface Onward {
  readonly host: string;
  readonly port: number;
}

export interface PortOptions {
  readonly host: string;
  readonly port: number;
  /** `null`, the default: the bytes are recorded, and nothing is answered. */
  readonly to?: Onward | null;
  /** With a certificate it is a TLS port. */
  readonly certificate?: { readonly key: string; readonly cert: string };
}

interface Line {
  readonly at: string;
  readonly bytes: Buffer[];
}

/** What was sent to all ports of one stranger. */
export class Recorder {
  readonly #lines: Line[] = [];
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #noted: string[] = [];

  /** Listens at a TCP port. */
  async tcp({ host, port, to = null, certificate }: PortOptions): Promise<void> {
    const take = (client: net.Socket) => {
      const line: Line = { at: `${host}:${port}`, bytes: [] };
      this.#lines.push(line);
      const behind = to === null ? undefined : net.connect({ host: to.host, port: to.port, noDelay: true });
      client.on("close", () => behind?.destroy());
      behind?.on("error", () => behind.destroy()).on("close", () => client.destroy());
      client.on("data", (bytes: Buffer) => {
        line.bytes.push(Buffer.from(bytes));
        behind?.write(bytes);
      });
      behind?.on("data", (bytes: Buffer) => client.write(bytes));
      behind?.on("end", () => client.end());
    };
    const server = certificate ? tls.createServer({ ...certificate }, take) : net.createServer(take);
    // A client that does not like the certificate hangs up in the handshake.
    server.on("tlsClientError", () => {});
    const { stop } = await listening(server, host, port);
    this.#stops.push(stop);
  }

  /** Listens at a UDP port. */
  async udp(host: string, port: number): Promise<void> {
    const socket = dgram.createSocket({ type: "udp4", reuseAddr: true });
    const line: Line = { at: `${host}:${port}/udp`, bytes: [] };
    this.#lines.push(line);
    socket.on("message", (bytes) => line.bytes.push(Buffer.from(bytes)));
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(port, host, () => resolve());
    });
    this.#stops.push(() => new Promise((resolve) => socket.close(() => resolve())));
  }

  /** Closes all ports; what was recorded stays. */
  async stop(): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }

  /** Connections so far, and UDP ports that received something. */
  get taken(): number {
    return this.#lines.filter(({ at, bytes }) => !at.endsWith("/udp") || bytes.length > 0).length;
  }

  /** Records what a simulator has decrypted. */
  note(text: string): void {
    this.#noted.push(text);
  }

  /** All that was received: the bytes as they came, and behind them the payloads of masked WebSocket frames. */
  get received(): string {
    const lines = this.#lines.map(({ at, bytes }) => {
      const all = Buffer.concat(bytes);
      return `<<${at}>>\n${all.toString("latin1")}\n${unmasked(all)}`;
    });
    return [...lines, ...this.#noted].join("\n");
  }
}

/** The payloads of the WebSocket frames after an upgrade, which a client masks. */
function unmasked(bytes: Buffer): string {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1 || !/^upgrade: *websocket/im.test(bytes.subarray(0, end).toString("latin1"))) return "";
  const said: Buffer[] = [];
  for (let at = end + 4; at + 2 <= bytes.length; ) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const masked = ((bytes[at + 1] ?? 0) & 0x80) !== 0;
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
    const start = at + 2 + extended + (masked ? 4 : 0);
    if (start > bytes.length) break;
    const length =
      extended === 2 ? bytes.readUInt16BE(at + 2) : extended === 8 ? Number(bytes.readBigUInt64BE(at + 2)) : short;
    const mask = bytes.subarray(start - 4, start);
    const payload = Buffer.from(bytes.subarray(start, start + length));
    if (masked)
      for (let one = 0; one < payload.length; one++) payload[one] = (payload[one] ?? 0) ^ (mask[one % 4] ?? 0);
    said.push(payload);
    at = start + length;
  }
  return Buffer.concat(said).toString("utf8");
}

/** What a stranger must not get. */
export interface Secrets {
  /** Keys and passwords, each as it is. */
  readonly words: readonly string[];
  /** Logins, of which a stranger may get no form either. */
  readonly logins?: readonly { readonly user: string; readonly password: string }[];
  /** What was typed. */
  readonly typed: readonly string[];
}

/** Each secret in what was received, in any form, with some text around it. Any login counts. */
export function leaksIn(received: string, { words, logins = [], typed }: Secrets): string[] {
  const found: string[] = [];
  const lower = received.toLowerCase();
  const note = (what: string, at: number) =>
    found.push(`${what}: …${JSON.stringify(received.slice(Math.max(0, at - 160), at + 60))}`);
  const look = (what: string, form: string) => {
    const at = form.length < 4 ? -1 : lower.indexOf(form);
    if (at !== -1) note(what, at);
  };
  const all = [
    ...words.map((word) => ["a key or password", word] as const),
    ...logins.flatMap(({ user, password }) => [
      ["a password", password] as const,
      ["a login", `${user}:${password}`] as const,
    ]),
    ...typed.map((text) => ["typed text", text] as const),
  ];
  for (const [what, word] of all) for (const form of formsOf(word)) look(what, form);
  // One character each: nobody but the tests types here, and each test into its own sets.
  const letters = [...received.matchAll(/\/key(?:press|down)\/Lit_(\S*)/g)].map(([, one = ""]) => safely(one)).join("");
  for (const text of typed) if (letters.includes(text.slice(0, 3))) note("typed text", received.indexOf("Lit_"));
  const login = received.search(/^(?:proxy-)?authorization:/im);
  if (login !== -1) note("a login or digest", login + 100);
  return [...new Set(found)];
}

function safely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
