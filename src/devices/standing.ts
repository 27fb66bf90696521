/**
 * Where a device stands: at which addresses it was met, and how far what answers there is believed to be it
 * (SECURITY.md 2.4). Pure: who answered and what time it is are given. An address is host and control port.
 */
import { z } from "zod";
import type { Address } from "../platforms/platform.ts";
import { instant, port } from "../system/schemas.ts";

/** After this many milliseconds without a rival, what answers is plausible. */
export const settlesAfter = 24 * 60 * 60 * 1_000;

const most = { rivals: 4, dismissed: 16, macs: 16 } as const;

/** An address that answers for the device too. */
export interface Rival extends Address {
  readonly seen_at: string;
}

const doubts = ["moved", "rival", "hardware"] as const;

/** Why nothing secret goes to the device now: it moved, two answer for it, or other hardware has its address. */
export interface Probation {
  readonly reason: (typeof doubts)[number];
  readonly since: string;
  /** The hardware's address that was not known, where the neighbour table showed one. */
  readonly mac?: string | undefined;
}

/** What the registry keeps of it. A device without one is where it was first met, and plausible. */
export interface Standing {
  /** Since when it is where it is; missing where it was first met, or where it has been for a day. */
  readonly since?: string | undefined;
  /** The plausible address that it left less than a day ago, or while its probation lasts: who answers there again is it. */
  readonly former?: Address | undefined;
  readonly probation?: Probation | undefined;
  readonly rivals: readonly Rival[];
  /** Rivals that the user knows of, and has dismissed. */
  readonly dismissed: readonly Address[];
  /** Hardware addresses that the neighbour table has shown for it, beside those that it tells itself. */
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

/** A device at the address where it was first met. */
export const firstMet: Standing = { rivals: [], dismissed: [], macs: [] };

/** A device's address, and how it stands there. */
export interface Place extends Address {
  readonly standing: Standing;
}

/** What was seen of a device at one time. */
export interface Observation {
  /** Where it was met; `null` when only the addresses that are known were asked. */
  readonly at: Address | null;
  /** Every address at which its very identity was shown, that one among them. */
  readonly answering: readonly Address[];
  /** Whether it has secrets of its own. */
  readonly hasSecrets: boolean;
  /** Hardware addresses that it has told itself. */
  readonly reportedMacs: readonly string[];
  /** What the neighbour table shows for a host; `null` where it shows nothing. */
  macOf(host: string): string | null;
}

export function isSameAddress(one: Address, other: Address): boolean {
  return one.host === other.host && one.port === other.port;
}

/** How a device stands at a time: a day without a rival makes what answers plausible. */
export function withoutExpired(standing: Standing, now: number): Standing {
  const { since, probation, rivals, dismissed, macs } = standing;
  // Nearly every device, at each look at the health: nothing is to be forgotten.
  if (since === undefined && probation === undefined && rivals.length === 0) return standing;
  const last = [since, probation?.since, ...rivals.map((one) => one.seen_at)].filter((one) => one !== undefined);
  const quiet = now - Math.max(...last.map((one) => Date.parse(one)));
  if (quiet < settlesAfter) return standing;
  return { rivals: [], dismissed, macs: withMac(macs, probation?.mac) };
}

/** Why nothing secret may go to it at a time; `undefined` when it is plausible. */
export function probationAt(standing: Standing | undefined, now: number): Probation | undefined {
  return standing && withoutExpired(standing, now).probation;
}

/** Addresses other than its own to ask whether the device is there: the one that it left, and those of its rivals. */
export function otherAddresses(standing: Standing | undefined, now: number): Address[] {
  if (!standing) return [];
  const { former, rivals } = withoutExpired(standing, now);
  return [...(former ? [former] : []), ...rivals];
}

/**
 * Where a device is, and how it stands there, after it was met. Its home, the last plausible address, wins whenever it
 * answers; whoever else answers then is a rival. Where home is silent, one that moves is followed.
 */
export function placeAfterContact(before: Place, seen: Observation, now: number): Place {
  const standing = withoutExpired(before.standing, now);
  const here: Place = { host: before.host, port: before.port, standing };
  const home = standing.former ?? here;
  const answers = (one: Address) => seen.answering.some((other) => isSameAddress(one, other));
  if (answers(home)) {
    // It was followed to another address wrongly, or has come home.
    const at = isSameAddress(home, here) ? here : { ...home, standing: { ...standing, ...forgiven } };
    return weighed(withRivals(at, seen, now), seen, now);
  }
  if (answers(here) || !seen.at) return weighed(withRivals(here, seen, now), seen, now);
  const { at } = seen;
  const doubted = seen.hasSecrets || standing.probation !== undefined;
  const moved: Standing = {
    ...standing,
    since: new Date(now).toISOString(),
    former: { host: home.host, port: home.port },
    probation: doubted ? { ...standing.probation, reason: "moved", since: new Date(now).toISOString() } : undefined,
    rivals: standing.rivals.filter((one) => !isSameAddress(one, at)),
  };
  return weighed(withRivals({ host: at.host, port: at.port, standing: moved }, seen, now), seen, now);
}

const forgiven = { since: undefined, former: undefined, probation: undefined, rivals: [] } as const;

/** The user says that what answers where the device is now is it; whoever else answered for it is dismissed. */
export function trusted({ host, port, standing }: Place, mac: string | null): Standing {
  const { rivals, dismissed, macs, probation } = standing;
  const known = rivals
    .map((one) => ({ host: one.host, port: one.port }))
    .filter((one) => ![...dismissed, { host, port }].some((other) => isSameAddress(one, other)));
  return {
    rivals: [],
    dismissed: [...dismissed, ...known].slice(-most.dismissed),
    macs: withMac(withMac(macs, probation?.mac), mac),
  };
}

/** How a device stands that is being paired anew at an address: the others that answered for it, where it was among them, are its rivals. */
export function repaired({ standing, ...here }: Place, at: Address, now: number): Standing {
  const seen_at = new Date(now).toISOString();
  const left = [here, ...(standing.former ? [standing.former] : [])].map((one) => ({ ...one, seen_at }));
  const { former: _left, ...rest } = standing;
  return {
    ...rest,
    probation: standing.probation ?? { reason: "moved", since: seen_at },
    rivals: [...standing.rivals, ...left].filter((one) => !isSameAddress(one, at)),
  };
}

/** How a device stands when the neighbour table shows a hardware address for it that is not known. */
export function doubted(standing: Standing, mac: string, now: number): Standing {
  const { probation } = standing;
  if (probation?.mac === mac) return standing;
  const reason = probation?.reason ?? "hardware";
  return { ...standing, probation: { reason, since: new Date(now).toISOString(), mac } };
}

/** Whether the neighbour table shows another hardware address than every known one. */
export function isStrangeMac(mac: string | null, standing: Standing | undefined, told: readonly string[]): boolean {
  const known = [...(standing?.macs ?? []), ...told];
  return mac !== null && known.length > 0 && !known.includes(mac);
}

function withRivals(at: Place, { answering }: Observation, now: number): Place {
  const { standing } = at;
  const others = answering.filter(
    (one) => !isSameAddress(one, at) && !standing.dismissed.some((known) => isSameAddress(known, one)),
  );
  if (others.length === 0) return at;
  const seen_at = new Date(now).toISOString();
  const before = standing.rivals.filter((one) => !others.some((other) => isSameAddress(one, other)));
  const rivals = [...before, ...others.map(({ host, port }) => ({ host, port, seen_at }))].slice(-most.rivals);
  const probation: Probation = standing.probation
    ? { ...standing.probation, reason: "rival" }
    : { reason: "rival", since: seen_at };
  return { ...at, standing: { ...standing, rivals, probation } };
}

function weighed(at: Place, { reportedMacs, macOf }: Observation, now: number): Place {
  const mac = macOf(at.host);
  if (mac === null) return at;
  const { standing } = at;
  if (isStrangeMac(mac, standing, reportedMacs)) return { ...at, standing: doubted(standing, mac, now) };
  const plausible = !standing.probation && !standing.former;
  return plausible && !standing.macs.includes(mac)
    ? { ...at, standing: { ...standing, macs: withMac(standing.macs, mac) } }
    : at;
}

function withMac(macs: readonly string[], mac: string | null | undefined): readonly string[] {
  return !mac || macs.includes(mac) ? macs : [...macs, mac].slice(-most.macs);
}
