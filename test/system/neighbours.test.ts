import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { isRouted, isUnclaimed, neighboursOf, parseNeighbours } from "../../src/system/neighbours.ts";

const table = `IP address       HW type     Flags       HW address            Mask     Device
192.168.1.20     0x1         0x2         3C:59:1E:00:00:0a     *        eth0
192.168.1.21     0x1         0x0         00:00:00:00:00:00     *        eth0
192.168.1.22     0x1         0x6         3c:59:1e:00:00:0c     *        wlan0
`;

test("the table of neighbours tells whose hardware is complete in it", () => {
  expect([...parseNeighbours(table)]).toEqual([
    ["192.168.1.20", "3c:59:1e:00:00:0a"],
    ["192.168.1.22", "3c:59:1e:00:00:0c"],
  ]);
  expect([...parseNeighbours("")]).toEqual([]);
  expect([...parseNeighbours("nothing\n\n of the kind")]).toEqual([]);
});

test("an address that has been asked for and that nobody has claimed is told from one that is known, or in no table", () => {
  const unclaimed = (host: string, text = table) => isUnclaimed(host, () => text);
  expect(["192.168.1.20", "192.168.1.21", "192.168.1.22", "10.0.0.1"].filter((host) => unclaimed(host))).toEqual([
    "192.168.1.21",
  ]);
  // Known on one interface, it is there, whatever another has found.
  expect(unclaimed("192.168.1.20", table.replaceAll(".21 ", ".20 "))).toBe(false);
  const unreadable = () => {
    throw new Error("EACCES");
  };
  expect(isUnclaimed("192.168.1.21", unreadable)).toBe(false);
});

test("an address is routed where it is in a network of the table, or where there is a gateway for all others", () => {
  const lan = `Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth0 0001A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
`;
  const all = ["192.168.1.20", "192.168.2.20", "203.0.113.255", "127.0.0.7", "fd00::1"];
  const routed = (text: string) => all.filter((host) => isRouted(host, () => text));
  expect(routed(lan)).toEqual(["192.168.1.20", "127.0.0.7", "fd00::1"]);
  expect(routed(`${lan}eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n`)).toEqual(all);
  const unreadable = () => {
    throw new Error("EACCES");
  };
  expect(isRouted("192.168.2.20", unreadable)).toBe(true);
});

test("the table is read anew after a second, and never again where it cannot be read", () => {
  let reads = 0;
  let now = 0;
  const read = () => {
    reads++;
    if (now > 5_000) throw new Error("EACCES");
    return table;
  };
  const neighbours = neighboursOf(read, () => now);
  for (let round = 0; round < 10; round++) expect(neighbours.macOf("192.168.1.20")).toBe("3c:59:1e:00:00:0a");
  expect([reads, neighbours.macOf("192.168.1.99")]).toEqual([1, null]);
  now = 500;
  expect([neighbours.macOf("192.168.1.99"), neighbours.macOf("192.168.1.98"), reads]).toEqual([null, null, 2]);
  now = 1_500;
  neighbours.macOf("192.168.1.20");
  expect(reads).toBe(3);
  now = 6_000;
  expect(neighbours.macOf("192.168.1.20")).toBeNull();
  now = 60_000;
  expect([neighbours.macOf("192.168.1.20"), reads]).toEqual([null, 4]);
});

test("the table is read again once there are file descriptors for it", () => {
  let now = 0;
  const read = () => {
    if (now < 100) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    return table;
  };
  const neighbours = neighboursOf(read, () => now);
  expect(neighbours.macOf("192.168.1.20")).toBeNull();
  now = 100;
  expect(neighbours.macOf("192.168.1.20")).toBe("3c:59:1e:00:00:0a");
});

test.skipIf(!existsSync("/proc/net/arp"))(
  "T29 the system's own table is read where it can be, and loopback has no entries in it",
  () => {
    const text = readFileSync("/proc/net/arp", "utf8");
    expect(text).toStartWith("IP address");
    const neighbours = neighboursOf();
    for (const [host, mac] of parseNeighbours(text)) expect(neighbours.macOf(host)).toBe(mac);
    expect(neighbours.macOf("127.0.0.1")).toBeNull();
  },
);
