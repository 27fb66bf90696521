import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import { platformContract } from "../../contract/platform.ts";
import { own, startAndroid } from "./harness.ts";

platformContract({
  platform: androidtv,
  async startSet(name, asleep) {
    const simulator = await startAndroid({ name, standby: asleep === "deep" ? "off" : "standby" });
    const { remote, pairing, wake } = simulator.ports;
    return {
      identity: simulator.bluetooth,
      host: simulator.host,
      port: remote,
      ports: { pairing, wake },
      announced: { name },
      secret: { ...own, certificate: simulator.fingerprint },
      macs: [simulator.mac],
      get pressed() {
        return simulator.keys.map(({ code }) => String(code));
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
      sleep: (kind) => simulator.powerOff(kind === "deep" ? "off" : "standby"),
      readyForText: () => simulator.focus(true),
      stop: () => simulator.stop(),
    };
  },
  app: { platformId: "com.google.android.youtube.tv", name: "YouTube" },
  unknownApp: "com.example.nowhere",
  lacks: new Set(["apps"]),
  learnsMore: true,
  hidesMissingApps: true,
  typesAtOnce: true,
});
