/** Discovery over SSDP. */
import { afterAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import net from "node:net";
import { announce, type SsdpOptions } from "../support/announce.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { listening } from "../support/listening.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { type Data, refuse, succeed, until } from "./checked.ts";

const timeoutMs = 1_000;
let daemon = await startTestDaemon({
  // A loaded machine needs the whole time that a scan waits for its last answers.
  speed: 1,
  config: { discovery: { timeout_ms: timeoutMs }, devices: { request_timeout_ms: 3_000 } },
});
let tv = await WiredRoku.start({ name: "Zirbelstube/Ost 100%" });
const stick = await WiredRoku.start({
  kind: "stick",
  name: "Stick",
  style: { close: "said" },
  facts: { "user-device-name": "", "friendly-device-name": "Stick (friendly)" },
});
let tvSsdp = await announce(tv);
const stickSsdp = await announce(stick, { old: true, delayMs: 150 });

afterAll(async () => {
  await daemon.dispose();
  await Promise.all([tvSsdp, stickSsdp, tv, stick].map((one) => one.stop()));
});

const scan = async (on = daemon): Promise<Data<"listDevices">> => (await succeed(on, "discoverDevices")).devices;
const of = (serial: string, devices: Data<"listDevices">) => devices.filter((device) => device.serial === serial);

test("a scan searches more than once, and lists each set as soon as it answers, by its own name", async () => {
  let isOver = false;
  const scanning = scan().finally(() => {
    isOver = true;
  });
  await until(
    "the set in the list before the scan is over",
    async () => of(tv.serial, await succeed(daemon, "listDevices")).length === 1,
  );
  expect(isOver).toBe(false);
  const devices = await scanning;
  // A name given at the set is made fit for a path; in place of an empty one the next best is used.
  expect(of(tv.serial, devices)).toMatchObject([
    { name: "Zirbelstube Ost 100", host: tv.host, port: tv.port, kind: "tv" },
  ]);
  expect(of(stick.serial, devices)).toMatchObject([
    { name: `${stick.identity.name} (friendly)`, kind: expect.any(String) },
  ]);
  expect(tvSsdp.searches).toBeGreaterThan(1);
});

test("scans at the same time are one scan, and a second one changes nothing", async () => {
  const first = await succeed(daemon, "listDevices");
  stick.forget();
  await scan();
  const one = stick.wire.requests.length;
  stick.forget();
  const all = await Promise.all(Array.from({ length: 8 }, () => scan()));
  // One more where an answer was lost; not one for each caller.
  expect(stick.wire.requests.length).toBeLessThanOrEqual(one + 1);
  for (const devices of all) {
    for (const serial of [tv.serial, stick.serial]) {
      expect(of(serial, devices).map((device) => device.id)).toEqual(of(serial, first).map((device) => device.id));
    }
  }
});

test("a scan that is asked for while another waits for its last answers is a new one", async () => {
  const slow = await WiredRoku.start();
  const slowSsdp = await announce(slow);
  slow.answerMs = timeoutMs + 600;
  const first = scan();
  await until("the slow one asked who it is", () => slow.wire.requests.length > 0 || slow.wire.connections > 0);
  await Bun.sleep(timeoutMs);
  slow.answerMs = 0;
  const late = await WiredRoku.start();
  const lateSsdp = await announce(late);
  expect(of(late.serial, await scan())).toHaveLength(1);
  expect(of(slow.serial, await first)).toHaveLength(1);
  await Promise.all([slowSsdp, lateSsdp, slow, late].map((one) => one.stop()));
});

test("a scan keeps the id of a set that has moved and the name that its user gave, and removes no device", async () => {
  const [before] = of(tv.serial, await succeed(daemon, "listDevices"));
  const id = before?.id ?? "";
  await succeed(daemon, "changeDevice", { id, body: { name: "Stube" } });
  await tvSsdp.stop();
  await tv.stop();
  const gone = await scan();
  expect(of(tv.serial, gone)).toEqual([]);
  expect(of(tv.serial, await succeed(daemon, "listDevices"))).toHaveLength(1);
  tv = await WiredRoku.start({ serial: tv.serial, mac: tv.identity.mac, name: "Anders genannt", host: freeHost() });
  tvSsdp = await announce(tv);
  expect(of(tv.serial, await scan())).toMatchObject([{ id, name: "Stube", host: tv.host, port: tv.port }]);
  expect(of(tv.serial, await succeed(daemon, "listDevices"))).toHaveLength(1);
  tv.forget();
  await succeed(daemon, "pressKey", { id: "stube", body: { key: "up" } });
  expect(tv.commands).toEqual(["/keypress/Up"]);
});

test("a set has the same id after the registry is lost, added by its address or found", async () => {
  const before = of(tv.serial, await succeed(daemon, "listDevices"))[0]?.id;
  await daemon.stop();
  rmSync(daemon.stateFolder, { recursive: true, force: true });
  daemon = await startTestDaemon({ folder: daemon.folder });
  expect(await succeed(daemon, "listDevices")).toEqual([]);
  const added = await succeed(daemon, "addDevice", { body: { host: tv.host, port: tv.port } });
  expect(added.id).toBe(before ?? "");
  expect(of(tv.serial, await scan()).map((device) => device.id)).toEqual([before ?? ""]);
});

/** Listens on every address of this machine, and counts connections. */
async function catchAll() {
  const hits: string[] = [];
  const server = net.createServer((socket) => {
    hits.push(String(socket.localAddress));
    socket.destroy();
  });
  const { port, stop } = await listening(server, "::");
  return { port, hits, stop };
}

test("T6 an answer that points to an address other than its sender's is ignored", async () => {
  const trap = await catchAll();
  const host = freeHost();
  const victim = await WiredRoku.start();
  const liar = { host, port: trap.port, serial: "ZBLIAR000001", asleep: false, identity: tv.identity };
  const decimal = host.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  // platforms/roku/search.test.ts has more of them.
  const locations = [
    `http://${victim.host}:${victim.port}/`,
    `http://127.0.0.1:${daemon.port}/v1/devices/discover`,
    `http://localhost:${trap.port}/`,
    `https://${host}:${trap.port}/`,
    `http://user:pw@${host}:${trap.port}/`,
    `http://${host}@127.0.0.1:${trap.port}/`,
    `http://${decimal}:${trap.port}/`,
    `http://127.1:${trap.port}/`,
    `http://0.0.0.0:${trap.port}/`,
    `http://[::ffff:${host}]:${trap.port}/`,
    `http://${host}.nip.test:${trap.port}/`,
    "file:///etc/passwd",
    "",
    `http://${host}:99999/`,
    `http://${host}:${trap.port}/${"a".repeat(3_000)}`,
    `http://169.254.169.254:${trap.port}/`,
  ];
  const answers: SsdpOptions[] = locations.map((location) => ({ location, usn: "uuid:roku:ecp:ZBLIAR000001" }));
  const voices = await Promise.all(answers.map((options) => announce(liar, options)));
  const hue = { target: "upnp:rootdevice", usn: "uuid:hue-bridge::upnp:rootdevice" };
  voices.push(await announce(liar, { ...hue, location: `http://${host}:${trap.port}/hue.xml` }));
  const devices = await scan();
  expect(of(tv.serial, devices)).toHaveLength(1);
  expect(voices.every((voice) => voice.searches > 0)).toBe(true);
  expect(trap.hits).toEqual([]);
  expect(victim.wire.connections).toBe(0);
  expect(JSON.stringify(await succeed(daemon, "listDevices"))).not.toContain("ZBLIAR");
  await Promise.all([...voices, victim].map((one) => one.stop()));
  await trap.stop();
});

test("a host in the config is asked directly; one that does not answer cannot be added", async () => {
  const quiet = await WiredRoku.start();
  const text = (await Bun.file(daemon.configFile).text()).replace(/^hosts = .*$/m, "");
  await Bun.write(
    daemon.configFile,
    text.replace("[discovery]", `[discovery]\nhosts = ["${quiet.host}:${quiet.port}"]`),
  );
  await succeed(daemon, "reloadConfig");
  expect(of(quiet.serial, await scan())).toHaveLength(1);
  // A scan keeps the ports that the user set.
  const ports = { installer: 8_080, console: 8_086 };
  await succeed(daemon, "changeDevice", { id: quiet.identity.name, body: { ports } });
  expect(of(quiet.serial, await scan())).toMatchObject([{ ports, host: quiet.host, port: quiet.port }]);
  await quiet.stop();
  await refuse(daemon, "addDevice", { body: { host: freeHost(), port: 9 } }, "device_unreachable");
});
