/**
 * Well-known services, by the ids of their Kodi add-ons. Source: the add-ons' own names in Kodi's official
 * repository and, where marked by the name of their author, in that author's.
 */
import type { ServiceId } from "../services.ts";

export const kodiServices: ReadonlyMap<string, ServiceId> = new Map([
  ["plugin.video.netflix", "netflix"],
  ["plugin.video.youtube", "youtube"],
  ["plugin.video.amazon-test", "prime-video"],
  ["slyguy.disney.plus", "disney-plus"],
  ["slyguy.max", "max"],
  ["slyguy.paramount.plus", "paramount-plus"],
  ["script.plex", "plex"],
  ["script.plexmod", "plex"],
  ["plugin.video.jellyfin", "jellyfin"],
  ["plugin.video.jellycon", "jellyfin"],
  ["plugin.video.embycon", "emby"],
  ["plugin.audio.spotify", "spotify"],
  ["plugin.video.twitch", "twitch"],
  ["plugin.video.crunchyroll", "crunchyroll"],
  ["plugin.video.iplayerwww", "bbc-iplayer"],
  ["plugin.video.ardmediathek_de", "ard-mediathek"],
  ["plugin.video.arteplussept", "arte"],
  ["plugin.audio.tidal2", "tidal"],
]);
