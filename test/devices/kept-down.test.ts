/** Keys that are held, most of them by the device itself: it is told when they go down and, in any case, when they are up. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { holdKey } from "../../src/devices/hold.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
beforeEach(async () => {
  house = await openHouse((set) => ({
    ...set.connection(),
    keys: {
      press: (key, signal) => set.do(key, signal, undefined),
      async down(key, signal) {
        await set.do(`${key} down`, signal, undefined);
        return () => set.do(`${key} up`, neverAborted, undefined);
      },
    },
  }));
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

const device = () => house.devices.deviceOf(tv);
const done = () => house.set.done.join(", ");
const hold = (how: Parameters<typeof holdKey>[2], signal = neverAborted) => holdKey(device(), "up", how, { signal });

test("for a time: once down, once up, and no press", async () => {
  const begun = performance.now();
  expect(await hold({ hold_ms: 200 })).toBe(1);
  expect(performance.now() - begun).toBeGreaterThan(190);
  expect(done()).toBe("up down, up up");
});

test("so often: they are presses", async () => {
  expect(await hold({ repeat: 2 })).toBe(2);
  expect(done()).toBe("up, up");
});

test("down is answered once it is down, and up once it is up; other commands wait meanwhile", async () => {
  const caller = new AbortController();
  await hold({ phase: "down" }, caller.signal);
  // Who was answered may go.
  caller.abort("answered");
  expect(done()).toBe("up down");
  const waiting = house.actions.key(tv, "home", { signal: neverAborted });
  await Bun.sleep(50);
  expect(done()).toBe("up down");
  await hold({ phase: "up" });
  await waiting;
  expect(done()).toBe("up down, up up, home");
});

test("up before it is down releases it once it is down", async () => {
  house.set.takes = 100;
  const down = hold({ phase: "down" });
  await hold({ phase: "up" });
  expect(done()).toBe("up down, up up");
  await down;
  // Twice, without an answer in between.
  await Promise.all([down, ...(["down", "up", "down", "up"] as const).map((phase) => hold({ phase }))]);
  expect(done()).toBe(Array(3).fill("up down, up up").join(", "));
});

test("a device that takes longer than 2 s to be reached is held all the same, said again or not", async () => {
  house.set.takes = 2_500;
  await Promise.all([hold({ phase: "down" }), hold({ phase: "down" })]);
  expect(done()).toBe("up down");
  house.set.takes = 0;
  await hold({ phase: "up" });
  expect(done()).toBe("up down, up up");
});

test("it does not go down where its caller has hung up before", async () => {
  house.set.takes = 300;
  const caller = new AbortController();
  const holding = hold({ phase: "down" }, caller.signal).catch((error) => error);
  await until("it is being pressed", () => house.set.running > 0);
  caller.abort(new ZapdError("device_error", "gone"));
  expect(await holding).toBeInstanceOf(ZapdError);
  await device().heldKey.release();
  expect(done()).toBe("");
});

test("down without a renewal is released after 2 s", async () => {
  await hold({ phase: "down" });
  await until("it is let go", () => done() === "up down, up up", 4_000);
});

test("it is released when its caller hangs up, and when the device is removed", async () => {
  const caller = new AbortController();
  const holding = hold({ hold_ms: 10_000 }, caller.signal).catch(() => {});
  await until("it is down", () => done() === "up down");
  caller.abort(new ZapdError("device_error", "gone"));
  await holding;
  await until("it is let go", () => done() === "up down, up up");
  await hold({ phase: "down" });
  device().heldKey.stop();
  await until("it is let go again", () => done() === "up down, up up, up down, up up");
});

test("it is released as soon as this machine wakes, although its time is not over", async () => {
  const holding = hold({ hold_ms: 600_000 });
  await until("it is down", () => done() === "up down");
  passTime(8_000);
  expect(await holding).toBe(1);
  wakeUp();
  expect(done()).toBe("up down, up up");
  // A sleep that begins while it goes down.
  house.set.takes = 300;
  const early = hold({ hold_ms: 600_000 });
  await until("it is going down", () => house.set.running > 0);
  passTime(8_000);
  expect(await early).toBe(1);
  wakeUp();
  expect(done()).toBe("up down, up up, up down, up up");
});

test("where its keys are pressed again and again: up that comes before the first press has been taken ends it", async () => {
  const other = await openHouse();
  try {
    const tv = other.devices.deviceOf(await other.add("2", { name: "TV" }));
    other.set.takes = 100;
    const say = (phase: "down" | "up", key = "up") => holdKey(tv, key, { phase }, { signal: neverAborted });
    const down = say("down");
    await say("up");
    // When up has been answered no press comes.
    expect(other.set.done).toEqual(["up"]);
    await down;
    const [first, second] = [say("down", "down"), say("down")];
    await say("up");
    await Promise.all([first, second]);
    await Bun.sleep(400);
    expect(other.set.done).toEqual(["up", "down", "up"]);
    // Said again before the first press has been taken, it is not pressed again.
    const again = Array.from({ length: 9 }, () => say("down", "home"));
    await say("up", "home");
    await Promise.all(again);
    expect(other.set.done.slice(3)).toEqual(["home"]);
    const holding = holdKey(tv, "up", { repeat: 20 }, { signal: neverAborted }).catch((error) => error.message);
    // Between two presses.
    await until("it was pressed", () => other.set.done.at(-1) === "up" && other.set.running === 0);
    tv.heldKey.stop();
    expect(await holding).toBe("The held key was released");
    // The caller of the first press hangs up: the other one presses it.
    other.set.done.length = 0;
    const gone = new AbortController();
    const left = holdKey(tv, "up", { phase: "down" }, { signal: gone.signal }).catch((error) => error);
    const staying = say("down");
    gone.abort("gone");
    expect(await left).toBe("gone");
    await staying;
    await say("up");
    expect(other.set.done).toContain("up");
    const slept = holdKey(tv, "up", { repeat: 20 }, { signal: neverAborted }).catch((error) => error.message);
    await until("it is pressed", () => other.set.running > 0);
    passTime(8_000);
    expect(await slept).toBe("The held key was released, because this machine slept");
    wakeUp();
  } finally {
    await other.remove();
  }
});

test("one that cannot be pressed is not down, and its caller gets the error", async () => {
  house.set.failure = new ZapdError("device_refused", "takes no keys");
  expect(await hold({ phase: "down" }).catch((error) => error.code)).toBe("device_refused");
  const lacked = holdKey(device(), "search", { hold_ms: 100 }, { signal: neverAborted });
  expect(await lacked.catch((error) => error.code)).toBe("unsupported_key");
  house.set.failure = undefined;
  await hold({ phase: "down" });
  await hold({ phase: "up" });
  expect(done()).toBe("up down, up up");
});

test("one on a connection that closes while it is down is not pressed again, and its caller gets the error", async () => {
  const holding = hold({ hold_ms: 300 }).catch((error) => `${error.code}: ${error.message}`);
  await until("it is down", () => done() === "up down");
  house.set.failure = new ZapdError("device_unreachable", "hung up");
  expect(await holding).toBe("device_error: TV closed the connection before the key was released while holding up");
  expect(done()).toBe("up down");
  expect(device().describe().status).toBe("online");
});

test("a set that takes longer than the repeat of a key is waited for, and no timer is asked for less than nothing", async () => {
  const warnings: string[] = [];
  const warned = (warning: Error) => warnings.push(warning.name);
  process.on("warning", warned);
  const slow = await openHouse();
  try {
    const tv = slow.devices.deviceOf(await slow.add("3"));
    slow.set.takes = 200;
    expect(await holdKey(tv, "up", { repeat: 4 }, { signal: neverAborted })).toBe(4);
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", warned);
    await slow.remove();
  }
});
