import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import { pairingContract } from "../../contract/pairing.ts";
import { startKodi } from "./harness.ts";

pairingContract({
  platform: kodi,
  step: "login",
  right: { user: "kodi", password: "popcorn" },
  wrong: { user: "kodi", password: "peanuts" },
  async start() {
    const set = await startKodi({ password: "popcorn" });
    return { host: set.host, port: set.port, asking: false, accept() {}, refuse() {}, stop: () => set.stop() };
  },
});
