/** Those who read the stream of events, over HTTP: who comes back, who reads slowly, and how many there are (next/EVENTS.md). */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EventStream, type Form, type Frame, seqOf } from "../support/event-stream.ts";
import { figure } from "../support/figure.ts";
import { until } from "../support/http-device.ts";
import { type PushingHouse, startPushingHouse } from "../support/pushing-house.ts";
import { residentMiB } from "../support/resident.ts";
import { isQuick, runs } from "../support/whole.ts";

/** A thousand where everything is tried. */
const rounds = runs(isQuick ? 60 : 300, 1_000);
const deno = process.env["ZAPD_TEST_RUNTIME"] === "deno";
let house: PushingHouse;
beforeAll(async () => {
  house = await startPushingHouse(20);
}, 60_000);
afterAll(() => house.dispose());

let opened: EventStream[] = [];
function open(asked: Partial<ConstructorParameters<typeof EventStream>[0]> = {}): EventStream {
  const stream = new EventStream({ to: house.daemon.port, ...asked });
  opened.push(stream);
  return stream;
}

/** Opens so many that follow from the start; the places of those who have just left are waited for. */
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

/** Somebody who follows all the while, so that the sets are connected and push. */
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

describe("guarantee 2: who breaks off and comes back", () => {
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
      /** What each set was told to be last. */
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
        // The journal keeps what this reader has not read yet.
        for (let count = next(4); count > 0 && changes - seen.length < 200; count--) change();
        const stream = comeBack(1 + next(2_500));
        // Some leave though nothing more comes.
        await stream.ended(next(20));
        stream.close();
        take(stream);
      }
      const last = comeBack();
      await until("the last of every set", () => {
        const states = new Map<string, number>();
        for (const { type, device_id, state } of [...seen, ...last.frames])
          if (type === "state.changed") states.set(device_id, state.volume.level);
        return [...levels].every(([id, level]) => states.get(id) === level);
      });
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

/** Commands that fail before they reach a set, each told in an event of some 4 KB: so many, and more than any kernel keeps for a reader. */
async function flood(count: number): Promise<void> {
  const id = house.sets[0]?.id;
  const body = { keys: [...Array(255).fill("volume-down"), "nothing"] };
  let left = count;
  const call = async () => {
    while (left-- > 0) {
      const { status, body: answered } = await house.daemon.api("POST", `/devices/${id}/remote/sequence`, body);
      // A machine so busy that the daemon takes it for asleep is told of, too.
      if (status !== 400 && answered.error?.code !== "device_busy")
        throw new Error(`the flood was answered ${status}: ${JSON.stringify(answered)}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, call));
}

describe("guarantee 7: who stops reading", () => {
  const socket = () => join(house.daemon.stateFolder, "zapd.sock");

  /** Those who have stalled read again. */
  async function goOn(readers: readonly EventStream[]): Promise<void> {
    for (const reader of readers) reader.resume();
    for (const reader of readers) await reader.until(({ reason }) => reason === "lagged");
    // Another each time: what changes nothing is not told.
    const name = `Back again ${readers.length}`;
    await house.daemon.api("PATCH", `/devices/${house.sets[1]?.id}`, { name });
    for (const reader of readers) {
      await reader.until(({ type, device }) => type === "device.changed" && device.name === name);
      reader.close();
      const reasons = reader.frames.filter(({ type }) => type === "snapshot").map(({ reason }) => reason);
      expect(reasons).toEqual(["start", "lagged"]);
      // Without a gap before it, nor behind it.
      const lagged = reader.frames.findIndex(({ reason }) => reason === "lagged");
      for (const frames of [reader.frames.slice(0, lagged), reader.frames.slice(lagged)]) {
        const told = frames.filter(({ type }) => type !== "heartbeat").map(seqOf);
        expect(told).toEqual(Array.from(told, (_, at) => (told[0] ?? 0) + at));
      }
    }
  }

  test("gets one snapshot in the place of what it missed, and what comes after", async () => {
    // A kernel keeps much less for a reader at the control socket than over TCP.
    const readers = await openMany(8, (at) => ({ form: at % 2 === 0 ? "sse" : "lines", to: socket() }));
    for (const reader of readers) reader.pause();
    await flood(800);
    await goOn(readers);
  }, 60_000);

  const bounded = async () => {
    // So many, over the port and the control socket, that the runtime's own coming and going of some 50 MiB is little beside them.
    const stalled = 200;
    const asked = (at: number): Parameters<typeof open>[0] => ({
      form: at % 2 === 0 ? "sse" : "lines",
      to: at < 50 ? house.daemon.port : socket(),
    });
    // Some who read cost what making events costs.
    await openMany(20, asked);
    await flood(4_000);
    closeAll();
    await Bun.sleep(3_000);
    const before = memory();
    const readers = await openMany(stalled, asked);
    for (const reader of readers) reader.pause();
    // 16 MB for each.
    await flood(4_000);
    // What nobody holds any more is given back when the runtime comes to it.
    let each = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 20 && (tries < 6 || each >= 1); tries++) {
      await Bun.sleep(500);
      each = Math.min(each, (memory() - before) / stalled);
    }
    figure(`a reader that stalls: ${each.toFixed(2)} MiB`);
    expect(each).toBeLessThan(1);
    await goOn(readers);
  };
  if (!isQuick) test("costs less than 1 MiB, over TCP as well", bounded, 120_000);
});

describe("many who read", () => {
  test("64, while 20 sets change: each is told all of it, in one order, and nothing is left of them", async () => {
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
    const isLast = (frames: readonly Frame[]) => {
      const states = new Map<string, number>();
      for (const { type, device_id, state } of frames)
        if (type === "state.changed") states.set(device_id, state.volume.level);
      return [...levels].every(([id, level]) => states.get(id) === level);
    };
    await until("everybody has the last of every set", () =>
      [following, ...readers].every(({ frames }) => isLast(frames)),
    );
    const orders = readers.map(({ frames }) => frames.filter(({ type }) => type === "state.changed").map(seqOf));
    // A set may have something else to tell, too: what was learned of it last when it was connected.
    const levelsTold = readers[0]?.frames.filter(({ changed }) => changed?.includes("volume.level")) ?? [];
    // And the last that each was told before may have been on its way.
    expect(levelsTold.length).toBeWithin(20 * turns, 20 * turns + 21);
    for (const order of orders) {
      expect(order).toEqual(orders[0] ?? []);
      expect(order).toEqual(Array.from(order, (_, at) => (order[0] ?? 0) + at));
    }
    closeAll();
    // Nobody who has left holds a place.
    await openMany(64);
    closeAll();
    await Bun.sleep(3_000);
    const left = memory() - before;
    figure(`what 64 readers leave: ${left.toFixed(1)} MiB`);
    expect(left).toBeLessThan(deno ? 64 : 32);
  }, 60_000);

  test("the 65th is refused with what to do about it; the control socket counts nobody", async () => {
    await openMany(64);
    const { status, body } = await house.daemon.api("GET", "/events");
    expect([status, body.error.code, body.error.hint]).toEqual([
      429,
      "too_many_streams",
      expect.stringContaining("control socket"),
    ]);
    const socket = join(house.daemon.stateFolder, "zapd.sock");
    await openMany(70, () => ({ to: socket }));
  }, 60_000);
});

describe("guarantee 4: a device that changes faster than anybody reads", () => {
  test("ten changes a second are told of it at most, and the last of a burst in any case", async () => {
    const following = await followAll();
    const { set, id } = house.sets[3] ?? {};
    const from = following.frames.length;
    for (let step = 0; step < 300; step++) {
      set?.setVolume(step % 90);
      await Bun.sleep(10);
    }
    set?.setVolume(95);
    await following.until(({ device_id, state }) => device_id === id && state?.volume?.level === 95);
    following.close();
    // By the events' own time: what comes late here may come closer together.
    const told = following.frames.slice(from).filter(({ device_id }) => device_id === id);
    const times = told.map(({ at }) => Date.parse(at));
    expect(times.length).toBeGreaterThan(10);
    // In any second of the daemon's clock; a busy machine stamps some a little after they were let out.
    const second = 1_000 / house.daemon.speed;
    for (const [at, since] of times.entries())
      expect(times.slice(at).filter((time) => time - since < 0.75 * second).length).toBeLessThanOrEqual(10);
  }, 60_000);
});

describe("guarantee 6: a heartbeat", () => {
  test.each<Form>(["sse", "lines"])(
    "carries the newest id to who is told nothing (%s)",
    async (form) => {
      const following = await followAll();
      const other = house.sets[5]?.id;
      const [filtered = open()] = await openMany(1, () => ({
        form,
        path: `/events?types=apps.changed&devices=${other}`,
      }));
      const { id: first } = await filtered.until(({ type }) => type === "snapshot");
      const { id, level } = house.change();
      const changed = await following.until(
        ({ device_id, state }) => device_id === id && state?.volume?.level === level,
      );
      const began = performance.now();
      const beat = await filtered.until(({ type }) => type === "heartbeat");
      expect(performance.now() - began).toBeLessThan(16_000);
      expect(seqOf(beat)).toBeGreaterThanOrEqual(seqOf(changed));
      expect(beat.id).not.toBe(first);
      expect(filtered.frames).toHaveLength(2);
      filtered.close();
      following.close();
      // Whoever comes back with it is told nothing of what was before it.
      const again = open({ form, path: `/events?types=state.changed&since=${beat.id}` });
      const { id: resumed } = await again.until(({ type }) => type === "heartbeat");
      expect(again.frames).toHaveLength(1);
      expect(seqOf({ id: resumed })).toBeGreaterThanOrEqual(seqOf(beat));
      again.close();
    },
    60_000,
  );
});
