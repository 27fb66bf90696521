/** Who may stay connected to a listener that keeps the limits itself (SECURITY.md 4). */
import { beforeEach, expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Callers, idleMs } from "../../src/runtime/callers.ts";

class FakeSocket extends EventEmitter {
  destroyed = false;
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit("close");
  }
}

let now = 0;
let callers: Callers;
beforeEach(() => {
  now = 0;
  callers = new Callers(() => now);
});
const come = (): Socket => {
  const socket = new FakeSocket() as unknown as Socket;
  callers.add(socket);
  return socket;
};
const many = (count: number) => Array.from({ length: count }, come);
const gone = (sockets: readonly Socket[]) => sockets.filter(({ destroyed }) => destroyed).length;

test("silence ends a caller, from its coming and from its last answer; a request never does", () => {
  const [silent, served, busy] = [come(), come(), come()];
  callers.busy(busy);
  now = idleMs - 1;
  callers.busy(served)();
  callers.endIdle();
  expect([silent, served, busy].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  now = idleMs;
  callers.endIdle();
  expect([silent, served, busy].map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  now = 3 * idleMs;
  callers.endIdle();
  expect([served, busy].map(({ destroyed }) => destroyed)).toEqual([true, false]);
});

test("who sends two requests in one breath is busy until both are answered", () => {
  const caller = come();
  const [first, second] = [callers.busy(caller), callers.busy(caller)];
  first();
  now = 2 * idleMs;
  callers.endIdle();
  expect(caller.destroyed).toBe(false);
  second();
  now = 3 * idleMs;
  callers.endIdle();
  expect(caller.destroyed).toBe(true);
});

test("of more than 512 the longest idle gives way, never one that is served; when all are, the new one", () => {
  const first = many(2);
  const [served] = first;
  if (served) callers.busy(served);
  const crowd = many(510);
  expect(gone([...first, ...crowd])).toBe(0);
  come();
  expect(first.map(({ destroyed }) => destroyed)).toEqual([false, true]);
  many(511);
  expect([gone(first), gone(crowd)]).toEqual([1, 510]);
  callers = new Callers(() => now);
  const busy = many(512);
  for (const one of busy) callers.busy(one);
  expect(come().destroyed).toBe(true);
  expect(gone(busy)).toBe(0);
  busy[0]?.destroy();
  expect(come().destroyed).toBe(false);
});

test("that a crowd has gone is told once, and not before it is quiet", () => {
  expect(callers.crowdHasGone(1_000)).toBe(false);
  const crowd = many(128);
  now = 5_000;
  expect(callers.crowdHasGone(1_000)).toBe(false);
  crowd[0]?.destroy();
  come().destroy();
  now = 5_999;
  expect(callers.crowdHasGone(1_000)).toBe(false);
  now = 6_000;
  expect([callers.crowdHasGone(1_000), callers.crowdHasGone(1_000)]).toEqual([true, false]);
});
