/**
 * What every platform must do, on a real socket against its simulator (DESIGN.md 5). A platform's own test gives a
 * platform, a way to start a set of it that can do all that the platform can, and what such a set is known to have.
 */
import { describe, expect, test } from "bun:test";
import { kinds } from "../../src/platforms/platform.ts";
import { answer, startHttpDevice, until } from "../support/http-device.ts";
import { platformHostOf } from "../support/platform-host.ts";
import { type Bench, type Contract, createBench, failure, never } from "./bench.ts";
import { drivingContract } from "./driving.ts";
import { troubleContract } from "./trouble.ts";

export type { Contract, SimulatedSet } from "./bench.ts";

export function platformContract(contract: Contract): void {
  const bench = createBench(contract);
  identityContract(bench);
  drivingContract(bench);
  troubleContract(bench);
}

function identityContract(bench: Bench): void {
  const { platform, app, unknownApp, line, start, after } = bench;

  describe.concurrent(`platform ${platform.name}: what it says of itself`, () => {
    test("a name, a port, ports and queries of the form that the daemon wants", () => {
      expect(platform.name).toMatch(/^[a-z][a-z0-9-]{0,31}$/);
      for (const port of Object.values(platform.ports))
        expect(Number.isInteger(port) && port >= 1 && port <= 65_535).toBe(true);
      for (const word of Object.keys(platform.ports)) expect(word).toMatch(/^[a-z][a-z_]{0,31}$/);
      expect(platform.queries.length).toBeGreaterThan(0);
      for (const id of bench.can("launch") ? [app.platformId, unknownApp] : []) expect(platform.isAppId(id)).toBe(true);
      for (const text of ["", " ", "../x", "a b", "x".repeat(2_000), "\0"]) expect(platform.isAppId(text)).toBe(false);
    });

    test("its queries take nothing of an answer that is not theirs", () => {
      for (const query of platform.queries) {
        if (query.over === "ssdp")
          expect(query.read({ headers: new Map([["st", "upnp:rootdevice"]]), source: "192.0.2.1" })).toBeNull();
        else
          expect(
            query.read({ name: "x", type: "_other._tcp", addresses: [], port: 1, txt: {}, source: "192.0.2.1" }),
          ).toBeNull();
      }
    });
  });

  describe.concurrent(`platform ${platform.name}: who lives at an address`, () => {
    test("the set, by its hardware's identity, with facts in the words of the contract", async () => {
      const { set, sighting } = await line();
      const { facts } = sighting;
      expect(sighting.identity).toBe(set.identity);
      expect(facts.name).toBe("One");
      expect(kinds).toContain(facts.kind);
      for (const mac of facts.macs) expect(mac).toMatch(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
      expect(facts.access).toBe("full");
    });

    test("what the suite leaves out is what the set says that it lacks", async () => {
      const { target } = await line();
      const { has } = platform.describe(target.facts, target.memory, true);
      for (const capability of ["text", "apps", "launch", "power_on", "keys"] as const)
        expect([capability, has.has(capability)]).toEqual([capability, bench.can(capability)]);
    });

    test("nobody, where nothing answers, where something else does, and where it never ends", async () => {
      // At an address that no test listens at: a port that was freed may be another's by now.
      const gone = platform.identify({ host: "127.66.0.1", port: (await start()).port }, platformHostOf(), never);
      expect((await failure(gone)).code).toBe("device_unreachable");
      const noise = [
        answer(404),
        answer(200, "<html>router</html>"),
        answer(200, "\0".repeat(100)),
        "SSH-2.0\r\n",
        "close",
        "drip",
      ] as const;
      const identify = async (saying: (typeof noise)[number]) => {
        const other = await startHttpDevice(() => saying);
        after(() => other.stop());
        const error = await failure(platform.identify(other.address, platformHostOf({ timeout: 400 }), never));
        expect(["device_error", "device_timeout", "device_unreachable"]).toContain(error.code);
        await until(`nothing is left open after ${JSON.stringify(saying)}`, () => other.open === 0);
      };
      await Promise.all(noise.map(identify));
    }, 60_000);
  });
}
