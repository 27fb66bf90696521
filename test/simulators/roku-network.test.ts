import { describe, expect, test } from "bun:test";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { magicPacket, search, sendDatagram, whyNoLoopbackAliases } from "./datagrams.ts";
import { get, listen, plugIn, until } from "./roku-harness.ts";

const noAliases = await whyNoLoopbackAliases();
if (noAliases !== null) process.stderr.write(`skipped: several sets on one machine: ${noAliases}\n`);

describe("discovery", () => {
  test("the answer is what a set was captured saying, in order and case", async () => {
    const simulator = await plugIn({ ssdp: true, mac: "02:11:22:33:44:55" });
    const found = (await search("roku:ecp")).find(({ text }) => text.includes(simulator.serial));
    expect(found?.port).toBe(1900);
    const text = found?.text.replace(/(device-group.roku.com: )[0-9A-F]{20}\r/, "$1GROUP\r");
    expect(text).toBe(
      [
        "HTTP/1.1 200 OK",
        "Cache-Control: max-age=3600",
        "ST: roku:ecp",
        `USN: uuid:roku:ecp:${simulator.serial}`,
        "BOOTID.UPNP.ORG: 42",
        "Ext: ",
        "Server: Roku/15.2.4 UPnP/1.0 Roku/15.2.4",
        `LOCATION: http://127.0.0.1:${simulator.port}/`,
        "device-group.roku.com: GROUP",
        "WAKEUP: MAC=02:11:22:33:44:55;Timeout=10",
        "",
        "",
      ].join("\r\n"),
    );
  });

  test("old firmware answers without WAKEUP", async () => {
    const simulator = await plugIn({ ssdp: true, legacy: true, name: "Old set" });
    const found = (await search("ssdp:all")).find(({ text }) => text.includes(simulator.serial));
    expect(found?.text).toContain("Cache-Control: max-age=300\r\n");
    expect(found?.text).toContain("Server: Roku UPnP/1.0 MiniUPnPd/1.4\r\n");
    expect(found?.text).not.toContain("WAKEUP");
  });

  test("limited and disabled sets are found too; searches for others are not answered", async () => {
    const sets = [
      await plugIn({ ssdp: true, name: "L", access: "limited" }),
      await plugIn({ ssdp: true, name: "D", access: "disabled" }),
    ];
    const found = (await search("roku:ecp")).map(({ text }) => text).join("");
    for (const { serial } of sets) expect(found).toContain(serial);
    expect((await search("upnp:rootdevice")).filter(({ text }) => text.includes("roku:ecp"))).toEqual([]);
  });

  test.skipIf(noAliases !== null)("several sets on one machine, each answering from its own address", async () => {
    const hosts = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
    const sets = await Promise.all(hosts.map((host) => plugIn({ ssdp: true, host, name: `Set ${host}` })));
    const found = await search("roku:ecp");
    for (const { host, port, serial } of sets) {
      const answers = found.filter(({ text }) => text.includes(serial));
      expect(answers.map(({ from }) => from)).toEqual([host]);
      expect(answers[0]?.text).toContain(`LOCATION: http://${host}:${port}/\r\n`);
    }
  });

  test("a stopped set says nothing, and is back at its old port when started again", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Comes and goes" });
    const { port, ports } = simulator;
    await simulator.stop();
    expect((await search("roku:ecp", 200)).filter(({ text }) => text.includes(simulator.serial))).toEqual([]);
    await expect(get(simulator, "/")).rejects.toThrow();
    await simulator.start();
    expect([simulator.port, simulator.ports]).toEqual([port, ports]);
    expect(await search("roku:ecp")).toContainEqual(
      expect.objectContaining({ text: expect.stringContaining(simulator.serial) }),
    );
  });

  test("an answer may take its time", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Slow", ssdpDelayMs: 300 });
    const heard = async (listenMs: number) =>
      (await search("roku:ecp", listenMs)).some(({ text }) => text.includes(simulator.serial));
    expect(await heard(100)).toBe(false);
    expect(await heard(1500)).toBe(true);
  });
});

describe("deep sleep", () => {
  test("is silent everywhere until the right magic packet", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Sleeper", developer: { password: "x" } });
    const console = listen(simulator.host, simulator.ports.console ?? 0);
    const idle = listen(simulator.host, simulator.port);
    await until("both are connected", () => console.socket.readyState === "open" && idle.socket.readyState === "open");

    await simulator.sleep("deep");
    await until("open connections are cut", () => console.closed() && idle.closed());
    const { installer, console: consolePort, wake } = simulator.ports;
    for (const port of [simulator.port, installer ?? 0, consolePort ?? 0]) {
      const knock = listen(simulator.host, port);
      await until("the door stays shut", () => knock.closed());
      expect(knock.text()).toBe("");
    }
    expect((await search("roku:ecp", 200)).filter(({ text }) => text.includes(simulator.serial))).toEqual([]);

    await sendDatagram(magicPacket("02:00:00:00:00:01"), wake, simulator.host);
    await sendDatagram(magicPacket(simulator.mac).subarray(0, 90), wake, simulator.host);
    await sendDatagram(Buffer.from("hello"), wake, simulator.host);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(simulator.state.power).toBe("deep");

    await sendDatagram(magicPacket(simulator.mac), wake, simulator.host);
    await until("the set answers again", async () => (await get(simulator, "/").catch(() => null))?.status === 200);
    expect((await get(simulator, "/query/device-info")).body).toContain("<power-mode>PowerOn</power-mode>");
    await until("searches are answered again", () => simulator.state.discoverable);
  });

  test("ends by wake() as well, and a stop in between loses nothing", async () => {
    const simulator = await plugIn();
    await simulator.sleep("deep");
    await simulator.stop();
    await simulator.start();
    expect(simulator.state.power).toBe("deep");
    await simulator.wake();
    expect((await get(simulator, "/")).status).toBe(200);
  });

  test("in standby the set goes on answering", async () => {
    const simulator = await plugIn();
    await simulator.sleep("standby");
    expect((await get(simulator, "/query/device-info")).body).toContain("<power-mode>Ready</power-mode>");
    await simulator.wake();
    expect(simulator.state.power).toBe("on");
  });
});

describe("sockets", () => {
  test("creation opens nothing; start and stop may be repeated", async () => {
    const simulator = createRokuSimulator({ name: "Quiet", ssdp: false });
    expect(simulator.port).toBe(0);
    await simulator.stop();
    await Promise.all([simulator.start(), simulator.start()]);
    expect(simulator.port).toBeGreaterThan(0);
    await Promise.all([simulator.stop(), simulator.stop()]);
    await expect(get(simulator, "/")).rejects.toThrow();
  });

  test("a port that is taken fails the start and leaves nothing behind", async () => {
    const first = await plugIn();
    const second = createRokuSimulator({ name: "Second", ssdp: false, port: first.port });
    await expect(second.start()).rejects.toThrow();
    await first.stop();
    await second.start();
    expect(second.port).toBe(first.port);
    await second.stop();
  });
});
