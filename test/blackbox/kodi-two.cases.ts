/** Two Kodis on one machine are two devices; one Kodi that is reached at two ports is one. */
import { describe, expect, test } from "bun:test";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { announceMdns } from "../security/rogue/announcer.ts";
import { Recorder } from "../security/rogue/recorder.ts";
import { until } from "../support/http-device.ts";
import { sampleOf } from "../support/whole.ts";
import { succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile(
  { config: { discovery: { timeout_ms: 1_000 }, devices: { request_timeout_ms: 4_000 } } },
  { cleans: "each test after a scan" },
);
let hosts = 0;
const newHost = () => `127.0.72.${++hosts}`;
const kodi = (options: Partial<KodiSimulatorOptions>) =>
  startSimulator(createKodiSimulator({ name: "Kodi", port: 0, tcpPort: 0, mdns: true, startMs: 5, ...options }));
const add = (set: KodiSimulator, port: number | null) =>
  succeed(daemon, "addDevice", { body: { host: set.host, port } });

const level = async (id: string) => (await succeed(daemon, "getState", { id })).state.volume?.level;

/** Each device has the volume of its own set, pushed and read, and its keys reach its own set. */
async function areApart(sets: readonly (readonly [KodiSimulator, string])[]): Promise<void> {
  for (const [at, [set]] of sets.entries()) set.setVolume(11 + at);
  for (let round = 0; round < 2; round++)
    for (const [at, [, id]] of sets.entries()) {
      await until("its own volume is known", async () => (await level(id)) === 11 + at);
      // Pushes come from now on.
      await daemon.sleep(300);
    }
  for (const [at, [set]] of sets.entries()) set.setVolume(41 + at);
  for (const [at, [, id]] of sets.entries())
    await until("its own volume is known", async () => (await level(id)) === 41 + at);
  for (const [set, id] of sets) {
    const presses = () => sets.map(([one]) => one.calls.filter(({ method }) => method === "Input.Left").length);
    const before = presses();
    await succeed(daemon, "pressKey", { id, body: { key: "left" } });
    expect(presses()).toEqual(before.map((count, at) => count + (sets[at]?.[0] === set ? 1 : 0)));
  }
}

describe("two Kodis on one machine", () => {
  const mac = "02:00:5e:00:53:17";

  test("a scan finds each with its own web port, socket, name and state", async () => {
    const host = newHost();
    const one = await kodi({ host, mac, name: "Wall" });
    const other = await kodi({ host, mac, name: "Desk" });
    const { devices } = await succeed(daemon, "discoverDevices");
    expect(
      devices.map(({ name, host, port }) => ({ name, host, port })).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ).toEqual([
      { name: "Desk", host, port: other.port },
      { name: "Wall", host, port: one.port },
    ]);
    await areApart([
      [one, "Wall"],
      [other, "Desk"],
    ]);
    await until("both are followed", () => [one, other].every((set) => set.state.clients.websocket === 1));
    expect((await succeed(daemon, "discoverDevices")).devices.length).toBe(2);
    expect((await succeed(daemon, "listDevices")).length).toBe(2);
  }, 60_000);

  test("where the second has no socket, and the first the usual one, that is not taken for the second's", async () => {
    const host = newHost();
    const first = await kodi({ host, mac, name: "Kodi", tcpPort: 9_090 });
    const second = await kodi({
      host,
      mac,
      name: "Kodi #2",
      uuid: "0a1b2c3d-0000-4000-8000-00000000b172",
      tcpPort: null,
    });
    const added = [];
    for (const set of [first, second])
      added.push(await succeed(daemon, "addDevice", { body: { host, port: set.port, platform: "kodi" } }));
    expect(new Set(added.map(({ id }) => id)).size).toBe(2);
    second.setName("Kodi");
    await areApart([
      [first, added[0]?.id ?? ""],
      [second, added[1]?.id ?? ""],
    ]);
    first.play({ title: "Film" });
    const [playing, idle] = await Promise.all(added.map(({ id }) => succeed(daemon, "getState", { id })));
    expect([playing?.state.playback?.title, idle?.state.playback]).toEqual(["Film", null]);
  }, 60_000);
});

describe("one Kodi at its two ports is one device", () => {
  test.each(sampleOf([true, false], 1))(
    "added by either port in either order, and by discovery.hosts (announced: %p)",
    async (mdns) => {
      for (const socketFirst of [true, false]) {
        const set = await kodi({ host: newHost(), mdns });
        const ports = socketFirst ? [set.ports.tcp, set.port] : [set.port, set.ports.tcp];
        const added = [];
        for (const port of [...ports, ...ports]) added.push(await add(set, port));
        expect([new Set(added.map(({ id }) => id)).size, added.at(-1)?.port]).toEqual([1, set.port]);
        const id = added[0]?.id ?? "";
        expect((await succeed(daemon, "listDevices")).map((device) => device.id)).toEqual([id]);
        expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
        await succeed(daemon, "removeDevice", { id });
        const given = ports.map((port) => `${set.host}:${port}`).join();
        await succeed(daemon, "patchConfig", { body: { "discovery.hosts": given } });
        expect((await succeed(daemon, "discoverDevices")).devices.map(({ port }) => port)).toEqual([set.port]);
        await succeed(daemon, "patchConfig", { body: { "discovery.hosts": null } });
        await succeed(daemon, "removeDevice", { id });
        await set.stop();
      }
    },
    60_000,
  );

  test("one with a login: by its socket it is the same device, and still asks for the login", async () => {
    const set = await kodi({ host: newHost(), mdns: false, password: "popcorn-1" });
    const web = await add(set, set.port);
    const socket = await add(set, set.ports.tcp);
    expect([socket.id, socket.port, socket.access]).toEqual([web.id, set.port, "unpaired"]);
  }, 60_000);

  for (const password of [undefined, "popcorn-2"])
    test(`scanned before its web server is up, it keeps its address (${password ? "with a login" : "open"})`, async () => {
      // Two relays before the Kodi let its ports be opened one by one.
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
      const relays = { web: new Recorder(), socket: new Recorder() };
      const open = (relay: "web" | "socket", port: number) =>
        relays[relay].tcp({ host, port, to: { host: set.host, port } });
      await Promise.all([open("web", web), open("socket", socket)]);
      const services = [
        { type: "_xbmc-jsonrpc-h._tcp", port: web },
        { type: "_xbmc-jsonrpc._tcp", port: socket },
      ];
      const txt = { txtvers: "1", uuid: "5f0c7f0e-5a35-4c31-9d53-1f6f2a8e7d11" };
      const announcer = await announceMdns({ host, name: "Starter", services, txt });
      atEnd(() => Promise.all([relays.web.stop(), relays.socket.stop(), announcer.stop()]));
      const [device] = (await succeed(daemon, "discoverDevices")).devices;
      const id = device?.id ?? "";
      expect(device?.port).toBe(web);
      if (password) await succeed(daemon, "pairDevice", { id, body: { user: "kodi", password } });
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
      // It restarts: its socket is open again, its web server is not yet.
      await Promise.all([relays.web.stop(), relays.socket.stop()]);
      relays.socket = new Recorder();
      await open("socket", socket);
      await succeed(daemon, "discoverDevices");
      const during = await succeed(daemon, "getDevice", { id });
      expect([during.host, during.port]).toEqual([host, web]);
      expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
      relays.web = new Recorder();
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
