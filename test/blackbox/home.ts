/** A daemon for all tests of a file, and the sets that they start; all end with the file. */
import { afterAll } from "bun:test";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add } from "./checked.ts";

export interface Home {
  readonly daemon: TestDaemon;
  /** A set that the daemon knows not. */
  plug(options?: WiredOptions): Promise<WiredRoku>;
  /** A set that has been added, and has forgotten what that took. */
  start(options?: WiredOptions): Promise<{ set: WiredRoku; id: string }>;
}

/** To be awaited at the top of a file. */
export async function homeForFile(setup: DaemonSetup = {}): Promise<Home> {
  const daemon = await startTestDaemon(setup);
  const sets: WiredRoku[] = [];
  afterAll(async () => {
    await daemon.dispose();
    await Promise.all(sets.map((set) => set.stop()));
  });
  const plug = async (options: WiredOptions = {}) => {
    const set = await WiredRoku.start(options);
    sets.push(set);
    return set;
  };
  return {
    daemon,
    plug,
    async start(options) {
      const set = await plug(options);
      const { id } = await add(daemon, set);
      set.forget();
      return { set, id };
    },
  };
}
