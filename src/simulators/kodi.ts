import { createHttpServer } from "./bench/http.ts";
import type { Listener } from "./bench/listeners.ts";
import { type AnnouncedService, createAnnouncer } from "./bench/mdns.ts";
import { SimulatedSet } from "./bench/set.ts";
import { endScreensaver } from "./kodi/methods/input.ts";
import { Model, type ReceivedCall } from "./kodi/model.ts";
import type { KodiSimulatorOptions, Power, SimulatedScreenshots } from "./kodi/options.ts";
import { openChannel, start, stop } from "./kodi/playback.ts";
import { web } from "./kodi/web.ts";
import { closeDialog, type DialogKind, type DialogOptions, openDialog } from "./kodi/windows.ts";
import { createWire } from "./kodi/wire.ts";

export type { ReceivedCall } from "./kodi/model.ts";
export type { KodiSimulatorOptions, Power, SimulatedScreenshots } from "./kodi/options.ts";
export type { DialogKind, DialogOptions } from "./kodi/windows.ts";

/** Something that a test plays without a call. */
export interface ShownMedia {
  title?: string;
  /** `plugin://<add-on>/…` plays it for that add-on. */
  path?: string;
  kind?: "video" | "audio";
  /** Null for a stream without an end. */
  durationMs?: number | null;
  /** A negative position is reported as Kodi does: milliseconds of -99. */
  positionMs?: number;
}

/** The time for a response to go out before the sockets close. */
const FLUSH_MS = 30;

export class KodiSimulator extends SimulatedSet {
  readonly uuid: string;
  /** The last thousand calls, in order. */
  readonly calls: readonly ReceivedCall[];
  readonly #model: Model;
  readonly #wire: ReturnType<typeof createWire>;
  readonly #tcp: Listener | null;
  readonly #http: Listener | null;

  constructor(options: KodiSimulatorOptions) {
    const model = new Model(options);
    super(model.options);
    const { host, uuid, port, tcpPort, webServer, mdns } = model.options;
    this.uuid = uuid;
    this.calls = model.calls;
    this.#model = model;
    this.#wire = createWire(model);
    model.notify = (method, content, sender = "xbmc") =>
      this.#wire.broadcast(JSON.stringify({ jsonrpc: "2.0", method, params: { data: content, sender } }));
    model.shutDown = (power, how) => this.enqueueInBackground(() => this.#shutDown(power, how));
    this.#tcp = tcpPort === null ? null : this.addPort(tcpPort, this.#wire.server);
    // The web server is the last to start (players.md 7.3).
    this.#http = webServer ? this.addPort(port, (track) => createHttpServer(web(model), track)) : null;
    model.webPort = () => this.#http?.port ?? null;
    const hostName = `kodi-${uuid.slice(0, 8)}`;
    if (mdns) this.setDiscovery(createAnnouncer({ host, hostName, services: () => this.#services() }));
  }

  /** All services have the same TXT record (players.md 2.3). */
  #services(): AnnouncedService[] {
    const { name } = this.#model;
    const service = (type: string, port: number | undefined) =>
      port === undefined ? [] : [{ name, type, port, txt: { txtvers: "1", uuid: this.uuid } }];
    return [...service("_xbmc-jsonrpc-h._tcp", this.#http?.port), ...service("_xbmc-jsonrpc._tcp", this.#tcp?.port)];
  }

  /** The HTTP port; 0 if the web server is off, and before the first start if any free port was asked for. */
  get port(): number {
    return this.#http?.port ?? 0;
  }

  get ports(): { tcp: number | null; wake: number } {
    return { tcp: this.#tcp?.port ?? null, wake: this.wakePort };
  }

  /** The text typed into the last keyboard. */
  get text(): string {
    return this.#model.typed;
  }

  /** A snapshot of the state. */
  get state() {
    const { power, volume, muted, dialog, folder, screensaver, playing } = this.#model;
    return {
      power,
      volume,
      muted,
      screensaver,
      dialog: dialog?.kind ?? null,
      /** The folder of the plug-in in front; empty if there is none. */
      folder,
      playback: playing && { path: playing.path, title: playing.title, channel: playing.channel?.id ?? null },
      /** How many clients are connected now. */
      clients: this.#wire.clients,
      /** Whether it is announced now. */
      discoverable: this.isDiscoverable,
    };
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Changes the password of the web server; null for none. */
  setPassword(password: string | null): void {
    this.#model.password = password;
  }

  /** Changes the folder of screenshots; null for none. */
  setScreenshots(screenshots: SimulatedScreenshots | null): void {
    this.#model.screenshots = screenshots;
  }

  setVolume(level: number, muted = this.#model.muted): void {
    Object.assign(this.#model, { volume: level, muted });
    this.notify("Application.OnVolumeChanged", { muted, volume: level });
  }

  play(shown: ShownMedia): void {
    const model = this.#model;
    const { path = "/media/shown.mp4", kind = "video", durationMs = 120_000, positionMs = 0 } = shown;
    const player = kind === "audio" || path.startsWith("plugin://") ? 0 : 1;
    const title = shown.title ?? "Shown";
    start(model, { player, kind, path, file: path, durationMs, title }, positionMs);
  }

  tune(channelId: number): void {
    const channel = this.#model.options.channels.find(({ id }) => id === channelId);
    if (channel === undefined) throw new Error(`the player has no channel ${channelId}`);
    openChannel(this.#model, channel);
  }

  /** Playback reaches its end. */
  endPlayback(): void {
    stop(this.#model, true);
  }

  openDialog(kind: DialogKind, options?: DialogOptions): void {
    openDialog(this.#model, kind, options);
  }

  /** Somebody at the player closes the dialog. */
  closeDialog(): void {
    closeDialog(this.#model);
  }

  screensaver(on: boolean): void {
    if (on === this.#model.screensaver) return;
    if (!on) return endScreensaver(this.#model);
    this.#model.screensaver = true;
    this.notify("GUI.OnScreensaverActivated", null);
  }

  /** Sends a notification to all WebSocket and TCP clients. */
  notify(method: string, content: unknown): void {
    this.#model.notify(method, content);
  }

  /** The machine goes to sleep; a magic packet wakes it. */
  sleep(): Promise<void> {
    this.notify("System.OnSleep", null);
    return this.enqueue(() => this.#shutDown("asleep", "clean"));
  }

  /** Kodi quits, or crashes without a notification; a magic packet has no effect then. */
  end(how: "quit" | "crash"): Promise<void> {
    if (how === "quit") this.notify("System.OnQuit", { exitcode: 0 });
    return this.enqueue(() => this.#shutDown("ended", how === "quit" ? "clean" : "crash"));
  }

  protected get isReachable(): boolean {
    return this.#model.power === "on";
  }

  protected get isAsleep(): boolean {
    return this.#model.power === "asleep";
  }

  protected unplug(): void {
    stop(this.#model, false);
  }

  async #shutDown(power: Exclude<Power, "on">, how: "clean" | "crash"): Promise<void> {
    const model = this.#model;
    if (model.power !== "on") return;
    if (how === "clean") {
      await new Promise((resolve) => setTimeout(resolve, FLUSH_MS));
      if (power === "ended") this.#wire.sendGoodbye();
    }
    model.power = power;
    stop(model, false);
    model.emit("power", power);
    await this.goOffline();
  }

  /** The machine wakes, or somebody starts Kodi again. */
  protected async powerOn(): Promise<void> {
    const model = this.#model;
    if (model.power === "on") return;
    if (model.power === "ended") model.forget();
    model.power = "on";
    await this.goOnline();
    model.emit("power", "on");
    this.notify("System.OnWake", null);
  }
}

export function createKodiSimulator(options: KodiSimulatorOptions): KodiSimulator {
  return new KodiSimulator(options);
}
