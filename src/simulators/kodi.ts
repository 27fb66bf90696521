import { createLife } from "./kodi/life.ts";
import { endScreensaver } from "./kodi/methods/input.ts";
import { createModel, type ReceivedCall } from "./kodi/model.ts";
import type { KodiSimulatorOptions } from "./kodi/options.ts";
import { openChannel, pause, start, stop } from "./kodi/playback.ts";
import { type KodiState, snapshot } from "./kodi/snapshot.ts";
import { createSockets } from "./kodi/sockets.ts";
import { closeDialog, type DialogKind, type DialogOptions, openDialog } from "./kodi/windows.ts";

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
export type { KodiState } from "./kodi/snapshot.ts";
export type { DialogKind, DialogOptions } from "./kodi/windows.ts";

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

export interface KodiSimulator {
  readonly uuid: string;
  readonly mac: string;
  readonly host: string;
  /** HTTP. 0 before the first start when a free port was asked for; kept from then on. */
  readonly port: number;
  readonly ports: { tcp: number | null; events: number | null; wake: number };
  /** The calls that came in, in order: the last thousand. */
  readonly calls: readonly ReceivedCall[];
  /** What was typed into the last keyboard. */
  readonly text: string;
  readonly state: KodiState;
  setName(name: string): void;
  /** Its owner has its web server ask for another password; null for none. */
  setPassword(password: string | null): void;
  setVolume(level: number, muted?: boolean): void;
  play(shown: Shown): void;
  tune(channelId: number): void;
  pause(paused: boolean): void;
  /** Playback ends by itself, or somebody at the player stops it. */
  endPlayback(how?: "finished" | "stopped"): void;
  openDialog(kind: DialogKind, options?: DialogOptions): void;
  /** Somebody at the player closes it. */
  closeDialog(): void;
  screensaver(on: boolean): void;
  /** Any notification, to everybody on the WebSocket and on TCP. */
  notify(method: string, content: unknown): void;
  /** The machine goes to sleep; a magic packet with its address wakes it. */
  sleep(): Promise<void>;
  /** The program ends as by Application.Quit, or dies without a word; a magic packet does nothing then. */
  end(how: "quit" | "crash"): Promise<void>;
  /** The machine wakes, or somebody starts the program again. */
  wake(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const KEPT_CALLS = 1000;

/** A Kodi on real sockets. Nothing is opened before `start`. */
export function createKodiSimulator(options: KodiSimulatorOptions): KodiSimulator {
  const model = createModel(options);
  const calls: ReceivedCall[] = [];
  const sockets = createSockets(model, options, (call) => {
    calls.push(call);
    if (calls.length > KEPT_CALLS) calls.shift();
  });
  const life = createLife(model, sockets, options.wakePort ?? 0);
  const { uuid, mac, host } = model.identity;
  return {
    uuid,
    mac,
    host,
    calls,
    get port() {
      return sockets.http.port;
    },
    get ports() {
      return { tcp: sockets.tcp?.port ?? null, events: sockets.events?.port ?? null, wake: life.wakePort };
    },
    get text() {
      return model.typed;
    },
    get state() {
      return snapshot(model, sockets);
    },
    setName(name) {
      model.name = name;
    },
    setPassword(password) {
      model.password = password;
    },
    setVolume(level, muted = model.muted) {
      Object.assign(model, { volume: level, muted });
      model.notify("Application.OnVolumeChanged", { muted, volume: level });
    },
    play(shown) {
      const { path = "/media/shown.mp4", kind = "video", durationMs = 120_000, positionMs = 0, paused = false } = shown;
      const player = kind === "audio" || path.startsWith("plugin://") ? 0 : 1;
      const facts = {
        player,
        kind,
        path,
        file: path,
        durationMs,
        title: shown.title ?? "Shown",
        channel: null,
      } as const;
      start(model, facts, positionMs);
      if (!paused || model.playing === null) return;
      pause(model, model.playing, true);
      // Where it was put, and not where it has come to since.
      model.playing.positionMs = positionMs;
    },
    tune(channelId) {
      const channel = model.channels.find(({ id }) => id === channelId);
      if (channel === undefined) throw new Error(`the player has no channel ${channelId}`);
      openChannel(model, channel);
    },
    pause(paused) {
      if (model.playing !== null) pause(model, model.playing, paused);
    },
    endPlayback: (how = "finished") => stop(model, how === "finished"),
    openDialog: (kind, more) => openDialog(model, kind, more),
    closeDialog: () => closeDialog(model),
    screensaver(on) {
      if (on === model.screensaver) return;
      if (!on) return endScreensaver(model);
      model.screensaver = true;
      model.notify("GUI.OnScreensaverActivated", null);
    },
    notify: (method, content) => model.notify(method, content),
    async sleep() {
      model.notify("System.OnSleep", null);
      await life.leave("asleep", "told");
    },
    async end(how) {
      if (how === "quit") model.notify("System.OnQuit", { exitcode: 0 });
      await life.leave("ended", how === "quit" ? "told" : "crash");
    },
    wake: life.wake,
    start: life.start,
    stop: life.stop,
  };
}
