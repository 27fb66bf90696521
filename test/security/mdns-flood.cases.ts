/** A flood of announcements over mDNS, each of another service: part of it is read, and the real service is found. */
import { expect, test } from "bun:test";
import dgram from "node:dgram";
import { browseMdns } from "../../src/discovery/mdns.ts";
import { ScanWindow } from "../../src/discovery/window.ts";
import { freeHost } from "../support/lane.ts";
import { nameOf, record, response, serverOf, textOf } from "../support/mdns-packets.ts";
import { announce } from "../support/mdns-service.ts";

const lo = { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true };
const type = nameOf("_zapd-flood", "_tcp", "local");

/** Whole in one datagram of somewhat more than a kilobyte. */
function datagram(number: number): Buffer {
  const name = nameOf(`flood ${number}`, "_zapd-flood", "_tcp", "local");
  const texts = Array.from({ length: 5 }, (_, at) => textOf(`${at}=${"x".repeat(200)}`));
  return response(
    record(type, "PTR", name),
    record(name, "SRV", serverOf(9, nameOf("den", "local"))),
    record(name, "TXT", Buffer.concat(texts)),
  );
}

/** At most so many datagrams are read in a tenth of a second. */
test.each([
  { by: "one host", hosts: 1, most: 16 },
  { by: "forty hosts", hosts: 40, most: 64 },
])("R16 of a flood by $by, part is read, and the real service is found", async ({ hosts, most }) => {
  const mouths = await Promise.all(
    Array.from({ length: hosts }, async () => {
      const mouth = dgram.createSocket("udp4");
      await new Promise<void>((resolve) => mouth.bind(0, freeHost(), resolve));
      mouth.setMulticastInterface(lo.address);
      return mouth;
    }),
  );
  const stop = new AbortController();
  let sound: ReturnType<typeof announce> | undefined;
  let [read, isFound] = [0, false];
  const started = performance.now();
  const browsing = browseMdns({
    types: ["_zapd-flood._tcp"],
    interfaces: [lo],
    window: new ScanWindow(60_000, stop.signal),
    onService: ({ name }) => {
      if (name.startsWith("flood ")) read++;
      if (name === sound?.name) isFound = true;
    },
    onTrouble: () => {},
  });
  for (let sent = 0; sent < 5_000 || (!isFound && sent < 200_000); sent++) {
    if (sent === 1_000) sound = announce("zapd-flood", {});
    mouths[sent % hosts]?.send(datagram(sent), 5353, "224.0.0.251");
    // Some ten thousand a second.
    if (sent % 20 === 0) await Bun.sleep(1);
  }
  const slices = (performance.now() - started) / 100 + 1;
  stop.abort();
  await browsing;
  for (const mouth of mouths) mouth.close();
  await sound?.stop();
  expect(isFound).toBe(true);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThanOrEqual(slices * most);
});
