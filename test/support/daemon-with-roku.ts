/** A daemon as a process, and one simulated Roku with developer mode, whose events are counted. */
import { strToU8, zipSync } from "fflate";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { type DaemonSetup, startTestDaemon } from "./daemon.ts";

export type DaemonWithRoku = Awaited<ReturnType<typeof startDaemonWithRoku>>;

export const password = "open sesame";

/** A package that the set accepts: sets insist on more than 512 bytes. */
export const validPackage = zipSync({
  manifest: strToU8("title=Lantern\nmajor_version=1\nminor_version=0\nbuild_version=1\n"),
  "source/main.brs": strToU8("sub main()\nend sub\n"),
  "images/icon.png": Uint8Array.from({ length: 700 }, (_, at) => (at * 7919) % 251),
});

export async function startDaemonWithRoku(setup: DaemonSetup = {}) {
  const counts = new Map<string, number>();
  const set = createRokuSimulator({
    name: "Set",
    ssdp: false,
    launchMs: 0,
    developer: { password },
    onEvent: ({ type }) => counts.set(type, (counts.get(type) ?? 0) + 1),
  });
  await set.start();
  const config = { ...setup.config, dev: { vendor_password: password, ...setup.config?.["dev"] } };
  const daemon = await startTestDaemon({ ...setup, config });
  const room = {
    daemon,
    set,
    /** How many events of one kind the set has had so far. */
    countOf: (kind: string) => counts.get(kind) ?? 0,
    /** Runs something and returns how many requests reached the set meanwhile. */
    async requestsDuring(run: () => Promise<unknown>) {
      // The set keeps its last thousand requests: the last one marks the place, not their number.
      const last = set.requests.at(-1);
      await run();
      return last === undefined ? set.requests.length : set.requests.length - 1 - set.requests.lastIndexOf(last);
    },
    /** Adds the set to the daemon, under the name `set`. */
    async addSet() {
      const ports = { installer: set.ports.installer, console: set.ports.console };
      const { status, body } = await daemon.api("POST", "/devices", {
        host: "127.0.0.1",
        port: set.port,
        name: "set",
        ports,
      });
      if (status !== 200) throw new Error(`the set could not be added: ${JSON.stringify(body)}`);
    },
    async dispose() {
      await Promise.all([daemon.dispose(), set.stop()]);
    },
  };
  await room.addSet();
  return room;
}
