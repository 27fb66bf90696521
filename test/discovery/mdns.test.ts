import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import dgram from "node:dgram";
import { networkInterfaces } from "node:os";
import type { DnsRecord } from "multicast-dns";
import { Announcements } from "../../src/discovery/announcements.ts";
import { askMdns, browseMdns } from "../../src/discovery/mdns.ts";
import { ScanWindow } from "../../src/discovery/window.ts";
import type { MdnsService } from "../../src/platforms/platform.ts";
import { nameOf, questionFor, record, response, serverOf, textOf } from "../support/mdns-packets.ts";
import { announce } from "../support/mdns-service.ts";
import { inOwnNetwork } from "../support/own-network.ts";
import { root } from "../support/sources.ts";

const lo = { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true };
const neverAborted = new AbortController().signal;

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

test("an announced service is reported with its address, port and texts as soon as it is complete", async () => {
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

test("T6 what was sent on another link than the one that is asked on is not told", async () => {
  const announced = announce("zapd-test", {});
  try {
    const elsewhere = { ...lo, address: "127.1.0.1", netmask: "255.255.0.0", broadcast: "127.1.255.255" };
    const heard = async (on: typeof lo, within: number) => {
      const { services, troubles } = await browse(["_zapd-test._tcp"], within, announced.name, on);
      expect(troubles).toEqual([]);
      return services.some(({ service }) => service.name === announced.name);
    };
    expect(await Promise.all([heard(lo, 20_000), heard(elsewhere, 1_500)])).toEqual([true, false]);
  } finally {
    await announced.stop();
  }
}, 60_000);

test("without a type, or without an interface, nothing is asked and nothing waits", async () => {
  expect((await browse([], 5_000)).took).toBeLessThan(4_000);
  const window = new ScanWindow(200, neverAborted);
  await browseMdns({ types: ["_x._tcp"], interfaces: [], window, onService: () => {}, onTrouble: () => {} });
  await window.over;
});

test("one host is asked for one service, and no other host may answer for it", async () => {
  const announced = announce("zapd-test", { id: "set-1" });
  const ask = (host: string, isIt = ({ name }: MdnsService) => name === announced.name, signal = neverAborted) =>
    askMdns({ type: "_zapd-test._tcp", host, isIt, interfaces: [lo] }, signal);
  try {
    expect(await ask("127.0.0.1")).toMatchObject({ port: announced.port, txt: { id: "set-1" } });
    const others = [ask("127.0.0.1", () => false), ask("192.0.2.7"), ask("127.0.0.1", undefined, AbortSignal.abort())];
    expect(await Promise.all(others)).toEqual([null, null, null]);
  } finally {
    await announced.stop();
  }
}, 60_000);

test("a service whose own name has dots is found from its name alone: the name is asked for as one label", async () => {
  const type = nameOf("_zapd-dots", "_tcp", "local");
  const name = nameOf("Dr. Who v2.0 – 电视", "_zapd-dots", "_tcp", "local");
  const answers = [
    { question: questionFor(type, "PTR"), answer: record(type, "PTR", name) },
    { question: questionFor(name, "TXT"), answer: record(name, "TXT", textOf("id=7")) },
    { question: questionFor(name, "SRV"), answer: record(name, "SRV", serverOf(9, nameOf("den", "local"))) },
  ];
  const host = dgram.createSocket({ type: "udp4", reuseAddr: true });
  await new Promise<void>((resolve) => host.bind(5353, "0.0.0.0", resolve));
  host.addMembership("224.0.0.251", lo.address);
  host.setMulticastInterface(lo.address);
  host.on("message", (bytes) => {
    for (const { question, answer } of bytes[2] === 0 ? answers : [])
      if (bytes.subarray(12).indexOf(question) === 0) host.send(response(answer), 5353, "224.0.0.251");
  });
  const { services } = await browse(["_zapd-dots._tcp"], 5_000, "Dr. Who v2.0 – 电视");
  host.close();
  expect(services.map(({ service }) => service)).toMatchObject([
    { name: "Dr. Who v2.0 – 电视", port: 9, txt: { id: "7" } },
  ]);
});

/** What one host says of one service, record by record. */
const ptr: DnsRecord = { type: "PTR", name: "_x._tcp.local", ttl: 120, data: "Den v2.0._x._tcp.local" };
const labels = ["Den v2.0", "_x", "_tcp", "local"];
const srv: DnsRecord = {
  type: "SRV",
  name: "den V2.0._X._tcp.local",
  ttl: 120,
  data: { target: "Den.local", port: 9 },
};
const txt: DnsRecord = {
  type: "TXT",
  name: ptr.data,
  ttl: 120,
  data: ["ID=a=b", "id=late", "flag", "none=", "=x", "\n"].map((text) => Buffer.from(text)),
};
const a: DnsRecord = { type: "A", name: "den.local", ttl: 120, data: "192.0.2.7" };
const whole = {
  name: "Den v2.0",
  type: "_x._tcp",
  port: 9,
  source: "192.0.2.7",
  addresses: ["192.0.2.7"],
  txt: { id: "a=b", flag: "", none: "", "\n": "" },
};

describe("what is announced", () => {
  const told = (packets: readonly (readonly DnsRecord[])[], sources: readonly string[] = []) => {
    const heard = new Announcements(["_x._tcp"]);
    const services = packets.flatMap((records, at) => heard.take(records, sources[at] ?? "192.0.2.7"));
    return { services, lacking: heard.takeIncomplete() };
  };

  test("may come in one packet or in several, in any order (RFC 6763, 12)", () => {
    expect(told([[ptr, srv, txt, a]])).toEqual({ services: [whole], lacking: [] });
    for (const packets of [
      [[ptr], [a, srv, txt]],
      [[a], [txt], [srv], [ptr]],
      [[ptr, a], [txt], [srv]],
    ]) {
      const { services, lacking } = told(packets);
      expect([services.at(-1), lacking]).toEqual([whole, []]);
    }
  });

  test("and its missing records are asked for, once until it is announced again", () => {
    expect(told([[ptr, a]])).toEqual({ services: [], lacking: [labels] });
    const heard = new Announcements(["_x._tcp"]);
    expect(heard.take([ptr, srv], "192.0.2.7")).toEqual([]);
    expect([heard.hasIncomplete, heard.takeIncomplete(), heard.hasIncomplete]).toEqual([true, [labels], false]);
    // One that has no texts even so is told without.
    expect(heard.take([ptr], "192.0.2.7")).toEqual([{ ...whole, addresses: [], txt: {} }]);
    expect(heard.takeIncomplete()).toEqual([labels]);
  });

  test("under a name that is longer than a label, or empty, is not asked for", () => {
    for (const name of ["y".repeat(64), "é".repeat(32), ""])
      expect(told([[{ ...ptr, data: `${name}._x._tcp.local` }]]).lacking).toEqual([]);
  });

  test("of another type is not told", () => {
    expect(new Announcements(["_y._tcp"]).take([ptr, srv, txt, a], "192.0.2.7")).toEqual([]);
  });

  test("by one host is not completed by what another says, nor by a goodbye", () => {
    expect(
      told(
        [
          [ptr, a],
          [srv, txt],
        ],
        ["192.0.2.7", "192.0.2.66"],
      ).services,
    ).toEqual([]);
    expect(told([[{ ...ptr, ttl: 0 }, srv, txt, a]]).services).toEqual([]);
    expect(told([[ptr, { ...srv, ttl: 0 }, txt, a]]).services).toEqual([]);
  });

  test("is kept within bounds, and what came last is kept", () => {
    const heard = new Announcements(["_x._tcp"]);
    for (let count = 0; count < 20_000; count++)
      heard.take([ptr, a], `10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`);
    expect(heard.take([srv, txt], "10.0.78.31")).toHaveLength(1);
    expect(heard.take([srv, txt], "10.0.0.0")).toEqual([]);
  });
});

test.skipIf(inOwnNetwork === null)(
  "where another program keeps port 5353 to itself, it is told, and asked from another",
  () => {
    const script = `
    import { createSocket } from "node:dgram";
    import { browseMdns } from "./src/discovery/mdns.ts";
    import { ScanWindow } from "./src/discovery/window.ts";
    const other = createSocket("udp4");
    await new Promise((resolve) => other.bind({ port: 5353, exclusive: true }, resolve));
    const asked = new Promise((resolve) => other.once("message", (bytes, from) => resolve(from.port)));
    other.addMembership("224.0.0.251", "127.0.0.1");
    const troubles = [];
    const stop = new AbortController();
    const window = new ScanWindow(20_000, stop.signal);
    const browsing = browseMdns({ types: ["_x._tcp"], interfaces: [${JSON.stringify(lo)}], window, onService() {}, onTrouble: (one) => troubles.push(one) });
    const from = await Promise.race([asked, window.over]);
    stop.abort();
    await browsing;
    console.log(JSON.stringify({ troubles, from: typeof from }));
    process.exit();`;
    const [program = "", ...words] = inOwnNetwork ?? [];
    const said = execFileSync(program, [...words, process.execPath, "-e", script], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    const why = "another program has port 5353 and does not share it (EADDRINUSE)";
    expect(JSON.parse(said)).toEqual({
      troubles: [`The mDNS search on lo (127.0.0.1) uses another port: ${why}`],
      from: "number",
    });
  },
);
