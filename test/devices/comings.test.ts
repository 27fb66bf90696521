/** In full: test/slow/comings.slow.ts. */
import { expect, test } from "bun:test";
import { comeAndGo } from "./comings.ts";

test("of five hundred devices that come and go, nothing is left", async () => {
  const { alive, ...left } = await comeAndGo(500);
  expect(left).toEqual({ held: { devices: 0, endpoints: 0, words: 0, views: 0 }, open: 0, pairing: 0, listeners: 0 });
  // The collector looks for references on the stack, where some numbers look like one.
  expect(alive).toBeLessThan(20);
}, 60_000);
