/** Leases while clients and the daemon are killed: a short part of test/slow/leases.slow.ts. */
import { expect, test } from "bun:test";
import { seenTwice, storm } from "../support/lease-storm.ts";

test("no set ever has two holders, and none stays leased by a client that was killed", async () => {
  const told = await storm({ sets: 3, programs: 2, clients: 6, kills: 2, daemonKills: 1, everyMs: 250 });
  expect([seenTwice(told), told.stuck, told.late]).toEqual([[], [], 0]);
});
