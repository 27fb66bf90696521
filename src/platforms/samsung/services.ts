/**
 * Well-known apps by the ids that Samsung TVs have for them, which differ by year (smart-tvs.md 3.3, and the table that it
 * names). A TV that lists no apps is asked for each of them.
 */
import type { ServiceId } from "../services.ts";

/** Id, service if it is a well-known one, and the name where the TV gives none. */
export const knownApps: readonly (readonly [id: string, service: ServiceId | null, name: string])[] = [
  ["11101200001", "netflix", "Netflix"],
  ["3201907018807", "netflix", "Netflix"],
  ["111299001912", "youtube", "YouTube"],
  ["3201707014489", "youtube-tv", "YouTube TV"],
  ["3201512006785", "prime-video", "Prime Video"],
  ["3201910019365", "prime-video", "Prime Video"],
  ["3201901017640", "disney-plus", "Disney+"],
  ["3202009021709", "disney-plus", "Disney+"],
  ["3202204027038", "disney-plus", "Disney+"],
  ["3201807016597", "apple-tv", "Apple TV"],
  ["3201601007625", "hulu", "Hulu"],
  ["3201601007230", "max", "HBO Max"],
  ["3202301029760", "max", "HBO Max"],
  ["3201512006963", "plex", "Plex"],
  ["3201606009684", "spotify", "Spotify"],
  ["3202203026841", "twitch", "Twitch"],
  ["3201606009872", "emby", "Emby"],
  ["3201710014981", "paramount-plus", "Paramount+"],
  ["3202110025305", "paramount-plus", "Paramount+"],
  ["3202006020991", "peacock", "Peacock TV"],
  // Of 2016, as a TV lists it (IPSymcon's SamsungTizen).
  ["3201607009920", "dazn", "DAZN"],
  ["3201806016390", "dazn", "DAZN"],
  ["3201601007670", "bbc-iplayer", "BBC iPlayer"],
  ["3201412000679", "ard-mediathek", "ARD Mediathek"],
  ["3201705012365", "zdf-mediathek", "ZDFmediathek"],
  ["org.tizen.browser", null, "Internet"],
];

export const samsungServices: ReadonlyMap<string, ServiceId> = new Map(
  knownApps.flatMap(([id, service]) => (service === null ? [] : [[id, service] as const])),
);
