/** A set that goes off and is woken, a thousand times: memory and descriptors stay where they were (issue 4). */
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { accepted, ask } from "../blackbox/checked.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { residentMiB } from "../support/resident.ts";
import { some } from "./length.ts";

const cycles = some(1_000, 20);
const set = createWebosSimulator({
  name: "Cycler",
  securePort: 0,
  plainPort: null,
  ssdp: false,
  prompt: "none",
  bootMs: 5,
  socketsCloseMs: 5,
  portsCloseMs: 1,
});
await set.start();
const daemon = await startTestDaemon({ config: { daemon: { log_level: "warn" } } });
afterAll(async () => {
  await daemon.dispose();
  await set.stop();
});

const look = () => ({
  mb: Math.round(residentMiB(daemon.process)),
  descriptors: readdirSync(`/proc/${daemon.process.pid}/fd`).length,
});

test.skipIf(process.platform !== "linux")(
  `${cycles} times off and on`,
  async () => {
    const body = { host: set.host, port: set.ports.secure, platform: "webos", ports: { wake: set.ports.wake } };
    const { id } = accepted("addDevice", await ask(daemon, "addDevice", { body }));
    accepted("pairDevice", await ask(daemon, "pairDevice", { id }));
    accepted("getState", await ask(daemon, "getState", { id }));
    const offAndOn = async () => {
      accepted("pressKey", await ask(daemon, "pressKey", { id, body: { key: "power-off" } }));
      accepted("pressKey", await ask(daemon, "pressKey", { id, body: { key: "home" } }));
      expect(set.state.power).toBe("on");
    };
    // A cold process grows until its code is loaded and compiled.
    for (let warm = 0; warm < 20; warm++) await offAndOn();
    const seen: { cycle: number; mb: number; descriptors: number }[] = [];
    for (let cycle = 0; cycle < cycles; cycle++) {
      await offAndOn();
      if (cycle % Math.ceil(cycles / 10) === 0) seen.push({ cycle, ...look() });
    }
    const last = look();
    process.stderr.write(
      `off and on: ${seen.map((one) => `${one.cycle}: ${one.mb} MB, ${one.descriptors} fd`).join("; ")}; ${cycles}: ${last.mb} MB, ${last.descriptors} fd\n`,
    );
    const [, early = last] = seen;
    expect(last.descriptors).toBeLessThanOrEqual(early.descriptors + 5);
    expect(last.mb).toBeLessThanOrEqual(early.mb + 30);
  },
  2_400_000,
);
