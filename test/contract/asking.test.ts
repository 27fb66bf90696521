/** The suite of the platforms that pair, for a code, which none of them asks for yet. */
import { AskingSet, askingPlatform, askingPort } from "../support/asking-house.ts";
import { pairingContract } from "./pairing.ts";

const sets = new Map<number, AskingSet>();

pairingContract({
  platform: askingPlatform(sets),
  step: "code",
  right: { pin: "271828" },
  wrong: { pin: "314159" },
  async start() {
    const set = new AskingSet("code", "271828");
    const port = askingPort + sets.size;
    sets.set(port, set);
    return {
      host: "127.0.0.1",
      port,
      get asking() {
        return set.showing;
      },
      accept() {},
      refuse() {},
      stop: async () => {},
    };
  },
});
