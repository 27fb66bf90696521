import { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { type Certificate, createCertificateFor } from "./bench/certificate.ts";
import { picture } from "./bench/documents.ts";
import type { Build, Listener } from "./bench/listeners.ts";
import { SimulatedSet } from "./bench/set.ts";
import { createWebServer } from "./bench/websocket.ts";
import { Connection, type EntryPort, PointerConnection, type SocketConnection } from "./webos/connection.ts";
import { createDiscovery, createStacks, type Stack } from "./webos/discovery.ts";
import { Model, type PlayState, type Received } from "./webos/model.ts";
import { COMMON_NAME, type Prompting, type WebosSimulatorOptions } from "./webos/options.ts";
import { applyButton, bringToFront, setFocus, setMuted, setPlayback, setVolume } from "./webos/remote.ts";

export type { Certificate } from "./bench/certificate.ts";
export type { PlayState, Received } from "./webos/model.ts";
export type { Prompting, SimulatedApp, WebosSimulatorOptions } from "./webos/options.ts";

/** A certificate with the common name of every set. */
export function createCertificate(): Certificate {
  return createCertificateFor(COMMON_NAME);
}

/** The `processing` values of a set that is turning off, as logged; nothing came after them (MaxvandeLaar/homey-webos-plus#18). */
const GOING_OFF = ["Request Active Standby", "Request Suspend", "Prepare Suspend"];

/** A simulated LG set. */
export class WebosSimulator extends SimulatedSet {
  /** The `deviceUUID` of the hello. */
  readonly uuid: string;
  readonly wifiMac: string;
  /** SHA-256 of the certificate on the secure port, in the form of `getPeerCertificate().fingerprint256`. */
  readonly fingerprint: string;
  /** Received requests, and the prompts that were shown. */
  readonly received: Received;
  /** The known client keys with their permissions. */
  readonly clientKeys: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #model: Model;
  readonly #secure: Listener | null = null;
  readonly #plain: Listener | null = null;
  readonly #stacks: readonly Stack[];
  readonly #connections = new Set<SocketConnection>();
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(options: WebosSimulatorOptions) {
    const model = new Model(options);
    const { uuid, wifiMac, securePort, plainPort, certificate, ssdp } = model.options;
    const { secure, plain } = model.firmware;
    // The set is wired: only the address of the interface in use wakes it (smart-tvs.md 1.2).
    super(model.options);
    this.uuid = uuid;
    this.wifiMac = wifiMac;
    this.fingerprint = new X509Certificate(certificate.cert).fingerprint256;
    this.received = model.received;
    this.clientKeys = model.clientKeys;
    this.#model = model;
    model.togglePower = () =>
      this.enqueueInBackground(() => (model.power === "on" ? this.#powerOff() : this.powerOn()));
    if (securePort !== null && secure) this.#secure = this.#ssap("secure", securePort, certificate);
    if (plainPort !== null)
      this.#plain =
        plain === "answers" ? this.#ssap("plain", plainPort, null) : this.addPort(plainPort, createResettingServer);
    this.#stacks = createStacks(model);
    if (ssdp) this.setDiscovery(createDiscovery(model, this.#stacks));
  }

  #ssap(port: EntryPort["port"], wanted: number, certificate: Certificate | null): Listener {
    const model = this.#model;
    const tls = certificate === null ? "" : "s";
    const listener: Listener = this.addPort(wanted, (track) =>
      createWebServer({ certificate, answer: answerHttp, upgrade }, track),
    );
    const door: EntryPort = { port, url: (scheme, path) => `${scheme}${tls}://${this.host}:${listener.port}${path}` };
    const upgrade = (url: string) => {
      const pointer = model.pointerPaths.has(url);
      if (!pointer && url !== "/") return null;
      return (socket: ConstructorParameters<typeof Connection>[1]) => {
        const link = pointer ? new PointerConnection(model, socket) : new Connection(model, socket, door);
        this.#connections.add(link);
        socket.on("close", () => this.#connections.delete(link));
      };
    };
    return listener;
  }

  /** 0 before the first start if any free port was asked for; null for a closed port. */
  get ports(): { secure: number | null; plain: number | null; wake: number; description: number } {
    return {
      secure: this.#secure?.port ?? null,
      plain: this.#plain?.port ?? null,
      wake: this.wakePort,
      description: this.#stacks[0]?.listener.port ?? 0,
    };
  }

  /** The text of the focused field. */
  get text(): string {
    return this.#model.text;
  }

  /** A snapshot of the state. */
  get state() {
    const { power, active, channel, playback, volume, muted, prompt } = this.#model;
    const ssap = [...this.#connections].filter((link) => link instanceof Connection);
    return {
      power,
      /** The id of the app in front, where inputs and live TV are apps too; null in standby. */
      activeApp: power === "on" ? active : null,
      channel: channel?.number ?? null,
      playback: playback?.playState ?? null,
      /** The real level, even if a soundbar hides it. */
      volume,
      muted,
      /** Whether a pairing prompt is shown. */
      prompting: prompt !== null,
      /** How many SSAP connections are open, and how many are registered. */
      connections: { open: ssap.length, registered: ssap.filter(({ registered }) => registered).length },
      /** Whether it answers searches now. */
      discoverable: this.isDiscoverable,
    };
  }

  /** How the next prompts are answered. */
  setPrompting(prompting: Prompting): void {
    this.#model.prompting = prompting;
  }

  /** Accepts or denies the prompt on the screen; false if there is none. */
  answerPrompt(accept: boolean): boolean {
    const { prompt } = this.#model;
    prompt?.end(accept ? "accepted" : "denied");
    return prompt !== null;
  }

  /** Forgets all clients, so that each must pair again (home-assistant/core#82524). */
  forgetKeys(): void {
    this.#model.clientKeys.clear();
  }

  /** Presses a button of the original remote. */
  press(button: string): void {
    applyButton(this.#model, button);
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  setVolume(level: number): void {
    setVolume(this.#model, level, "volumeUp");
  }

  setMuted(muted: boolean): void {
    setMuted(this.#model, muted, "setMuted");
  }

  /** Opens an app or input with the remote. */
  open(id: string): void {
    bringToFront(this.#model, id);
  }

  /** Sets the playback of the app in front; null stops it. */
  play(playState: PlayState | null): void {
    setPlayback(this.#model, playState);
  }

  /** A text field gets or loses the focus; its text is cleared. */
  focus(on: boolean): void {
    setFocus(this.#model, on);
  }

  /** Answers nothing over the connections that are open, which stay open; also no pings. */
  fallSilent(): void {
    for (const link of this.#connections) link.silent = true;
  }

  powerOff(): Promise<void> {
    return this.enqueue(() => this.#powerOff());
  }

  protected get isReachable(): boolean {
    return this.#model.power === "on" || this.#model.options.standby !== "off";
  }

  protected get isAsleep(): boolean {
    return this.#model.power !== "on";
  }

  protected unplug(): void {
    clearTimeout(this.#closing);
    this.#model.prompt?.end("cancelled");
    this.#closeConnections();
  }

  /** Closes every connection; the ports stay open. */
  #closeConnections(): void {
    for (const link of this.#connections) link.terminate();
  }

  async #powerOff(): Promise<void> {
    const model = this.#model;
    const { standby, socketsCloseMs, portsCloseMs } = model.options;
    if (model.power === "standby") return;
    model.prompt?.end("cancelled");
    setPlayback(model, null);
    for (const hint of standby === "active-standby" ? GOING_OFF.slice(0, 1) : GOING_OFF) {
      model.processing = hint;
      model.feeds.changed("power");
    }
    Object.assign(model, { processing: null, power: "standby" });
    model.emit("power", "power off");
    model.feeds.changed("app");
    if (standby === "active-standby") return model.feeds.changed("power");
    // Pending messages go out first.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.fallSilent();
    await this.stopDiscovery();
    // Timed on webOS 6, wired: the sockets close after about 4 s, the port some 10 s later (smart-tvs.md 2.5).
    this.#closing = setTimeout(() => {
      this.#closeConnections();
      if (standby === "off") this.#closing = setTimeout(() => this.enqueueInBackground(closePorts), portsCloseMs);
    }, socketsCloseMs);
    const closePorts = async () => {
      if (model.power === "standby") await this.goOffline();
    };
  }

  protected async powerOn(): Promise<void> {
    const model = this.#model;
    if (model.power === "on") return;
    clearTimeout(this.#closing);
    if (model.options.standby !== "active-standby") {
      this.#closeConnections();
      await this.waitForBoot(model.options.bootMs);
    }
    model.power = "on";
    model.activeSince = Date.now();
    await this.goOnline();
    model.emit("power", "power on");
    model.feeds.changed("power");
    model.feeds.changed("app");
  }
}

export function createWebosSimulator(options: WebosSimulatorOptions): WebosSimulator {
  return new WebosSimulator(options);
}

/** Since 2022 the plain port accepts TCP and resets each request (smart-tvs.md 2.2). */
const createResettingServer: Build = (track) =>
  createTcpServer((socket) => {
    track(socket);
    socket.on("data", () => socket.resetAndDestroy());
  });

const ICON = /^\/resources\/[0-9a-f]{40}\/(.+)\.png$/;

/** Serves "Hello world" at `/` (home-assistant/core#11539), and app icons. */
function answerHttp(request: IncomingMessage, response: ServerResponse): void {
  const [, app] = ICON.exec(request.url ?? "") ?? [];
  if (app !== undefined) response.writeHead(200, { "Content-Type": "image/png" }).end(picture(app, 80, 80));
  else if (request.url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end("Hello world\n");
  else response.writeHead(404).end();
}
