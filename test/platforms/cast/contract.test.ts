import { cast } from "../../../src/platforms/cast/adapter.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";
import { until } from "../../support/http-device.ts";
import { doneTo, startCast } from "./harness.ts";

platformContract({
  platform: cast,
  async startSet(name): Promise<SimulatedSet> {
    const simulator = await startCast({ name });
    return {
      identity: simulator.id,
      host: simulator.host,
      port: simulator.port,
      ports: {},
      get pressed() {
        return doneTo(simulator);
      },
      typed: "",
      get inFront() {
        return simulator.state.app;
      },
      get awake() {
        return simulator.state.power;
      },
      sleep: () => simulator.cutPower(),
      async readyForKey() {
        // Home leaves the app, and stop ends what plays in it.
        if (simulator.state.app === null) simulator.launch("233637DE");
        if (simulator.state.playback === null) simulator.play({ durationMs: 600_000 });
        await until("it plays", () => simulator.state.playback?.state !== "BUFFERING");
      },
      stop: () => simulator.stop(),
    };
  },
  app: { platformId: "233637DE", name: "YouTube" },
  unknownApp: "DEADBEEF",
  lacks: new Set(["text", "apps", "power_on"]),
  anyKeys: ["volume-up", "volume-down"],
  takesNoLinks: true,
  noStandby: true,
});
