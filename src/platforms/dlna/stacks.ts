/**
 * Where the programs that renderers are built with differ (players.md 8, and as run from Debian 12 in November 2026): what the
 * code reads, and nothing else. Whatever is not known behaves as the standard says.
 */

/** Faults of AVTransport that mean "not in this state" (AVTransport:1, table 2-25): there is nothing to play, to pause, to go to. */
const notNow: ReadonlySet<number> = new Set([701, 711]);

export interface Stack {
  /** How it is known: by what it says of itself in its description. */
  readonly says: RegExp;
  /** It resets the second request on a connection, or closes it behind its answer: each call has one of its own. */
  readonly oneCallEach?: true;
  /** The faults that mean "not in this state". */
  readonly notNow: ReadonlySet<number>;
  /** So far from what it was set to it may show its volume, in its own numbers: it rounds on the way. */
  readonly volumeSlack?: number;
  /** While it is silent, and right after, it may show 0 as its volume: that of before is what it comes back to. */
  readonly hidesVolume?: true;
}

export const stackNames = ["kodi", "gmediarender", "rygel", "other"] as const;
export type StackName = (typeof stackNames)[number];

export const stacks: Readonly<Record<StackName, Stack>> = {
  // Platinum. It says 200 to whatever it cannot do now: only what is read afterwards tells, as everywhere.
  kodi: { says: /^(kodi|xbmc)\b/i, notNow },
  // libupnp. It says 501 to what it cannot do now, as to what it lacks.
  gmediarender: { says: /^gmediarender\b/i, oneCallEach: true, notNow: new Set([...notNow, 501]) },
  // GUPnP.
  rygel: { says: /^rygel\b/i, notNow, volumeSlack: 1, hidesVolume: true },
  other: { says: /^/, notNow },
};

/** The stack of a device, by the model that it says. */
export function stackOf(model: string | null): StackName {
  return stackNames.find((name) => stacks[name].says.test(model ?? "")) ?? "other";
}
