/** Readers of the stream of events, in real time and on each runtime: one that stops reading, and 64 at once (next/EVENTS.md, guarantee 7). */
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { freePort, inspectorOfBun, type Runtime } from "../support/daemon.ts";
import { EventStream, seqOf } from "../support/event-stream.ts";
import { figure } from "../support/figure.ts";
import { flood, type PushingHouse } from "../support/pushing-house.ts";
import { leastResidentMiB } from "../support/resident.ts";
import { percentile } from "./bench/figures.ts";
import { part, some } from "./length.ts";
import { buildOnce, runtimes, startOn } from "./reading.ts";

const setsChanging = 20;
/** Five times a second. */
const changeEveryMs = 200;

beforeAll(buildOnce, 300_000);

/** Makes a runtime collect its garbage. */
async function collectGarbage(runtime: Runtime, inspector: number): Promise<void> {
  const isV8 = runtime === "deno";
  const socket = new WebSocket(isV8 ? await inspectorOfDeno(inspector) : inspectorOfBun(inspector));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.onopen = () =>
    socket.send(JSON.stringify({ id: 1, method: isV8 ? "HeapProfiler.collectGarbage" : "Heap.gc" }));
  socket.onmessage = ({ data }) => {
    const { id, error } = JSON.parse(String(data));
    if (id === 1) error ? reject(new Error(error.message)) : resolve();
  };
  socket.onerror = () => reject(new Error(`the inspector of ${runtime} does not answer`));
  await promise.finally(() => socket.close());
}

async function inspectorOfDeno(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as { readonly webSocketDebuggerUrl: string }[];
  return target?.webSocketDebuggerUrl ?? "";
}

/** A daemon with sets that change, and readers of its events. */
class Readers implements AsyncDisposable {
  readonly house: PushingHouse;
  readonly #collect: () => Promise<void>;
  #opened: EventStream[] = [];

  private constructor(house: PushingHouse, collect: () => Promise<void>) {
    this.house = house;
    this.#collect = collect;
  }

  static async on(runtime: Runtime): Promise<Readers> {
    const inspector = await freePort();
    const house = await startOn(runtime, setsChanging, { inspector });
    return new Readers(house, () => collectGarbage(runtime, inspector));
  }

  /** Opens so many streams: over TCP, or at these places in turn. */
  async follow(count: number, places: readonly (number | string)[] = [this.house.daemon.port]): Promise<EventStream[]> {
    const streams: EventStream[] = [];
    for (let at = 0; at < count; at++) {
      const stream = new EventStream({ to: places[at % places.length] ?? 0 });
      this.#opened.push(stream);
      await stream.until(({ type }) => type === "snapshot");
      streams.push(stream);
    }
    return streams;
  }

  /** Closes all streams. */
  leave(): void {
    for (const stream of this.#opened) stream.close();
    this.#opened = [];
  }

  /** The least resident MiB in the three seconds after a garbage collection. */
  async held(): Promise<number> {
    await this.#collect();
    return leastResidentMiB(this.house.daemon.process);
  }

  /** Every set changes five times a second for so long; each change with its time. */
  async changing(ms: number): Promise<{ id: string; level: number; at: number }[]> {
    const changes: { id: string; level: number; at: number }[] = [];
    const end = performance.now() + ms;
    const every = changeEveryMs / setsChanging;
    // Late changes are not made up for: more than ten a second of one set are merged.
    for (let due = performance.now(); due < end; due = Math.max(due + every, performance.now())) {
      await Bun.sleep(Math.max(0, due - performance.now()));
      const at = performance.now();
      changes.push({ ...this.house.change(), at });
    }
    return changes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave();
    await this.house.dispose();
  }
}

// Memory does not depend on speed: the runtimes are measured side by side.
test.concurrent.each(runtimes)(
  "under %s, one that stops reading for 50 s costs 1 MiB at most, and gets one snapshot in the place of what it missed",
  async (runtime) => {
    await using all = await Readers.on(runtime);
    const { house } = all;
    const count = 32;
    // A kernel buffers much less at the control socket than over TCP.
    const readers = await all.follow(count, [house.daemon.port, join(house.daemon.stateFolder, "zapd.sock")]);
    // First with all of them reading, for the memory of the events themselves.
    const spell = async () => {
      const changes = all.changing(some(50_000, 5_000));
      await flood(house, 3_000);
      await changes;
    };
    await spell();
    const before = await all.held();
    for (const reader of readers) reader.pause();
    await spell();
    const each = ((await all.held()) - before) / count;
    figure(`${runtime}: a reader that stops reading: ${each.toFixed(2)} MiB`);
    expect(each).toBeLessThanOrEqual(1);
    for (const reader of readers) reader.resume();
    for (const reader of readers) {
      await reader.until(({ reason }) => reason === "lagged");
      expect(reader.frames.filter(({ type }) => type === "snapshot").map(({ reason }) => reason)).toEqual([
        "start",
        "lagged",
      ]);
    }
    // It goes on live.
    const { id, level } = house.change();
    for (const reader of readers)
      await reader.until(({ device_id, state }) => device_id === id && state?.volume?.level === level);
  },
  240_000,
);

test.each(runtimes)(
  "under %s, 64 readers have the last of what 20 sets do within 50 ms in 99 of 100 cases, in one order, and nothing is left of them",
  async (runtime) => {
    await using all = await Readers.on(runtime);
    const followAll = async () => {
      const readers = await all.follow(64);
      await all.changing(some(5_000, 1_000));
      await Bun.sleep(1_000);
      return readers;
    };
    // A first round warms up: a runtime gives the memory of so many streams back late.
    await followAll();
    all.leave();
    await Bun.sleep(1_000);
    const before = await all.held();
    const readers = await followAll();
    const took: number[] = [];
    for (let round = 0; round < some(6, 1); round++) {
      // Earlier frames are dropped, to keep this process small.
      for (const { frames, times } of readers) frames.length = times.length = 0;
      const changes = await all.changing(some(10_000, 2_000));
      await Bun.sleep(1_000);
      const lasts = changes.map(() => 0);
      const orders = readers.map(({ frames, times }) => {
        const told = frames.map((frame, at) => ({ frame, time: times[at] ?? 0 }));
        const states = told.filter(({ frame }) => frame.type === "state.changed");
        const ofSet = Map.groupBy(states, ({ frame }) => String(frame["device_id"]));
        for (const [number, { id, level, at: since }] of changes.entries()) {
          // In the order in which they were made.
          const next = ofSet.get(id)?.shift();
          expect([number, next?.frame["state"].volume.level]).toEqual([number, level]);
          lasts[number] = Math.max(lasts[number] ?? 0, (next?.time ?? 0) - since);
        }
        return states.map(({ frame }) => seqOf(frame));
      });
      for (const order of orders) expect(order).toEqual(orders[0] ?? []);
      took.push(...lasts);
    }
    const [p50, p99] = [percentile(took, 0.5), percentile(took, 0.99)];
    figure(`${runtime}: the last of 64 readers has it after ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
    // On a quiet machine.
    if (part === 1) expect(p99).toBeLessThanOrEqual(50);
    all.leave();
    const left = (await all.held()) - before;
    figure(`${runtime}: what 64 readers leave: ${left.toFixed(1)} MiB`);
    expect(left).toBeLessThan(32);
  },
  240_000,
);
