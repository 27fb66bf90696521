/**
 * Well-known services by the ids of their Cast receivers, the current one first. Sources: Google's answers for each id,
 * as checked by github.com/search "enabled_app_ids" (2026-11), captures of senders, and players.md 3.3.
 */
import type { ServiceId } from "../services.ts";

export const castServices: ReadonlyMap<string, ServiceId> = new Map([
  ["233637DE", "youtube"],
  ["EF67CA5A", "netflix"],
  // The former id, which some devices still have.
  ["CA5E8412", "netflix"],
  ["17608BC8", "prime-video"],
  ["C3DE6BC2", "disney-plus"],
  ["3EC252A5", "hulu"],
  ["C5B95AD4", "max"],
  ["9AC194DC", "plex"],
  ["F007D354", "jellyfin"],
  ["CC32E753", "spotify"],
  ["B3DCF968", "twitch"],
]);

/** Plays a file by its URL; every device has it. */
export const defaultReceiver = "CC1AD845";
/** On the screen while nobody casts. */
export const backdrop = "E8C28D3C";

/** An id, and the other ids of its service. */
export function idsOf(id: string): readonly string[] {
  const service = castServices.get(id);
  if (service === undefined) return [id];
  return [id, ...[...castServices].flatMap(([other, its]) => (its === service && other !== id ? [other] : []))];
}
