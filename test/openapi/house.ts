/** A daemon as its own process, and three simulated sets of this process, called as those of the demo are. */
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

export const password = "rokudev";

export interface House {
  readonly daemon: TestDaemon;
  /** A TV that does everything. */
  readonly livingRoom: RokuSimulator;
  /** A stick in limited mode. */
  readonly bedroom: RokuSimulator;
  /** A TV in developer mode, with two apps of one name. */
  readonly workbench: RokuSimulator;
  dispose(): Promise<void>;
}

export async function furnishHouse(): Promise<House> {
  const quiet = { ssdp: false } as const;
  const livingRoom = createRokuSimulator({ ...quiet, name: "Living Room", serial: "X0OPENAPI001" });
  const bedroom = createRokuSimulator({
    ...{ ...quiet, name: "Bedroom", serial: "X0OPENAPI002" },
    ...{ kind: "stick" as const, access: "limited" as const },
  });
  const workbench = createRokuSimulator({
    ...{ ...quiet, name: "Workbench", serial: "X0OPENAPI003", developer: { password } },
    apps: [
      { id: "1201", name: "News" },
      { id: "1202", name: "News" },
    ],
  });
  const sets = [livingRoom, bedroom, workbench];
  await Promise.all(sets.map((set) => set.start()));
  const daemon = await startTestDaemon();
  for (const { host, port, ports } of sets) {
    const known = Object.fromEntries(Object.entries(ports).filter(([, number]) => number !== null));
    const { status, body } = await daemon.api("POST", "/devices", { host, port, ports: known });
    if (status !== 200) throw new Error(`a set could not be added: ${JSON.stringify(body)}`);
  }
  return {
    ...{ daemon, livingRoom, bedroom, workbench },
    async dispose() {
      await daemon.dispose();
      await Promise.all(sets.map((set) => set.stop()));
    },
  };
}
