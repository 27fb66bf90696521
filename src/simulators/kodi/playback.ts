import { decoded } from "../bench/http.ts";
import type { Model } from "./model.ts";
import { imageOf, type SimulatedChannel, type SimulatedMedia } from "./options.ts";
import { FULLSCREEN, go, goBack } from "./windows.ts";

export interface Playing {
  /** 0 for audio, 1 for video; video of a plug-in plays as 0 too (Kodi 20.1, ran). */
  readonly player: 0 | 1;
  readonly kind: "video" | "audio";
  readonly file: string;
  /** The path that was opened: of a plug-in its `plugin://` address. */
  readonly path: string;
  readonly title: string;
  readonly artist: readonly string[];
  readonly durationMs: number | null;
  readonly channel: SimulatedChannel | null;
  /** `image://…/`, or empty. */
  readonly thumbnail: string;
  /** The path of a picture beside the file, or empty. */
  readonly poster: string;
  /** The index in its playlist. */
  readonly position: number;
  speed: number;
  /** The position at the time `at`. */
  positionMs: number;
  at: number;
  end?: ReturnType<typeof setTimeout>;
}

const USUAL_MS = 120_000;

export function position(playing: Playing): number {
  // Kodi reports 0 for a live channel (ran).
  if (playing.durationMs === null) return 0;
  const moved = playing.positionMs + (Date.now() - playing.at) * playing.speed;
  return Math.max(Math.min(moved, playing.durationMs), Math.min(0, playing.positionMs));
}

/** Opens media. Playback starts after the response, with the notifications of a real player (players.md 7.1). */
export function open(model: Model, media: SimulatedMedia, path = media.file): void {
  const { file, durationMs = USUAL_MS, kind = "video" } = media;
  const last = file.split("/").findLast((part) => part !== "") ?? file;
  const title = media.title ?? decoded(last) ?? last;
  const plugin = path.startsWith("plugin://");
  const player = kind === "audio" || plugin ? 0 : 1;
  model.screensaver = false;
  model.emit("open", `open ${path}`, path);
  afterStartDelay(model, () => {
    if (plugin) clearList(model, player);
    else addToList(model, player, file, title);
    start(model, { player, kind, file, path, title, durationMs, ...artworkOf(media) });
  });
}

/** Plays an entry of a playlist, on the player of that list whatever the entry is (Kodi 20.1, ran). */
export function openInList(model: Model, playlistid: number, at: number): void {
  const item = model.lists.get(playlistid)?.[at];
  if (item === undefined) return;
  const { file, title } = item;
  const media = model.options.media.find((one) => one.file === file);
  const { kind = "video", durationMs = USUAL_MS } = media ?? {};
  const player = playlistid === 0 ? 0 : 1;
  const started = { player, kind, file, path: file, title, durationMs, position: at, ...artworkOf(media) } as const;
  afterStartDelay(model, () => start(model, started));
}

function artworkOf({ thumbnail = "", poster = "", artist = [] }: Partial<SimulatedMedia> = {}) {
  return { thumbnail, poster, artist };
}

/** The thumbnail of a channel: its logo, or an address made of its name that has no picture (Kodi 20.1, ran). */
export function thumbnailOf({ name, logo }: SimulatedChannel): string {
  return imageOf(logo ?? encodeURIComponent(name), "pvrchannel_tv@");
}

/** Playback stops after the last entry; going before the first has no effect (Kodi 20.1, ran). */
export function goTo(model: Model, playing: Playing, at: number): void {
  const items = model.lists.get(playing.player) ?? [];
  if (at >= items.length) stop(model, false);
  else openInList(model, playing.player, at);
}

export function openChannel(model: Model, channel: SimulatedChannel): void {
  const path = `pvr://channels/tv/All%20channels/${channel.id}.pvr`;
  model.screensaver = false;
  model.lastChannel = channel.id;
  model.emit("open", `channel ${channel.number} ${channel.name}`);
  const { name: title } = channel;
  const thumbnail = thumbnailOf(channel);
  afterStartDelay(model, () =>
    start(model, { player: 1, kind: "video", file: "", path, title, durationMs: null, channel, thumbnail }),
  );
}

function clearList(model: Model, playlistid: number): void {
  const had = (model.lists.get(playlistid)?.length ?? 0) > 0;
  model.lists.delete(playlistid);
  if (had) model.notify("Playlist.OnClear", { playlistid });
}

function addToList(model: Model, playlistid: number, file: string, title: string): void {
  clearList(model, playlistid);
  model.lists.set(playlistid, [{ file, title }]);
  model.notify("Playlist.OnAdd", { item: itemNotified(title, playlistid), playlistid, position: 0 });
}

/** A playlist entry in a notification; audio has no title (Kodi 20.1, ran). */
export function itemNotified(title: string, playlistid: number): Readonly<Record<string, unknown>> {
  return playlistid === 0 ? { type: "unknown" } : { title, type: "movie" };
}

function afterStartDelay(model: Model, step: () => void): void {
  clearTimeout(model.opening);
  model.opening = setTimeout(step, model.options.startMs);
}

/** The facts of something that starts to play. */
type Started = Pick<Playing, "player" | "kind" | "file" | "path" | "title" | "durationMs"> &
  Partial<Pick<Playing, "channel" | "thumbnail" | "poster" | "artist" | "position">>;

export function start(model: Model, facts: Started, fromMs = 0): void {
  // Kodi announces that the previous item resumes, under the new player number, and stops (Kodi 20.1, ran).
  if (model.playing !== null) {
    model.notify("Player.OnResume", { ...playerEvent(model.playing), player: { playerid: facts.player, speed: 1 } });
    stop(model, false);
  }
  const playing: Playing = {
    channel: null,
    artist: [],
    thumbnail: "",
    poster: "",
    position: 0,
    ...facts,
    speed: 1,
    positionMs: fromMs,
    at: Date.now(),
  };
  model.playing = playing;
  announceStart(model, playing);
  if (facts.kind === "video" && model.window !== FULLSCREEN) go(model, FULLSCREEN);
  watchEnd(model, playing);
}

/** The notifications of Kodi 20.1 in its order; for audio only OnPlay and OnAVStart (ran). */
function announceStart(model: Model, playing: Playing): void {
  const event = playerEvent(playing);
  const video = playing.kind === "video";
  if (video) model.notify("Player.OnAVChange", event);
  model.notify("Player.OnPlay", event);
  if (video) model.notify("Player.OnAVChange", event);
  if (video) model.notify("Player.OnAVChange", event);
  model.notify("Player.OnAVStart", event);
  if (video) model.notify("Player.OnAVChange", event);
}

/** The item in a notification, with less than in GetItem (Kodi 20.1, ran). */
function itemOf({ channel, kind, title }: Playing): Record<string, unknown> {
  if (channel) return { channeltype: "tv", id: channel.id, title, type: "channel" };
  return kind === "audio" ? { type: "unknown" } : { title, type: "movie" };
}

export function playerEvent(playing: Playing, more: Readonly<Record<string, unknown>> = {}) {
  return { item: itemOf(playing), player: { playerid: playing.player, speed: playing.speed, ...more } };
}

export function stop(model: Model, end: boolean): void {
  clearTimeout(model.opening);
  const { playing } = model;
  if (playing === null) return;
  clearTimeout(playing.end);
  model.playing = null;
  if (model.window === FULLSCREEN) goBack(model);
  model.notify("Player.OnStop", { end, item: itemOf(playing) });
  model.emit("stop", end ? "playback ended" : "playback stopped");
}

export function setSpeed(model: Model, playing: Playing, speed: number): void {
  savePosition(playing);
  playing.speed = speed;
  watchEnd(model, playing);
}

/** Pauses or resumes; there is no notification if nothing changes (Kodi 20.1, ran). */
export function pause(model: Model, playing: Playing, paused: boolean): void {
  if (paused === (playing.speed === 0)) return;
  setSpeed(model, playing, paused ? 0 : 1);
  model.notify(paused ? "Player.OnPause" : "Player.OnResume", playerEvent(playing));
}

export function seek(model: Model, playing: Playing, toMs: number): void {
  savePosition(playing);
  playing.positionMs = Math.max(0, Math.min(toMs, playing.durationMs ?? toMs));
  watchEnd(model, playing);
}

function savePosition(playing: Playing): void {
  playing.positionMs = position(playing);
  playing.at = Date.now();
}

function watchEnd(model: Model, playing: Playing): void {
  clearTimeout(playing.end);
  if (playing.durationMs === null || playing.speed <= 0) return;
  const left = (playing.durationMs - position(playing)) / playing.speed;
  playing.end = setTimeout(() => stop(model, true), left);
}

/** The parts of a time, each with the sign of the whole: `milliseconds` can be -99 (players.md 7.2). */
export function timeOf(ms: number): Record<"hours" | "minutes" | "seconds" | "milliseconds", number> {
  const part = (size: number, of: number) => Math.trunc(ms / size) % of || 0;
  return {
    hours: part(3_600_000, 1e9),
    milliseconds: Math.trunc(ms % 1000) || 0,
    minutes: part(60_000, 60),
    seconds: part(1000, 60),
  };
}
