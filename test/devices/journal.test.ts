/** The journal, and whoever follows it: one order, nothing lost, nothing twice, and a snapshot where that cannot be. */
import { describe, expect, test } from "bun:test";
import type { Device, State } from "../../src/api/schemas.ts";
import { Feed } from "../../src/devices/feed.ts";
import {
  Journal,
  type JournalMessage,
  journalLimits,
  type Reader,
  readerLimits,
  type Subscription,
} from "../../src/devices/journal.ts";

const everything: Subscription = { devices: null, types: null, snapshot: true, since: null };
const ids = ["c773fc2f-cb2f-5e1d-9763-7b5f3a2d8001", "c773fc2f-cb2f-5e1d-9763-7b5f3a2d8002"] as const;

function journalOf(count = 2, now?: () => number) {
  const known = Array.from(
    { length: count },
    (_, at) => ids[at] ?? `c773fc2f-cb2f-5e1d-9763-${String(at).padStart(12, "0")}`,
  );
  return new Journal({
    devices: () => known.map((id) => ({ id, show: () => ({ device: { id } as Device, state: null }) })),
    ...(now && { now }),
  });
}

const noted = (journal: Journal, device: string = ids[0], bytes = 1) =>
  journal.publish({ type: "apps.changed", device_id: device, added: ["x".repeat(bytes)], removed: [] });

interface Read {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What a reader is told at once, without waiting. */
async function told(reader: Reader): Promise<Read[]> {
  const all: JournalMessage[] = [];
  for (;;) {
    const next = await Promise.race([reader.next(), Bun.sleep(20).then(() => "nothing" as const)]);
    if (next === "nothing" || next === null) break;
    all.push(...next);
  }
  reader.close();
  return all.map(({ id, event }) => (event ? { id, ...JSON.parse(event.json) } : { id, type: "heartbeat" }));
}

test("a position that drifts slowly is published once it is far from the published one", async () => {
  const journal = journalOf();
  const reader = journal.follow({ ...everything, snapshot: false });
  const feed = new Feed(journal);
  feed.seed([{ id: ids[0] } as Device]);
  const nothing = { app: null, screensaver: null, volume: null, input: null } as const;
  const unnamed = { title: null, artist: null, artwork: false };
  const plays = { status: "playing", duration_ms: 8_000, live: false, rate: 1, ...unnamed } as const;
  // Half as fast as it says; then at the end, where it stays.
  for (let second = 0; second <= 20; second++) {
    const at = `2026-11-22T21:00:${String(second).padStart(2, "0")}.000Z`;
    const playback = { ...plays, position_ms: Math.min(second * 500, 8_000), position_at: at };
    feed.publishState(ids[0], { ...nothing, power: "on", playback, observed_at: at }, "poll");
  }
  const positions = (await told(reader)).flatMap(({ state }) => (state as State)?.playback?.position_ms ?? []);
  expect(positions).toEqual([0, 2_500, 5_000]);
});

describe("guarantee 1: one total order", () => {
  test("a filter leaves gaps, and the heartbeat of one that begins without a snapshot carries the newest id", async () => {
    const journal = journalOf();
    noted(journal);
    const reader = journal.follow({ ...everything, devices: new Set([ids[1]]), snapshot: false });
    noted(journal, ids[0]);
    noted(journal, ids[1]);
    expect((await told(reader)).map(({ id, type }) => [id, type])).toEqual([[`${journal.boot}.3`, "apps.changed"]]);
    expect((await told(journal.follow({ ...everything, snapshot: false })))[0]).toEqual({
      id: `${journal.boot}.3`,
      type: "heartbeat",
    });
  });

  test("types are filtered exactly or by prefix; the end of the daemon is always given", async () => {
    const journal = journalOf();
    const reader = journal.follow({ ...everything, types: ["apps.*"], snapshot: false });
    journal.publish({ type: "discovery.finished", found: 1, added: 0 });
    noted(journal);
    journal.close();
    journal.close();
    noted(journal);
    expect((await told(reader)).map(({ type }) => type)).toEqual(["apps.changed", "daemon.stopping"]);
    expect(await reader.next()).toBeNull();
  });
});

describe("guarantee 2: coming back", () => {
  test("a thousand times at random places: nothing twice and nothing lost", async () => {
    const journal = journalOf();
    let since: string | null = `${journal.boot}.0`;
    const seen: string[] = [];
    let published = 0;
    let random = 7;
    for (let round = 0; round < 1_000; round++) {
      random = (random * 48_271) % 2_147_483_647;
      for (let count = random % 4; count > 0; count--) {
        noted(journal);
        published++;
      }
      const reader: Reader = journal.follow({ ...everything, since });
      for (let reads = random % 3; reads > 0 && seen.length < published; reads--) {
        const next = await reader.next();
        for (const { id, event } of next ?? []) {
          if (event) seen.push(id);
          since = id;
        }
      }
      reader.close();
    }
    for (const { id, type } of await told(journal.follow({ ...everything, since })))
      if (type !== "heartbeat") seen.push(id);
    expect(seen).toEqual(Array.from({ length: published }, (_, at) => `${journal.boot}.${at + 1}`));
  });

  test("the id of another daemon, one that was never given, and one that is too old get a snapshot that says so", async () => {
    let now = 0;
    const journal = journalOf(2, () => now);
    noted(journal);
    const reasonAt = async (since: string) =>
      (await told(journal.follow({ ...everything, snapshot: false, since })))[0];
    expect(await reasonAt("00000000.1")).toMatchObject({ type: "snapshot", reason: "restarted" });
    expect(await reasonAt(`${journal.boot}.7`)).toMatchObject({ reason: "restarted" });
    for (const since of ["what is this", `${journal.boot}.x`, "00000000.1.1"])
      expect(await reasonAt(since)).toMatchObject({ reason: "restarted" });
    expect(await reasonAt(`${journal.boot}.0`)).toMatchObject({ type: "apps.changed" });
    now = journalLimits.ageMs + 1;
    expect(await reasonAt(`${journal.boot}.0`)).toMatchObject({ type: "snapshot", reason: "too_old" });
    expect(await reasonAt("oldest")).toEqual({ id: `${journal.boot}.1`, type: "heartbeat" });
  });

  test("a reader that disconnects during a snapshot gets a whole one", async () => {
    const journal = journalOf(250);
    const reader = journal.follow(everything);
    const [first] = (await reader.next()) ?? [];
    reader.close();
    const read = await told(journal.follow({ ...everything, since: first?.id ?? "" }));
    expect(read.map(({ part, last }) => [part, last])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(read.flatMap(({ devices }) => devices)).toHaveLength(250);
  });

  test("so does one that wanted none at first, when what it missed is no longer kept", async () => {
    const journal = journalOf(250);
    const changes = { ...everything, snapshot: false };
    const [first] = (await journal.follow({ ...changes, since: "00000000.1" }).next()) ?? [];
    const read = await told(journal.follow({ ...changes, since: first?.id ?? "" }));
    expect(read.flatMap(({ devices }) => devices ?? [])).toHaveLength(250);
  });

  test("no more is kept than 1,024 events and 1 MiB", async () => {
    const journal = journalOf();
    for (let count = 0; count < journalLimits.events + 10; count++) noted(journal);
    expect([journal.after(9), journal.after(10)?.length]).toEqual([null, journalLimits.events]);
    expect(await told(journal.follow({ ...everything, since: "oldest" }))).toHaveLength(journalLimits.events);
    for (let count = 0; count < 40; count++) noted(journal, ids[0], 50_000);
    const kept = await told(journal.follow({ ...everything, since: "oldest" }));
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(journalLimits.bytes);
    expect(kept.length).toBeGreaterThan(15);
  });
});

describe("guarantee 7: a reader that is too slow", () => {
  test("gets one snapshot in the place of what it missed, and goes on behind it", async () => {
    let now = 0;
    const journal = journalOf(2, () => now);
    const reader = journal.follow(everything);
    await reader.next();
    for (let count = 0; count <= readerLimits.events; count++) noted(journal);
    const [lagged] = (await reader.next()) ?? [];
    expect(JSON.parse(lagged?.event?.json ?? "")).toMatchObject({ type: "snapshot", reason: "lagged" });
    expect(lagged?.id).toBe(journal.idOf(journal.newest));
    noted(journal);
    now = journalLimits.ageMs + 1;
    noted(journal);
    expect((await told(reader)).map(({ type }) => type)).toEqual(["snapshot"]);
  });

  test("counts only the events that match", async () => {
    const journal = journalOf();
    const reader = journal.follow({ ...everything, devices: new Set([ids[1]]) });
    await reader.next();
    for (let count = 0; count <= readerLimits.events; count++) noted(journal, ids[0]);
    noted(journal, ids[1]);
    expect((await told(reader)).map(({ type }) => type)).toEqual(["apps.changed"]);
  });
});
