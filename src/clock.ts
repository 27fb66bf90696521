/** How long something took. Nobody sets these clocks; `Date.now` is for what people read (SECURITY.md R13). */
import { uptime } from "node:os";

export interface Clocks {
  /** Milliseconds; stands still while the machine sleeps. */
  running(): number;
  /** Seconds, whole ones; goes on in the machine's sleep. Throws where the runtime does not tell. */
  booted(): number;
}

/** Begins to measure; the milliseconds since then, the machine's sleep among them where the runtime tells of it. */
export function stopwatch(clocks: Clocks = { running: () => performance.now(), booted: uptime }): () => number {
  // Deno asks for a permission that nobody needs to give.
  const booted = () => {
    try {
      return clocks.booted();
    } catch {
      return 0;
    }
  };
  const [ran, was] = [clocks.running(), booted()];
  // Of whole seconds the first may have been almost over.
  return () => Math.max(clocks.running() - ran, (booted() - was - 1) * 1_000);
}
