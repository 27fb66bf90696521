import { describe, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { ProbeQueue } from "../../src/discovery/probe-queue.ts";
import type { Address, Sighting } from "../../src/platforms/platform.ts";
import { fakePlatform, sightingOf } from "../support/fake-platform.ts";

const platform = fakePlatform();
const idOf = ({ host, port }: Address) => `${host}:${port}`;
const usual = async (address: Address) => sightingOf(idOf(address));

function intakeOf(
  identify: (address: Address) => Promise<Sighting> = usual,
  found?: (sighting: Sighting) => Promise<string>,
): ProbeQueue<string> {
  return new ProbeQueue<string>({
    platformHost: { isOwnListener: ({ port }) => port === 7_272, debug() {} },
    identify: (_platform, address) => identify(address),
    addFound: async ({ sighting }) => (found ? found(sighting) : sighting.identity),
  });
}

/** Offers this many ports of each of these many hosts, and gives what was found and how many were asked at once. */
async function storm(hosts: number, ports: number) {
  const running = new Map<string, number>();
  let mostOfOne = 0;
  let most = 0;
  const probes = intakeOf(async (address) => {
    running.set(address.host, (running.get(address.host) ?? 0) + 1);
    mostOfOne = Math.max(mostOfOne, running.get(address.host) ?? 0);
    most = Math.max(
      most,
      [...running.values()].reduce((sum, one) => sum + one, 0),
    );
    await Bun.sleep(1);
    running.set(address.host, (running.get(address.host) ?? 0) - 1);
    return usual(address);
  });
  for (let port = 1; port <= ports; port++)
    for (let host = 1; host <= hosts; host++) probes.add(platform, { host: `192.0.2.${host}`, port });
  return { found: await probes.finish(20_000), most, mostOfOne };
}

describe("R16 candidates", () => {
  test("are identified sixteen at once, and all of them in the end", async () => {
    const { found, most } = await storm(20, 10);
    expect(found.length).toBe(200);
    expect(most).toBe(16);
  });

  test("are 1,024 at most", async () => {
    expect((await storm(40, 30)).found.length).toBe(1_024);
  });

  test("of one host that answers for a thousand leave the others their turn", async () => {
    const asked: string[] = [];
    const probes = intakeOf(async (address) => {
      asked.push(idOf(address));
      await Bun.sleep(1);
      return usual(address);
    });
    for (let port = 1; port <= 1_500; port++) probes.add(platform, { host: "192.0.2.1", port });
    probes.add(platform, { host: "192.0.2.2", port: 8_060 });
    const found = await probes.finish(20_000);
    expect(found).toContain("192.0.2.2:8060");
    expect(asked.indexOf("192.0.2.2:8060")).toBeLessThan(20);
    expect(found.length).toBeLessThan(200);
    expect((await storm(1, 100)).mostOfOne).toBeLessThan(16);
  });

  test("of a host that comes last are two", async () => {
    const probes = intakeOf();
    for (let host = 1; host <= 8; host++)
      for (let port = 1; port <= 128; port++) probes.add(platform, { host: `192.0.2.${host}`, port });
    for (const port of [1, 2, 3]) probes.add(platform, { host: "192.0.2.9", port });
    const found = await probes.finish(20_000);
    expect(found.filter((one) => one.startsWith("192.0.2.9:"))).toEqual(["192.0.2.9:1", "192.0.2.9:2"]);
  });

  test("are probed once, and again only when they could not be identified", async () => {
    let tries = 0;
    const probes = intakeOf(async (address) => {
      if (++tries === 1) throw new ZapdError("device_timeout", "did not answer");
      return usual(address);
    });
    for (let round = 0; round < 4; round++) {
      probes.add(platform, { host: "192.0.2.1", port: 1 });
      await Bun.sleep(2);
    }
    expect(await probes.finish(1_000)).toEqual(["192.0.2.1:1"]);
    expect(tries).toBe(2);
  });

  test("that are invalid are not probed: no device, zapd's own listener, an invalid port", async () => {
    const probes = intakeOf();
    probes.add(platform, null);
    for (const port of [0, -1, 65_536, 7_272]) probes.add(platform, { host: "127.0.0.1", port });
    expect(await probes.finish(5_000)).toEqual([]);
  });

  test("that fail, or cannot be added, do not affect the others", async () => {
    const probes = intakeOf(usual, async ({ identity }) => {
      if (identity.endsWith(":2")) throw new Error("the disk is full");
      return identity;
    });
    for (const port of [1, 2, 3]) probes.add(platform, { host: "192.0.2.1", port });
    expect((await probes.finish(1_000)).sort()).toEqual(["192.0.2.1:1", "192.0.2.1:3"]);
  });

  test("that wait when the grace is over are not probed", async () => {
    let asked = 0;
    const probes = intakeOf(async (address) => {
      asked++;
      await Bun.sleep(100);
      return usual(address);
    });
    for (let host = 1; host <= 40; host++) probes.add(platform, { host: `192.0.2.${host}`, port: 1 });
    await probes.finish(0);
    await Bun.sleep(200);
    expect(asked).toBe(16);
  });

  test("that never answer are waited for no longer than the grace", async () => {
    const probes = intakeOf((address) => (address.port === 1 ? new Promise(() => {}) : usual(address)));
    for (const port of [1, 2]) probes.add(platform, { host: "192.0.2.1", port });
    const start = performance.now();
    expect(await probes.finish(100)).toEqual(["192.0.2.1:2"]);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
