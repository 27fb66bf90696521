/** R14: what waited while nothing ran is not sent late. sleep.slow.ts sleeps for longer. */
import { expect, test } from "bun:test";
import { measured } from "../support/evidence.ts";
import { sleepThrough } from "./sleep.ts";

test.skipIf(process.platform === "win32")(
  "R14 stopped for 6 s: what waited is dropped, not sent; health answers within 1 s, and all is well again",
  async () => {
    const health = await sleepThrough(6_000);
    expect(health).toBeLessThan(1_000);
    measured("R14", "stopped for 6 s", "20 keys that waited dropped, two sequences and a text ended, 0 keys sent late");
  },
  40_000,
);
