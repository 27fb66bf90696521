import { afterAll } from "bun:test";
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import { createRokuSimulator } from "../../../src/simulators/roku.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";
import { packageOf } from "../../support/sets.ts";
import { scratchFolder } from "../../support/zip.ts";

const password = "open sesame";
const folder = scratchFolder();
afterAll(() => folder.remove());

/** A TV with everything: in developer mode, with sound, power and inputs. */
async function startSet(name: string): Promise<SimulatedSet> {
  const run = randomUUID().slice(0, 8);
  const simulator = createRokuSimulator({
    name,
    serial: `X0${name}${run}`,
    kind: "tv",
    ssdp: false,
    launchMs: 20,
    developer: { password },
  });
  await simulator.start();
  const { installer, console, wake } = simulator.ports;
  return {
    identity: simulator.serial,
    host: simulator.host,
    port: simulator.port,
    ports: { installer: installer ?? 0, console: console ?? 0, wake },
    pressed: simulator.keys,
    get typed() {
      return simulator.text;
    },
    get inFront() {
      return simulator.state.activeApp;
    },
    get awake() {
      return simulator.state.power === "on";
    },
    sleep: (kind) => simulator.sleep(kind),
    say: (line) => simulator.log(line),
    stop: () => simulator.stop(),
  };
}

platformContract({
  platform: roku,
  startSet,
  app: { platformId: "12", name: "Netflix" },
  unknownApp: "424242",
  developer: {
    password,
    package: { name: "Hello", version: "1.0.1" },
    archive() {
      const path = folder.put(packageOf());
      return { path, bytes: statSync(path).size };
    },
  },
});
