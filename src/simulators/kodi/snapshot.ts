import type { Model } from "./model.ts";
import type { Power } from "./options.ts";
import { position } from "./playback.ts";
import { type DialogKind, inFront } from "./windows.ts";

/** A view of the player at one moment. */
export interface KodiState {
  readonly power: Power;
  readonly volume: number;
  readonly muted: boolean;
  /** What is on top: a window or a dialog. */
  readonly window: { readonly id: number; readonly label: string };
  readonly dialog: DialogKind | null;
  /** The folder of the plug-in in front; empty when there is none. */
  readonly folder: string;
  readonly screensaver: boolean;
  readonly playback: {
    readonly player: 0 | 1;
    readonly kind: "video" | "audio";
    readonly path: string;
    readonly title: string;
    readonly speed: number;
    readonly positionMs: number;
    readonly durationMs: number | null;
    readonly channel: number | null;
  } | null;
  /** The add-on started last, with its parameters. */
  readonly launched: { readonly id: string; readonly params: unknown } | null;
  /** Who is connected now. */
  readonly clients: { readonly websocket: number; readonly tcp: number };
  /** Whether it is announced now. */
  readonly discoverable: boolean;
}

export function snapshot(model: Model, sockets: Pick<KodiState, "clients" | "discoverable">): KodiState {
  const { playing } = model;
  return {
    power: model.power,
    volume: model.volume,
    muted: model.muted,
    window: inFront(model).window,
    dialog: model.dialog?.kind ?? null,
    folder: model.folder,
    screensaver: model.screensaver,
    playback: playing && {
      player: playing.player,
      kind: playing.kind,
      path: playing.path,
      title: playing.title,
      speed: playing.speed,
      positionMs: position(playing),
      durationMs: playing.durationMs,
      channel: playing.channel?.id ?? null,
    },
    launched: model.launched.at(-1) ?? null,
    clients: sockets.clients,
    discoverable: sockets.discoverable,
  };
}
