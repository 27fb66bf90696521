import { words } from "../../bench/set.ts";
import { Crashed, failed, invalidParams, type Methods, method, type Params, pick, required } from "../method.ts";
import type { Model } from "../model.ts";
import {
  goTo,
  open,
  openChannel,
  openInList,
  type Playing,
  pause,
  playerEvent,
  position,
  seek,
  setSpeed,
  stop,
  timeOf,
} from "../playback.ts";
import { anything, either, flag, integer, names, number, oneOf, type Schema, text } from "../schema.ts";

const SPEEDS = [-32, -16, -8, -4, -2, 1, 2, 4, 8, 16, 32];

/** The next speed on the scale, where 1 lies between -2 and 2 (players.md 7.3). */
export function faster(speed: number, direction: 1 | -1): number {
  const at = SPEEDS.indexOf(speed) + direction;
  return SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))] ?? speed;
}

/** There is no `canpause`; an unknown name fails the whole call (players.md 7.2). */
const propertyNames = names(
  "Player.Property.Name",
  words(`
    type partymode speed time percentage totaltime playlistid position repeat shuffled canseek canchangespeed canmove
    canzoom canrotate canshuffle canrepeat currentaudiostream audiostreams subtitleenabled currentsubtitle subtitles
    live currentvideostream videostreams cachepercentage
  `),
);

const itemNames = names(
  "List.Fields.All",
  words(`
    title artist album albumartist genre year rating track duration comment lyrics plot plotoutline tagline director
    writer studio mpaa cast country imdbnumber playcount fanart thumbnail file mediapath runtime season episode showtitle
    channel channeltype channelnumber hidden locked starttime endtime art uniqueid tvshowid streamdetails resume
    dateadded lastplayed firstaired premiered description
  `),
);

const NEVER = words("canmove canzoom canrotate canshuffle shuffled partymode subtitleenabled");
const NONE = words("audiostreams videostreams subtitles");

/** Zeros after a stop (players.md 7.2). `type` depends on the player number, not on what plays (ran). */
function propertiesOf(playing: Playing | null, player: number): Record<string, unknown> {
  const total = playing?.durationMs ?? 0;
  const now = playing === null ? 0 : position(playing);
  return {
    type: ["audio", "video", "picture"][player],
    speed: playing?.speed ?? 0,
    time: timeOf(now),
    totaltime: timeOf(total),
    percentage: total === 0 ? 0 : (now / total) * 100,
    cachepercentage: total === 0 ? 0 : 100,
    live: playing?.channel != null,
    canseek: playing !== null,
    canchangespeed: playing !== null,
    canrepeat: playing !== null && playing.channel === null,
    playlistid: player,
    position: playing?.position ?? -1,
    repeat: "off",
    ...Object.fromEntries(NEVER.map((name) => [name, false])),
    ...Object.fromEntries(NONE.map((name) => [name, []])),
  };
}

const NOTHING = { title: "", file: "", mediapath: "", album: "", artist: [], showtitle: "", season: -1, episode: -1 };

/** The item as Kodi 20.1 describes it (ran): the title of a file is only in `label`. */
function describe(playing: Playing | null, wanted: unknown): Record<string, unknown> {
  if (playing === null) return { ...pick(wanted, NOTHING), label: "", type: "unknown" };
  const { channel, kind, title, artist, file, path, thumbnail } = playing;
  // The picture embedded in an audio file appears only in info labels (Kodi 20.1, ran).
  const shownThumbnail = thumbnail.startsWith("image://music@") ? "" : thumbnail;
  const icon = kind === "audio" ? "image://DefaultAudio.png/" : "image://DefaultFolder.png/";
  const art = shownThumbnail === "" ? { icon } : { thumb: shownThumbnail };
  const pictures = { thumbnail: shownThumbnail, art, fanart: "" };
  const common = { label: title, mediapath: path, file: channel ? undefined : file, ...pictures };
  const mine = channel
    ? { title: "", channel: channel.name, channeltype: "tv", channelnumber: channel.number }
    : { ...NOTHING, ...common, artist, title: kind === "audio" ? title : "", runtime: 0 };
  const type = channel ? "channel" : kind === "audio" ? "song" : "unknown";
  return { ...pick(wanted, { ...common, ...mine }), ...(channel ? { id: channel.id } : {}), label: title, type };
}

const playerid = required(integer(0, 2));
const time: Schema = {
  type: "object",
  properties: {
    hours: integer(0, 23),
    minutes: integer(0, 59),
    seconds: integer(0, 59),
    milliseconds: integer(0, 999),
  },
};
const only = (name: string, schema: Schema): Schema => ({ type: "object", properties: { [name]: schema } });
const steps = oneOf("smallforward", "smallbackward", "bigforward", "bigbackward");
const STEPS: Readonly<Record<string, number>> = {
  smallforward: 30,
  smallbackward: -30,
  bigforward: 600,
  bigbackward: -600,
};

/** What plays on the player of the call. Throws if nothing does. */
function playingOn(model: Model, params: Params): Playing {
  const { playing } = model;
  if (playing === null || playing.player !== params["playerid"]) throw failed();
  return playing;
}

/** What plays on the player of the call; null if nothing plays at all. Throws if another player plays (players.md 7.2; Kodi 20.1, ran). */
function playingOnOrIdle(model: Model, params: Params): Playing | null {
  return model.playing === null ? null : playingOn(model, params);
}

export const player: Methods = {
  "Player.GetActivePlayers": method({}, ({ playing }) =>
    playing === null ? [] : [{ playerid: playing.player, playertype: "internal", type: playing.kind }],
  ),
  "Player.GetProperties": method({ playerid, properties: required(propertyNames) }, (model, params) => {
    const playing = playingOnOrIdle(model, params);
    return pick(params["properties"], propertiesOf(playing, Number(params["playerid"])));
  }),
  "Player.GetItem": method({ playerid, properties: itemNames }, (model, params) => ({
    item: describe(playingOnOrIdle(model, params), params["properties"]),
  })),
  "Player.Stop": method({ playerid }, (model, params) => {
    playingOnOrIdle(model, params);
    stop(model, false);
  }),
  "Player.PlayPause": method({ playerid, play: either(flag, oneOf("toggle")) }, (model, params) => {
    const playing = playingOn(model, params);
    const { play = "toggle" } = params;
    pause(model, playing, play === "toggle" ? playing.speed !== 0 : play === false);
    return { speed: playing.speed };
  }),
  "Player.SetSpeed": method(
    { playerid, speed: required(either(integer(-32, 32), oneOf("increment", "decrement"))) },
    (model, params) => {
      const playing = playingOnOrIdle(model, params);
      if (playing === null) return { speed: 0 };
      const { speed } = params;
      const before = playing.speed;
      const next = typeof speed === "number" ? speed : faster(before, speed === "increment" ? 1 : -1);
      setSpeed(model, playing, next);
      // Going back to normal speed is announced as resuming too (Kodi 20.1, ran).
      if (next === 1 && before !== 1) model.notify("Player.OnResume", playerEvent(playing));
      model.notify("Player.OnSpeedChanged", playerEvent(playing));
      if (next === 1 && playing.kind === "video") model.notify("Player.OnAVChange", playerEvent(playing));
      return { speed: next };
    },
  ),
  "Player.Seek": method(
    {
      playerid,
      value: required(
        either(only("percentage", number), only("time", time), only("step", steps), only("seconds", integer())),
      ),
    },
    (model, params) => seekTo(model, playingOn(model, params), params["value"]),
  ),
  "Player.GoTo": method({ playerid, to: required(either(oneOf("previous", "next"), integer(0))) }, (model, params) => {
    const playing = playingOnOrIdle(model, params);
    const { to } = params;
    const at = playing?.position ?? 0;
    if (playing !== null) goTo(model, playing, typeof to === "number" ? to : at + (to === "next" ? 1 : -1));
  }),
  "Player.Open": method(
    {
      item: either(only("file", text), only("path", text), only("channelid", integer(1)), only("directory", text), {
        type: "object",
        properties: { playlistid: integer(0, 2), position: integer(0) },
      }),
      options: anything,
    },
    (model, { item }) => openItem(model, item),
  ),
};

/** Relative seeks return the old position (players.md 7.3), absolute ones the new one (Kodi 20.1, ran). */
function seekTo(model: Model, playing: Playing, value: unknown) {
  const { percentage, time: to, step, seconds } = { ...(value as Params) };
  const total = playing.durationMs ?? 0;
  const before = position(playing);
  const relative = typeof step === "string" ? STEPS[step] : typeof seconds === "number" ? seconds : undefined;
  const parts: Params = { ...(to as Params | undefined) };
  const amount = (name: string) => Number(parts[name] ?? 0);
  const absolute =
    typeof percentage === "number"
      ? (total * percentage) / 100
      : ((amount("hours") * 60 + amount("minutes")) * 60 + amount("seconds")) * 1000 + amount("milliseconds");
  seek(model, playing, relative === undefined ? absolute : before + relative * 1000);
  const after = position(playing);
  model.notify("Player.OnSeek", playerEvent(playing, { seekoffset: timeOf(after - before), time: timeOf(after) }));
  if (playing.kind === "video") model.notify("Player.OnAVChange", playerEvent(playing));
  // A target beyond the end is returned as requested (Kodi 20.1, ran).
  const returned = relative === undefined ? absolute : before;
  return {
    percentage: total === 0 ? 0 : Math.min(100, (returned / total) * 100),
    time: timeOf(returned),
    totaltime: timeOf(total),
  };
}

function openItem(model: Model, item: unknown): void {
  const { file, channelid, playlistid, position: at = 0 } = { ...(item as Params | undefined) };
  if (item === undefined) throw invalidParams();
  if (playlistid !== undefined) return openInList(model, Number(playlistid), Number(at));
  if (typeof channelid === "number") {
    const channel = model.options.channels.find(({ id }) => id === channelid);
    // An unknown channel crashes Kodi 20.1 with SIGSEGV, without a response (ran).
    if (channel === undefined) throw new Crashed("Player.Open");
    return openChannel(model, channel);
  }
  // A missing folder is accepted and only clears a playlist (Kodi 20.1, ran).
  if (typeof file !== "string") return model.notify("Playlist.OnClear", { playlistid: 2 });
  const known = model.options.media.find((media) => media.file === file);
  if (known !== undefined) open(model, known);
  else if (file.startsWith("plugin://")) openPlugin(model, file);
  else if (/^[a-z]+:\/\//.test(file)) open(model, { file });
  else throw invalidParams();
}

function openPlugin(model: Model, path: string): void {
  const addon = model.addons.find(({ id }) => path.startsWith(`plugin://${id}/`));
  if (addon !== undefined && addon.enabled !== false) open(model, { file: path, title: addon.name }, path);
}
