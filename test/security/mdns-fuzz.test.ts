/**
 * Announcements over mDNS with their bytes changed at random, as any host of the network may send them: nothing goes uncaught
 * in the library that reads them, what comes out is bounded, and the service that is sound is still found.
 */
import { expect, test } from "bun:test";
import dgram from "node:dgram";
import { browseMdns } from "../../src/discovery/mdns.ts";
import { ScanWindow } from "../../src/discovery/window.ts";
import type { MdnsService } from "../../src/platforms/platform.ts";
import { until } from "../support/http-device.ts";
import { announce } from "../support/mdns-service.ts";
import { isWhole, runs, seed } from "../support/whole.ts";
import { dice } from "./dice.ts";

const type = "_zapd-fuzz._tcp";
const lo = { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true };
const group = "224.0.0.251";

/** Datagrams of a sound service, as they are sent on the loopback interface. */
async function captured(): Promise<Buffer[]> {
  const ear = dgram.createSocket({ type: "udp4", reuseAddr: true });
  const heard: Buffer[] = [];
  ear.on("message", (bytes) => bytes.includes("zapd-fuzz") && heard.push(bytes));
  await new Promise<void>((resolve) => ear.bind(5353, "0.0.0.0", resolve));
  ear.addMembership(group, "127.0.0.1");
  const announced = announce("zapd-fuzz", { id: "a", model: "b" });
  await until("the service is announced", () => heard.length > 0);
  await announced.stop();
  ear.close();
  return heard;
}

test(`T6 T24 mangled announcements are passed over, or told within bounds (seed ${seed})`, async () => {
  const sources = await captured();
  expect(sources.length).toBeGreaterThan(0);
  const stop = new AbortController();
  const told: MdnsService[] = [];
  const browsing = browseMdns({
    types: [type],
    interfaces: [lo],
    window: new ScanWindow(isWhole ? 600_000 : 60_000, stop.signal),
    onService: (service) => told.push(service),
    onTrouble: () => {},
  });
  await Bun.sleep(100);
  const mouth = dgram.createSocket("udp4");
  await new Promise<void>((resolve) => mouth.bind(0, "127.0.0.1", resolve));
  mouth.setMulticastInterface("127.0.0.1");
  const roll = dice(seed);
  const count = runs(3_000, 50_000);
  for (let sent = 0; sent < count; sent++) {
    const bytes = Buffer.from(sources[roll(sources.length)] ?? "");
    for (let times = 1 + roll(6); times > 0; times--) bytes[roll(bytes.length)] = roll(256);
    const piece = roll(8) === 0 ? bytes.subarray(0, roll(bytes.length)) : bytes;
    await new Promise((resolve) => mouth.send(piece, 5353, group, resolve));
  }
  const sound = announce("zapd-fuzz", { id: "sound" });
  await until("the sound service is found", () => told.some(({ name }) => name === sound.name));
  stop.abort();
  await browsing;
  mouth.close();
  await sound.stop();
  expect(told.find(({ name }) => name === sound.name)).toMatchObject({ txt: { id: "sound" } });
  for (const { name, txt, addresses } of told) {
    expect(name.length).toBeLessThanOrEqual(256);
    expect(addresses.length).toBeLessThanOrEqual(16);
    expect(Object.keys(txt).length).toBeLessThanOrEqual(64);
  }
});
