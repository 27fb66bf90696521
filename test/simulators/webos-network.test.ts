import { describe, expect, test } from "bun:test";
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate } from "node:tls";
import { createCertificate, createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { search, whyNoLoopbackAliases } from "./datagrams.ts";
import { connect, paired, plugIn, until } from "./webos-harness.ts";

const SECOND_SCREEN = "urn:lge-com:service:webos-second-screen:1";
const reason = await whyNoLoopbackAliases();

describe("discovery", () => {
  test("the second screen is found, and its description names the set", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Ann's <TV>", firmware: "2018" });
    const port = simulator.ports.description;
    const [answer] = (await search(SECOND_SCREEN)).filter(({ text }) => text.includes(`:${port}/`));
    expect(answer?.from).toBe(simulator.host);
    expect(answer?.text).toContain(`ST: ${SECOND_SCREEN}\r\n`);
    const response = await fetch(`http://${simulator.host}:${port}/`);
    expect(response.headers.get("server")).toBe("WebOS/4.4.3 UPnP/1.0");
    const text = await response.text();
    expect(text).toContain("<friendlyName>Ann's &lt;TV&gt;</friendlyName>");
    expect(text).toContain("<modelName>OLED55C14LB</modelName>");
    const [, udn] = /<UDN>(.*)<\/UDN>/.exec(text) ?? [];
    expect(answer?.text).toContain(`USN: ${udn}::${SECOND_SCREEN}\r\n`);
    expect(udn).not.toContain(simulator.uuid);
  });

  test.skipIf(reason !== null)("the stacks of one set have a UUID and a port each", async () => {
    // Other test runs on this machine have their sets: an address of its own tells ours apart.
    const host = `127.77.${randomInt(256)}.${randomInt(1, 255)}`;
    const simulator = await plugIn({ ssdp: true, host });
    const own = (await search("ssdp:all")).filter(({ from }) => from === simulator.host).map(({ text }) => text);
    const all = (pattern: RegExp) => new Set(own.map((text) => pattern.exec(text)?.[1]));
    expect(all(/ST: (\S+)/)).toEqual(
      new Set([
        SECOND_SCREEN,
        "urn:dial-multiscreen-org:service:dial:1",
        "urn:schemas-upnp-org:device:MediaRenderer:1",
        "urn:lge:device:tv:1",
      ]),
    );
    expect([all(/USN: uuid:([\w-]+)::/).size, all(/LOCATION: (\S+)/).size]).toEqual([4, 4]);
    await simulator.powerOff();
    expect((await search(SECOND_SCREEN, 200)).some(({ from }) => from === simulator.host)).toBe(false);
    await simulator.wake();
    expect((await search(SECOND_SCREEN, 200)).some(({ from }) => from === simulator.host)).toBe(true);
  });

  test("it can be off", async () => {
    const simulator = await plugIn({ ssdp: false });
    expect([simulator.state.discoverable, simulator.ports.description]).toEqual([false, 0]);
  });
});

describe("ports", () => {
  test("since 2022 the plain one takes TCP and resets who asks", async () => {
    const simulator = await plugIn({ firmware: "2023" });
    const socket = connectTcp(simulator.ports.plain ?? 0, simulator.host);
    const said: string[] = [];
    for (const event of ["connect", "close"] as const) socket.on(event, () => said.push(event));
    socket.on("error", (error) => said.push((error as NodeJS.ErrnoException).code ?? ""));
    await until("it is open", () => said.includes("connect"));
    expect(said).toEqual(["connect"]);
    socket.write("GET / HTTP/1.1\r\nHost: tv\r\nUpgrade: websocket\r\n\r\n");
    await until("it is cut", () => said.includes("close"));
    expect(said).toEqual(["connect", "ECONNRESET", "close"]);
    await expect(connect(simulator, "plain")).rejects.toThrow();
    await paired(simulator);
  });

  test("either may be closed", async () => {
    expect((await plugIn({ plainPort: null })).ports).toMatchObject({ plain: null });
    expect((await plugIn({ securePort: null })).ports).toMatchObject({ secure: null });
    expect((await plugIn({ firmware: "2015" })).ports).toMatchObject({ secure: null });
    expect((await plugIn({ traits: { plain: "closed" } })).ports).toMatchObject({ plain: null });
  });

  test("greet a browser, and nobody asks for anything else", async () => {
    const simulator = await plugIn();
    const url = `http://${simulator.host}:${simulator.ports.plain}`;
    expect(await (await fetch(`${url}/`)).text()).toBe("Hello world\n");
    expect((await fetch(`${url}/x`)).status).toBe(404);
  });

  test("are kept over a restart, with the keys", async () => {
    const simulator = await plugIn();
    await paired(simulator);
    const { ports } = simulator;
    await simulator.stop();
    await simulator.stop();
    await simulator.start();
    await simulator.start();
    expect(simulator.ports).toEqual(ports);
    expect(simulator.clientKeys.size).toBe(1);
  });

  test("one that is taken fails the start and leaves nothing behind", async () => {
    const taken = (await plugIn()).ports.plain;
    const simulator = createWebosSimulator({ name: "Late", securePort: 0, plainPort: taken, ssdp: false });
    await expect(simulator.start()).rejects.toThrow();
    await expect(connect(simulator)).rejects.toThrow();
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(simulator.ports.wake, simulator.host, resolve));
    socket.close();
  });
});

describe("the certificate", () => {
  const presented = async ({ host, ports }: WebosSimulator) =>
    await new Promise<PeerCertificate>((resolve, reject) => {
      const socket = connectTls({ host, port: ports.secure ?? 0, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
      socket.on("error", reject);
    });

  test("is the same on every set, as it is on real ones, unless another is given", async () => {
    const [one, other] = [await plugIn(), await plugIn()];
    const { fingerprint256, subject } = await presented(one);
    expect([subject.CN, fingerprint256]).toEqual(["LGE TV SSG", one.fingerprint]);
    expect((await presented(other)).fingerprint256).toBe(fingerprint256);
    const changed = await plugIn({ certificate: createCertificate() });
    expect(changed.fingerprint).not.toBe(one.fingerprint);
    expect((await presented(changed)).fingerprint256).toBe(changed.fingerprint);
    await paired(changed);
  });
});

test("the same name is the same set", () => {
  const [one, same, other] = ["Den", "Den", "Attic"].map((name) => createWebosSimulator({ name }));
  expect([one?.uuid, one?.mac, one?.wifiMac]).toEqual([same?.uuid, same?.mac, same?.wifiMac]);
  expect(one?.uuid).not.toBe(other?.uuid);
  expect(one?.ports).toEqual({ secure: 3001, plain: 3000, wake: 0, description: 0 });
});
