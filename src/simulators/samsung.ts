import type { IncomingMessage, ServerResponse } from "node:http";
import { type Certificate, fingerprintOf } from "./bench/certificate.ts";
import type { Listener } from "./bench/listeners.ts";
import { type Discovery, SimulatedSet } from "./bench/set.ts";
import { createResponder, upnpReply } from "./bench/ssdp.ts";
import { createWebServer } from "./bench/websocket.ts";
import { Channel } from "./samsung/channel.ts";
import { Model } from "./samsung/model.ts";
import type { Prompting, SamsungSimulatorOptions } from "./samsung/options.ts";
import { answerRenderer, rendererUuid } from "./samsung/renderer.ts";
import { answerRest } from "./samsung/rest.ts";

export type { Certificate } from "./bench/certificate.ts";
export type { Prompting, SamsungSimulatorOptions } from "./samsung/options.ts";

const CHANNEL = "/api/v2/channels/samsung.remote.control";

/** A simulated Samsung set of 2016 or newer (smart-tvs.md 3). */
export class SamsungSimulator extends SimulatedSet {
  readonly duid: string;
  /** SHA-256 of the certificate on the secure port, in lower-case hex. */
  readonly fingerprint: string;
  readonly #model: Model;
  readonly #secure: Listener | null;
  readonly #plain: Listener | null;
  readonly #renderer: Listener | null;
  readonly #channels = new Set<Channel>();
  #mostChannels = 0;

  constructor(options: SamsungSimulatorOptions) {
    const model = new Model(options);
    super(model.options);
    const { duid, certificate, securePort, plainPort, rendererPort, traits, ssdp } = model.options;
    this.duid = duid;
    this.fingerprint = fingerprintOf(certificate);
    this.#model = model;
    model.togglePower = () =>
      this.enqueueInBackground(() => (model.power === "on" ? this.#powerOff() : this.powerOn()));
    this.#secure = traits.tls ? this.#web(securePort, certificate) : null;
    this.#plain = plainPort === null ? null : this.#web(plainPort, null);
    this.#renderer =
      rendererPort === null
        ? null
        : this.addPort(rendererPort, (track) =>
            createWebServer({ certificate: null, answer: this.#withBody(answerRenderer) }, track),
          );
    if (ssdp) this.setDiscovery(createDiscovery(model, () => this.#renderer?.port ?? 0));
  }

  #web(port: number, certificate: Certificate | null): Listener {
    const upgrade = (url: string) => {
      const [path, query] = url.split(/\?(.*)/s);
      if (path !== CHANNEL) return null;
      return (socket: ConstructorParameters<typeof Channel>[1]) => {
        const asked = { secure: certificate !== null, query: new URLSearchParams(query) };
        const channel = new Channel(this.#model, socket, asked);
        this.#channels.add(channel);
        this.#mostChannels = Math.max(this.#mostChannels, this.#channels.size);
        socket.on("close", () => this.#channels.delete(channel));
        if (this.#channels.size > this.#model.options.traits.connections)
          for (const one of this.#channels) one.closeAsExcess();
        else channel.open();
      };
    };
    return this.addPort(port, (track) =>
      createWebServer({ certificate, answer: this.#withBody(answerRest), upgrade }, track),
    );
  }

  /** Reads the request body before the handler responds. */
  #withBody(answer: (model: Model, request: IncomingMessage, body: string, response: ServerResponse) => void) {
    return (request: IncomingMessage, response: ServerResponse) => {
      let body = "";
      request.on("data", (bytes: Uint8Array) => {
        body += Buffer.from(bytes).toString();
        if (body.length > 65_536) request.destroy();
      });
      request.on("end", () => answer(this.#model, request, body, response));
    };
  }

  /** 0 before the first start if any free port was asked for; null for a closed port. */
  get ports(): { secure: number | null; plain: number | null; renderer: number | null; wake: number } {
    return {
      secure: this.#secure?.port ?? null,
      plain: this.#plain?.port ?? null,
      renderer: this.#renderer?.port ?? null,
      wake: this.wakePort,
    };
  }

  /** What was received, oldest first. */
  get received() {
    return this.#model.received;
  }

  /** A snapshot of the state. */
  get state() {
    const { power, art, front, volume, muted, text, focused, prompt, tokens } = this.#model;
    return {
      power,
      art,
      volume,
      muted,
      text,
      focused,
      /** The id of the app in front; null at home and in standby. */
      front: power === "on" ? front : null,
      /** Whether a prompt is shown. */
      prompting: prompt !== null,
      tokens: [...tokens] as readonly string[],
      /** Open channel connections: now, and the highest number so far. */
      channels: { open: this.#channels.size, most: this.#mostChannels },
      discoverable: this.isDiscoverable,
    };
  }

  /** How the next prompts are answered. */
  setPrompting(prompting: Prompting): void {
    this.#model.prompting = prompting;
  }

  /** Allows or denies the prompt on the screen; false if there is none. */
  answerPrompt(allow: boolean): boolean {
    const { prompt } = this.#model;
    prompt?.end(allow ? "allowed" : "denied");
    return prompt !== null;
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Opens an app with the remote; null for home. */
  open(id: string | null): void {
    this.#model.front = id;
  }

  /** A text field gets or loses the focus; it is empty at first. */
  focus(on: boolean): void {
    this.#model.focused = on;
    if (on) this.#model.text = "";
    for (const channel of this.#channels) channel.announceFocus();
  }

  /** Closes every channel connection, as firmware does now and then. */
  hangUp(): void {
    for (const channel of this.#channels) channel.terminate();
  }

  /** Handles nothing of what comes over its channels, which stay open; also not pings. */
  fallSilent(): void {
    this.#model.silent = true;
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
    this.#model.prompt?.end("cancelled");
    this.hangUp();
  }

  async #powerOff(): Promise<void> {
    const model = this.#model;
    if (model.power === "standby") return;
    model.prompt?.end("cancelled");
    Object.assign(model, { power: "standby", front: null, focused: false, art: false });
    model.emit("power", "power off");
    // Pending messages go out first.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.hangUp();
    if (model.options.standby === "off") await this.goOffline();
  }

  protected async powerOn(): Promise<void> {
    const model = this.#model;
    if (model.power === "on") return;
    const { standby, bootMs } = model.options;
    if (standby === "off") await this.waitForBoot(bootMs);
    model.power = "on";
    await this.goOnline();
    model.emit("power", "power on");
  }
}

export function createSamsungSimulator(options: SamsungSimulatorOptions): SamsungSimulator {
  return new SamsungSimulator(options);
}

const REMOTE = "urn:samsung.com:device:RemoteControlReceiver:1";
const RENDERER = "urn:schemas-upnp-org:device:MediaRenderer:1";
const CONTROL = "urn:schemas-upnp-org:service:RenderingControl:1";
const SERVER = "SHP, UPnP/1.0, Samsung UPnP SDK/1.0";

/** A set answers searches for several targets (smart-tvs.md 3.1). */
function createDiscovery(model: Model, port: () => number): Discovery {
  const { host, duid, rendererPort } = model.options;
  const targets = [REMOTE, ...(rendererPort === null ? [] : [RENDERER, CONTROL])];
  return createResponder(host, (wants) =>
    targets.filter(wants).map((target) => {
      const uuid = target === REMOTE ? duid : rendererUuid(model);
      return upnpReply({ location: `http://${host}:${port()}/dmr`, server: SERVER, target, uuid });
    }),
  );
}
