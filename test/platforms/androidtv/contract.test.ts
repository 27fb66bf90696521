import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import type { AndroidTvSimulator } from "../../../src/simulators/androidtv.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";
import { own, startAndroid } from "./harness.ts";

const simulators = new Map<SimulatedSet, AndroidTvSimulator>();
const of = (set: SimulatedSet) => {
  const simulator = simulators.get(set);
  if (!simulator) throw new Error("it is no set of these");
  return simulator;
};

platformContract({
  platform: androidtv,
  async startSet(name, asleep) {
    const simulator = await startAndroid({ name, standby: asleep === "deep" ? "off" : "standby" });
    const { remote, pairing, wake } = simulator.ports;
    const set: SimulatedSet = {
      identity: simulator.bluetooth,
      host: simulator.host,
      port: remote,
      ports: { pairing, wake },
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
    simulators.set(set, simulator);
    return set;
  },
  announced: (set) => ({ name: of(set).state.name }),
  secretOf: (set) => ({ ...own, certificate: of(set).fingerprint }),
  macsOf: (set) => [of(set).mac],
  app: { platformId: "com.google.android.youtube.tv", name: "YouTube" },
  unknownApp: "com.example.nowhere",
  lacks: new Set(["apps"]),
  learnsMore: true,
  hidesMissingApps: true,
  typesAtOnce: true,
});
