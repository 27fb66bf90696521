/**
 * The standing of a device: at which addresses it was found, and how far what answers there is trusted to be it (SECURITY.md
 * 2.4). Pure: who answered and the time are arguments. An address is host and control port.
 */
import { z } from "zod";
import type { Address } from "../platforms/platform.ts";
import { instant, port } from "../system/schemas.ts";

/** After this time without a rival, what answers is trusted. */
export const probationMs = 24 * 60 * 60 * 1_000;

const limits = { rivals: 4, dismissed: 16, macs: 16 } as const;

const doubts = ["moved", "rival", "hardware"] as const;

/** Why the device gets no secret now: it moved, two addresses answer as it, or other hardware has its address. */
export interface Probation {
  readonly reason: (typeof doubts)[number];
  readonly since: string;
  /** The unknown hardware address that the neighbour table showed, if any. */
  readonly mac?: string | undefined;
}

/** As the registry keeps it. A device without one is where it was first found, and trusted. */
export interface Standing {
  /** Since when it has its address; missing where it was first found there, or has been there for a day. */
  readonly since?: string | undefined;
  /** The trusted address that it left less than a day ago or during its probation: if it answers there again, it is back. */
  readonly former?: Address | undefined;
  readonly probation?: Probation | undefined;
  /** Other addresses that answer as the device, and when they were last seen to. */
  readonly rivals: readonly (Address & { readonly seen_at: string })[];
  /** Rivals that the user has dismissed. */
  readonly dismissed: readonly Address[];
  /** Hardware addresses that the neighbour table has shown for it, beside those that it reports itself. */
  readonly macs: readonly string[];
}

const address = z.looseObject({ host: z.string().min(1).max(253), port });
const mac = z.string().max(32);

export const standingSchema: z.ZodType<Standing> = z.looseObject({
  since: instant.optional(),
  former: address.optional(),
  probation: z.looseObject({ reason: z.enum(doubts), since: instant, mac: mac.optional() }).optional(),
  rivals: z.array(address.extend({ seen_at: instant })),
  dismissed: z.array(address),
  macs: z.array(mac),
});

/** The standing of a device at the address where it was first found. */
export const initialStanding: Standing = { rivals: [], dismissed: [], macs: [] };

/** A device's address, and its standing there. */
export interface Place extends Address {
  readonly standing: Standing;
}

/** What one contact with a device has shown. */
export interface Observation {
  /** Where it was found; `null` when only its known addresses were asked. */
  readonly at: Address | null;
  /** Every address at which its identity was proven, that one among them. */
  readonly answering: readonly Address[];
  /** Whether it has secrets of its own. */
  readonly hasSecrets: boolean;
  /** The hardware addresses that it reports itself. */
  readonly reportedMacs: readonly string[];
  /** The neighbour table's hardware address for a host. */
  macOf(host: string): string | null;
}

export function isSameAddress(one: Address, other: Address): boolean {
  return one.host === other.host && one.port === other.port;
}

/** The standing at a time: after a day without a rival, probation and rivals have expired. */
export function withoutExpired(standing: Standing, now: number): Standing {
  const { since, probation, rivals, dismissed, macs } = standing;
  // True of nearly every device, at each health check.
  if (since === undefined && probation === undefined && rivals.length === 0) return standing;
  const last = [since, probation?.since, ...rivals.map((one) => one.seen_at)].filter((one) => one !== undefined);
  const quietMs = now - Math.max(...last.map((one) => Date.parse(one)));
  if (quietMs < probationMs) return standing;
  return { rivals: [], dismissed, macs: withMac(macs, probation?.mac) };
}

/** Its probation at a time, if any. */
export function probationAt(standing: Standing | undefined, now: number): Probation | undefined {
  return standing && withoutExpired(standing, now).probation;
}

/** The addresses beside its own where the device may be: the one that it left, and those of its rivals. */
export function otherAddresses(standing: Standing | undefined, now: number): Address[] {
  const { former, rivals } = withoutExpired(standing ?? initialStanding, now);
  return [...(former ? [former] : []), ...rivals];
}

/** The place of a device after a contact. */
export function placeAfterContact(before: Place, seen: Observation, now: number): Place {
  return withHardware(withRivals(followed(before, seen, now), seen, now), seen, now);
}

/**
 * Its home, the last trusted address, wins whenever it answers; any other address that answers then is a rival. Where home does
 * not answer, the device is followed to where it was found.
 */
function followed(before: Place, { at, answering, hasSecrets }: Observation, now: number): Place {
  const standing = withoutExpired(before.standing, now);
  const here: Place = { host: before.host, port: before.port, standing };
  const home = standing.former ?? here;
  const answers = (one: Address) => answering.some((other) => isSameAddress(one, other));
  // It has come home, or was wrongly followed to another address.
  if (answers(home)) return isSameAddress(home, here) ? here : { ...home, standing: { ...standing, ...withoutDoubt } };
  if (answers(here) || !at) return here;
  const since = new Date(now).toISOString();
  // Strange hardware at the address that it leaves is not its own.
  const { probation } = standing;
  const isDoubted = hasSecrets || (probation !== undefined && probation.reason !== "hardware");
  const moved: Standing = {
    ...standing,
    since,
    former: { host: home.host, port: home.port },
    probation: isDoubted ? { reason: "moved", since } : undefined,
    rivals: standing.rivals.filter((one) => !isSameAddress(one, at)),
  };
  return { host: at.host, port: at.port, standing: moved };
}

const withoutDoubt = { since: undefined, former: undefined, probation: undefined, rivals: [] } as const;

/** The user says that what answers at its address is the device: its rivals are dismissed. */
export function standingWhenTrusted({ host, port, standing }: Place, mac: string | null): Standing {
  const { rivals, dismissed, macs, probation } = standing;
  const known = rivals
    .map((one) => ({ host: one.host, port: one.port }))
    .filter((one) => ![...dismissed, { host, port }].some((other) => isSameAddress(one, other)));
  return {
    rivals: [],
    dismissed: [...dismissed, ...known].slice(-limits.dismissed),
    macs: withMac(withMac(macs, probation?.mac), mac),
  };
}

/** The standing of a device that is being paired again at another address: its other addresses become rivals. */
export function standingWhenPaired({ standing, ...here }: Place, at: Address, now: number): Standing {
  const seen_at = new Date(now).toISOString();
  const left = [here, ...(standing.former ? [standing.former] : [])].map((one) => ({ ...one, seen_at }));
  // Strange hardware at the address that it leaves is not its own.
  const doubt = isSameAddress(here, at) ? standing.probation : undefined;
  return {
    ...standing,
    former: undefined,
    probation: doubt ?? { reason: "moved", since: seen_at },
    rivals: [...standing.rivals, ...left].filter((one) => !isSameAddress(one, at)),
  };
}

/** The standing of a device for which the neighbour table shows an unknown hardware address. */
export function standingWithStrangeMac(standing: Standing, mac: string, now: number): Standing {
  const { probation } = standing;
  if (probation?.mac === mac) return standing;
  const reason = probation?.reason ?? "hardware";
  return { ...standing, probation: { reason, since: new Date(now).toISOString(), mac } };
}

/** Whether the neighbour table shows another hardware address than every known one. */
export function isStrangeMac(mac: string, standing: Standing | undefined, reported: readonly string[]): boolean {
  const known = [...(standing?.macs ?? []), ...reported];
  return known.length > 0 && !known.includes(mac);
}

function withRivals(at: Place, { answering }: Observation, now: number): Place {
  const { standing } = at;
  const others = answering.filter(
    (one) => !isSameAddress(one, at) && !standing.dismissed.some((known) => isSameAddress(known, one)),
  );
  if (others.length === 0) return at;
  const seen_at = new Date(now).toISOString();
  const before = standing.rivals.filter((one) => !others.some((other) => isSameAddress(one, other)));
  const rivals = [...before, ...others.map(({ host, port }) => ({ host, port, seen_at }))].slice(-limits.rivals);
  const probation: Probation = standing.probation
    ? { ...standing.probation, reason: "rival" }
    : { reason: "rival", since: seen_at };
  return { ...at, standing: { ...standing, rivals, probation } };
}

/** Puts a device on probation where the neighbour table shows unknown hardware; else learns the hardware address. */
function withHardware(at: Place, { reportedMacs, macOf }: Observation, now: number): Place {
  const mac = macOf(at.host);
  if (mac === null) return at;
  const { standing } = at;
  if (isStrangeMac(mac, standing, reportedMacs)) return { ...at, standing: standingWithStrangeMac(standing, mac, now) };
  const isTrusted = !standing.probation && !standing.former;
  return isTrusted ? { ...at, standing: { ...standing, macs: withMac(standing.macs, mac) } } : at;
}

function withMac(macs: readonly string[], mac: string | null | undefined): readonly string[] {
  return !mac || macs.includes(mac) ? macs : [...macs, mac].slice(-limits.macs);
}
