/**
 * Well-known services, by the ids of their Roku channels. Source: the ids that sets list in `/query/apps`, as the
 * projects that protocols/roku.md names show them (rokuecp's fixtures, python-roku, roku-cli).
 */
import type { ServiceId } from "../services.ts";

export const rokuServices: ReadonlyMap<string, ServiceId> = new Map([
  ["12", "netflix"],
  ["837", "youtube"],
  ["195316", "youtube-tv"],
  ["13", "prime-video"],
  ["291097", "disney-plus"],
  ["551012", "apple-tv"],
  ["2285", "hulu"],
  ["61322", "max"],
  ["13535", "plex"],
  ["592369", "jellyfin"],
  ["44191", "emby"],
  ["22297", "spotify"],
  ["2595", "crunchyroll"],
  ["31440", "paramount-plus"],
  ["593099", "peacock"],
  ["74519", "pluto-tv"],
  ["41468", "tubi"],
  ["34376", "espn"],
  ["46041", "sling-tv"],
]);
