/**
 * Well-known services, by the ids of their webOS apps. Source: app ids as TVs list them, in the sources and
 * issues that smart-tvs.md 2 names (aiowebostv, bscpylgtv, lgtv2, homebridge-webos-tv).
 */
import type { ServiceId } from "../services.ts";

export const webosServices: ReadonlyMap<string, ServiceId> = new Map([
  ["netflix", "netflix"],
  ["youtube.leanback.v4", "youtube"],
  ["youtube.leanback.ytv.v1", "youtube-tv"],
  ["amazon", "prime-video"],
  // On German TVs (hobbyquaker/node-red-contrib-lgtv#10, iobroker-community-adapters/ioBroker.lgtv#8).
  ["lovefilm.de", "prime-video"],
  ["com.disney.disneyplus-prod", "disney-plus"],
  ["cdp-30", "plex"],
  ["spotify-beehive", "spotify"],
  ["com.apple.appletv", "apple-tv"],
  ["hulu", "hulu"],
  ["com.hbo.hbomax", "max"],
  ["com.wbd.stream", "max"],
  ["tv.twitch.tv.starshot.lg", "twitch"],
  ["com.jellyfin.org", "jellyfin"],
  ["org.jellyfin.webos", "jellyfin"],
  ["com.emby.app", "emby"],
  ["com.peacock.tv", "peacock"],
]);
