/**
 * A virtual processor may be slow for a while because of other machines: tests that measure time wait for that to be over. This file
 * is also the process that measures a processor.
 */
import { availableParallelism } from "node:os";
import { percentile } from "./bench/figures.ts";
import { obey, Worker } from "./bench/worker.ts";

const looks = 40;
const pauseMs = 2_000;

/** A result, so that the work is not optimised away. */
let sum = 0;

/** Milliseconds that a fixed piece of work took. */
function piece(): number {
  const began = performance.now();
  for (let at = 0; at < 1_000_000; at++) sum = (sum * 31 + at) | 0;
  return performance.now() - began;
}

const orders = {
  /** The milliseconds of each of so many pieces. */
  work: ({ pieces }: { readonly pieces: number }) => Array.from({ length: pieces }, piece),
};

/** Resolves once nine of ten pieces of work take about as long as the quickest; after 90 s anyway, with a note on stderr. */
export async function untilQuiet(): Promise<void> {
  const workers = Array.from({ length: availableParallelism() }, () => new Worker<typeof orders>(import.meta.path));
  const work = (pieces: number) => Promise.all(workers.map((one) => one.ask("work", { pieces })));
  try {
    // Warms the compiler up.
    await work(20);
    for (let look = 0; look < looks; look++) {
      const took = (await work(80)).flat();
      if (percentile(took, 0.9) < 1.4 * Math.min(...took)) return;
      await Bun.sleep(pauseMs);
    }
    process.stderr.write("the machine has not become quiet: it is measured as it is\n");
  } finally {
    for (const one of workers) one.stop();
  }
}

if (import.meta.main) obey(orders);
