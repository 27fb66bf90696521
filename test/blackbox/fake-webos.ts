/**
 * A fake LG set on bare sockets, written from protocols/smart-tvs.md 2 alone: it shares no code with zapd or its simulator.
 * It keeps all that it receives, with the masks of the frames removed.
 */
import { createHash, randomUUID } from "node:crypto";
import net from "node:net";
import tls from "node:tls";
import { type Listening, listening } from "../support/listening.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly id: string;
  readonly type: string;
  /** Without `ssap://`. */
  readonly uri: string;
  readonly payload: Json;
  readonly line: Line;
}

/** One client of the set. */
export interface Line {
  say(message: Json): void;
  hangUp(): void;
}

export interface FakeSetOptions {
  readonly host: string;
  /** Default: any that is free. */
  readonly port?: number;
  /** Its TLS certificate; without one it speaks in clear text. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** The device UUID in its hello; `null`: none. */
  readonly uuid?: string | null;
  /** An unusual answer: a payload; `error`: a failure; `silence`: none; `usual`: that of a set in order. */
  answer?(asked: Asked, set: FakeSet): Json | { readonly error: string; readonly payload?: Json } | "silence" | "usual";
}

export class FakeSet {
  readonly host: string;
  port: number;
  /** Heads and messages as they were received, one after another. */
  heard = "";
  readonly asked: Asked[] = [];
  readonly keys = new Set<string>();
  connections = 0;
  power = "Active";
  app = "com.webos.app.home";
  volume = 20;
  muted = false;
  apps: readonly Json[] = [{ id: "netflix", title: "Netflix" }];
  readonly #options: FakeSetOptions;
  #listening: Listening | undefined;

  constructor(options: FakeSetOptions) {
    this.#options = options;
    this.host = options.host;
    this.port = options.port ?? 0;
  }

  async start(): Promise<this> {
    const { certificate } = this.#options;
    const take = (socket: net.Socket) => this.#take(socket);
    const server = certificate ? tls.createServer(certificate, take) : net.createServer(take);
    server.on("tlsClientError", () => {});
    server.on("connection", () => this.connections++);
    this.#listening = await listening(server, this.host, this.port);
    this.port = this.#listening.port;
    return this;
  }

  /** Stops listening, and ends all connections. */
  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    await listening?.stop();
  }

  /** How often a uri was asked for, by request or subscription. */
  times(uri: string): number {
    return this.asked.filter((one) => one.uri === uri).length;
  }

  #take(socket: net.Socket): void {
    let rest = Buffer.alloc(0);
    let upgraded = false;
    const line: Line = {
      say: (message) => {
        if (!socket.destroyed) socket.write(frame(0x1, Buffer.from(JSON.stringify(message))));
      },
      hangUp: () => socket.destroy(),
    };
    socket.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      if (!upgraded) {
        const end = rest.indexOf("\r\n\r\n");
        if (end === -1) return;
        const head = rest.toString("latin1", 0, end);
        rest = rest.subarray(end + 4);
        upgraded = true;
        this.heard += `${head}\n`;
        const key = /^sec-websocket-key: (.*)$/im.exec(head)?.[1]?.trim() ?? "";
        const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
        const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
        socket.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join("\r\n")}\r\n\r\n`);
      }
      for (let next = unframed(rest); next; next = unframed(rest)) {
        rest = rest.subarray(next.length);
        this.heard += `${next.payload.toString()}\n`;
        if (next.opcode === 0x8) return void socket.end(frame(0x8, next.payload));
        if (next.opcode === 0x9) socket.write(frame(0xa, next.payload));
        if (next.opcode === 0x1) this.#hear(next.payload.toString(), line);
      }
    });
  }

  #hear(text: string, line: Line): void {
    const { id = "", type = "", uri = "", payload = {} } = JSON.parse(text) as Partial<Asked>;
    const asked: Asked = { id, type, uri: uri.replace(/^ssap:\/\//, ""), payload, line };
    this.asked.push(asked);
    const said = this.#options.answer?.(asked, this) ?? "usual";
    if (said === "silence") return;
    if (said === "usual") return this.#answer(asked);
    const error = "error" in said && typeof said["error"] === "string" ? said["error"] : null;
    if (error === null) return line.say({ id, type: "response", payload: { returnValue: true, ...said } });
    line.say({ id, type: "error", error, payload: "payload" in said ? said["payload"] : {} });
  }

  #answer(asked: Asked): void {
    const { id, type, uri, payload, line } = asked;
    if (type === "hello") {
      const { uuid = null } = this.#options;
      const named = uuid === null ? {} : { deviceUUID: uuid };
      line.say({ id, type, payload: { deviceOS: "webOS", deviceOSReleaseVersion: "6.4.0", ...named } });
    } else if (type === "register") {
      const given = payload["client-key"];
      const known = typeof given === "string" && this.keys.has(given);
      const key = known ? given : randomUUID().replaceAll("-", "");
      if (!known) line.say({ id, type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
      this.keys.add(key);
      line.say({ id, type: "registered", payload: { "client-key": key } });
    } else {
      const answer = this.#answerOf(uri, payload);
      if (answer) line.say({ id, type: "response", payload: { returnValue: true, ...answer } });
      else line.say({ id, type: "error", error: "404 no such service or method", payload: {} });
    }
  }

  #answerOf(uri: string, payload: Json): Json | null {
    if (uri === "com.webos.service.tvpower/power/getPowerState") return { state: this.power };
    if (uri === "audio/getVolume")
      return { volumeStatus: { volume: this.volume, muteStatus: this.muted, maxVolume: 100 } };
    if (uri === "com.webos.applicationManager/getForegroundAppInfo") return { appId: this.app };
    if (uri === "com.webos.applicationManager/listLaunchPoints") return { launchPoints: this.apps };
    if (uri === "com.webos.service.connectionmanager/getinfo")
      return { wiredInfo: { macAddress: "02:00:00:00:00:07" } };
    if (uri === "com.webos.service.ime/registerRemoteKeyboard") return { currentWidget: { focus: true } };
    if (uri === "tv/getExternalInputList") return { devices: [{ id: "HDMI_1", appId: "com.webos.app.hdmi1" }] };
    if (uri === "system/getSystemInfo") return { modelName: "OLED42C2" };
    if (uri === "system.launcher/launch") {
      this.app = String(payload["id"]);
      return {};
    }
    if (uri === "audio/setMute") {
      this.muted = payload["mute"] === true;
      return {};
    }
    if (uri === "system/turnOff") {
      this.power = "Active Standby";
      return {};
    }
    return uri === "com.webos.service.ime/insertText" || uri.startsWith("media.controls/") ? {} : null;
  }
}

export async function fakeSet(options: FakeSetOptions): Promise<FakeSet> {
  return new FakeSet(options).start();
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const size = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 0xff] : null;
  if (size === null) throw new Error("the fake sends nothing that long");
  return Buffer.concat([Buffer.from([0x80 | opcode, ...size]), payload]);
}

/** The first frame of a client in some bytes, if it is whole. */
function unframed(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | null {
  if (bytes.length < 2) return null;
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < start + 4) return null;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  const length = start + 4 + size;
  if (bytes.length < length) return null;
  const mask = bytes.subarray(start, start + 4);
  const payload = Buffer.from(bytes.subarray(start + 4, length)).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload: Buffer.from(payload), length };
}
