import { randomUUID } from "node:crypto";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { platformContract } from "../../contract/platform.ts";
import { clientKeys, key, pressedOn, startWebos } from "./harness.ts";

platformContract({
  platform: webos,
  async startSet(name, asleep) {
    const simulator = await startWebos({
      name,
      uuid: randomUUID(),
      clientKeys,
      plainPort: null,
      ssdp: true,
      standby: asleep === "deep" ? "off" : "active-standby",
    });
    return {
      identity: simulator.uuid,
      host: simulator.host,
      port: simulator.ports.secure ?? 0,
      // Its plain port is closed, so that all goes through the relay.
      ports: { wake: simulator.ports.wake },
      announced: { port: String(simulator.ports.description), path: "/" },
      secret: { key },
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
  },
  app: { platformId: "netflix", name: "Netflix" },
  unknownApp: "com.example.nothing",
  learnsMore: true,
  typesAtOnce: true,
});
