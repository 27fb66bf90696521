import { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { type Certificate, createCertificateFor, sharedCertificate } from "./bench/certificate.ts";
import { picture } from "./bench/documents.ts";
import type { Build, Listener } from "./bench/listeners.ts";
import { SimulatedSet } from "./bench/set.ts";
import { createWebServer } from "./bench/websocket.ts";
import { Connection, type EntryPort, PointerConnection, type SocketConnection } from "./webos/connection.ts";
import { createDiscovery, createStacks, type Stack } from "./webos/discovery.ts";
import { Model, type PlayState, powerState, type Received } from "./webos/model.ts";
import type { Prompting, WebosSimulatorOptions } from "./webos/options.ts";
import { applyButton, bringToFront, setFocus, setMuted, setPlayback, setVolume } from "./webos/remote.ts";

export type { Certificate } from "./bench/certificate.ts";
export type { PlayState, Received } from "./webos/model.ts";
export type { Prompting, SimulatedApp, WebosSimulatorOptions } from "./webos/options.ts";

/** The name that every set gives; all of them have one certificate (smart-tvs.md 1.3). */
const COMMON_NAME = "LGE TV SSG";

/** A certificate under the name that every set gives. */
export function createCertificate(): Certificate {
  return createCertificateFor(COMMON_NAME);
}

/** What a set was logged telling while it went off; nothing came after these (MaxvandeLaar/homey-webos-plus#18). */
const GOING_OFF = ["Request Active Standby", "Request Suspend", "Prepare Suspend"];

/** An LG set. */
export class WebosSimulator extends SimulatedSet {
  /** `deviceUUID` of the hello. */
  readonly uuid: string;
  readonly mac: string;
  readonly wifiMac: string;
  /** SHA-256 of the certificate on the secure port, as `getPeerCertificate().fingerprint256` says it. */
  readonly fingerprint: string;
  /** What came in, and the prompts that were shown for it. */
  readonly received: Received;
  /** The keys that are known, with what each was granted. */
  readonly clientKeys: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #model: Model;
  readonly #options: WebosSimulatorOptions;
  readonly #secure: Listener | null = null;
  readonly #plain: Listener | null = null;
  readonly #stacks: readonly Stack[];
  readonly #connections = new Set<SocketConnection>();
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(options: WebosSimulatorOptions) {
    const model = new Model(options);
    const { host, uuid, mac, wifiMac } = model.identity;
    const { securePort = 3001, plainPort = 3000, certificate = sharedCertificate(COMMON_NAME) } = options;
    const { secure, plain } = model.firmware;
    // Wired: only the address of the interface in use wakes the set (smart-tvs.md 1.2).
    super({ host, wakeMac: mac, wakePort: options.wakePort, emit: model.emit });
    this.uuid = uuid;
    this.mac = mac;
    this.wifiMac = wifiMac;
    this.fingerprint = new X509Certificate(certificate.cert).fingerprint256;
    this.received = model.received;
    this.clientKeys = model.clientKeys;
    this.#model = model;
    this.#options = options;
    model.togglePower = () =>
      this.enqueueInBackground(() => (model.power === "on" ? this.#powerOff() : this.powerOn()));
    if (securePort !== null && secure) this.#secure = this.#ssap("secure", securePort, certificate);
    if (plainPort !== null && plain === "answers") this.#plain = this.#ssap("plain", plainPort, null);
    if (plainPort !== null && plain === "resets") this.#plain = this.addPort(plainPort, createResettingServer);
    this.#stacks = createStacks(model);
    if (options.ssdp !== false) this.setDiscovery(createDiscovery(model, this.#stacks, options.ssdpDelayMs ?? 0));
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

  /** 0 before the first start when a free port was asked for, kept from then on; null is closed. */
  get ports(): { secure: number | null; plain: number | null; wake: number; description: number } {
    return {
      secure: this.#secure?.port ?? null,
      plain: this.#plain?.port ?? null,
      wake: this.wakePort,
      description: this.#stacks[0]?.listener.port ?? 0,
    };
  }

  /** What has been typed into the field in front. */
  get text(): string {
    return this.#model.text;
  }

  /** A view of it at one moment. */
  get state() {
    const { power, active, behaviour, channel, playback, volume, muted, focused, prompt } = this.#model;
    const ssap = [...this.#connections].filter((link) => link instanceof Connection);
    const silent = power === "standby" && behaviour.standby !== "active-standby";
    return {
      power,
      /** As `getPowerState` says it; null for a set that is off and says nothing. */
      powerState: silent ? null : powerState(this.#model),
      /** The id of the app in front; inputs and live TV are apps. Null in standby. */
      activeApp: power === "on" ? active : null,
      channel: channel?.number ?? null,
      playback: playback?.playState ?? null,
      /** The true level, even where a soundbar hides it. */
      volume,
      muted,
      /** Whether a text field has the focus. */
      focused,
      /** Whether a pairing prompt is on the screen. */
      prompting: prompt !== null,
      /** SSAP connections open now, and how many of them have registered. */
      connections: { open: ssap.length, registered: ssap.filter(({ registered }) => registered).length },
      /** Whether searches are answered now. */
      discoverable: this.isDiscoverable,
    };
  }

  /** What becomes of the next prompts. */
  setPrompting(prompting: Prompting): void {
    this.#model.behaviour.prompting = prompting;
  }

  /** The person accepts or denies the prompt on the screen; false when there is none. */
  answerPrompt(accept: boolean): boolean {
    const { prompt } = this.#model;
    prompt?.end(accept ? "accepted" : "denied");
    return prompt !== null;
  }

  /** Every client has to pair again (home-assistant/core#82524). */
  forgetKeys(): void {
    this.#model.clientKeys.clear();
  }

  /** A button of the remote that came with the set. */
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

  /** An app or an input, chosen with the remote. */
  open(id: string): void {
    bringToFront(this.#model, id);
  }

  /** The app in front plays, or null: it stops. */
  play(playState: PlayState | null): void {
    setPlayback(this.#model, playState);
  }

  /** A text field gets the focus, or loses it; its text is empty then. */
  focus(on: boolean): void {
    setFocus(this.#model, on);
  }

  powerOff(): Promise<void> {
    return this.enqueue(() => this.#powerOff());
  }

  protected get isReachable(): boolean {
    return this.#model.power === "on" || this.#model.behaviour.standby !== "off";
  }

  protected get isAsleep(): boolean {
    return this.#model.power !== "on";
  }

  protected unplug(): void {
    clearTimeout(this.#closing);
    this.#model.prompt?.end("gone");
    this.#closeConnections();
  }

  /** Cuts every connection; the ports stay. */
  #closeConnections(): void {
    for (const link of this.#connections) link.terminate();
  }

  async #powerOff(): Promise<void> {
    const model = this.#model;
    const { standby } = model.behaviour;
    const { socketsCloseMs = 4000, portsCloseMs = 10_000 } = this.#options;
    if (model.power === "standby") return;
    model.prompt?.end("gone");
    setPlayback(model, null);
    for (const hint of standby === "active-standby" ? GOING_OFF.slice(0, 1) : GOING_OFF) {
      model.processing = hint;
      model.feeds.changed("power");
    }
    Object.assign(model, { processing: null, power: "standby", screen: "on" });
    model.emit("power", "power off");
    model.feeds.changed("app");
    if (standby === "active-standby") return model.feeds.changed("power");
    // What is about to be sent goes out first.
    await new Promise((resolve) => setTimeout(resolve, 0));
    for (const link of this.#connections) link.silent = true;
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
    if (model.behaviour.standby !== "active-standby") {
      this.#closeConnections();
      await this.waitForBoot(this.#options.bootMs ?? 2000);
    }
    model.power = "on";
    model.activeSince = Date.now();
    if (this.isPluggedIn) await this.goOnline();
    model.emit("power", "power on");
    model.feeds.changed("power");
    model.feeds.changed("app");
  }
}

export function createWebosSimulator(options: WebosSimulatorOptions): WebosSimulator {
  return new WebosSimulator(options);
}

/** Since 2022 the plain port takes TCP and resets whoever asks something (smart-tvs.md 2.2). */
const createResettingServer: Build = (track) =>
  createTcpServer((socket) => {
    track(socket);
    socket.on("data", () => socket.resetAndDestroy());
  });

const ICON = /^\/resources\/[0-9a-f]{40}\/(.+)\.png$/;

/** "Hello world" is what a browser sees there (home-assistant/core#11539); icons are drawn. */
function answerHttp(request: IncomingMessage, response: ServerResponse): void {
  const [, app] = ICON.exec(request.url ?? "") ?? [];
  if (app !== undefined) response.writeHead(200, { "Content-Type": "image/png" }).end(picture(app, 80, 80));
  else if (request.url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end("Hello world\n");
  else response.writeHead(404).end();
}
