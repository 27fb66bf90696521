/**
 * Where the programs that renderers are built with differ (players.md 8, and as run from Debian 12 in November 2026): what the
 * code reads, and nothing else. Whatever is not known behaves as the standard says.
 */

/** Faults of AVTransport that mean "not in this state" (AVTransport:1, table 2-25): there is nothing to play, to pause, to go to. */
const notNow: ReadonlySet<number> = new Set([701, 711]);

export interface Stack {
  /** How it is known: by what it says of its server, its maker and its model. */
  readonly says: RegExp;
  /** It resets the second request on a connection, or closes it behind its answer: each call has one of its own. */
  readonly oneCallEach?: true;
  /** The faults that mean "not in this state". */
  readonly notNow: ReadonlySet<number>;
  /** It says that everything can be done at any time, and 200 to whatever cannot: it is not asked before. */
  readonly agreesToAll?: true;
  /** So far from what it was set to it may show its volume, in its own numbers: it rounds on the way. */
  readonly volumeSlack?: number;
  /** While it is silent, and right after, it may show 0 as its volume: that of before is what it comes back to. */
  readonly hidesVolume?: true;
}

export const stackNames = ["platinum", "libupnp", "gupnp", "other"] as const;
export type StackName = (typeof stackNames)[number];

export const stacks: Readonly<Record<StackName, Stack>> = {
  platinum: { says: /\b(platinum|xbmc)\b/i, notNow, agreesToAll: true },
  // It says 501 to what it cannot do now, as to what it lacks.
  libupnp: { says: /portable sdk for upnp|\bgmediarender\b/i, oneCallEach: true, notNow: new Set([...notNow, 501]) },
  gupnp: { says: /\b(gupnp|rygel)\b/i, notNow, volumeSlack: 1, hidesVolume: true },
  other: { says: /^/, notNow },
};

/** The stack of a device, by what it says of itself. */
export function stackOf(said: string): StackName {
  return stackNames.find((name) => stacks[name].says.test(said)) ?? "other";
}
