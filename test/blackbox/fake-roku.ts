/**
 * A set of our own make, written from protocols/roku.md alone: an outsider to the daemon and to its simulator. Stateful,
 * and it keeps what it was sent to the byte.
 */
import dgram from "node:dgram";
import { lane } from "../support/lane.ts";
import { FakeConsole } from "./fake-console.ts";
import type { FakeApp, FakePlayback, Identity } from "./fake-documents.ts";
import * as documents from "./fake-documents.ts";
import { FakeInstaller } from "./fake-installer.ts";
import { pressed } from "./fake-keys.ts";
import { type Answer, type RawRequest, type Reply, type Style, Wire } from "./fake-wire.ts";

export interface FakeOptions extends Partial<Identity> {
  readonly host?: string;
  readonly port?: number;
  readonly mode?: "enabled" | "permissive" | "limited" | "disabled";
  readonly style?: Style;
  readonly apps?: readonly FakeApp[];
  /** Facts to change, or with `null` to leave out. */
  readonly facts?: Readonly<Record<string, string | null>>;
  /** How the set ends an app: `absent` on old firmware and without developer mode. */
  readonly exitApp?: "plain" | "xml" | "absent";
}

let made = 0;
/** An address of this machine that no other set has. */
export const freeHost = (): string => `127.0.${20 + lane}.${1 + (made++ % 250)}`;

export class FakeRoku {
  readonly host: string;
  readonly identity: Identity;
  readonly facts: Map<string, string>;
  readonly wire: Wire;
  readonly installer: FakeInstaller;
  readonly console = new FakeConsole();
  apps: FakeApp[];
  active: FakeApp | null = null;
  /** Suspended by Instant Resume: a second `exit-app` ends it. */
  suspended: string | null = null;
  playback: FakePlayback | null = null;
  volume = 23;
  muted = false;
  screensaver = false;
  twice = false;
  home: string = documents.homes.plain;
  exitApp: NonNullable<FakeOptions["exitApp"]>;
  /** Whether a launch works in limited mode: there are reports of both. */
  limitedLaunch = false;
  launchMs = 0;
  homeMs = 0;
  answerMs = 0;
  /** What a magic packet must name, and how long the set then needs. */
  wakes = 0;
  wakeMs = 150;
  /** Queries that go wrong: path -> what is answered instead. */
  readonly broken = new Map<string, Answer>();
  #wake: dgram.Socket | null = null;
  #asleep = false;

  private constructor(options: FakeOptions) {
    this.host = options.host ?? freeHost();
    const serial =
      options.serial ?? `ZB${String(process.pid % 10_000).padStart(4, "0")}${String(++made).padStart(6, "0")}`;
    const mac =
      options.mac ??
      `0a:5b:00:${[1e4, 1e2, 1].map((unit) => String(Math.floor(made / unit) % 100).padStart(2, "0")).join(":")}`;
    this.identity = { serial, mac, name: options.name ?? `Set ${serial}`, kind: options.kind ?? "tv" };
    this.facts = documents.factsOf(this.identity);
    if (options.mode) this.facts.set("ecp-setting-mode", options.mode);
    for (const [name, value] of Object.entries(options.facts ?? {})) {
      if (value === null) this.facts.delete(name);
      else this.facts.set(name, value);
    }
    const inputs = this.identity.kind === "tv";
    this.apps = [...(options.apps ?? documents.tvApps.filter((one) => inputs || one.type !== "tvin"))];
    this.exitApp = options.exitApp ?? "plain";
    this.wire = new Wire((request) => this.#answer(request));
    this.wire.style = options.style ?? {};
    this.installer = new FakeInstaller(this);
  }

  static async start(options: FakeOptions = {}): Promise<FakeRoku> {
    const fake = new FakeRoku(options);
    await Promise.all([
      fake.wire.listen(fake.host, options.port),
      fake.installer.wire.listen(fake.host),
      fake.console.listen(fake.host),
    ]);
    fake.#wake = dgram.createSocket("udp4");
    fake.#wake.on("message", (bytes) => fake.#woken(bytes));
    await new Promise<void>((resolve) => fake.#wake?.bind(0, fake.host, resolve));
    return fake;
  }

  get port(): number {
    return this.wire.port;
  }

  get serial(): string {
    return this.identity.serial;
  }

  /** The body of `POST /devices` that adds it. */
  get address() {
    const wake = this.#wake?.address().port ?? 9;
    return {
      host: this.host,
      port: this.port,
      ports: { installer: this.installer.wire.port, console: this.console.port, wake },
    };
  }

  /** Every command that came, as it stood in the request line. */
  get commands(): string[] {
    return this.wire.requests.filter((request) => request.method === "POST").map((request) => request.target);
  }

  forget(): void {
    this.wire.requests.length = 0;
    this.installer.wire.requests.length = 0;
  }

  /** Deep sleep: nothing listens any more but the network chip. */
  async sleep(): Promise<void> {
    this.#asleep = true;
    await Promise.all([this.wire.close(), this.installer.wire.close(), this.console.close()]);
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  async stop(): Promise<void> {
    await this.sleep();
    await new Promise<void>((resolve) => (this.#wake ? this.#wake.close(() => resolve()) : resolve()));
    this.#wake = null;
  }

  #woken(packet: Buffer): void {
    const mac = Buffer.from(this.identity.mac.replaceAll(":", ""), "hex");
    const magic = Buffer.concat([Buffer.alloc(6, 0xff), ...Array.from({ length: 16 }, () => mac)]);
    if (packet.indexOf(magic) < 0) return;
    this.wakes++;
    if (this.wakes > 1 || !this.#asleep) return;
    setTimeout(() => {
      this.#asleep = false;
      this.facts.set("power-mode", "Ready");
      void this.wire.listen(this.host, this.port);
    }, this.wakeMs);
  }

  async #answer(request: RawRequest): Promise<Answer> {
    if (this.answerMs > 0) await new Promise((resolve) => setTimeout(resolve, this.answerMs));
    const broken = this.broken.get(request.path);
    if (broken !== undefined) return broken;
    if (!/^(\d+\.){3}\d+(:\d+)?$/.test(request.headers.get("host") ?? "")) return { status: 403 };
    if (request.path === "/") return document(documents.description(this.facts));
    const mode = this.facts.get("ecp-setting-mode") ?? "enabled";
    const path = decoded(request.path);
    const [, noun = "", rest = ""] = /^\/([a-z-]+)\/(.*)$/s.exec(path) ?? [];
    if (request.method === "GET" && noun === "query") return this.#query(path, mode);
    if (request.method !== "POST") return { status: 404 };
    if (mode === "disabled") return { status: 401 };
    if (noun === "keypress" || noun === "keydown" || noun === "keyup") return pressed(this, rest, mode);
    if (noun === "launch" && (mode !== "limited" || this.limitedLaunch)) return this.#launch(rest, request.query);
    if (noun === "launch") return { status: 403 };
    if (noun === "exit-app" && this.exitApp !== "absent")
      return mode === "limited" ? { status: 403 } : this.#exit(rest);
    return path === "/input" ? { status: 200 } : { status: 404 };
  }

  #query(path: string, mode: string): Reply {
    const tv = this.identity.kind === "tv";
    const all: Record<string, () => string> = {
      "/query/device-info": () => documents.deviceInfo(this.facts),
      "/query/active-app": () =>
        documents.activeApp(this.home, this.active, { saver: this.screensaver, twice: this.twice }),
      "/query/apps": () => documents.appsDocument(this.apps),
      "/query/media-player": () => documents.mediaPlayer(this.playback),
      ...(tv ? { "/query/audio-device": () => documents.audioDevice(this.volume, this.muted) } : {}),
    };
    const found = all[path];
    if (!found) return { status: 404 };
    if (mode === "disabled") return { status: 401 };
    if (mode === "limited" && !/device-info|active-app/.test(path)) {
      return {
        status: 403,
        headers: { "Content-Type": "text/plain" },
        body: "ECP command not allowed in Limited mode.",
      };
    }
    return document(found());
  }

  leave(): void {
    this.active = null;
    this.playback = null;
  }

  #launch(id: string, query: string): Reply {
    const found = this.apps.find((one) => one.id === id);
    if (!found) return { status: 404 };
    if (this.active?.id === id && query === "") return { status: 202 };
    setTimeout(() => {
      this.active = found;
      this.suspended = null;
    }, this.launchMs);
    return { status: 200 };
  }

  #exit(id: string): Reply {
    const running = this.active?.id === id || this.suspended === id;
    if (this.exitApp === "xml") {
      const said = running ? "<status>OK</status>" : "<status>FAILED</status><error>App not found</error>";
      if (running) this.#suspend(id);
      return document(`<?xml version="1.0" encoding="UTF-8" ?>\n<exit-app>${said}</exit-app>\n`);
    }
    if (running) this.#suspend(id);
    return { status: running ? 200 : 404 };
  }

  #suspend(id: string): void {
    this.suspended = this.active?.id === id ? id : null;
    this.leave();
  }
}

const document = (body: string): Reply => ({
  status: 200,
  headers: { "Content-Type": 'text/xml; charset="utf-8"', "Cache-Control": "no-cache" },
  body,
});

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}
