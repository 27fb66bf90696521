import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import type { ZapdError } from "../../src/api/errors.ts";
import { resolveHost, splitHost } from "../../src/discovery/hosts.ts";
import { interfacesNow, isOnLink, isThisMachine, wantedInterfaces } from "../../src/discovery/interfaces.ts";
import { outcomeOf } from "../support/failure.ts";
import { inOwnNetwork } from "../support/own-network.ts";
import { root } from "../support/sources.ts";
import { tracedTest } from "../support/strace.ts";

const split = (text: string) => outcomeOf(() => splitHost(text));

describe("a host as users write it", () => {
  const good: readonly [text: string, host: string, port: number | null][] = [
    ["192.168.1.40", "192.168.1.40", null],
    [" 192.168.1.40:8060 ", "192.168.1.40", 8060],
    ["tv.home", "tv.home", null],
    ["tv.home:1", "tv.home", 1],
    ["[fe80::1]", "fe80::1", null],
    ["[fe80::1]:65535", "fe80::1", 65_535],
    ["fe80::1", "fe80::1", null],
    ["::1", "::1", null],
    ["[::ffff:192.168.1.40]:80", "::ffff:192.168.1.40", 80],
  ];
  test.each(good)("%j", (text, host, port) => {
    expect(split(text)).toEqual({ host, port });
  });

  const bad = [
    "",
    " ",
    ":8060",
    "tv:0",
    "tv:65536",
    "tv:99999",
    "tv:123456",
    "tv:-1",
    "tv:x",
    "tv:",
    "tv:80:81x",
    "[]",
    "[]:80",
    "[tv]:80",
    "[::1",
    "::1]",
    "[::1]8060",
    "[::1]:",
    "http://tv/",
    "tv/path",
    "tv?x",
    "tv#x",
    "user@tv",
    "a b",
    "a\nb",
    "[fe80::1%eth0]",
    "tv:80/",
    "tv:８０",
    ":",
    "a:b",
  ];
  test.each(bad)("%j is none", (text) => {
    expect(split(text)).toBe("invalid_host");
  });

  test("an address with a zone is told from a text that is none", () => {
    for (const text of ["fe80::1%eth0", "[fe80::1%25eth0]:8060"]) expect(() => splitHost(text)).toThrow("a zone");
  });

  test("any text is a host with a port that exists, or none", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."[]:.0123456789abcfx/@%# \n") }), (text) => {
        const read = split(text);
        if (typeof read === "string") return expect(read).toBe("invalid_host");
        expect(read.host).not.toMatch(/[\s/@?#[\]]/);
        expect(read.port === null || (read.port >= 1 && read.port <= 65_535)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("T7 the address of a host", () => {
  const resolve = (text: string) => resolveHost(text).catch(({ code }: ZapdError) => code);

  test("is what it was, for an address of one device", async () => {
    for (const address of ["192.168.1.40", "10.0.0.1", "127.0.0.2", "169.254.1.1", "::1", "fe80::1", "fd00::40"])
      expect(await resolve(address)).toBe(address);
  });

  test("is looked up once for a name", async () => {
    expect(["127.0.0.1", "::1"]).toContain(await resolve("localhost"));
  });

  test.skipIf(inOwnNetwork === null)("is that of IPv4 where a name has both", () => {
    const script = `
      import { resolveHost } from "./src/discovery/hosts.ts";
      console.log(await resolveHost("both.zapd"), await resolveHost("six.zapd"));`;
    const hosts = "fd00::40 both.zapd six.zapd\n192.168.1.40 both.zapd\n";
    // A file of names of its own, and addresses of both kinds: without one of IPv6 the system tells of none.
    const within = `ip addr add fd00::1/64 dev lo && mount -t tmpfs none /mnt && printf '%s' "$0" > /mnt/hosts && mount --bind /mnt/hosts /etc/hosts && exec "$@"`;
    const words = ["-m", "sh", "-c", within, hosts, process.execPath, "-e", script];
    const [program = "", ...own] = inOwnNetwork ?? [];
    const said = execFileSync(program, [...own, "unshare", ...words], { cwd: root, encoding: "utf8" });
    expect(said.trim()).toBe("192.168.1.40 fd00::40");
  });

  test("has one spelling, and none of IPv4 in the clothes of IPv6", async () => {
    const spellings = {
      "FE80:0:0:0:0:0:0:0001": "fe80::1",
      "0:0:0:0:0:0:0:1": "::1",
      "::ffff:192.168.1.40": "192.168.1.40",
      "::FFFF:c0a8:128": "192.168.1.40",
      "0:0:0:0:0:ffff:127.0.0.1": "127.0.0.1",
      "::ffff:7f00:1": "127.0.0.1",
    };
    for (const [given, address] of Object.entries(spellings)) expect(await resolve(given)).toBe(address);
  });

  const nobody = [
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "127.255.255.255",
    "::",
    "::0",
    "0:0:0:0:0:0:0:0",
    "ff02::1",
    "FF05::2",
    "::ffff:0.0.0.0",
    "::ffff:0:0",
    "::ffff:239.255.255.250",
    "::ffff:e000:1",
    "0:0:0:0:0:ffff:255.255.255.255",
  ];
  test.each(nobody)("%s is nobody's", async (address) => {
    expect(await resolve(address)).toBe("invalid_host");
  });

  test("numbers in disguise lead nowhere that their plain form would not", async () => {
    // Resolvers take these for addresses; what counts is what comes out.
    for (const [disguised, plain] of [
      ["0", "0.0.0.0"],
      ["0x0", "0.0.0.0"],
      ["2130706433", "127.0.0.1"],
      ["127.1", "127.0.0.1"],
    ] as const) {
      const address = await resolve(disguised);
      expect(plain === "0.0.0.0" ? ["invalid_host"] : [plain, "invalid_host"]).toContain(address);
    }
  });

  test("a broadcast address of this machine's own networks is no device's", async () => {
    for (const one of interfacesNow().filter(({ broadcast, address }) => broadcast !== address))
      expect(await resolve(one.broadcast)).toBe("invalid_host");
  });
});

describe("interfaces", () => {
  const all = [
    { name: "lo", address: "127.0.0.1", netmask: "255.0.0.0", broadcast: "127.255.255.255", loopback: true },
    { name: "eth0", address: "192.168.1.7", netmask: "255.255.255.0", broadcast: "192.168.1.255", loopback: false },
    { name: "tun0", address: "10.8.0.2", netmask: "255.255.255.255", broadcast: "10.8.0.2", loopback: false },
  ];
  const names = (wanted: readonly string[]) => wantedInterfaces(wanted, all).map((one) => one.name);

  test("without a wish are all but loopback; with one, those named, by name or address", () => {
    expect(names([])).toEqual(["eth0", "tun0"]);
    expect(names(["eth0"])).toEqual(["eth0"]);
    expect(names(["10.8.0.2", "lo"])).toEqual(["lo", "tun0"]);
    expect(names(["127.0.0.1"])).toEqual(["lo"]);
    expect(names(["127.0.0.3"])).toEqual(["lo"]);
    expect(names(["wlan9"])).toEqual([]);
  });

  test("an address is on a link by the netmask; that of a tunnel does not tell", () => {
    const links = (address: string) => all.filter((one) => isOnLink(address, one)).map((one) => one.name);
    expect(links("192.168.1.200")).toEqual(["eth0", "tun0"]);
    expect(links("192.168.2.7")).toEqual(["tun0"]);
    expect(links("127.9.9.9")).toEqual(["lo", "tun0"]);
    expect(links("")).toEqual(["tun0"]);
  });

  test("the loopback of this machine has its broadcast address", () => {
    const lo = interfacesNow().find((one) => one.address === "127.0.0.1");
    expect(lo).toMatchObject({ loopback: true, netmask: "255.0.0.0", broadcast: "127.255.255.255" });
  });

  test("what leads back to this machine is known for it", () => {
    for (const host of [
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "localhost",
      "::ffff:127.0.0.1",
      ...interfacesNow().map((one) => one.address),
    ])
      expect([host, isThisMachine(host)]).toEqual([host, true]);
    for (const host of ["192.0.2.77", "fe80::dead", "tv.home"])
      expect([host, isThisMachine(host)]).toEqual([host, false]);
  });
});

tracedTest("while the system cannot tell its interfaces there are none, and nothing fails", async () => {
  const script = `
    import { isThisMachine, wantedInterfaces } from "./src/discovery/interfaces.ts";
    console.log(wantedInterfaces([]).length, isThisMachine("192.0.2.1"));`;
  const words = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=socket", "-e", "inject=socket:error=EMFILE"];
  const said = execFileSync("strace", [...words, process.execPath, "-e", script], { cwd: root, encoding: "utf8" });
  expect(said.trim()).toBe("0 false");
});
