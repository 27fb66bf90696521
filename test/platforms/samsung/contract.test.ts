import { randomUUID } from "node:crypto";
import { samsung } from "../../../src/platforms/samsung/adapter.ts";
import { platformContract } from "../../contract/platform.ts";
import { startSamsung, taken, token } from "./harness.ts";

platformContract({
  platform: samsung,
  async startSet(name, asleep) {
    const simulator = await startSamsung({
      name,
      duid: randomUUID(),
      year: 2019,
      plainPort: null,
      traits: { keyMs: 0 },
      standby: asleep === "deep" ? "off" : "standby",
    });
    const { renderer, wake } = simulator.ports;
    return {
      identity: simulator.duid,
      host: simulator.host,
      port: simulator.ports.secure ?? 0,
      ports: { wake, ...(renderer !== null && { renderer }) },
      secret: { token, certificate: simulator.fingerprint },
      get pressed() {
        return taken(simulator);
      },
      get typed() {
        return simulator.state.text;
      },
      get inFront() {
        return simulator.state.front;
      },
      get awake() {
        return simulator.state.power === "on";
      },
      sleep: () => simulator.powerOff(),
      readyForText: () => simulator.focus(true),
      stop: () => simulator.stop(),
    };
  },
  app: { platformId: "3201907018807", name: "Netflix" },
  unknownApp: "3201000000000",
  learnsMore: true,
  typesAtOnce: true,
});
