/**
 * Well-known services. One id means the same service on every platform, so that `launch {"app": "youtube"}` works on all; each
 * platform maps its own ids to these.
 */
export const serviceNames = {
  netflix: "Netflix",
  youtube: "YouTube",
  "youtube-tv": "YouTube TV",
  "prime-video": "Prime Video",
  "disney-plus": "Disney+",
  "apple-tv": "Apple TV",
  hulu: "Hulu",
  // Called Max from 2023 to 2025.
  max: "HBO Max",
  plex: "Plex",
  jellyfin: "Jellyfin",
  emby: "Emby",
  spotify: "Spotify",
  tidal: "TIDAL",
  deezer: "Deezer",
  twitch: "Twitch",
  crunchyroll: "Crunchyroll",
  "paramount-plus": "Paramount+",
  peacock: "Peacock",
  "pluto-tv": "Pluto TV",
  tubi: "Tubi",
  espn: "ESPN",
  dazn: "DAZN",
  "sling-tv": "Sling TV",
  "bbc-iplayer": "BBC iPlayer",
  "ard-mediathek": "ARD Mediathek",
  "zdf-mediathek": "ZDFmediathek",
  arte: "ARTE",
} as const;

export type ServiceId = keyof typeof serviceNames;
