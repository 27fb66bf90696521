import { describe, expect, test } from "bun:test";
import type { Failure } from "../../src/cli/failure.ts";
import { type Glimpse, Presses, pauseAfter, Watch } from "../../src/cli/remote/session.ts";

/** A slow set: each press ends when the test says so. */
function slowSet() {
  let now = 0;
  const sent: string[] = [];
  const told: string[] = [];
  const waiting: ((failure: Failure | null) => void)[] = [];
  const presses = new Presses({
    send: (id, key) => {
      sent.push(`${id} ${key}`);
      return new Promise((resolve) => waiting.push(resolve));
    },
    settled: (id, key, failure) => told.push(`${failure?.code ?? "done"} ${id} ${key}`),
    dropped: (id, count) => told.push(`dropped ${id} ${count}`),
    now: () => now,
  });
  return {
    presses,
    sent,
    told,
    /** Presses, that many milliseconds after the press before. */
    press(key: string, after = 150, id = "a") {
      now += after;
      presses.press(id, key);
    },
    pass(ms: number) {
      now += ms;
    },
    /** The oldest press on its way ends. */
    async end(failure: Failure | null = null) {
      waiting.shift()?.(failure);
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  };
}

describe("presses", () => {
  test("are sent at once, one at a time, in order", async () => {
    const set = slowSet();
    set.press("up");
    expect(set.sent).toEqual(["a up"]);
    set.press("left");
    set.press("up");
    expect(set.sent).toEqual(["a up"]);
    await set.end();
    expect([set.sent, set.told]).toEqual([["a up", "a left"], ["done a up"]]);
    await set.end();
    await set.end();
    expect(set.sent).toEqual(["a up", "a left", "a up"]);
  });

  test("of a key that is held leave one waiting at most, and all of those that are tapped", async () => {
    const held = slowSet();
    for (let repeat = 0; repeat < 40; repeat++) held.press("down", 33);
    await held.end();
    await held.end();
    await held.end();
    expect(held.sent).toEqual(["a down", "a down"]);
    const tapped = slowSet();
    for (let tap = 0; tap < 4; tap++) tapped.press("down", 160);
    for (let tap = 0; tap < 5; tap++) await tapped.end();
    expect(tapped.sent).toHaveLength(4);
  });

  test("on one set do not wait for another", () => {
    const sets = slowSet();
    sets.press("up");
    sets.press("home", 150, "b");
    expect(sets.sent).toEqual(["a up", "b home"]);
  });

  test("that a set cannot keep up with are dropped, and it is said", async () => {
    const set = slowSet();
    for (const key of ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]) set.press(key);
    expect(set.told).toEqual(["dropped a 1"]);
    set.pass(4_000);
    await set.end();
    expect([set.sent, set.told]).toEqual([["a a"], ["dropped a 1", "done a a", "dropped a 8"]]);
    set.press("z");
    expect(set.sent).toEqual(["a a", "a z"]);
  });

  test("behind one that failed are forgotten; a key that is not there stops nothing", async () => {
    const set = slowSet();
    for (const key of ["a", "b", "c"]) set.press(key);
    await set.end({ code: "unsupported_key", message: "no a" });
    await set.end({ code: "device_unreachable", message: "gone" });
    expect([set.sent, set.told]).toEqual([
      ["a a", "a b"],
      ["unsupported_key a a", "device_unreachable a b"],
    ]);
  });
});

describe("looking", () => {
  const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test("is every second while the set is on, ever more seldom while it is off, and often enough for a daemon that is gone", () => {
    expect([0, 5].map((idle) => pauseAfter("awake", idle))).toEqual([1_000, 1_000]);
    expect([1, 2, 3, 4, 50].map((idle) => pauseAfter("asleep", idle))).toEqual([2_000, 4_000, 8_000, 15_000, 15_000]);
    expect([1, 2, 3, 4, 50].map((idle) => pauseAfter("lost", idle))).toEqual([500, 1_000, 2_000, 4_000, 4_000]);
  });

  test("never overlaps: who asks meanwhile gets another look after it; another set drops the look and has its own", async () => {
    let under = 0;
    let most = 0;
    const ended: boolean[] = [];
    const watch = new Watch(async (signal): Promise<Glimpse> => {
      most = Math.max(most, ++under);
      // A call that is dropped ends at once.
      await Promise.race([rest(40), new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      under--;
      ended.push(!signal.aborted);
      return "awake";
    });
    watch.start();
    await rest(10);
    for (let ask = 0; ask < 20; ask++) watch.soon(0);
    await rest(120);
    expect({ most, ended }).toEqual({ most: 1, ended: [true, true] });
    watch.anew();
    await rest(10);
    watch.anew();
    await rest(80);
    expect({ most, ended }).toEqual({ most: 1, ended: [true, true, false, true] });
    watch.stop();
    watch.soon(0);
    await rest(60);
    expect(ended).toHaveLength(4);
  });
});
