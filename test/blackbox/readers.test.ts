/** Readers of the stream of events over HTTP: those who come back, those who read slowly, and many at once (next/EVENTS.md). */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EventStream, type Form, type Frame, seqOf } from "../support/event-stream.ts";
import { figure } from "../support/figure.ts";
import { until } from "../support/http-device.ts";
import { flood, startPushingHouse } from "../support/pushing-house.ts";
import { residentMiB } from "../support/resident.ts";
import { isQuick, runs } from "../support/whole.ts";

/** A thousand in whole runs. */
const rounds = runs(isQuick ? 60 : 300, 1_000);
const deno = process.env["ZAPD_TEST_RUNTIME"] === "deno";
const house = await startPushingHouse(20);
afterAll(() => house.dispose());

let opened: EventStream[] = [];
function open(asked: Partial<ConstructorParameters<typeof EventStream>[0]> = {}): EventStream {
  const stream = new EventStream({ to: house.daemon.port, ...asked });
  opened.push(stream);
  return stream;
}

/** Opens so many streams; waits where the slots of closed ones are not free yet. */
async function openMany(count: number, asked: (at: number) => Parameters<typeof open>[0] = () => ({})) {
  const streams = Array.from({ length: count }, (_, at) => open(asked(at)));
  await until("all have their places", async () => {
    await until("all are answered", () => streams.every(({ status }) => status !== 0));
    for (const [at, stream] of streams.entries()) {
      if (stream.status === 200) continue;
      expect(stream.status).toBe(429);
      stream.close();
      streams[at] = open(asked(at));
    }
    return streams.every(({ status }) => status === 200);
  });
  for (const stream of streams) await stream.until(({ type }) => type === "snapshot");
  return streams;
}

function closeAll(): void {
  for (const stream of opened) stream.close();
  opened = [];
}
afterEach(closeAll);

/** A reader of everything, so that the sets are connected and push. */
async function followAll(): Promise<EventStream> {
  const [stream = open()] = await openMany(1);
  const seen = new Set<string>();
  await stream.until((frame) => {
    const { type, devices = [], device_id, state } = frame;
    if (type === "snapshot") for (const { device, state: now } of devices) if (now?.volume) seen.add(device.id);
    if (type === "state.changed" && state.volume) seen.add(device_id);
    return seen.size === house.sets.length;
  });
  return stream;
}

/** Whether the last state of each device has its level. */
function tell(frames: readonly Frame[], levels: ReadonlyMap<string, number>): boolean {
  const states = new Map<string, number>();
  for (const { type, device_id, state } of frames)
    if (type === "state.changed") states.set(device_id, state.volume.level);
  return [...levels].every(([id, level]) => states.get(id) === level);
}

describe("guarantee 2: a reader who breaks off and comes back", () => {
  test.each<[string, Form]>([
    ["Last-Event-ID", "sse"],
    ["since", "lines"],
  ])(
    `${rounds} times at any byte, with %s: nothing twice, nothing lost`,
    async (how, form) => {
      const following = await followAll();
      const begun = await open({ form }).until(({ type }) => type === "snapshot");
      let since = begun.id;
      const seen: Frame[] = [];
      /** The last level of each set. */
      const levels = new Map<string, number>();
      let random = 11;
      const next = (below: number) => {
        random = (random * 48_271) % 2_147_483_647;
        return random % below;
      };
      let changes = 0;
      const change = () => {
        const { id, level } = house.change();
        levels.set(id, level);
        changes++;
      };
      const comeBack = (cutAfter?: number) => {
        const resumed = how === "since" ? { path: `/events?since=${since}` } : { headers: [`last-event-id: ${since}`] };
        return open({ form, ...resumed, ...(cutAfter !== undefined && { cutAfter }) });
      };
      const take = ({ frames }: EventStream) => {
        for (const frame of frames) {
          since = frame.id;
          if (frame.type !== "heartbeat") seen.push(frame);
        }
      };
      for (let round = 0; round < rounds; round++) {
        // The journal keeps the last events: no more are made than it keeps for this reader.
        for (let count = next(4); count > 0 && changes - seen.length < 200; count--) change();
        const stream = comeBack(1 + next(2_500));
        // Some readers leave before anything comes.
        await stream.ended(next(20));
        stream.close();
        take(stream);
      }
      const last = comeBack();
      await until("the last of every set", () => tell([...seen, ...last.frames], levels));
      last.close();
      take(last);
      following.close();
      expect(changes).toBeGreaterThan(rounds / 2);
      expect(seen.map(({ type }) => type).filter((type) => type === "snapshot")).toEqual([]);
      const first = seqOf(begun) + 1;
      expect(seen.map(seqOf)).toEqual(Array.from(seen, (_, at) => first + at));
    },
    120_000,
  );
});

/** The memory of the daemon, in MiB. */
const memory = () => residentMiB(house.daemon.process);

test("guarantee 7: a reader who stops reading gets one snapshot in place of what it missed, and then all events", async () => {
  // A kernel buffers much less at the control socket than over TCP.
  const to = join(house.daemon.stateFolder, "zapd.sock");
  const readers = await openMany(8, (at) => ({ form: at % 2 === 0 ? "sse" : "lines", to }));
  for (const reader of readers) reader.pause();
  await flood(house, 800);
  for (const reader of readers) reader.resume();
  for (const reader of readers) await reader.until(({ reason }) => reason === "lagged");
  const name = "Back again";
  await house.daemon.api("PATCH", `/devices/${house.sets[1]?.id}`, { name });
  for (const reader of readers) {
    await reader.until(({ type, device }) => type === "device.changed" && device.name === name);
    reader.close();
    const reasons = reader.frames.filter(({ type }) => type === "snapshot").map(({ reason }) => reason);
    expect(reasons).toEqual(["start", "lagged"]);
    // No gap before the snapshot, nor after it.
    const lagged = reader.frames.findIndex(({ reason }) => reason === "lagged");
    for (const frames of [reader.frames.slice(0, lagged), reader.frames.slice(lagged)]) {
      const told = frames.filter(({ type }) => type !== "heartbeat").map(seqOf);
      expect(told).toEqual(Array.from(told, (_, at) => (told[0] ?? 0) + at));
    }
  }
}, 60_000);

describe("many readers", () => {
  test("64 readers while 20 sets change: each gets all events in one order, and their memory is freed", async () => {
    const following = await followAll();
    const before = memory();
    const readers = await openMany(63, (at) => ({ form: at % 2 === 0 ? "sse" : "lines" }));
    const levels = new Map<string, number>();
    const turns = isQuick ? 4 : 10;
    for (let round = 0; round < turns; round++) {
      for (let at = 0; at < 20; at++) {
        const { id, level } = house.change();
        levels.set(id, level);
      }
      await Bun.sleep(200);
    }
    await until("everybody has the last of every set", () =>
      [following, ...readers].every(({ frames }) => tell(frames, levels)),
    );
    const orders = readers.map(({ frames }) => frames.filter(({ type }) => type === "state.changed").map(seqOf));
    // Connecting may bring other changes, too.
    const levelsTold = readers[0]?.frames.filter(({ changed }) => changed?.includes("volume.level")) ?? [];
    // One more of each set may have been on its way before.
    expect(levelsTold.length).toBeWithin(20 * turns, 20 * turns + 21);
    for (const order of orders) {
      expect(order).toEqual(orders[0] ?? []);
      expect(order).toEqual(Array.from(order, (_, at) => (order[0] ?? 0) + at));
    }
    closeAll();
    // Closed streams hold no slot.
    await openMany(64);
    closeAll();
    const most = deno ? 64 : 32;
    let left = memory() - before;
    for (let tries = 0; tries < 10 && left >= most; tries++) {
      await Bun.sleep(300);
      left = memory() - before;
    }
    figure(`what 64 readers leave: ${left.toFixed(1)} MiB`);
    expect(left).toBeLessThan(most);
  }, 60_000);
});

describe("guarantee 4: a device that changes fast", () => {
  test("at most ten changes a second become events, and the last of a burst always does", async () => {
    const following = await followAll();
    const { set, id } = house.sets[3] ?? {};
    const from = following.frames.length;
    for (let step = 0; step < 150; step++) {
      set?.setVolume(step % 90);
      await Bun.sleep(10);
    }
    set?.setVolume(95);
    await following.until(({ device_id, state }) => device_id === id && state?.volume?.level === 95);
    following.close();
    // By the time in the events: late ones may arrive closer together.
    const told = following.frames.slice(from).filter(({ device_id }) => device_id === id);
    const times = told.map(({ at }) => Date.parse(at));
    expect(times.length).toBeGreaterThan(10);
    // In any second of the daemon's clock, with some slack for a busy machine.
    const second = 1_000 / house.daemon.speed;
    for (const [at, since] of times.entries())
      expect(times.slice(at).filter((time) => time - since < 0.75 * second).length).toBeLessThanOrEqual(10);
  }, 60_000);
});

test("guarantee 6: a heartbeat carries the newest id to a reader for whom there are no events", async () => {
  const forms: readonly Form[] = ["sse", "lines"];
  const beats = async (form: Form) => {
    const following = await followAll();
    const other = house.sets[5]?.id;
    const filtered = open({ form, path: `/events?types=apps.changed&devices=${other}` });
    const { id: first } = await filtered.until(({ type }) => type === "snapshot");
    const { id, level } = house.change();
    const changed = await following.until(({ device_id, state }) => device_id === id && state?.volume?.level === level);
    const began = performance.now();
    const beat = await filtered.until(({ type }) => type === "heartbeat");
    expect(performance.now() - began).toBeLessThan(16_000);
    expect(seqOf(beat)).toBeGreaterThanOrEqual(seqOf(changed));
    expect(beat.id).not.toBe(first);
    expect(filtered.frames).toHaveLength(2);
    // Who comes back with its id gets nothing of what was before it.
    const again = open({ form, path: `/events?types=state.changed&since=${beat.id}` });
    const { id: resumed } = await again.until(({ type }) => type === "heartbeat");
    expect(again.frames).toHaveLength(1);
    expect(seqOf({ id: resumed })).toBeGreaterThanOrEqual(seqOf(beat));
  };
  await Promise.all(forms.map(beats));
}, 60_000);
