/** Keys that are held: however their holder leaves, no set scrolls on for more than 2 s. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { furnish, type Room } from "../support/room.ts";

let room: Room;
beforeEach(async () => {
  // Time is measured here.
  room = await furnish({ speed: 1 });
});
afterEach(() => room.dispose());

const hold = (body: object) => room.daemon.api("POST", "/devices/set/remote/key", { key: "down", ...body });
const presses = () => room.done("key");

/** Waits until no press has come for half a second; milliseconds until the last one came. */
async function lastPress(): Promise<number> {
  const since = performance.now();
  let seen = presses();
  let last = since;
  while (performance.now() - last < 500) {
    await Bun.sleep(10);
    if (presses() === seen) continue;
    seen = presses();
    last = performance.now();
  }
  return last - since;
}

test("so often, and for so long, with the presses counted", async () => {
  const often = await hold({ repeat: 4 });
  expect([often.status, often.body.data.presses, presses()]).toEqual([200, 4, 4]);
  const long = await hold({ hold_ms: 400 });
  expect([long.status, long.body.data.presses]).toEqual([200, presses() - 4]);
  expect(presses() - 4).toBeWithin(1, 5);
  const once = await hold({});
  expect(once.body.data).not.toHaveProperty("presses");
  for (const body of [{ repeat: 51 }, { hold_ms: 10_001 }, { repeat: 2, phase: "down" }, { phase: "sideways" }])
    expect([body, (await hold(body)).body.error.code]).toEqual([body, "invalid_payload"]);
  for (const key of ["power", "literal:a"])
    expect((await hold({ key, repeat: 2 })).body.error.code).toBe("invalid_key");
});

test("down goes on until up, and no press comes after up has been answered", async () => {
  expect((await hold({ phase: "down" })).status).toBe(200);
  while (presses() < 3) await Bun.sleep(10);
  expect((await hold({ phase: "up" })).status).toBe(200);
  const then = presses();
  await Bun.sleep(500);
  expect(presses()).toBe(then);
});

test("down, and never again: it is let go after 2 s; said again, it goes on", async () => {
  await hold({ phase: "down" });
  expect(await lastPress()).toBeLessThan(2_300);
  const before = presses();
  expect(before).toBeGreaterThan(3);
  await hold({ phase: "down" });
  await Bun.sleep(1_500);
  await hold({ phase: "down" });
  expect(await lastPress()).toBeGreaterThan(1_000);
});

test("another key takes its place", async () => {
  await hold({ phase: "down" });
  await hold({ key: "up", phase: "down" });
  await hold({ key: "up", phase: "up" });
  const then = presses();
  await Bun.sleep(500);
  expect(presses()).toBe(then);
});

test.each([
  [
    "the caller hangs up",
    async () => {
      const over = new AbortController();
      const held = fetch(`${room.daemon.url}/devices/set/remote/key`, {
        method: "POST",
        body: JSON.stringify({ key: "down", hold_ms: 10_000 }),
        signal: over.signal,
      }).catch(() => {});
      while (presses() < 2) await Bun.sleep(10);
      over.abort();
      await held;
    },
  ],
  ["the device is removed", () => downThen(() => room.daemon.api("DELETE", "/devices/set"))],
  ["the daemon stops", () => downThen(async () => room.daemon.process.kill("SIGTERM"))],
  ["the daemon is killed by -9", () => downThen(async () => room.daemon.process.kill("SIGKILL"))],
])("within 2 s when %s", async (_name, leave) => {
  await leave();
  expect(await lastPress()).toBeLessThan(2_000);
});

test("it is not pressed again when the machine wakes", async () => {
  hold({ hold_ms: 10_000, key: "up" }).catch(() => {});
  await hold({ phase: "down" });
  while (presses() < 3) await Bun.sleep(10);
  room.daemon.process.kill("SIGSTOP");
  await Bun.sleep(300);
  const then = presses();
  // More than 5 s beyond what was due is a sleep.
  await Bun.sleep(6_500);
  room.daemon.process.kill("SIGCONT");
  await Bun.sleep(1_000);
  // What the set was sent before, and answers now, is no new press.
  expect(presses() - then).toBeLessThan(2);
});

async function downThen(leave: () => Promise<unknown>): Promise<void> {
  // Both ways of holding at once: neither outlives the end.
  hold({ hold_ms: 10_000, key: "up" }).catch(() => {});
  await hold({ phase: "down" });
  while (presses() < 3) await Bun.sleep(10);
  await leave();
}
