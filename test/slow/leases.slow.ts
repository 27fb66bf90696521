/** Leases: two hundred clients want ten sets for themselves, while clients and the daemon are killed. */
import { expect, test } from "bun:test";
import { seenTwice, storm } from "../support/lease-storm.ts";
import { some } from "./length.ts";

test("no set ever has two holders, and none is lost to the dead", async () => {
  const kills = some(60, 4);
  const told = await storm({ sets: 10, programs: 20, clients: 10, kills, daemonKills: some(12, 2), everyMs: 1_000 });
  expect([seenTwice(told), told.stuck, told.late]).toEqual([[], [], 0]);
  const tenures = told.tenures.map((seen) => seen.length);
  process.stderr.write(`${kills} kills: ${told.launches} launches, tenures ${tenures.join(", ")}\n`);
  // Each set had several holders, one after the other.
  expect(Math.min(...tenures)).toBeGreaterThanOrEqual(some(4, 2));
}, 300_000);
