import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import type { Failure } from "../../src/api/errors.ts";
import type { Command } from "../../src/cli/remote/model.ts";
import { Presses } from "../../src/cli/remote/presses.ts";

const open: Presses[] = [];
beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  for (const presses of open.splice(0)) presses.release();
  jest.useRealTimers();
});

/** Lets timers run for so long, and what they start be done. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    jest.advanceTimersByTime(10);
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

/** A slow set: each press ends when the test says so, or at once as it is given. `now` stands still but for what the test lets pass. */
function slowSet(answer?: Failure | null) {
  let now = 0;
  const sent: string[] = [];
  const told: string[] = [];
  const waiting: ((failure: Failure | null) => void)[] = [];
  const words = ({ operation, body }: Command) =>
    operation === "pressKey" ? [body.key, body.phase ?? []].flat().join(" ") : `${operation} ${JSON.stringify(body)}`;
  const presses = new Presses({
    send: (id, command) => {
      sent.push(`${id} ${words(command)}`);
      return answer === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(answer);
    },
    dropped: (id, count) => told.push(`dropped ${id} ${count}`),
    now: () => now,
  });
  open.push(presses);
  const take = (command: Command, input: string, more: object = {}) =>
    presses.enqueue({ id: "a", input, command, ...more });
  return {
    presses,
    sent,
    told,
    /** Presses, that many milliseconds after the press before. */
    press(key: string, after = 150, more: object = {}) {
      now += after;
      take({ operation: "pressKey", body: { key: key as "down" } }, key, more);
    },
    seek(position_ms: number, after = 150) {
      now += after;
      take({ operation: "controlPlayback", body: { do: "seek", position_ms } }, ".");
    },
    louder(after: number) {
      now += after;
      take({ operation: "setVolume", body: { step: 1 } }, "+");
    },
    pass(ms: number) {
      now += ms;
    },
    /** The oldest press on its way ends. */
    async end(failure: Failure | null = null) {
      waiting.shift()?.(failure);
      await settle();
    },
  };
}

/** A set that takes everything at once; a press comes 33 ms after the one before. */
function quickSet(answer: Failure | null = null) {
  const set = slowSet(answer);
  return { ...set, press: (key: "down", isRepeat: boolean) => set.press(key, 33, { isRepeat, holdKey: key }) };
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
    expect(set.sent).toEqual(["a up", "a left"]);
    await set.end();
    await set.end();
    expect(set.sent).toEqual(["a up", "a left", "a up"]);
  });

  test("of a key that is tapped are all sent; of one that is kept down and not held, two", async () => {
    const tapped = slowSet();
    for (let tap = 0; tap < 4; tap++) tapped.press("home", 160);
    for (let tap = 0; tap < 5; tap++) await tapped.end();
    expect(tapped.sent).toHaveLength(4);
    const quick = slowSet(null);
    for (let tap = 0; tap < 4; tap++) {
      quick.press("home", 60);
      quick.presses.release("home");
      await settle();
    }
    expect(quick.sent).toHaveLength(4);
    const kept = slowSet();
    for (let repeat = 0; repeat < 40; repeat++) kept.press("home", 33);
    for (let tap = 0; tap < 5; tap++) await kept.end();
    expect(kept.sent).toHaveLength(2);
    const said = slowSet();
    for (let repeat = 0; repeat < 40; repeat++) said.press("home", 500, { isRepeat: repeat > 0 });
    for (let tap = 0; tap < 5; tap++) await said.end();
    expect(said.sent).toHaveLength(1);
  });

  test("on one set do not wait for another", () => {
    const sets = slowSet();
    sets.press("up");
    sets.press("home", 150, { id: "b" });
    expect(sets.sent).toEqual(["a up", "b home"]);
  });

  test("that a set cannot keep up with are dropped, and it is said", async () => {
    const set = slowSet();
    for (const key of ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]) set.press(key);
    expect(set.told).toEqual(["dropped a 1"]);
    set.pass(4_000);
    await set.end();
    expect([set.sent, set.told]).toEqual([["a a"], ["dropped a 1", "dropped a 8"]]);
    set.press("z");
    expect(set.sent).toEqual(["a a", "a z"]);
  });

  test("behind one that failed are forgotten; a key that does not exist stops nothing", async () => {
    const set = slowSet();
    for (const key of ["a", "b", "c"]) set.press(key);
    await set.end({ code: "unsupported_key", message: "no a" });
    await set.end({ code: "device_unreachable", message: "gone" });
    expect(set.sent).toEqual(["a a", "a b"]);
  });

  test("that bring it somewhere wait as one, the newest; steps of a key that is kept down do not pile up", async () => {
    const set = slowSet();
    for (const to of [10_000, 20_000, 30_000]) set.seek(to);
    await set.end();
    expect(set.sent).toEqual([10_000, 30_000].map((to) => `a controlPlayback {"do":"seek","position_ms":${to}}`));
    const slow = slowSet();
    for (let repeat = 0; repeat < 40; repeat++) slow.louder(33);
    for (let tap = 0; tap < 5; tap++) await slow.end();
    expect(slow.sent).toHaveLength(2);
    const quick = slowSet(null);
    for (let repeat = 0; repeat < 10; repeat++) {
      quick.louder(33);
      await settle();
    }
    expect(quick.sent).toHaveLength(10);
  });

  test("that wait are not replaced by one that brings it somewhere, nor by each other", async () => {
    const set = slowSet();
    set.press("home");
    set.press("left");
    for (const body of [{ do: "pause" }, { do: "play" }] as const) {
      set.pass(150);
      set.presses.enqueue({ id: "a", input: " ", command: { operation: "controlPlayback", body } });
    }
    set.seek(10_000);
    for (let tap = 0; tap < 5; tap++) await set.end();
    const expected = ["a home", "a left", "pause", "play", "seek"];
    expect(set.sent.map((one) => one.replace(/.*"do":"(\w+)".*/, "$1"))).toEqual(expected);
  });
});

describe("a key that is kept down", () => {
  const down = { holdKey: "down" };

  test("is two presses as any others, and then held: said again, never pressed again; let go when its repeats stop", async () => {
    const set = quickSet();
    set.press("down", false);
    expect(set.sent).toEqual(["a down"]);
    for (let repeat = 0; repeat < 30; repeat++) {
      set.press("down", false);
      await pass(30);
    }
    // Said again every 400 ms.
    expect(set.sent).toEqual(["a down", "a down", "a down down", "a down down", "a down down"]);
    await pass(200);
    expect(set.sent.at(-1)).toBe("a down up");
    const { length } = set.sent;
    await pass(600);
    expect(set.sent).toHaveLength(length);
    expect(set.presses.held).toBeUndefined();
    // Also where the repeat with which it began was the last.
    for (let repeat = 0; repeat < 3; repeat++) {
      set.press("down", false);
      await settle();
    }
    await pass(200);
    expect(set.sent.slice(length)).toEqual(["a down", "a down", "a down down", "a down up"]);
  });

  test("is held with the first repeat where the terminal says that it is one, until it says that it is up", async () => {
    const set = quickSet();
    set.press("down", false);
    set.press("down", true);
    await settle();
    expect(set.sent).toEqual(["a down", "a down down"]);
    // Whose repeats are slow, or one of them late, is not let go meanwhile.
    await pass(950);
    set.press("down", true);
    expect(set.presses.held).toBe("down");
    set.presses.release("up");
    expect(set.presses.held).toBe("down");
    set.presses.release("down");
    await settle();
    expect(set.sent.at(-1)).toBe("a down up");
    set.press("down", false);
    await settle();
    expect(set.sent.at(-1)).toBe("a down");
    // The end that the hold before would have had ends no other.
    await pass(500);
    set.press("down", true);
    await pass(600);
    expect(set.presses.held).toBe("down");
  });

  test("is let go for another, before that is pressed", async () => {
    const set = slowSet();
    for (let repeat = 0; repeat < 4; repeat++) set.press("down", 33, down);
    await set.end();
    await set.end();
    set.presses.release();
    set.press("home");
    await set.end();
    await set.end();
    expect(set.sent).toEqual(["a down", "a down down", "a down up", "a home"]);
  });

  test("is let go behind as many presses as may wait", async () => {
    const set = slowSet();
    set.press("down", 33, { ...down, isRepeat: true });
    for (let tap = 0; tap < 8; tap++) set.press("home");
    set.presses.release();
    for (let tap = 0; tap < 10; tap++) await set.end();
    expect([set.sent.length, set.sent.at(-1), set.told]).toEqual([10, "a down up", []]);
  });

  test("is not held any more by the time a slow set has taken the press before: nothing more is sent", async () => {
    const set = slowSet();
    set.press("left");
    set.press("home");
    for (let repeat = 0; repeat < 4; repeat++) set.press("down", 33, down);
    set.presses.release();
    for (let tap = 0; tap < 3; tap++) await set.end();
    expect(set.sent).toEqual(["a left", "a home"]);
  });

  test.each([null, { code: "device_timeout", message: "late" }])(
    "and let go while it is being said, is said to be up behind it, however late: %j",
    async (failure) => {
      const set = slowSet();
      set.press("down", 33, down);
      await set.end();
      set.press("down", 500, { ...down, isRepeat: true });
      set.presses.release("down");
      set.pass(10_000);
      await set.end(failure);
      await set.end();
      expect(set.sent).toEqual(["a down", "a down down", "a down up"]);
    },
  );

  test("and refused is not asked for again until it was let go", async () => {
    const set = quickSet({ code: "device_refused", message: "no" });
    set.press("down", true);
    for (let repeat = 0; repeat < 30; repeat++) {
      set.press("down", true);
      await pass(30);
    }
    expect(set.sent).toEqual(["a down down"]);
    set.presses.release("down");
    await settle();
    expect(set.sent).toEqual(["a down down"]);
    set.press("down", true);
    await settle();
    expect(set.sent).toEqual(["a down down", "a down down"]);
  });

  test("is let go by who leaves, who waits for that and for nothing else", async () => {
    const set = slowSet();
    set.press("home");
    set.press("home");
    await set.presses.end();
    await set.end();
    await set.presses.end();
    expect(set.sent).toEqual(["a home"]);
    const held = slowSet();
    for (let repeat = 0; repeat < 4; repeat++) held.press("down", 33, down);
    await held.end();
    let isOver = false;
    const over = held.presses.end().then(() => {
      isOver = true;
    });
    await held.end();
    expect([held.sent, isOver]).toEqual([["a down", "a down down", "a down up"], false]);
    await held.end();
    await over;
  });
});
