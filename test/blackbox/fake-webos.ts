/**
 * A fake LG set on bare sockets, written from protocols/smart-tvs.md 2 alone: it shares no code with zapd or its simulator.
 * It keeps all that it receives, with the masks of the frames removed.
 */
import { randomUUID } from "node:crypto";
import net from "node:net";
import tls from "node:tls";
import { type Listening, listening } from "../support/listening.ts";
import { type ClientFrame, frame, opened, takeFrames } from "../support/websocket-frames.ts";

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
    let rest: Buffer = Buffer.alloc(0);
    let upgraded = false;
    const line: Line = {
      say: (message) => {
        if (!socket.destroyed) socket.write(frame(0x81, JSON.stringify(message)));
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
        socket.write(opened(`${head}\r\n`));
      }
      const frames: ClientFrame[] = [];
      rest = takeFrames(rest, frames);
      for (const { first, payload } of frames) {
        const opcode = first & 0x0f;
        this.heard += `${payload.toString()}\n`;
        if (opcode === 0x8) return void socket.end(frame(0x88, payload));
        if (opcode === 0x9) socket.write(frame(0x8a, payload));
        if (opcode === 0x1) this.#hear(payload.toString(), line);
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
