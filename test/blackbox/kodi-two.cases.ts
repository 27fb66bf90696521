/** Two Kodis on one machine are two devices; one Kodi that is reached at two ports is one. */
import { afterEach, describe, expect, test } from "bun:test";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { announceMdns } from "../security/rogue/announcer.ts";
import { Recorder } from "../security/rogue/recorder.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { sampleOf } from "../support/whole.ts";
import { succeed } from "./checked.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

let hosts = 0;
const newHost = () => `127.0.72.${++hosts}`;

async function kodi(options: Partial<KodiSimulatorOptions>): Promise<KodiSimulator> {
  const set = createKodiSimulator({ name: "Kodi", port: 0, tcpPort: 0, mdns: true, startMs: 5, ...options });
  await set.start();
  cleanups.push(() => set.stop());
  return set;
}

async function start(config: DaemonSetup["config"] = {}): Promise<TestDaemon> {
  const daemon = await startTestDaemon({
    config: {
      ...config,
      discovery: { interfaces: ["lo"], timeout_ms: 500, ...config["discovery"] },
      devices: { request_timeout_ms: 2_000 },
    },
  });
  cleanups.push(() => daemon.dispose());
  return daemon;
}

const level = async (daemon: TestDaemon, id: string) => (await succeed(daemon, "getState", { id })).state.volume?.level;

/** Each hears of its own volume alone, pushed and asked, and presses go to the one that is meant. */
async function areApart(daemon: TestDaemon, sets: readonly (readonly [KodiSimulator, string])[]): Promise<void> {
  for (const [at, [set]] of sets.entries()) set.setVolume(11 + at);
  for (let round = 0; round < 2; round++)
    for (const [at, [, id]] of sets.entries()) {
      await until("its own volume is told", async () => (await level(daemon, id)) === 11 + at);
      // What is pushed comes from now on, from whoever it is that pushes.
      await daemon.sleep(300);
    }
  for (const [at, [set]] of sets.entries()) set.setVolume(41 + at);
  for (const [at, [, id]] of sets.entries())
    await until("its own volume is told", async () => (await level(daemon, id)) === 41 + at);
  for (const [set, id] of sets) {
    const presses = () => sets.map(([one]) => one.calls.filter(({ method }) => method === "Input.Left").length);
    const before = presses();
    await succeed(daemon, "pressKey", { id, body: { key: "left" } });
    expect(presses()).toEqual(before.map((count, at) => count + (sets[at]?.[0] === set ? 1 : 0)));
  }
}

describe("two Kodis on one machine", () => {
  const mac = "02:00:5e:00:53:17";

  test("found by a scan: each with its web port, its socket, its name and its state", async () => {
    const host = newHost();
    const one = await kodi({ host, mac, name: "Wall" });
    const other = await kodi({ host, mac, name: "Desk" });
    const daemon = await start();
    const { devices } = await succeed(daemon, "discoverDevices");
    expect(
      devices.map(({ name, host, port }) => ({ name, host, port })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ).toEqual([
      { name: "Desk", host, port: other.port },
      { name: "Wall", host, port: one.port },
    ]);
    await areApart(daemon, [
      [one, "Wall"],
      [other, "Desk"],
    ]);
    // Both have been followed, each over the socket that it announces.
    await until("both are followed", () => [one, other].every((set) => set.state.clients.websocket === 1));
    expect((await succeed(daemon, "discoverDevices")).devices.length).toBe(2);
    expect((await succeed(daemon, "listDevices")).length).toBe(2);
  }, 60_000);

  test("the second has no socket, and the first has the usual one: nothing of the first is taken for the second", async () => {
    const host = newHost();
    const first = await kodi({ host, mac, name: "Kodi", tcpPort: 9_090 });
    const second = await kodi({
      host,
      mac,
      name: "Kodi #2",
      uuid: "0a1b2c3d-0000-4000-8000-00000000b172",
      tcpPort: null,
    });
    const daemon = await start();
    const added = [];
    for (const set of [first, second])
      added.push(await succeed(daemon, "addDevice", { body: { host, port: set.port, platform: "kodi" } }));
    expect(new Set(added.map(({ id }) => id)).size).toBe(2);
    second.setName("Kodi");
    await areApart(daemon, [
      [first, added[0]?.id ?? ""],
      [second, added[1]?.id ?? ""],
    ]);
    first.play({ title: "Film" });
    const [playing, idle] = await Promise.all(added.map(({ id }) => succeed(daemon, "getState", { id })));
    expect([playing?.state.playback?.title, idle?.state.playback]).toEqual(["Film", null]);
  }, 60_000);

  test("one ends: that one is off, and the other goes on", async () => {
    const host = newHost();
    const one = await kodi({ host, mac, name: "Stays" });
    const other = await kodi({ host, mac, name: "Goes" });
    const daemon = await start();
    await succeed(daemon, "discoverDevices");
    for (const id of ["Stays", "Goes"]) await succeed(daemon, "getState", { id });
    await other.end("crash");
    await until("it is off", async () => (await succeed(daemon, "getState", { id: "Goes" })).state.power === "off");
    expect((await succeed(daemon, "getState", { id: "Stays" })).state.power).toBe("on");
    await succeed(daemon, "pressKey", { id: "Stays", body: { key: "left" } });
    expect(one.calls.some(({ method }) => method === "Input.Left")).toBe(true);
  }, 60_000);
});

describe("one Kodi at its two ports is one device", () => {
  for (const mdns of sampleOf([true, false], 1)) {
    const how = mdns ? "that announces itself" : "that announces nothing";

    test(`added by either port, one ${how}`, async () => {
      const set = await kodi({ host: newHost(), mdns });
      const daemon = await start();
      const ids = [];
      for (const port of [set.port, set.ports.tcp, set.port, set.ports.tcp]) {
        const body = { host: set.host, port };
        const device = await succeed(daemon, "addDevice", { body });
        expect(device.port).toBe(set.port);
        ids.push(device.id);
      }
      expect(new Set(ids).size).toBe(1);
      expect((await succeed(daemon, "listDevices")).length).toBe(1);
      expect((await succeed(daemon, "getState", { id: ids[0] ?? "" })).state.power).toBe("on");
    }, 60_000);

    test(`its socket first, then its web server: one ${how}`, async () => {
      const set = await kodi({ host: newHost(), mdns });
      const daemon = await start();
      const [bySocket, byWeb] = [
        await succeed(daemon, "addDevice", { body: { host: set.host, port: set.ports.tcp } }),
        await succeed(daemon, "addDevice", { body: { host: set.host, port: set.port } }),
      ];
      expect([bySocket.id, bySocket.port]).toEqual([byWeb.id, set.port]);
    }, 60_000);

    test(`both in discovery.hosts, one ${how}`, async () => {
      const set = await kodi({ host: newHost(), mdns });
      const hosts = [`${set.host}:${set.port}`, `${set.host}:${set.ports.tcp}`];
      const daemon = await start({ discovery: { hosts } });
      expect((await succeed(daemon, "discoverDevices")).devices.map(({ port }) => port)).toEqual([set.port]);
      expect((await succeed(daemon, "listDevices")).length).toBe(1);
    }, 60_000);
  }

  test("one with a login: by its socket it is the same, and still asks", async () => {
    const set = await kodi({ host: newHost(), mdns: false, password: "popcorn-1" });
    const daemon = await start();
    const web = await succeed(daemon, "addDevice", { body: { host: set.host, port: set.port } });
    const socket = await succeed(daemon, "addDevice", { body: { host: set.host, port: set.ports.tcp } });
    expect([socket.id, socket.port, socket.access]).toEqual([web.id, set.port, "unpaired"]);
  }, 60_000);

  for (const password of [undefined, "popcorn-2"])
    test(`scanned while its web server is not up yet, it keeps its place (${password ? "with a login" : "open"})`, async () => {
      // Behind it is the Kodi: here its two doors can be opened one by one.
      const host = newHost();
      const [web, socket] = [18_480, 19_490];
      const set = await kodi({
        host: newHost(),
        name: "Starter",
        mdns: false,
        port: web,
        tcpPort: socket,
        ...(password && { user: "kodi", password }),
      });
      const doors = { web: new Recorder(), socket: new Recorder() };
      const open = (door: "web" | "socket", port: number) =>
        doors[door].tcp({ host, port, to: { host: set.host, port } });
      await Promise.all([open("web", web), open("socket", socket)]);
      const services = [
        { type: "_xbmc-jsonrpc-h._tcp", port: web },
        { type: "_xbmc-jsonrpc._tcp", port: socket },
      ];
      const txt = { txtvers: "1", uuid: "5f0c7f0e-5a35-4c31-9d53-1f6f2a8e7d11" };
      const announcer = await announceMdns({ host, name: "Starter", services, txt });
      cleanups.push(async () => void (await Promise.all([doors.web.stop(), doors.socket.stop(), announcer.stop()])));
      const daemon = await start();
      const [device] = (await succeed(daemon, "discoverDevices")).devices;
      const id = device?.id ?? "";
      expect(device?.port).toBe(web);
      if (password) await succeed(daemon, "pairDevice", { id, body: { user: "kodi", password } });
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
      // It restarts: its socket is there again, and its web server not yet.
      await Promise.all([doors.web.stop(), doors.socket.stop()]);
      doors.socket = new Recorder();
      await open("socket", socket);
      await succeed(daemon, "discoverDevices");
      const during = await succeed(daemon, "getDevice", { id });
      expect([during.host, during.port]).toEqual([host, web]);
      expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
      doors.web = new Recorder();
      await open("web", web);
      await succeed(daemon, "discoverDevices");
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
      const after = await succeed(daemon, "getDevice", { id });
      expect([after.host, after.port]).toEqual([host, web]);
      expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
      expect((await succeed(daemon, "listDevices")).length).toBe(1);
      expect(set.calls.filter(({ method, error }) => method === "Input.Left" && error === null)).toHaveLength(3);
    }, 60_000);
});
