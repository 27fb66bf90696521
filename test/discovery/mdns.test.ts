import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { browseMdns } from "../../src/discovery/mdns.ts";
import { ScanWindow } from "../../src/discovery/window.ts";
import type { MdnsService } from "../../src/platforms/platform.ts";
import { announce } from "../support/mdns-service.ts";

const lo = { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true };
const never = new AbortController().signal;

async function browse(types: readonly string[], timeoutMs: number, wanted = "", on = lo) {
  const services: { service: MdnsService; at: number }[] = [];
  const troubles: string[] = [];
  const stop = new AbortController();
  const start = performance.now();
  await browseMdns({
    types,
    interfaces: [on],
    window: new ScanWindow(timeoutMs, stop.signal),
    onService: (service) => {
      services.push({ service, at: performance.now() - start });
      if (service.name === wanted) stop.abort();
    },
    onTrouble: (problem) => troubles.push(problem),
  });
  return { services, troubles, took: performance.now() - start };
}

test("a service that is announced is told with its address, port and texts, the moment it is complete", async () => {
  const announced = announce("zapd-test", { id: "set-1", model: "X" });
  try {
    const { services, troubles, took } = await browse(["_zapd-test._tcp"], 5_000, announced.name);
    const found = services.find(({ service }) => service.name === announced.name);
    expect(found?.service).toMatchObject({
      type: "_zapd-test._tcp",
      port: announced.port,
      txt: { id: "set-1", model: "X" },
    });
    // It says addresses of other interfaces than loopback alone, of which there may be none.
    const others = Object.values(networkInterfaces())
      .flat()
      .filter((one) => one?.internal === false);
    if (others.length > 0) expect(found?.service.addresses.length).toBeGreaterThan(0);
    expect(troubles).toEqual([]);
    expect(took).toBeLessThan(4_000);
  } finally {
    await announced.stop();
  }
}, 60_000);

test("one of another type is not told", async () => {
  const announced = announce("zapd-other", {});
  try {
    const { services } = await browse(["_zapd-test._tcp"], 400);
    expect(services.filter(({ service }) => service.name === announced.name)).toEqual([]);
  } finally {
    await announced.stop();
  }
}, 60_000);

test("T6 what was sent on another link than the one that is asked on is not told", async () => {
  const announced = announce("zapd-test", {});
  try {
    const elsewhere = { ...lo, address: "127.1.0.1", netmask: "255.255.0.0", broadcast: "127.1.255.255" };
    const heard = async (on: typeof lo) => {
      const { services, troubles } = await browse(["_zapd-test._tcp"], 1_500, announced.name, on);
      expect(troubles).toEqual([]);
      return services.some(({ service }) => service.name === announced.name);
    };
    expect(await Promise.all([heard(lo), heard(elsewhere)])).toEqual([true, false]);
  } finally {
    await announced.stop();
  }
}, 60_000);

test("without a type, or without an interface, nothing is asked and nothing waits", async () => {
  expect((await browse([], 5_000)).took).toBeLessThan(4_000);
  const window = new ScanWindow(200, never);
  await browseMdns({ types: ["_x._tcp"], interfaces: [], window, onService: () => {}, onTrouble: () => {} });
  await window.over;
});
