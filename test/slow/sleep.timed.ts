/** SECURITY.md R14, whole: two minutes. */
import { expect, test } from "bun:test";
import { sleepThrough } from "../reliability/sleep.ts";
import { some } from "./length.ts";

const seconds = some(120, 8);

test.skipIf(process.platform === "win32")(
  `R14 stopped for ${seconds} s: what waited is dropped, not sent; health answers within 1 s, and all is well again`,
  async () => {
    const health = await sleepThrough(seconds * 1_000);
    expect(health).toBeLessThan(1_000);
  },
  240_000,
);
