/** Who has a device: by itself, with devices that are hooks. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../../src/api/errors.ts";
import { type LeaseHooks, Leases } from "../../src/devices/leases.ts";
import { Queue } from "../../src/devices/queue.ts";
import { codeOf, failureOf, outcomeOf } from "../support/failure.ts";
import { folderForEach } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { neverAborted } from "./harness.ts";

const folderOf = folderForEach();
let folder: string;
let path: string;
let told: string[];
const opened: Leases[] = [];
beforeEach(() => {
  folder = folderOf();
  path = join(folder, "state", "leases.json");
  mkdirSync(join(folder, "state"));
  told = [];
});
afterEach(async () => {
  for (const leases of opened.splice(0)) {
    leases.close();
    await leases.settled();
  }
});

async function open(hooks: Partial<LeaseHooks> = {}): Promise<Leases> {
  const leases = await Leases.open({
    path,
    damaged: (problem) => told.push(problem),
    failed: () => told.push("not kept"),
  });
  leases.connect({
    nameOf: (id) => id,
    whenIdle: async () => {},
    releaseKey: (id) => told.push(`let go of ${id}`),
    closeConsole: (id) => told.push(`detached ${id}`),
    changed: (id, lease, why) => told.push(`${id} ${why} ${lease?.owner ?? "nobody"}`),
    ...hooks,
  });
  opened.push(leases);
  return leases;
}

const wanted = (owner: string, more: { ttl_s?: number; wait_s?: number } = {}) => ({
  owner,
  ttl_s: 60,
  wait_s: 0,
  ...more,
});
/** A command that runs until nobody waits for it. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** Whether a caller is let in: to a device that nobody has, or that is its own. */
function admitted(leases: Leases, id: string, carried?: string): string {
  return outcomeOf(() => (leases.check(id, carried) === null ? "free" : "own"));
}

test("a token opens its own device, and does not stand in the way at others", async () => {
  const leases = await open();
  const { token: a } = await leases.take("a", wanted("ada"), undefined, neverAborted);
  // A key that another caller held down is up.
  expect(told).toEqual(["let go of a", "a taken ada"]);
  expect([admitted(leases, "a"), admitted(leases, "a", a), admitted(leases, "b", a)]).toEqual([
    "device_leased",
    "own",
    "free",
  ]);
  const { token: b } = await leases.take("b", wanted("ada"), a, neverAborted);
  for (const both of [`${a}, ${b}`, `${b},${a}`])
    expect([admitted(leases, "a", both), admitted(leases, "b", both), admitted(leases, "c", both)]).toEqual([
      "own",
      "own",
      "free",
    ]);
  // Nor does it renew another's lease.
  expect(await codeOf(leases.take("a", wanted("bob"), b, neverAborted))).toBe("device_leased");
  expect((await leases.take("a", wanted("ada"), `${b}, ${a}`, neverAborted)).token).toBe(a);
  // A list of guesses is no way in.
  expect(admitted(leases, "a", [...Array(2_048).fill("guess"), a].join(","))).toBe("device_leased");
  await leases.release("b", b, false);
  expect([admitted(leases, "a", `${a},${b}`), admitted(leases, "b", `${a},${b}`)]).toEqual(["own", "device_leased"]);
});

test("a caller may hold the devices of a whole house", async () => {
  const leases = await open();
  const ids = Array.from({ length: 60 }, (_, index) => `set-${index}`);
  const given = await Promise.all(ids.map((id) => leases.take(id, wanted("ada"), undefined, neverAborted)));
  const carried = given.map(({ token }) => token).join(",");
  expect(new Set(ids.map((id) => admitted(leases, id, carried)))).toEqual(new Set(["own"]));
  const last = ids.at(-1) ?? "";
  expect((await leases.take(last, wanted("ada"), carried, neverAborted)).token).toBe(given.at(-1)?.token ?? "");
  expect(await leases.release(last, carried, false)).toBe(true);
});

test("a lease that cannot be saved is not given, and one whose renewal cannot be saved stays as it was", async () => {
  const leases = await open();
  const { token } = await leases.take("a", wanted("ada"), undefined, neverAborted);
  rmSync(join(folder, "state"), { recursive: true });
  writeFileSync(join(folder, "state"), "");
  expect(await codeOf(leases.take("b", wanted("bob"), undefined, neverAborted))).toBe("storage_error");
  const longer = wanted("other", { ttl_s: 3_600 });
  expect(await codeOf(leases.take("a", longer, token, neverAborted))).toBe("storage_error");
  expect(Date.parse(leases.get("a")?.until ?? "") - Date.now()).toBeLessThanOrEqual(60_000);
  expect([leases.get("a")?.owner, leases.get("b"), admitted(leases, "b")]).toEqual(["ada", null, "free"]);
  // It is given back all the same, and somebody hears that this is not on disk.
  expect([await leases.release("a", token, false), leases.isEmpty, told.includes("not kept")]).toEqual([
    true,
    true,
    true,
  ]);
});

test("running commands end first, or the lease is not given", async () => {
  const busy = new ZapdError("device_busy", "is in the midst of something");
  let settling = Promise.reject<void>(busy);
  const leases = await open({ whenIdle: () => settling });
  expect(await codeOf(leases.take("a", wanted("ada"), undefined, neverAborted))).toBe("device_busy");
  const { promise, resolve } = Promise.withResolvers<void>();
  settling = promise;
  const taking = leases.take("a", wanted("bob"), undefined, neverAborted);
  expect([admitted(leases, "a"), leases.get("a")]).toEqual(["device_leased", null]);
  resolve();
  await taking;
  expect([leases.get("a")?.owner, told.filter((one) => one.startsWith("a "))]).toEqual(["bob", ["a taken bob"]]);
});

test("one that waits for a running command can be broken: its caller learns that, and the next one has its turn", async () => {
  const leases = await open({ whenIdle: (_id, { signal }) => rejectOnAbort(signal) });
  const first = failureOf(leases.take("a", wanted("ada", { wait_s: 60 }), undefined, neverAborted));
  const gone = new AbortController();
  const next = codeOf(leases.take("a", wanted("bob", { wait_s: 60 }), undefined, gone.signal));
  // Only with `force`: nobody has its token yet.
  expect([await leases.release("a", undefined, false), await leases.release("a", undefined, true)]).toEqual([
    false,
    true,
  ]);
  expect(await first).toBe("device_leased: a was not leased: its lease ended before it began (broken)");
  expect(outcomeOf(() => leases.check("a", undefined))).toBe("device_leased");
  gone.abort(new ZapdError("internal_error", "hung up"));
  expect([await next, leases.isEmpty, told.filter((one) => one.startsWith("a "))]).toEqual([
    "internal_error",
    true,
    [],
  ]);
});

test("a caller that waits is given the lease after a long command; one that does not wait learns at once that it is busy", async () => {
  const queue = new Queue();
  const leases = await open({ whenIdle: (_id, turn) => queue.run(turn, async () => {}) });
  const { promise, resolve } = Promise.withResolvers<void>();
  const length = { expectedMs: 60_000, minimumMs: 60_000 };
  const sequence = queue.run({ signal: neverAborted, ...length }, () => promise);
  expect(await codeOf(leases.take("a", wanted("hurried"), undefined, neverAborted))).toBe("device_busy");
  const taking = leases.take("a", wanted("ada", { wait_s: 60 }), undefined, neverAborted);
  resolve();
  await sequence;
  await taking;
  expect(leases.get("a")?.owner).toBe("ada");
});

test("a caller that hangs up before it has the token leaves the device to the next", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const leases = await open({ whenIdle: () => promise });
  const gone = new AbortController();
  const first = codeOf(leases.take("a", wanted("gone"), undefined, gone.signal));
  const next = leases.take("a", wanted("next", { wait_s: 60 }), undefined, neverAborted);
  gone.abort(new ZapdError("internal_error", "hung up"));
  resolve();
  expect([await first, (await next).token.length > 30, leases.get("a")?.owner]).toEqual([
    "internal_error",
    true,
    "next",
  ]);
  expect(told.filter((one) => one.startsWith("a "))).toEqual(["a taken next"]);
});

test("the lease of a removed device ends, and is published", async () => {
  const leases = await open();
  const { token } = await leases.take("a", wanted("ada"), undefined, neverAborted);
  const over = leases.check("a", token);
  leases.drop("a");
  expect([over?.aborted, leases.isEmpty]).toEqual([true, true]);
  expect(told.slice(-3)).toEqual(["let go of a", "detached a", "a removed nobody"]);
  await leases.settled();
  expect(JSON.parse(readFileSync(path, "utf8")).leases).toEqual({});
});

test("a lease that ends while it is being saved is not given, and not published", async () => {
  const leases = await open();
  for (const end of [() => leases.drop("a"), () => void leases.release("a", undefined, true)]) {
    const taking = codeOf(leases.take("a", wanted("ada"), undefined, neverAborted));
    for (let turn = 0; turn < 10_000 && leases.get("a") === null; turn++) await Promise.resolve();
    end();
    expect([await taking, leases.isEmpty, told.filter((one) => one.startsWith("a "))]).toEqual([
      "device_leased",
      true,
      [],
    ]);
  }
});

test("one that ends before it is given leaves the device to the next, who keeps it; and one that is broken is not renewed", async () => {
  const settling: (() => void)[] = [];
  const leases = await open({ whenIdle: () => new Promise((resolve) => settling.push(resolve)) });
  const first = codeOf(leases.take("a", wanted("ada"), undefined, neverAborted));
  const next = leases.take("a", wanted("bob", { wait_s: 60 }), undefined, neverAborted);
  await until("the first one is to be given", () => settling.length === 1);
  leases.drop("a");
  await until("the next one is to be given", () => settling.length === 2);
  settling[0]?.();
  expect(await first).toBe("device_leased");
  settling[1]?.();
  const { token } = await next;
  expect([leases.get("a")?.owner, admitted(leases, "a", token)]).toEqual(["bob", "own"]);
  const renewing = codeOf(leases.take("a", wanted("bob"), token, neverAborted));
  await leases.release("a", undefined, true);
  expect([await renewing, leases.get("a")]).toEqual(["device_leased", null]);
});

test("one that ran out while this machine slept is over at once, also for a call to another device", async () => {
  const leases = await open();
  const { token } = await leases.take("a", wanted("ada"), undefined, neverAborted);
  passTime(70_000);
  expect([admitted(leases, "b", token), admitted(leases, "a")]).toEqual(["device_leased", "free"]);
  await leases.take("c", wanted("bob"), undefined, neverAborted);
  passTime(70_000);
  expect(admitted(leases, "c")).toBe("free");
  wakeUp();
});

test("it is kept no longer than it may last", async () => {
  const before = await open();
  await before.take("a", wanted("ada"), undefined, neverAborted);
  // Of a clock that was set back a year, and of one whose day is over.
  const kept = JSON.parse(readFileSync(path, "utf8"));
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const leases = { a: { ...kept.leases.a, until: at(365 * 86_400_000) }, b: { ...kept.leases.a, until: at(-1) } };
  writeFileSync(path, JSON.stringify({ ...kept, leases }));
  const again = await open();
  expect(Date.parse(again.get("a")?.until ?? "") - Date.now()).toBeLessThanOrEqual(3_600_000);
  expect(again.get("b")).toBe(null);
});

test("all waits end when the daemon stops", async () => {
  const leases = await open();
  await leases.take("a", wanted("ada"), undefined, neverAborted);
  const waiting = codeOf(leases.take("a", wanted("bob", { wait_s: 60 }), undefined, neverAborted));
  leases.close();
  expect([await waiting, leases.get("a")?.owner]).toEqual(["internal_error", "ada"]);
  const late = leases.take("a", wanted("bob", { wait_s: 60 }), undefined, neverAborted);
  expect(await codeOf(late)).toBe("internal_error");
});
