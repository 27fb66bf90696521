import { randomUUID } from "node:crypto";
import { samsung } from "../../../src/platforms/samsung/adapter.ts";
import { pairingContract } from "../../contract/pairing.ts";
import { startSamsung } from "./harness.ts";

pairingContract({
  platform: samsung,
  step: "confirm",
  async start() {
    const set = await startSamsung({ duid: randomUUID(), tokens: [], prompt: "wait" });
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
