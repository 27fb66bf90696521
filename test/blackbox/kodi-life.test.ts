/** A Kodi that quits while its machine runs, text that is typed piece by piece, and pairing with one that needs none. */
import { describe, expect, test } from "bun:test";
import dgram from "node:dgram";
import { createKodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { until } from "../support/http-device.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

// None of these sets announces itself: on no interface nobody waits to hear one. Nothing here need wait, so its clock is the real one.
const { daemon, startSimulator } = await daemonForFile({
  config: { discovery: { interfaces: ["none"] }, devices: { request_timeout_ms: 15_000 } },
  speed: 1,
});
/** More than a busy machine takes; less than a request that waits for its deadline, or a wait for what a magic packet does (30 s). */
const atOnceMs = 10_000;

let hosts = 0;
async function add(options: Partial<KodiSimulatorOptions> = {}, followed = true) {
  const name = `Room ${++hosts}`;
  const set = await startSimulator(
    createKodiSimulator({ name, host: `127.0.73.${hosts}`, port: 0, tcpPort: 0, mdns: false, ...options }),
  );
  const ports = { wake: set.ports.wake, ...(followed && set.ports.tcp !== null && { websocket: set.ports.tcp }) };
  const { id } = await succeed(daemon, "addDevice", {
    body: { host: set.host, port: set.port, platform: "kodi", ports },
  });
  return { set, id };
}

const device = (id: string) => succeed(daemon, "getDevice", { id });
const hasMac = (id: string) => until("its MAC address is known", async () => (await device(id)).mac !== null);
const power = async (id: string) => (await succeed(daemon, "getState", { id })).state.power;
const within = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  const start = performance.now();
  const result = await work();
  expect(performance.now() - start).toBeLessThan(ms);
  return result;
};

/** Counts the magic packets that arrive at a port on which the simulator no longer listens. */
async function countPackets(host: string, port: number) {
  const socket = dgram.createSocket("udp4");
  let count = 0;
  socket.on("message", () => count++);
  await new Promise<void>((resolve) => socket.bind(port, host, resolve));
  return { count: () => count, stop: () => new Promise<void>((resolve) => socket.close(() => resolve())) };
}

describe.concurrent("a Kodi that has quit while its machine answers", () => {
  test("is off at once and is sent no magic packet, except by power-on", async () => {
    const { set, id } = await add({}, false);
    expect(await power(id)).toBe("on");
    await hasMac(id);
    const { wake } = set.ports;
    await set.stop();
    const packets = await countPackets(set.host, wake);
    await within(atOnceMs, () => until("it is off", async () => (await power(id)) === "off"));
    expect(await device(id)).toMatchObject({ status: "offline", power: "off" });
    for (const [name, body] of [
      ["pressKey", { key: "left" }],
      ["launchApp", { app: "plugin.video.youtube" }],
      ["pressKeys", { keys: ["left", "right"], delay_ms: 0 }],
    ] as const) {
      const { message, hint } = await within(atOnceMs, () => refuse(daemon, name, { id, body }, "device_unreachable"));
      expect([message, hint]).toEqual([
        expect.stringContaining("is not running"),
        expect.stringContaining("Start Kodi"),
      ]);
    }
    // Commands that would turn it off succeed without doing anything.
    await within(atOnceMs, () => succeed(daemon, "pressKey", { id, body: { key: "power-off" } }));
    expect((await within(atOnceMs, () => succeed(daemon, "stopApp", { id }))).app).toBeNull();
    expect(packets.count()).toBe(0);
    // The machine answers, so the wait is a short one.
    const { message } = await within(20_000, () =>
      refuse(daemon, "pressKey", { id, body: { key: "power-on" } }, "device_unreachable"),
    );
    expect([message, packets.count() > 0]).toEqual([expect.stringContaining("is not running"), true]);
    await packets.stop();
    await set.start();
    expect(await power(id)).toBe("on");
    await succeed(daemon, "pressKey", { id, body: { key: "left" } });
  }, 60_000);

  test("is off at once where its socket is followed, and is driven again after its next start", async () => {
    const { set, id } = await add();
    expect(await power(id)).toBe("on");
    await until("it is followed", () => set.state.clients.websocket === 1);
    await set.end("quit");
    await within(atOnceMs, () => until("it is off", async () => (await power(id)) === "off"));
    await within(atOnceMs, () => refuse(daemon, "pressKey", { id, body: { key: "left" } }, "device_unreachable"));
    await set.wake();
    await until("it is on", async () => (await power(id)) === "on");
  }, 60_000);

  test("is woken by the next command where it has said that its machine goes to sleep", async () => {
    const { set, id } = await add();
    expect(await power(id)).toBe("on");
    await until("it is followed", () => set.state.clients.websocket === 1);
    await hasMac(id);
    await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
    await until("it sleeps", () => set.state.power === "asleep");
    await succeed(daemon, "launchApp", { id, body: { app: "plugin.video.youtube" } });
    expect([set.state.power, await power(id)]).toEqual(["on", "on"]);
  }, 60_000);
});

test.concurrent.each([true, false])("text is typed behind what the keyboard shows (followed: %p)", async (followed) => {
  const { set, id } = await add({}, followed);
  const press = (key: string) => succeed(daemon, "pressKey", { id, body: { key } });
  const sequence = (keys: string[], delay_ms = 0) => succeed(daemon, "pressKeys", { id, body: { keys, delay_ms } });
  set.openDialog("keyboard", { value: "The " });
  for (const [text, shown] of [
    ["Wire ", "The Wire "],
    ["é📺", "The Wire é📺"],
    ["!", "The Wire é📺!"],
  ]) {
    await press(`literal:${text}`);
    expect(set.text).toBe(shown ?? "");
  }
  set.closeDialog();
  await refuse(daemon, "pressKey", { id, body: { key: "literal:x" } }, "device_refused");
  // The next keyboard shows nothing of the last one; a sequence may have keys between its texts.
  set.openDialog("keyboard");
  const keys = ["literal:a", "literal:b", "down", "literal:c d", "up", "literal:e"];
  expect([(await sequence(keys)).sent, set.text]).toEqual([6, "abc de"]);
  set.closeDialog();
  set.openDialog("number");
  await sequence(["literal:1", "literal:2", "literal:34"], 20);
  expect(set.text).toBe("1234");
});

describe.concurrent("pairing", () => {
  test.each([undefined, { user: "kodi", password: "guess-71" }, { pin: "1234" }])(
    "with a Kodi that asks for no login is refused, and nothing is kept (%p)",
    async (body) => {
      const { id } = await add();
      const { message } = await refuse(daemon, "pairDevice", { id, body }, "unsupported_operation");
      expect(message).toContain("needs no pairing");
      const credentials = await Bun.$`cat ${daemon.stateFolder}/credentials.json`.nothrow().quiet().text();
      expect(credentials).not.toContain("guess-71");
      expect([(await device(id)).access, await power(id)]).toEqual(["full", "on"]);
    },
  );

  test("with a Kodi that has quit fails, since it does not run", async () => {
    const { set, id } = await add({ password: "right-71" });
    await set.stop();
    const { message } = await refuse(
      daemon,
      "pairDevice",
      { id, body: { password: "right-71" } },
      "device_unreachable",
    );
    expect(message).toContain("is not running");
  }, 60_000);
});

test.concurrent("a hint names the key of the tuner where there is a tuner, and that key opens a channel", async () => {
  const channelUp = { key: "channel-up" };
  const { id: without } = await add();
  const call = { id: without, body: channelUp };
  const { hint } = await refuse(daemon, "pressKey", call, "unsupported_key", "device_refused");
  expect(hint ?? "").not.toContain("input-tuner");
  const { set, id } = await add({ channels: [{ id: 1, number: 1, name: "One" }] });
  const refused = await refuse(daemon, "pressKey", { id, body: channelUp }, "device_refused");
  expect(refused.hint).toContain("zapd key input-tuner");
  for (const key of ["input-tuner", "channel-up"]) await succeed(daemon, "pressKey", { id, body: { key } });
  expect(set.state.playback?.channel).toBe(1);
});
