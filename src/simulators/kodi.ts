import { Bench, type Discovery } from "./bench/bench.ts";
import { createHttpServer } from "./bench/http.ts";
import type { Fault, Listener } from "./bench/listeners.ts";
import { createAnnouncer } from "./bench/mdns.ts";
import { createEventServer, type EventServer } from "./kodi/events.ts";
import { endScreensaver } from "./kodi/methods/input.ts";
import { Model, type ReceivedCall } from "./kodi/model.ts";
import type { KodiSimulatorOptions, Power } from "./kodi/options.ts";
import { openChannel, pause, position, start, stop } from "./kodi/playback.ts";
import { web } from "./kodi/web.ts";
import { closeDialog, type DialogKind, type DialogOptions, inFront, openDialog } from "./kodi/windows.ts";
import { createWire, type Wire } from "./kodi/wire.ts";

export type { ReceivedCall } from "./kodi/model.ts";
export type {
  KodiEvent,
  KodiSimulatorOptions,
  Power,
  SimulatedAddon,
  SimulatedChannel,
  SimulatedFavourite,
  SimulatedMedia,
  SimulatedTexture,
} from "./kodi/options.ts";
export type { DialogKind, DialogOptions } from "./kodi/windows.ts";

/** A view of the player at one moment. */
export type KodiState = KodiSimulator["state"];

/** What plays when the test, and no call, starts it. */
export interface Shown {
  title?: string;
  /** `plugin://<add-on>/…` is played for that add-on. */
  path?: string;
  kind?: "video" | "audio";
  /** Null is a stream without an end. */
  durationMs?: number | null;
  /** Negative ones are answered as Kodi answers them: milliseconds of -99. */
  positionMs?: number;
  paused?: boolean;
}

/** Time for an answer to go out before its sockets close. */
const LAST_WORDS_MS = 30;

/** A Kodi on real sockets. Nothing is opened before `start`. */
export class KodiSimulator {
  readonly #model: Model;
  readonly #bench: Bench;
  readonly #wire: Wire;
  readonly #events: EventServer | null;
  readonly #tcp: Listener | null;
  readonly #http: Listener;

  constructor(options: KodiSimulatorOptions) {
    const model = new Model(options);
    const { host, mac } = model.identity;
    this.#model = model;
    this.#bench = new Bench({
      ...{ host, mac, wakePort: options.wakePort ?? 0 },
      isReachable: () => model.power === "on",
      unplug: () => stop(model, false),
      magicPacket: () => this.#magicPacket(),
    });
    this.#wire = createWire(model);
    model.notify = (method, content, sender = "xbmc") =>
      this.#wire.tell(JSON.stringify({ jsonrpc: "2.0", method, params: { data: content, sender } }));
    model.leave = (power, how) => this.#bench.later(() => this.#leave(power, how));
    this.#events = options.eventPort == null ? null : createEventServer(model, options.eventPort);
    if (this.#events) this.#bench.add(this.#events);
    this.#tcp = options.tcpPort === null ? null : this.#bench.listen(options.tcpPort ?? 0, this.#wire.server);
    // The web server is the last to start (players.md 7.3).
    this.#http = this.#bench.listen(options.port ?? 0, (track) => createHttpServer(web(model), track));
    model.ports = () => ({ web: this.port, events: this.ports.events });
    if (options.mdns !== false) this.#bench.discover(this.#announcer());
  }

  /** Both services are announced with the same texts (players.md 2.3). */
  #announcer(): Discovery {
    const { identity } = this.#model;
    const txt = { txtvers: "1", uuid: identity.uuid };
    const service = (type: string, port: number | undefined) =>
      port === undefined ? [] : [{ name: this.#model.name, txt, type, port }];
    return createAnnouncer({
      ...{ host: identity.host, hostName: `kodi-${identity.uuid.slice(0, 8)}` },
      services: () => [
        ...service("_xbmc-jsonrpc-h._tcp", this.port),
        ...service("_xbmc-jsonrpc._tcp", this.#tcp?.port),
        ...service("_xbmc-events._udp", this.#events?.port),
      ],
      taken: () => this.#model.emit({ type: "discovery", on: false, text: "discovery is off: port 5353 is taken" }),
    });
  }

  get uuid(): string {
    return this.#model.identity.uuid;
  }

  get mac(): string {
    return this.#model.identity.mac;
  }

  get host(): string {
    return this.#model.identity.host;
  }

  /** HTTP. 0 before the first start when a free port was asked for; kept from then on. */
  get port(): number {
    return this.#http.port;
  }

  get ports(): { tcp: number | null; events: number | null; wake: number } {
    return {
      tcp: this.#tcp?.port ?? null,
      events: this.#events?.port ?? null,
      wake: this.#bench.wakePort,
    };
  }

  /** The calls that came in, in order: the last thousand. */
  get calls(): readonly ReceivedCall[] {
    return this.#model.calls;
  }

  /** What was typed into the last keyboard. */
  get text(): string {
    return this.#model.typed;
  }

  get state() {
    const { power, volume, muted, dialog, folder, screensaver, playing, launched } = this.#model;
    return {
      ...{ power, volume, muted, screensaver },
      /** What is on top: a window or a dialog. */
      window: inFront(this.#model).window,
      dialog: dialog?.kind ?? null,
      /** The folder of the plug-in in front; empty when there is none. */
      folder,
      playback: playing && {
        ...{ player: playing.player, kind: playing.kind, path: playing.path, title: playing.title },
        speed: playing.speed,
        positionMs: position(playing),
        durationMs: playing.durationMs,
        channel: playing.channel?.id ?? null,
      },
      /** The add-on started last, with its parameters. */
      launched: launched.at(-1) ?? null,
      /** Who is connected now. */
      clients: this.#wire.clients,
      /** Whether it is announced now. */
      discoverable: this.#bench.isDiscoverable,
    };
  }

  setName(name: string): void {
    this.#model.name = name;
  }

  /** Its owner has its web server ask for another password; null for none. */
  setPassword(password: string | null): void {
    this.#model.password = password;
  }

  setVolume(level: number, muted = this.#model.muted): void {
    Object.assign(this.#model, { volume: level, muted });
    this.notify("Application.OnVolumeChanged", { muted, volume: level });
  }

  play(shown: Shown): void {
    const model = this.#model;
    const { path = "/media/shown.mp4", kind = "video", durationMs = 120_000, positionMs = 0, paused = false } = shown;
    const player = kind === "audio" || path.startsWith("plugin://") ? 0 : 1;
    const title = shown.title ?? "Shown";
    start(model, { player, kind, path, file: path, durationMs, title, channel: null }, positionMs);
    if (!paused || model.playing === null) return;
    pause(model, model.playing, true);
    // Where it was put, and not where it has come to since.
    model.playing.positionMs = positionMs;
  }

  tune(channelId: number): void {
    const channel = this.#model.channels.find(({ id }) => id === channelId);
    if (channel === undefined) throw new Error(`the player has no channel ${channelId}`);
    openChannel(this.#model, channel);
  }

  pause(paused: boolean): void {
    if (this.#model.playing !== null) pause(this.#model, this.#model.playing, paused);
  }

  /** Playback ends by itself, or somebody at the player stops it. */
  endPlayback(how: "finished" | "stopped" = "finished"): void {
    stop(this.#model, how === "finished");
  }

  openDialog(kind: DialogKind, options?: DialogOptions): void {
    openDialog(this.#model, kind, options);
  }

  /** Somebody at the player closes it. */
  closeDialog(): void {
    closeDialog(this.#model);
  }

  screensaver(on: boolean): void {
    if (on === this.#model.screensaver) return;
    if (!on) return endScreensaver(this.#model);
    this.#model.screensaver = true;
    this.notify("GUI.OnScreensaverActivated", null);
  }

  /** Any notification, to everybody on the WebSocket and on TCP. */
  notify(method: string, content: unknown): void {
    this.#model.notify(method, content);
  }

  /** What goes wrong on its ports from now on, until null. */
  fault(kind: Fault | null): Promise<void> {
    return this.#bench.fault(kind);
  }

  start(): Promise<void> {
    return this.#bench.start();
  }

  stop(): Promise<void> {
    return this.#bench.stop();
  }

  /** The machine goes to sleep; a magic packet with its address wakes it. */
  sleep(): Promise<void> {
    this.notify("System.OnSleep", null);
    return this.#bench.inTurn(() => this.#leave("asleep", "told"));
  }

  /** The program ends as by Application.Quit, or dies without a word; a magic packet does nothing then. */
  end(how: "quit" | "crash"): Promise<void> {
    if (how === "quit") this.notify("System.OnQuit", { exitcode: 0 });
    return this.#bench.inTurn(() => this.#leave("ended", how === "quit" ? "told" : "crash"));
  }

  /** The machine wakes, or somebody starts the program again. */
  wake(): Promise<void> {
    return this.#bench.inTurn(() => this.#comeBack());
  }

  get #isSilent(): boolean {
    return this.#model.power === "asleep" && this.#model.identity.asleep === "silent";
  }

  async #leave(power: Exclude<Power, "on">, how: "told" | "crash"): Promise<void> {
    const model = this.#model;
    if (model.power !== "on") return;
    if (how === "told") {
      await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
      if (power === "ended") this.#wire.sayGoodbye();
    }
    model.power = power;
    stop(model, false);
    model.emit({ type: "power", power, text: power });
    if (this.#isSilent) await this.#bench.hide();
    else await this.#bench.vanish();
  }

  async #comeBack(): Promise<void> {
    const model = this.#model;
    if (model.power === "on") return;
    // What was open before a silent sleep is gone: no end of it was ever said.
    if (this.#isSilent) await this.#bench.vanish();
    if (model.power === "ended") model.forget();
    model.power = "on";
    if (this.#bench.isPluggedIn) await this.#bench.appear();
    model.emit({ type: "power", power: "on", text: "on" });
    this.notify("System.OnWake", null);
  }

  #magicPacket(): void {
    if (this.#model.power !== "asleep") return;
    this.#model.emit({ type: "wake", text: "woken by a magic packet" });
    this.#bench.later(() => this.#comeBack());
  }
}

export function createKodiSimulator(options: KodiSimulatorOptions): KodiSimulator {
  return new KodiSimulator(options);
}
