import { randomUUID } from "node:crypto";
import { dlna } from "../../../src/platforms/dlna/adapter.ts";
import { createDlnaSimulator, type StackName } from "../../../src/simulators/dlna.ts";
import { platformContract, type SimulatedSet } from "../../contract/platform.ts";

async function startSet(stack: StackName, name: string): Promise<SimulatedSet> {
  const simulator = createDlnaSimulator({ name, uuid: randomUUID(), stack, ssdp: false });
  await simulator.start();
  return {
    identity: simulator.uuid,
    host: simulator.host,
    port: simulator.port,
    ports: {},
    path: simulator.path,
    get pressed() {
      return simulator.commands;
    },
    typed: "",
    inFront: null,
    get awake() {
      return simulator.state.isOn;
    },
    sleep: () => simulator.sleep(),
    async readyForKey() {
      if (simulator.state.transport !== "PLAYING") simulator.play();
    },
    stop: () => simulator.stop(),
  };
}

for (const stack of ["kodi", "gmediarender", "rygel", "tv"] as const)
  platformContract({
    platform: dlna,
    startSet: (name) => startSet(stack, name),
    app: { platformId: "none", name: "none" },
    unknownApp: "none",
    lacks: new Set(["apps", "launch", "stop", "text", "power_on"]),
    anyKeys: ["volume-up", "volume-down"],
    tellsNoPower: true,
    noStandby: true,
  });
