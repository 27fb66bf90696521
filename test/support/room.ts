/** A room: a daemon as a process, and one simulated developer set that counts what reaches it. */
import { strToU8, zipSync } from "fflate";
import { createRokuSimulator, type RokuEvent, type RokuSimulator } from "../../src/simulators/roku.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "./daemon.ts";

export interface Room {
  readonly daemon: TestDaemon;
  readonly set: RokuSimulator;
  /** What the set has done so far, of one kind. */
  done(kind: RokuEvent["type"]): number;
  /** Runs something and tells how many requests reached the set meanwhile. */
  reachedDuring(run: () => Promise<unknown>): Promise<number>;
  /** Makes the set known, as `set`. */
  introduce(): Promise<void>;
  dispose(): Promise<void>;
}

export const password = "open sesame";

/** A package that the set takes: it has more than the 512 bytes that sets insist on. */
export const soundPackage = zipSync({
  manifest: strToU8("title=Lantern\nmajor_version=1\nminor_version=0\nbuild_version=1\n"),
  "source/main.brs": strToU8("sub main()\nend sub\n"),
  "images/icon.png": Uint8Array.from({ length: 700 }, (_, at) => (at * 7919) % 251),
});

export async function furnish(setup: DaemonSetup = {}): Promise<Room> {
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
  const room: Room = {
    daemon,
    set,
    done: (kind) => counts.get(kind) ?? 0,
    async reachedDuring(run) {
      // The set keeps its last thousand requests: the last one marks the place, not their number.
      const last = set.requests.at(-1);
      await run();
      return last === undefined ? set.requests.length : set.requests.length - 1 - set.requests.lastIndexOf(last);
    },
    async introduce() {
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
  await room.introduce();
  return room;
}
