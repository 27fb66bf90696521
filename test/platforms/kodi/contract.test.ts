import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import { platformContract } from "../../contract/platform.ts";
import { until } from "../../support/http-device.ts";
import { doneTo, startKodi } from "./harness.ts";

platformContract({
  platform: kodi,
  async startSet(name) {
    const simulator = await startKodi({ name, channels: [{ id: 1, number: 1, name: "One" }] });
    return {
      identity: simulator.uuid,
      host: simulator.host,
      port: simulator.port,
      announced: { type: "_xbmc-jsonrpc-h._tcp", uuid: simulator.uuid },
      ports: { websocket: simulator.ports.tcp ?? 0, wake: simulator.ports.wake },
      get pressed() {
        return doneTo(simulator);
      },
      get typed() {
        return simulator.text;
      },
      get inFront() {
        return /^plugin:\/\/([^/]+)/.exec(simulator.state.folder)?.[1] ?? null;
      },
      get awake() {
        return simulator.state.power === "on";
      },
      sleep: () => simulator.sleep(),
      async readyForKey() {
        if (simulator.state.playback === null) simulator.tune(1);
        await until("it plays", () => simulator.state.playback !== null);
      },
      readyForText: () => simulator.openDialog("keyboard"),
      stop: () => simulator.stop(),
    };
  },
  app: { platformId: "plugin.video.youtube", name: "YouTube" },
  unknownApp: "plugin.video.nothing",
  learnsMore: true,
  noStandby: true,
  typesAtOnce: true,
});
