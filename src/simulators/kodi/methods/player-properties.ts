import { type Playing, position, timeOf } from "../playback.ts";
import { names } from "../schema.ts";
import { pick } from "./application.ts";

/** There is no `canpause`: one name that is not known fails the whole call (players.md 7.2). */
export const propertyNames = names("Player.Property.Name", [
  ...["type", "partymode", "speed", "time", "percentage", "totaltime", "playlistid", "position", "repeat", "shuffled"],
  ...["canseek", "canchangespeed", "canmove", "canzoom", "canrotate", "canshuffle", "canrepeat"],
  ...["currentaudiostream", "audiostreams", "subtitleenabled", "currentsubtitle", "subtitles", "live"],
  ...["currentvideostream", "videostreams", "cachepercentage"],
]);

export const itemNames = names("List.Fields.All", [
  ...["title", "artist", "album", "albumartist", "genre", "year", "rating", "track", "duration", "comment", "lyrics"],
  ...["plot", "plotoutline", "tagline", "director", "writer", "studio", "mpaa", "cast", "country", "imdbnumber"],
  ...["playcount", "fanart", "thumbnail", "file", "mediapath", "runtime", "season", "episode", "showtitle"],
  ...["channel", "channeltype", "channelnumber", "hidden", "locked", "starttime", "endtime", "art", "uniqueid"],
  ...["tvshowid", "streamdetails", "resume", "dateadded", "lastplayed", "firstaired", "premiered", "description"],
]);

/** After a stop they are zeros (players.md 7.2). `type` goes by the number of the player, whatever plays on it (ran). */
export function propertiesOf(playing: Playing | null, player: number): Record<string, unknown> {
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
    canmove: false,
    canzoom: false,
    canrotate: false,
    canshuffle: false,
    canrepeat: playing !== null && playing.channel === null,
    partymode: false,
    playlistid: player,
    position: playing === null ? -1 : 0,
    repeat: "off",
    shuffled: false,
    subtitleenabled: false,
    audiostreams: [],
    videostreams: [],
    subtitles: [],
  };
}

const NOTHING = { title: "", file: "", mediapath: "", album: "", artist: [], showtitle: "", season: -1, episode: -1 };

/** As Kodi 20.1 described them (ran): the title of a file is in `label` alone. */
export function describe(playing: Playing | null, wanted: unknown): Record<string, unknown> {
  if (playing === null) return { ...pick(wanted, NOTHING), label: "", type: "unknown" };
  const { channel, kind, title, file, path } = playing;
  const common = { label: title, mediapath: path, file: channel ? undefined : file };
  const mine = channel
    ? { title: "", channel: channel.name, channeltype: channel.radio ? "radio" : "tv", channelnumber: channel.number }
    : {
        title: kind === "audio" ? title : "",
        album: "",
        artist: [],
        showtitle: "",
        season: -1,
        episode: -1,
        runtime: 0,
      };
  const type = channel ? "channel" : kind === "audio" ? "song" : "unknown";
  return { ...pick(wanted, { ...common, ...mine }), ...(channel ? { id: channel.id } : {}), label: title, type };
}
