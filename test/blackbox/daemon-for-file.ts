/** One daemon for all tests of a file, and the sets that the tests start; all are stopped at the end of the file. */
import { afterAll, afterEach } from "bun:test";
import { type DaemonSetup, startTestDaemon } from "../support/daemon.ts";
import { type DaemonWithRoku, startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { type WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, succeed } from "./checked.ts";

/**
 * Starts a daemon for all tests of a file; await it at the top of the file. With `cleans: "each test"` the sets are stopped
 * and the devices removed after each test, in place of the end of the file.
 */
export async function daemonForFile(
  setup: DaemonSetup = {},
  { cleans = "file" }: { readonly cleans?: "file" | "each test" | "each test after a scan" } = {},
) {
  const daemon = await startTestDaemon(setup);
  const cleanups: (() => unknown)[] = [];
  const clean = () => Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
  if (cleans !== "file")
    afterEach(async () => {
      await clean();
      // A scan that a command of the test began may still be running, and would add a device again: this one ends no sooner.
      if (cleans === "each test after a scan") await succeed(daemon, "discoverDevices");
      for (const { id } of await succeed(daemon, "listDevices")) await succeed(daemon, "removeDevice", { id });
    });
  afterAll(async () => {
    await daemon.dispose();
    await clean();
  });
  const atEnd = (cleanup: () => unknown) => void cleanups.push(cleanup);
  const startRoku = async (options: WiredOptions = {}) => {
    const set = await WiredRoku.start(options);
    atEnd(() => set.stop());
    return set;
  };
  return {
    daemon,
    /** Registers a cleanup that runs at the end, of the file or of the test. */
    atEnd,
    /** Starts a simulator that is stopped at the end. */
    async startSimulator<Set extends { start(): Promise<unknown>; stop(): Promise<unknown> }>(set: Set): Promise<Set> {
      await set.start();
      atEnd(() => set.stop());
      return set;
    },
    /** A running set that the daemon does not know yet. */
    startRoku,
    /** A set that has been added; the requests of the adding are forgotten. */
    async addRoku(options?: WiredOptions) {
      const set = await startRoku(options);
      const { id } = await add(daemon, set);
      set.forget();
      return { set, id };
    },
  };
}

/** A daemon and one simulated Roku for all tests of a file; await it at the top of the file. */
export async function roomForFile(setup: DaemonSetup = {}): Promise<DaemonWithRoku> {
  const room = await startDaemonWithRoku(setup);
  afterAll(() => room.dispose());
  return room;
}
