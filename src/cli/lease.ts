/** `zapd lease`: takes, renews, frees and lists leases of devices. */
import { hostname, userInfo } from "node:os";
import type { Result } from "../api/client.ts";
import { exits } from "../api/errors.ts";
import { leaseLimits } from "../api/limits.ts";
import { allWord, isOfGroup, labelPrefix } from "../api/routes.ts";
import type { Device } from "../api/schemas.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { localTime, shellQuote } from "../system/text.ts";
import { tryOr } from "../system/try-or.ts";
import { type Called, call, groupOf } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { table } from "./print.ts";
import { findVerb, parseDuration } from "./words.ts";

const defaultTtlMs = 600_000;
/** The lease asked for while waiting for several devices at once: two may be given, and the one not wanted expires after this. */
const provisionalTtlS = 5;
/** How long to wait before asking a daemon again that did not let us wait. */
const retryAfterMs = 1_000;

const verbs: Readonly<Record<string, (context: Context) => Promise<void>>> = {
  take,
  renew,
  free,
  break: (context) => free(context, { force: "true" }),
  list,
};

export async function lease(context: Context): Promise<void> {
  const [verb = "take"] = context.words;
  await findVerb(verbs, verb)(context);
}

async function take(context: Context): Promise<void> {
  printTaken(context, await takeLease(context, wantedLease(context, defaultTtlMs)));
}

async function renew(context: Context): Promise<void> {
  if (!process.env["ZAPD_LEASE"]) throw new UsageError("which lease? Set $ZAPD_LEASE to its token");
  const id = oneDevice(context);
  const { lease, name } = (await call(context, "getDevice", { id })).data;
  // The daemon would give a new lease, with a token that is not the one in the variable.
  if (!lease)
    throw CommandError.of({
      code: "device_leased",
      message: `${name} is not leased, so there is nothing to renew`,
      hint: `Lease it: zapd lease -d ${shellQuote(name)}`,
    });
  printTaken(context, await callLease(context, id, { ...wantedLease(context, defaultTtlMs, lease.owner), waitMs: 0 }));
}

function printTaken(context: Context, called: Called<"takeLease">): void {
  const { device, token } = called.data;
  if (context.json) return context.print(called.text);
  context.print(token);
  context.say(
    printable(`${device.name} is yours until ${localTime(called.data.until)}, with this token in $ZAPD_LEASE`),
  );
}

async function free(context: Context, query: { readonly force?: "true" } = {}): Promise<void> {
  const called = await call(context, "freeLease", { id: oneDevice(context), query });
  const { device, freed } = called.data;
  context.reportDone(called, freed ? `${device.name} is free` : `${device.name} was not leased`);
}

async function list(context: Context): Promise<void> {
  const called = await call(context, "listDevices", {});
  const rows = called.data.flatMap(({ name, lease }) =>
    lease ? [[name, lease.owner, localTime(lease.until), lease.note ?? ""]] : [],
  );
  if (!context.json && rows.length === 0) return context.say("no device is leased");
  const columns = [
    { title: "NAME", shrinkOrder: 0 },
    { title: "OWNER", shrinkOrder: 1 },
    { title: "UNTIL" },
    { title: "NOTE", shrinkOrder: 2 },
  ];
  context.printResult(called, () => table(columns, rows, context.width));
}

function oneDevice(context: Context): string {
  if (groupOf(context)) throw new UsageError("which device? A group cannot be leased");
  return context.device;
}

/** The lease that the options ask for. */
export interface WantedLease {
  readonly owner: string;
  readonly note: string | undefined;
  readonly ttl_s: number;
  readonly waitMs: number;
}

/** Reads the options; fails with UsageError. */
export function wantedLease(context: Context, usualMs: number, usualOwner = defaultOwner()): WantedLease {
  const [ttl, wait] = [context.option("ttl"), context.option("wait")];
  const ttl_s = Math.ceil((ttl === undefined ? usualMs : parseDuration("--ttl", ttl)) / 1_000);
  if (ttl_s > leaseLimits.ttlS)
    throw new UsageError("--ttl is an hour at most: renew a lease that you need for longer");
  return {
    owner: context.option("owner") ?? usualOwner,
    note: context.option("note"),
    ttl_s,
    waitMs: wait === undefined ? 0 : parseDuration("--wait", wait),
  };
}

export function defaultOwner(): string {
  return `${userName()}@${hostname()}`.slice(0, leaseLimits.owner);
}

/** The user's name. A container may have no entry for the user, and Bun 1.4.5 calls everyone without $USER "unknown". */
function userName(): string {
  const { USER, LOGNAME } = process.env;
  return USER || LOGNAME || tryOr(() => userInfo().username, "somebody");
}

/** Takes a lease of the device of `-d`, or of the first free one of its group. Fails with CommandError: `device_leased` where none is free. */
export async function takeLease(context: Context, wanted: WantedLease): Promise<Called<"takeLease">> {
  const group = groupOf(context);
  if (group === undefined) {
    // A wait takes several calls: another device may have the name, or be the default, by the next.
    const id =
      wanted.waitMs === 0 ? context.device : (await call(context, "getDevice", { id: context.device })).data.id;
    return callLease(context, id, wanted);
  }
  const members = await membersOf(context, group);
  for (const { id } of members) {
    try {
      return await callLease(context, id, { ...wanted, waitMs: 0 });
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
  if (wanted.waitMs === 0) throw noneFreeError(group, await membersOf(context, group));
  return waitForFirst(context, members, wanted);
}

/** Waits for all of them at once, takes the first that becomes free, and aborts the other calls. */
async function waitForFirst(
  context: Context,
  members: readonly Device[],
  wanted: WantedLease,
): Promise<Called<"takeLease">> {
  const taken = new AbortController();
  const briefly = { ...wanted, ttl_s: Math.min(wanted.ttl_s, provisionalTtlS) };
  const waiting = members.map(async ({ id }) => callLease(context, id, briefly, taken.signal));
  let won: Called<"takeLease"> | undefined;
  try {
    won = await Promise.any(waiting);
    const { device, token } = won.data;
    return await callLease(context, device.id, { ...wanted, waitMs: 0 }, undefined, token);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  } finally {
    taken.abort();
    // Two devices may have become free at the same moment. A lease that is not freed expires soon.
    for (const one of await Promise.allSettled(waiting))
      if (one.status === "fulfilled" && one.value !== won) await freeLease(context, one.value.data).catch(() => {});
  }
}

/** The devices of a group, those that are free and online first. Fails with `group_not_found` for an empty group. */
async function membersOf(context: Context, group: string): Promise<Device[]> {
  const { data } = await call(context, "listDevices", {});
  const members = data.filter(({ labels }) => isOfGroup(labels, group));
  if (members.length === 0) {
    const label = JSON.stringify(group.slice(labelPrefix.length));
    const message = group === allWord ? "No device is known yet" : `No device has the label ${label}`;
    const hint =
      data.length === 0
        ? "Search with zapd discover, or add one by its address: zapd add 192.168.1.40"
        : "Label a device: zapd label NAME add LABEL";
    throw new CommandError(message, exits.notFound, hint, { code: "group_not_found" });
  }
  const rank = ({ lease, status }: Device) => (lease ? 3 : ["online", "unknown", "offline"].indexOf(status));
  return members.toSorted((one, other) => rank(one) - rank(other));
}

function noneFreeError(group: string, members: readonly Device[]): CommandError {
  const all = members.map(({ name, lease }) =>
    lease ? `${name} until ${localTime(lease.until)} (${lease.owner})` : `${name} (busy)`,
  );
  const leased = members.find(({ lease }) => lease);
  const orTake = leased ? `, or take one from its holder: zapd lease break -d ${shellQuote(leased.name)}` : "";
  return new CommandError(
    `No device of ${group} is free`,
    exits.refused,
    `${leased ? "Leased" : "In use"}: ${all.join(", ")}. Wait for one with --wait 10m${orTake}`,
    { code: "device_leased" },
  );
}

/** Whether another has the device, or a command runs there. `device_leased` without a lease means that our own lease has ended. */
function isInUse(error: unknown): boolean {
  if (!(error instanceof CommandError)) return false;
  return error.code === "device_busy" || (error.code === "device_leased" && error.details?.lease !== null);
}

/** Takes the lease of one device, in several calls where the wait is longer than one may be. With the token `lease`, renews it. */
export async function callLease(
  context: Context,
  id: string,
  { owner, note, ttl_s, waitMs }: WantedLease,
  signal?: AbortSignal,
  lease?: string,
): Promise<Called<"takeLease">> {
  const end = performance.now() + waitMs;
  for (;;) {
    const askedAt = performance.now();
    const secondsLeft = Math.max(0, Math.ceil((end - askedAt) / 1_000));
    const wait_s = Math.min(secondsLeft, leaseLimits.waitS);
    try {
      const body = { owner, ttl_s, wait_s, ...(note !== undefined && { note }) };
      return await call(
        context,
        "takeLease",
        { id, body, signal, lease },
        { quiet: signal !== undefined || context.json },
      );
    } catch (error) {
      if (!isInUse(error) || secondsLeft <= wait_s) throw error;
      // Where too many wait already, the daemon answers at once.
      const early = askedAt + wait_s * 1_000 - performance.now();
      await sleep(Math.max(0, Math.min(early, retryAfterMs)), signal);
    }
  }
}

/** Frees a lease. Fails with CommandError; the lease then expires by itself. */
export async function freeLease(
  context: Context,
  { device, token }: Pick<Result<"takeLease">, "device" | "token">,
): Promise<void> {
  const signal = AbortSignal.timeout(5_000);
  await call(context, "freeLease", { id: device.id, lease: token, signal }, { quiet: true });
}
