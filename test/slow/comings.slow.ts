/** Ten thousand devices that come and go: nothing is left of them. */
import { expect, test } from "bun:test";
import { comeAndGo } from "../devices/comings.ts";
import { part } from "./length.ts";

test("of ten thousand devices that come and go, nothing is left", async () => {
  const { alive, ...left } = await comeAndGo(Math.max(500, Math.round(10_000 * part)));
  expect(left).toEqual({ held: { devices: 0, endpoints: 0, words: 0, views: 0 }, open: 0, pairing: 0, listeners: 0 });
  expect(alive).toBeLessThan(20);
}, 600_000);
