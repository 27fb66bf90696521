import { randomUUID } from "node:crypto";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";
import { clientKeys, key, pressedOn, startWebos } from "./harness.ts";

const descriptions = new WeakMap<SimulatedSet, number>();

platformContract({
  platform: webos,
  async startSet(name, asleep): Promise<SimulatedSet> {
    const simulator = await startWebos({
      name,
      uuid: randomUUID(),
      clientKeys,
      plainPort: null,
      ssdp: true,
      standby: asleep === "deep" ? "off" : "active-standby",
    });
    const set: SimulatedSet = {
      identity: simulator.uuid,
      host: simulator.host,
      port: simulator.ports.secure ?? 0,
      // Its plain port is closed, so that all goes through the relay.
      ports: { wake: simulator.ports.wake },
      get pressed() {
        return pressedOn(simulator);
      },
      get typed() {
        return simulator.text;
      },
      get inFront() {
        const { activeApp: app } = simulator.state;
        return app === "com.webos.app.home" ? null : app;
      },
      get awake() {
        return simulator.state.power === "on";
      },
      sleep: () => simulator.powerOff(),
      readyForText: () => simulator.focus(true),
      stop: () => simulator.stop(),
    };
    descriptions.set(set, simulator.ports.description);
    return set;
  },
  announced: (set) => ({ port: String(descriptions.get(set)), path: "/" }),
  app: { platformId: "netflix", name: "Netflix" },
  unknownApp: "com.example.nothing",
  secret: { key },
  learnsMore: true,
  typesAtOnce: true,
});
