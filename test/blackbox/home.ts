/** A daemon for all tests of a file, and the sets that they start; all end with the file. */
import { afterAll } from "bun:test";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { type WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add } from "./checked.ts";

export interface Home {
  readonly daemon: TestDaemon;
  /** What ends with the file, once the daemon has ended. */
  atEnd(cleanup: () => unknown): void;
  /** Starts a simulated set. */
  started<Set extends { start(): Promise<unknown>; stop(): Promise<unknown> }>(set: Set): Promise<Set>;
  /** A set that the daemon knows not. */
  plug(options?: WiredOptions): Promise<WiredRoku>;
  /** A set that has been added, and has forgotten what that took. */
  start(options?: WiredOptions): Promise<{ set: WiredRoku; id: string }>;
}

/** To be awaited at the top of a file. */
export async function homeForFile(setup: DaemonSetup = {}): Promise<Home> {
  const daemon = await startTestDaemon(setup);
  const cleanups: (() => unknown)[] = [];
  afterAll(async () => {
    await daemon.dispose();
    await Promise.all(cleanups.map((cleanup) => cleanup()));
  });
  const atEnd = (cleanup: () => unknown) => void cleanups.push(cleanup);
  const plug = async (options: WiredOptions = {}) => {
    const set = await WiredRoku.start(options);
    atEnd(() => set.stop());
    return set;
  };
  return {
    daemon,
    atEnd,
    async started(set) {
      await set.start();
      atEnd(() => set.stop());
      return set;
    },
    plug,
    async start(options) {
      const set = await plug(options);
      const { id } = await add(daemon, set);
      set.forget();
      return { set, id };
    },
  };
}
