import { expect, test } from "bun:test";
import { datagramLimit } from "../../src/discovery/datagram-limit.ts";

const kilobyte = 1_024;

/** How many datagrams of a kilobyte are read of a thousand. */
function readOf(limit: ReturnType<typeof datagramLimit>, host: (at: number) => string, now: number): number {
  return Array.from({ length: 1_000 }, (_, at) => limit(kilobyte, host(at), now)).filter(Boolean).length;
}

test("of one host that floods, part is read in each slice of time, and of the others all", () => {
  const limit = datagramLimit(9_000);
  for (const now of [0, 100, 250]) {
    expect(readOf(limit, () => "192.0.2.66", now)).toBe(16);
    expect(readOf(limit, () => "192.0.2.66", now + 99)).toBe(0);
    expect(limit(kilobyte, "192.0.2.7", now + 99)).toBe(true);
  }
});

test("of many hosts that flood, part is read, and there is a reserve for those that have not been heard yet", () => {
  const limit = datagramLimit(9_000);
  for (const now of [0, 100]) {
    expect(readOf(limit, (at) => `192.0.2.${at % 10}`, now)).toBe(32);
    expect(limit(kilobyte, "192.0.2.77", now)).toBe(true);
    expect(limit(kilobyte, "192.0.2.77", now)).toBe(false);
    expect(readOf(limit, (at) => `198.51.100.${at}`, now)).toBe(31);
  }
});

test("a datagram that is too long is not read, and counts for nothing", () => {
  const limit = datagramLimit(9_000);
  expect(Array.from({ length: 100 }, () => limit(9_001, "192.0.2.7", 0))).not.toContain(true);
  expect(limit(9_000, "192.0.2.7", 0)).toBe(true);
});
