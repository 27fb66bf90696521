/** Held keys, as only a whole process can show them: however the holder leaves, no set goes on for more than 2 s. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { succeed } from "./checked.ts";

/** How much later a busy machine does what is due. */
const busyMs = 900;
const names = ["roku", "kodi", "webos"] as const;

/** A daemon with a set of each platform, and the presses that have reached each set. */
async function startHouse() {
  const daemon = await startTestDaemon({ speed: 2 });
  const quiet = { ssdp: false, launchMs: 0 };
  const roku = createRokuSimulator({ name: "roku", host: freeHost(), ...quiet });
  const kodi = createKodiSimulator({ name: "kodi", host: freeHost(), port: 0, tcpPort: 0, mdns: false });
  const tls = { securePort: 0, plainPort: null, prompt: "none" } as const;
  const webos = createWebosSimulator({ name: "webos", host: freeHost(), ...tls, ...quiet });
  await Promise.all([roku, kodi, webos].map((set) => set.start()));
  for (const body of [
    { platform: "roku", host: roku.host, port: roku.port },
    { platform: "kodi", host: kodi.host, port: kodi.port, ports: { websocket: kodi.ports.tcp ?? 0 } },
    { platform: "webos", host: webos.host, port: webos.ports.secure },
  ])
    await succeed(daemon, "addDevice", { body: { ...body, name: body.platform } });
  await succeed(daemon, "pairDevice", { id: "webos" });
  const presses = () => [
    roku.keys.length,
    kodi.calls.filter(({ method }) => method === "Input.Down" || method === "Input.Up").length,
    webos.received.buttons.length,
  ];
  const total = () => presses().reduce((sum, count) => sum + count);
  const press = (name: string, body: object) =>
    daemon.api("POST", `/devices/${name}/remote/key`, { key: "down", ...body });
  return {
    daemon,
    roku,
    press,
    presses,
    total,
    each: (count: number) =>
      until(`${count} presses at each set`, () => presses().every((pressed) => pressed >= count)),
    /** Holds a key of each set in both ways, then does something when the keys are down. */
    async holdThen(leave: () => unknown): Promise<void> {
      for (const name of names) press(name, { hold_ms: 10_000, key: "up" }).catch(() => {});
      for (const name of names) await press(name, { phase: "down" });
      await this.each(3);
      await leave();
    },
    /** Waits until no press has come for half a second; milliseconds until the last one came. */
    async lastPressMs(): Promise<number> {
      const since = performance.now();
      let [seen, last] = [total(), since];
      while (performance.now() - last < 500) {
        await Bun.sleep(10);
        if (total() !== seen) [seen, last] = [total(), performance.now()];
      }
      return last - since;
    },
    async [Symbol.asyncDispose]() {
      await daemon.dispose();
      await Promise.all([roku, kodi, webos].map((set) => set.stop()));
    },
  };
}
type House = Awaited<ReturnType<typeof startHouse>>;

test.concurrent("presses are counted, and a key that is down is pressed until it is up or another key is down", async () => {
  await using house = await startHouse();
  const presses = () => house.roku.keys.length;
  const hold = (body: object) => house.press("roku", body);
  const repeated = await hold({ repeat: 4 });
  expect([repeated.status, repeated.body.data.presses, presses()]).toEqual([200, 4, 4]);
  const held = await hold({ hold_ms: 400 });
  expect([held.status, held.body.data.presses]).toEqual([200, presses() - 4]);
  expect(presses() - 4).toBeWithin(1, 5);
  expect((await hold({})).body.data).not.toHaveProperty("presses");
  for (const body of [{ repeat: 51 }, { hold_ms: 10_001 }, { repeat: 2, phase: "down" }, { phase: "sideways" }])
    expect([body, (await hold(body)).body.error.code]).toEqual([body, "invalid_payload"]);
  for (const key of ["power", "literal:a"])
    expect((await hold({ key, repeat: 2 })).body.error.code).toBe("invalid_key");
  for (const first of [[], [{ phase: "down" }]]) {
    for (const body of [...first, { key: "up", phase: "down" }]) expect((await hold(body)).status).toBe(200);
    const before = presses();
    await until("three presses more", () => presses() >= before + 3);
    await hold({ key: "up", phase: "up" });
    const released = presses();
    // Four would be due in this time. One that was sent before may only now be heard.
    await Bun.sleep(300);
    expect(presses() - released).toBeLessThan(2);
  }
});

const url = ({ daemon }: House, name: string) => `${daemon.url}/devices/${name}/remote/key`;
const long = JSON.stringify({ key: "down", hold_ms: 10_000 });

test.concurrent.each<[string, (house: House) => Promise<unknown>]>([
  [
    "the call is broken off",
    async (house) => {
      const quitter = new AbortController();
      const { signal } = quitter;
      const calls = names.map((name) =>
        fetch(url(house, name), { method: "POST", body: long, signal }).catch(() => {}),
      );
      await house.each(2);
      quitter.abort();
      await Promise.all(calls);
    },
  ],
  [
    "the caller dies",
    async (house) => {
      const urls = JSON.stringify(names.map((name) => url(house, name)));
      const code = `await Promise.all(${urls}.map((url) => fetch(url, { method: "POST", body: ${JSON.stringify(long)} })))`;
      const caller = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
      await house.each(2);
      caller.kill("SIGKILL");
    },
  ],
  ["down is not said again", (house) => Promise.all(names.map((name) => house.press(name, { phase: "down" })))],
  [
    "the device is removed",
    (house) => house.holdThen(() => Promise.all(names.map((name) => house.daemon.api("DELETE", `/devices/${name}`)))),
  ],
  ["the daemon is stopping", (house) => house.holdThen(() => house.daemon.process.kill("SIGTERM"))],
  ["the daemon is killed by -9", (house) => house.holdThen(() => house.daemon.process.kill("SIGKILL"))],
])("within 2 s when %s", async (_name, leave) => {
  await using house = await startHouse();
  await leave(house);
  expect(await house.lastPressMs()).toBeLessThan(2_000 / house.daemon.speed + busyMs);
  expect(house.total()).toBeGreaterThan(0);
});

test.concurrent("no key is pressed again when the machine wakes", async () => {
  await using house = await startHouse();
  const { daemon, presses } = house;
  await house.holdThen(() => daemon.process.kill("SIGSTOP"));
  // Until each set has read what was sent before.
  await house.lastPressMs();
  const before = presses();
  // A delay of more than 5 s is taken for sleep.
  await Bun.sleep(6_500);
  daemon.process.kill("SIGCONT");
  await daemon.sleep(1_000);
  const late = presses().map((pressed, at) => pressed - (before[at] ?? 0));
  // One press of each set may have been stopped while it was being sent.
  expect(names.filter((_, at) => (late[at] ?? 0) > 1)).toEqual([]);
});
