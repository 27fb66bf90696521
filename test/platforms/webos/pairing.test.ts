import { randomUUID } from "node:crypto";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { pairingContract } from "../../contract/pairing.ts";
import { startWebos } from "./harness.ts";

pairingContract({
  platform: webos,
  step: "confirm",
  async start() {
    const set = await startWebos({ uuid: randomUUID(), clientKeys: {}, prompt: "wait", plainPort: null });
    return {
      host: set.host,
      port: set.ports.secure ?? 0,
      get asking() {
        return set.state.prompting;
      },
      accept: () => void set.answerPrompt(true),
      refuse: () => void set.answerPrompt(false),
      stop: () => set.stop(),
    };
  },
});
