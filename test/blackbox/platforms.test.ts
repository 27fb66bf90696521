/** Sets of several platforms behind one daemon: their secrets, and many sets of which half sleep. */
import { expect, test } from "bun:test";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../src/simulators/samsung.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { expectKept, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });

const quietWebos = { securePort: 0, plainPort: null, ssdp: false } as const;
const press = (id: string, key: string) => succeed(daemon, "pressKey", { id, body: { key } });

test("secrets of two platforms are in the file of credentials, for the user alone, and nowhere else", async () => {
  const tv = await startSimulator(createWebosSimulator({ name: "Keeper", promptMs: 50, ...quietWebos }));
  const { id } = await succeed(daemon, "addDevice", {
    body: { host: tv.host, port: tv.ports.secure, platform: "webos", name: "Keeper" },
  });
  await succeed(daemon, "pairDevice", { id });
  const password = "canary-popcorn-77";
  const kodi = await startSimulator(
    createKodiSimulator({ name: "Vault", host: freeHost(), port: 0, tcpPort: 0, mdns: false, password }),
  );
  const added = await succeed(daemon, "addDevice", { body: { host: kodi.host, port: kodi.port, platform: "kodi" } });
  expect(added.access).toBe("unpaired");
  await refuse(daemon, "getState", { id: added.id }, "pairing_required");
  await refuse(daemon, "pairDevice", { id: added.id, body: { password: `${password}x` } }, "pairing_failed");
  await succeed(daemon, "pairDevice", { id: added.id, body: { pin: password } });
  for (const one of [added.id, id]) await press(one, "home");
  const [key = ""] = [...tv.clientKeys.keys()];
  expect(key.length).toBeGreaterThan(8);
  await expectKept(daemon, [id, added.id], [key, password]);
}, 60_000);

test("twenty-five sets of five platforms, half of them asleep: neither the list nor the others wait for those", async () => {
  const requestMs = 6_000;
  const house = await startTestDaemon({ speed: 1, config: { devices: { request_timeout_ms: requestMs } } });
  atEnd(() => house.dispose());
  const add = async (platform: string, set: { readonly host: string }, body: object) =>
    (await succeed(house, "addDevice", { body: { host: set.host, platform, ...body } })).id;
  const quiet = { port: 0, mdns: false };
  const starts: readonly ((name: string) => Promise<{ id: string; key?: string; sleep(): unknown }>)[] = [
    async (name) => {
      const set = await startSimulator(createRokuSimulator({ name, serial: `X5${name}`, kind: "tv", ssdp: false }));
      return { id: await add("roku", set, { name, port: set.port }), sleep: () => set.sleep("deep") };
    },
    async (name) => {
      const set = await startSimulator(createKodiSimulator({ name, host: freeHost(), tcpPort: 0, ...quiet }));
      const ports = { websocket: set.ports.tcp ?? 0 };
      return { id: await add("kodi", set, { name, port: set.port, ports }), sleep: () => set.sleep() };
    },
    async (name) => {
      const set = await startSimulator(createCastSimulator({ name, host: freeHost(), ...quiet }));
      const id = await add("cast", set, { name, port: set.port });
      return { id, key: "volume-up", sleep: () => set.cutPower() };
    },
    async (name) => {
      const closes = { socketsCloseMs: 100, portsCloseMs: 50 };
      const set = await startSimulator(createWebosSimulator({ name, prompt: "none", ...quietWebos, ...closes }));
      const id = await add("webos", set, { name, port: set.ports.secure });
      await succeed(house, "pairDevice", { id });
      return { id, sleep: () => set.powerOff() };
    },
    async (name) => {
      const ports = { securePort: 0, plainPort: null, rendererPort: null, ssdp: false };
      const traits = { keyMs: 0 };
      const set = await startSimulator(
        createSamsungSimulator({ name, host: freeHost(), ...ports, promptMs: 5, standby: "off", traits }),
      );
      const id = await add("samsung", set, { name, port: set.ports.secure });
      await succeed(house, "pairDevice", { id });
      return { id, sleep: () => set.powerOff() };
    },
  ];
  const sets = await Promise.all(
    Array.from({ length: 5 }, (_, at) => starts.map((start, of) => start(`Set ${at}${of}`))).flat(),
  );
  await Promise.all(sets.map(({ id }) => succeed(house, "getState", { id })));
  const slowest = async (work: () => Promise<unknown>) => {
    let most = 0;
    for (let round = 0; round < 5; round++) {
      const start = performance.now();
      await work();
      most = Math.max(most, performance.now() - start);
    }
    return most;
  };
  const awake = sets.filter((_set, at) => at % 2 === 0);
  const drive = () =>
    Promise.all(awake.slice(0, 5).map(({ id, key = "down" }) => succeed(house, "pressKey", { id, body: { key } })));
  await drive();
  await Promise.all(sets.filter((_set, at) => at % 2 === 1).map((set) => set.sleep()));
  // Some are asked for their state while they sleep, as a dashboard does.
  const asking = Promise.all(sets.map(({ id }) => house.api("GET", `/devices/${id}/state`)));
  // Who waited for a set that sleeps would wait as long as its answer may take.
  expect(await slowest(() => succeed(house, "listDevices"))).toBeLessThan(requestMs / 2);
  expect(await slowest(drive)).toBeLessThan(requestMs / 2);
  for (const { status } of await asking) expect([200, 500]).toContain(status);
  const listed = new Set((await succeed(house, "listDevices")).map(({ id }) => id));
  expect(sets.filter(({ id }) => !listed.has(id))).toEqual([]);
}, 90_000);
