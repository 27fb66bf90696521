import { createServer } from "node:net";
import { createHttpServer, type RecordedRequest } from "./bench/http.ts";
import type { Listener } from "./bench/listeners.ts";
import { SimulatedSet } from "./bench/set.ts";
import { createResponder } from "./bench/ssdp.ts";
import {
  bringToFront,
  cancelLaunch,
  forgetRunning,
  goHome,
  type Media,
  playbackState,
  startPlayback,
} from "./roku/apps.ts";
import { attachConsole } from "./roku/console.ts";
import { ecp } from "./roku/ecp.ts";
import { installer } from "./roku/installer.ts";
import { findApp, type InstallFault, Model } from "./roku/model.ts";
import type { AccessMode, RokuSimulatorOptions, SimulatedApp } from "./roku/options.ts";
import { turnOff, turnOn } from "./roku/remote.ts";

export type { Media } from "./roku/apps.ts";
export type { AccessMode, RokuSimulatorOptions, SimulatedApp } from "./roku/options.ts";

export class RokuSimulator extends SimulatedSet {
  readonly serial: string;
  /** The accepted keys in order, by the names of the set; typed characters are in `text`. */
  readonly keys: readonly string[];
  /** The last thousand requests to the ECP and installer ports. */
  readonly requests: readonly RecordedRequest[];
  readonly #model: Model;
  readonly #ecp: Listener;
  readonly #installer: Listener | null = null;
  readonly #console: Listener | null = null;

  constructor(options: RokuSimulatorOptions) {
    const model = new Model(options);
    const { host, serial, developer, port, ssdp, ssdpDelayMs } = model.options;
    super(model.options);
    this.serial = serial;
    this.keys = model.keys;
    this.requests = model.requests;
    this.#model = model;
    this.#ecp = this.addPort(port, (track) => createHttpServer(ecp(model), track));
    if (developer !== null) {
      this.#installer = this.addPort(developer.installerPort ?? 0, (track) =>
        createHttpServer(installer(model, developer), track),
      );
      this.#console = this.addPort(developer.consolePort ?? 0, (track) =>
        createServer((socket) => {
          track(socket);
          attachConsole(model.console, socket);
        }),
      );
    }
    const replies = (wants: (target: string) => boolean) => (wants("roku:ecp") ? [reply(model, this.port)] : []);
    if (ssdp) this.setDiscovery(createResponder(host, replies, ssdpDelayMs));
  }

  /** The ECP port; 0 before the first start if any free port was asked for. */
  get port(): number {
    return this.#ecp.port;
  }

  get ports(): { installer: number | null; console: number | null; wake: number } {
    const [installer, console] = [this.#installer?.port ?? null, this.#console?.port ?? null];
    return { installer, console, wake: this.wakePort };
  }

  get text(): string {
    return this.#model.text;
  }

  /** A snapshot of the state. */
  get state() {
    const { power, active, background, screensaver, channel, playback, volume, muted, ...model } = this.#model;
    return {
      power,
      volume,
      muted,
      screensaver,
      /** The id of the app in front; null for home. */
      activeApp: active,
      /** The TV input in front, or null. */
      input: active?.startsWith("tvinput.") ? active : null,
      channel: channel?.number ?? null,
      background: [...background],
      playback: playback && { state: playbackState(playback) },
      lastLaunch: model.lastLaunch,
      sideloaded: model.sideloaded && { ...model.sideloaded },
      /** Whether it answers searches now. */
      discoverable: this.isDiscoverable,
    };
  }

  setAccess(mode: AccessMode): void {
    this.#model.access = mode;
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Brings an installed app to the front; null goes home. */
  show(id: string | null): void {
    const app = id === null ? undefined : findApp(this.#model, id);
    if (app === undefined) goHome(this.#model);
    else bringToFront(this.#model, app, {});
  }

  get apps(): readonly SimulatedApp[] {
    return this.#model.apps;
  }

  set apps(apps: readonly SimulatedApp[]) {
    this.#model.apps = apps;
  }

  /** Starts playback in the app in front, or in the first app if the home screen is shown. */
  play(media: Media): void {
    const model = this.#model;
    model.active ??= model.apps.find(({ id }) => !id.startsWith("tvinput."))?.id ?? null;
    if (model.active !== null) model.playback = startPlayback(model.active, media);
  }

  screensaver(on: boolean): void {
    this.#model.screensaver = on;
  }

  /** Prints a line on the BrightScript console. */
  log(line: string): void {
    this.#model.console.print(line);
  }

  /** Makes the next installs fail, until null. */
  installFault(kind: InstallFault | null): void {
    this.#model.installFault = kind;
  }

  /** In standby the set still answers; in deep sleep all ports are closed until a magic packet arrives. */
  sleep(kind: "standby" | "deep"): Promise<void> {
    const model = this.#model;
    return this.enqueue(async () => {
      if (kind === "standby") return turnOff(model);
      forgetRunning(model);
      model.power = "deep";
      model.emit("power", "power off: deep sleep");
      await this.goOffline();
    });
  }

  protected get isReachable(): boolean {
    return this.#model.power !== "deep";
  }

  protected get isAsleep(): boolean {
    return this.#model.power === "deep";
  }

  protected async powerOn(): Promise<void> {
    const model = this.#model;
    if (model.power !== "deep") return turnOn(model);
    model.bootedAt = Date.now();
    model.power = "on";
    await this.goOnline();
    model.emit("power", "power on");
  }

  protected unplug(): void {
    cancelLaunch(this.#model);
  }
}

export function createRokuSimulator(options: RokuSimulatorOptions): RokuSimulator {
  return new RokuSimulator(options);
}

/** The reply to a search (1.1), in the order and case of a capture from a set on OS 15.3.4. */
function reply({ options }: Model, port: number): string[] {
  const { softwareVersion, seed, serial, mac, host, legacy } = options;
  const location = `LOCATION: http://${host}:${port}/`;
  const usn = `USN: uuid:roku:ecp:${serial}`;
  if (legacy) {
    const server = "Server: Roku UPnP/1.0 MiniUPnPd/1.4";
    return ["HTTP/1.1 200 OK", "Cache-Control: max-age=300", "ST: roku:ecp", usn, "Ext: ", server, location];
  }
  return [
    "HTTP/1.1 200 OK",
    "Cache-Control: max-age=3600",
    "ST: roku:ecp",
    usn,
    "BOOTID.UPNP.ORG: 42",
    "Ext: ",
    `Server: Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`,
    location,
    `device-group.roku.com: ${seed.slice(20, 40).toUpperCase()}`,
    `WAKEUP: MAC=${mac};Timeout=10`,
  ];
}
