import { expect, test } from "bun:test";
import { Seats } from "../../src/discovery/probe-queue.ts";

test("a seat that is given back can be taken again: what joined a device that is known was no new one", () => {
  const seats = new Seats();
  const host = "192.0.2.1";
  const all = Array.from({ length: 16 }, () => seats.take(host));
  expect([all.every((seat) => seat !== null), seats.take(host)]).toEqual([true, null]);
  seats.giveBack(host);
  expect([seats.take(host), seats.take(host)]).toEqual([{ instead: null }, null]);
  // In all of a scan, too: 128, of which this host has 16.
  for (let other = 2; other < 9; other++) for (let at = 0; at < 16; at++) seats.take(`192.0.2.${other}`);
  expect(seats.take("192.0.2.9")).toBeNull();
  seats.giveBack(host);
  expect(seats.take("192.0.2.9")).toEqual({ instead: null });
});

test("when all are taken, the host with the most gives its last up, as long as that leaves it no fewer", () => {
  const seats = new Seats();
  for (let at = 1; at <= 16; at++)
    for (let host = 1; host <= 8; host++) {
      seats.take(`192.0.2.${host}`);
      seats.took(`192.0.2.${host}`, `${host}/${at}`);
    }
  const late = Array.from({ length: 16 }, () => seats.take("192.0.2.9")?.instead ?? null);
  const given = [16, 15].flatMap((at) => Array.from({ length: 8 }, (_, host) => `${host + 1}/${at}`));
  expect(late).toEqual([...given.slice(0, 14), null, null]);
});
