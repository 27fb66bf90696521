/**
 * Services that everybody knows. One id means one service on every platform, so that `launch {"app": "youtube"}` works on
 * all of them; each platform's folder says by which ids of its own it has them.
 */
export const serviceIds = [
  ...(["netflix", "youtube", "youtube-tv", "prime-video", "disney-plus", "apple-tv", "hulu", "max"] as const),
  ...(["plex", "jellyfin", "emby", "spotify", "tidal", "deezer", "twitch", "crunchyroll"] as const),
  ...(["paramount-plus", "peacock", "pluto-tv", "tubi", "espn", "dazn", "sling-tv", "bbc-iplayer"] as const),
  ...(["ard-mediathek", "zdf-mediathek", "arte"] as const),
] as const;

export type ServiceId = (typeof serviceIds)[number];
