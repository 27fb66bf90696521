/**
 * A processor that is lent to other machines for a while is slow for as long, whatever runs on it: what measures time waits
 * for that to be over. This file is also the process that a processor is tried with.
 */
import { availableParallelism } from "node:os";
import { percentile } from "./bench/figures.ts";
import { obey, Worker } from "./bench/worker.ts";

const looks = 40;
const pauseMs = 2_000;

/** What the work comes to: without it, it need not be done. */
let sum = 0;

/** A piece of work that is always the same, some milliseconds long; how long it took. */
function piece(): number {
  const began = performance.now();
  for (let at = 0; at < 1_000_000; at++) sum = (sum * 31 + at) | 0;
  return performance.now() - began;
}

const orders = {
  /** How long each of so many pieces took, in milliseconds. */
  work: ({ pieces }: { readonly pieces: number }) => Array.from({ length: pieces }, piece),
};

/** Resolves when each processor does nine of ten equal pieces of work in nearly the time of the quickest; after 90 s anyway, and says so. */
export async function untilQuiet(): Promise<void> {
  const workers = Array.from({ length: availableParallelism() }, () => new Worker<typeof orders>(import.meta.path));
  const work = (pieces: number) => Promise.all(workers.map((one) => one.ask("work", { pieces })));
  try {
    // Until it is compiled it is slow.
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
