import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import { pairingContract } from "../../contract/pairing.ts";
import { freeHost } from "../../support/lane.ts";
import { mistyped } from "../../support/mistyped.ts";
import { startAndroid } from "./harness.ts";

pairingContract({
  platform: androidtv,
  step: "code",
  async start() {
    const host = freeHost();
    // At its usual ports, so that one is found beside the other.
    const set = await startAndroid({
      name: `Set ${host}`,
      host,
      remotePort: 6_466,
      pairingPort: 6_467,
      mdns: true,
      paired: [],
    });
    return {
      host: set.host,
      port: set.ports.remote,
      get asking() {
        return set.state.code !== null;
      },
      get code() {
        return set.state.code;
      },
      accept() {},
      refuse: () => set.dismiss(),
      stop: () => set.stop(),
    };
  },
  right: ({ code }) => ({ pin: code ?? "123456" }),
  wrong: ({ code }) => ({ pin: mistyped(code) }),
});
