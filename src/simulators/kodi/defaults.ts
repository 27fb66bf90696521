import type { SimulatedAddon, SimulatedFavourite, SimulatedMedia } from "./options.ts";

export const ADDONS: readonly SimulatedAddon[] = [
  { id: "plugin.video.youtube", name: "YouTube", version: "7.0.9", content: "video" },
  { id: "plugin.video.netflix", name: "Netflix", version: "1.23.3", content: "video" },
  { id: "plugin.video.jellyfin", name: "Jellyfin", version: "1.0.9", content: "video" },
  { id: "plugin.video.arteplussept", name: "Arte +7", version: "1.4.2", content: "video", enabled: false },
  { id: "plugin.audio.radio_de", name: "Radio", version: "4.0.1", content: "audio" },
  { id: "plugin.image.picasa", name: "Photo Albums", version: "2.1.0", content: "image" },
  { id: "script.weather.screen", name: "Weather Screen", version: "0.3.1", content: "executable" },
];

export const MEDIA: readonly SimulatedMedia[] = [
  { file: "/media/holiday.mp4", title: "Holiday", durationMs: 754_000 },
  { file: "/media/trailer.mkv", title: "The Trailer" },
  { file: "/media/song.flac", title: "A Song", kind: "audio", durationMs: 213_000 },
];

export const FAVOURITES: readonly SimulatedFavourite[] = [
  { title: "Holiday", type: "media", path: "/media/holiday.mp4" },
  { title: "Arte", type: "window", window: "videos", windowparameter: "plugin://plugin.video.arteplussept/" },
  { title: "Weather", type: "script", path: "script.weather.screen" },
];
