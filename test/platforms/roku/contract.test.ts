import { randomUUID } from "node:crypto";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import { createRokuSimulator } from "../../../src/simulators/roku.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";

/** A TV with everything: with sound, power and inputs. */
async function startSet(name: string): Promise<SimulatedSet> {
  const run = randomUUID().slice(0, 8);
  const simulator = createRokuSimulator({
    name,
    serial: `X0${name}${run}`,
    kind: "tv",
    ssdp: false,
    launchMs: 20,
  });
  await simulator.start();
  return {
    identity: simulator.serial,
    host: simulator.host,
    port: simulator.port,
    ports: { wake: simulator.ports.wake },
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
    stop: () => simulator.stop(),
  };
}

platformContract({
  platform: roku,
  startSet,
  app: { platformId: "12", name: "Netflix" },
  unknownApp: "424242",
});
