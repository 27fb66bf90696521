/**
 * How the libraries that renderers are built with differ (players.md 8, and as run from Debian 12 in November 2026). An
 * unknown one is assumed to follow the standard.
 */

export interface Stack {
  /** Matched against its server header, manufacturer and model. */
  readonly pattern: RegExp;
  /** It answers several requests on a connection. Others may reset it at the second: each request has its own (players.md 8). */
  readonly keepsConnections?: true;
  /** It reports every action as possible, and answers 200 to all: it is not asked first. */
  readonly acceptsEverything?: true;
  /** How far the volume may be from the one that was set, in the renderer's range: it rounds. */
  readonly volumeSlack?: number;
  /** While muted, and right after, it may report volume 0: the previous level is still valid. */
  readonly hidesVolume?: true;
}

export const stackNames = ["platinum", "libupnp", "gupnp", "other"] as const;
type StackName = (typeof stackNames)[number];

export const stacks: Readonly<Record<StackName, Stack>> = {
  platinum: { pattern: /\b(platinum|xbmc)\b/i, keepsConnections: true, acceptsEverything: true },
  // Like the standard; what is remembered of renderers names it.
  libupnp: { pattern: /portable sdk for upnp|\b(libupnp|gmediarender)\b/i },
  gupnp: { pattern: /\b(gupnp|rygel)\b/i, keepsConnections: true, volumeSlack: 1, hidesVolume: true },
  other: { pattern: /^/ },
};

export function stackOf(device: string): StackName {
  return stackNames.find((name) => stacks[name].pattern.test(device)) ?? "other";
}
