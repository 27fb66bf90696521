import { expect, test } from "bun:test";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { has } from "../../contract/bench.ts";
import { pairingContract } from "../../contract/pairing.ts";
import { failureOf } from "../../support/failure.ts";
import { answer, startHttpDevice } from "../../support/http-device.ts";
import { platformHostOf, targetOf } from "../../support/platform-host.ts";
import { cleanups, lineTo, never, tidy } from "../harness.ts";
import { startKodi } from "./harness.ts";

tidy();

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

test.each([
  ["one with a tuner", [{ id: 1, number: 1, name: "One" }], true],
  ["one without", [], undefined],
] as const)(
  "%s says so as soon as it may be asked: when it is found, or else when it is paired",
  async (_what, channels, tuner) => {
    const open = await startKodi({ channels });
    const locked = await startKodi({ channels, password: "popcorn" });
    try {
      expect((await kodi.identify(open, platformHostOf(), never)).memory?.tuner).toBe(tuner);
      const sighting = await kodi.identify(locked, platformHostOf(), never);
      expect(sighting.memory?.tuner).toBeUndefined();
      const { target } = targetOf<KodiMemory, KodiSecret>(sighting, locked);
      const pairing = await kodi.pair?.(target, platformHostOf(), never);
      if (pairing?.step !== "login") throw new Error("it wants no login");
      expect(await failureOf(pairing.enter("kodi", "peanuts"))).toStartWith("pairing_failed");
      expect((await pairing.enter("kodi", "popcorn")).memory?.tuner).toBe(tuner);
      pairing.cancel();
    } finally {
      await Promise.all([open.stop(), locked.stop()]);
    }
  },
);

test.each(['"Kodi"', '"XBMC"', "XBMC"])("one asks for a login in the realm %s, by its version", async (realm) => {
  const set = await startHttpDevice(() => answer(401, "", [`WWW-Authenticate: Basic realm=${realm}`]));
  cleanups.push(set.stop);
  expect((await kodi.identify(set.address, platformHostOf(), never)).pairing).toBe("required");
});

test("one whose login is turned off before it is paired is driven without one", async () => {
  const set = await startKodi({ password: "popcorn", tcpPort: null });
  const { connection } = await lineTo<typeof set, KodiMemory, KodiSecret>(kodi, set, { lead: set });
  expect(await failureOf(has(connection.state).read(never))).toMatch(/^pairing_required/);
  set.setPassword(null);
  expect((await has(connection.state).read(never)).power).toBe("on");
});
