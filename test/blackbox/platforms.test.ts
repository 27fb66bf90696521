/** Sets of every platform behind one daemon: pairing, power and secrets as stories, and fifty sets of which half sleep. */
import { describe, expect, test } from "bun:test";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../src/simulators/samsung.ts";
import { createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { expectKept, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });

const state = async (id: string) => (await succeed(daemon, "getState", { id })).state;
const press = (id: string, key: string) => succeed(daemon, "pressKey", { id, body: { key } });

async function webos(name: string, options: object = {}): Promise<{ set: WebosSimulator; id: string }> {
  const quick = { promptMs: 50, bootMs: 300, socketsCloseMs: 400, portsCloseMs: 100 };
  const set = await startSimulator(
    createWebosSimulator({ name, securePort: 0, plainPort: null, ssdp: false, ...quick, ...options }),
  );
  const { id } = await succeed(daemon, "addDevice", {
    body: {
      host: set.host,
      port: set.ports.secure ?? set.ports.plain,
      platform: "webos",
      name,
      ports: { wake: set.ports.wake },
    },
  });
  return { set, id };
}

describe("an LG set", () => {});

test("secrets of two platforms are in their own file, for the user alone, and nowhere else", async () => {
  const { set, id } = await webos("Keeper");
  await succeed(daemon, "pairDevice", { id });
  const password = "canary-popcorn-77";
  const cinema = await startSimulator(
    createKodiSimulator({ name: "Vault", host: freeHost(), port: 0, tcpPort: 0, mdns: false, password }),
  );
  const added = await succeed(daemon, "addDevice", {
    body: { host: cinema.host, port: cinema.port, platform: "kodi" },
  });
  expect(added.access).toBe("unpaired");
  await refuse(daemon, "getState", { id: added.id }, "pairing_required");
  await refuse(daemon, "pairDevice", { id: added.id, body: { password: `${password}x` } }, "pairing_failed");
  await succeed(daemon, "pairDevice", { id: added.id, body: { pin: password } });
  expect((await state(added.id)).power).toBe("on");
  await press(added.id, "home");
  await press(id, "home");
  const [key = ""] = [...set.clientKeys.keys()];
  expect(key.length).toBeGreaterThan(8);
  await expectKept(daemon, [id, added.id], [key, password]);
}, 60_000);

test("fifty sets of five platforms, half of them asleep: nobody waits for those in the list, nor at the awake ones", async () => {
  const requestMs = 6_000;
  const house = await startTestDaemon({ speed: 1, config: { devices: { request_timeout_ms: requestMs } } });
  atEnd(() => house.dispose());
  const add = async (body: object) => (await succeed(house, "addDevice", { body })).id;
  const one = async (number: number) => {
    const name = `Set ${number}`;
    if (number % 5 === 4) {
      const set = createSamsungSimulator({
        name,
        host: freeHost(),
        securePort: 0,
        plainPort: null,
        rendererPort: null,
        ssdp: false,
        promptMs: 5,
        standby: "off",
        traits: { keyMs: 0 },
      });
      await startSimulator(set);
      const id = await add({ host: set.host, port: set.ports.secure, name, platform: "samsung" });
      await succeed(house, "pairDevice", { id });
      return { id, key: "down", sleep: () => set.powerOff() };
    }
    if (number % 5 === 0) {
      const set = await startSimulator(createRokuSimulator({ name, serial: `X5${number}`, kind: "tv", ssdp: false }));
      const id = await add({ host: set.host, port: set.port, name, platform: "roku" });
      return { id, key: "down", sleep: () => set.sleep("deep") };
    }
    if (number % 5 === 1) {
      const set = await startSimulator(
        createKodiSimulator({ name, host: freeHost(), port: 0, tcpPort: 0, mdns: false }),
      );
      const ports = { websocket: set.ports.tcp ?? 0 };
      const id = await add({ host: set.host, port: set.port, name, platform: "kodi", ports });
      return { id, key: "down", sleep: async () => set.sleep() };
    }
    if (number % 5 === 2) {
      const set = await startSimulator(createCastSimulator({ name, host: freeHost(), port: 0, mdns: false }));
      const id = await add({ host: set.host, port: set.port, name, platform: "cast" });
      return { id, key: "volume-up", sleep: () => set.cutPower() };
    }
    const set = createWebosSimulator({
      name,
      securePort: 0,
      plainPort: null,
      ssdp: false,
      prompt: "none",
      socketsCloseMs: 100,
      portsCloseMs: 50,
    });
    await startSimulator(set);
    const id = await add({ host: set.host, port: set.ports.secure, name, platform: "webos" });
    await succeed(house, "pairDevice", { id });
    return { id, key: "down", sleep: () => set.powerOff() };
  };
  const sets = await Promise.all(Array.from({ length: 50 }, (_, number) => one(number)));
  await Promise.all(sets.map(({ id }) => succeed(house, "getState", { id })));
  const timed = async (work: () => Promise<unknown>, times: number) => {
    const took: number[] = [];
    for (let round = 0; round < times; round++) {
      const start = performance.now();
      await work();
      took.push(performance.now() - start);
    }
    return took.sort((one, other) => one - other)[Math.floor(times / 2)] ?? 0;
  };
  const awake = sets.filter((_set, at) => at % 2 === 0);
  const drive = () =>
    Promise.all(awake.slice(0, 5).map(({ id, key }) => succeed(house, "pressKey", { id, body: { key } })));
  await drive();
  await Promise.all(sets.filter((_set, at) => at % 2 === 1).map((set) => set.sleep()));
  // Some are asked about while they sleep, as a dashboard does.
  const asking = Promise.all(sets.map(({ id }) => house.api("GET", `/devices/${id}/state`)));
  const after = { list: await timed(() => succeed(house, "listDevices"), 9), keys: await timed(drive, 9) };
  for (const { status } of await asking) expect([200, 500]).toContain(status);
  // Whoever waited for one that sleeps would wait as long as that may take to answer.
  expect(after.list).toBeLessThan(requestMs / 2);
  expect(after.keys).toBeLessThan(requestMs / 2);
  const listed = new Set((await succeed(house, "listDevices")).map(({ id }) => id));
  expect(sets.filter(({ id }) => !listed.has(id))).toEqual([]);
}, 90_000);
