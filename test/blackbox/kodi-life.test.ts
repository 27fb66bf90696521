/** A Kodi that ends while its machine runs, text that is typed piece by piece, and pairing where none is needed. */
import { describe, expect, test } from "bun:test";
import dgram from "node:dgram";
import { createKodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { until } from "../support/http-device.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

// None of these sets announces itself: on no interface nobody waits to hear one.
const { daemon, startSimulator } = await daemonForFile({
  config: { discovery: { interfaces: ["none"] }, devices: { request_timeout_ms: 3_000 } },
});

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

const power = async (id: string) => (await succeed(daemon, "getState", { id })).state.power;
const within = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  const start = performance.now();
  const result = await work();
  expect(performance.now() - start).toBeLessThan(ms);
  return result;
};

/** Counts the magic packets that come to a port where the simulator no longer listens. */
async function packets(host: string, port: number) {
  const socket = dgram.createSocket("udp4");
  let count = 0;
  socket.on("message", () => count++);
  await new Promise<void>((resolve) => socket.bind(port, host, resolve));
  return { count: () => count, stop: () => new Promise<void>((resolve) => socket.close(() => resolve())) };
}

describe.concurrent("a Kodi whose process has ended while its machine answers", () => {
  for (const [how, followed] of [
    ["is followed", true],
    ["is not followed", false],
  ] as const)
    test(`is off at once, and nobody is called for it, where it ${how}`, async () => {
      const { set, id } = await add({}, followed);
      expect(await power(id)).toBe("on");
      await until(
        "its hardware's address is known",
        async () => (await succeed(daemon, "getDevice", { id })).mac !== null,
      );
      const { wake } = set.ports;
      await set.stop();
      const heard = await packets(set.host, wake);
      await within(1_500, () => until("it is off", async () => (await power(id)) === "off"));
      expect(await succeed(daemon, "getDevice", { id })).toMatchObject({ status: "offline", power: "off" });
      for (const [name, body] of [
        ["pressKey", { key: "left" }],
        ["launchApp", { app: "plugin.video.youtube" }],
        ["pressKeys", { keys: ["left", "right"], delay_ms: 0 }],
      ] as const) {
        const { message, hint } = await within(1_500, () => refuse(daemon, name, { id, body }, "device_unreachable"));
        expect(message).toContain("does not run");
        expect(hint).toContain("Start Kodi");
      }
      // What would leave it off has nothing to do.
      await within(1_500, () => succeed(daemon, "pressKey", { id, body: { key: "power-off" } }));
      expect((await within(1_500, () => succeed(daemon, "stopApp", { id }))).app).toBeNull();
      expect(heard.count()).toBe(0);
      // Who wants it called has it called, for a while, and is told how it is.
      const { message } = await within(12_000, () =>
        refuse(daemon, "pressKey", { id, body: { key: "power-on" } }, "device_unreachable"),
      );
      expect(message).toContain("does not run");
      expect(heard.count()).toBeGreaterThan(0);
      await heard.stop();
      await set.start();
      expect(await power(id)).toBe("on");
      await succeed(daemon, "pressKey", { id, body: { key: "left" } });
    }, 60_000);

  test("quits, and is off at once; started again, it is driven again", async () => {
    const { set, id } = await add();
    expect(await power(id)).toBe("on");
    await until("it is followed", () => set.state.clients.websocket === 1);
    await set.end("quit");
    await within(1_500, () => until("it is off", async () => (await power(id)) === "off"));
    await within(1_500, () => refuse(daemon, "pressKey", { id, body: { key: "left" } }, "device_unreachable"));
    await set.wake();
    await until("it is on", async () => (await power(id)) === "on");
  }, 60_000);

  test("one whose machine went to sleep by its own word is woken by the next command", async () => {
    const { set, id } = await add();
    expect(await power(id)).toBe("on");
    await until("it is followed", () => set.state.clients.websocket === 1);
    await until(
      "its hardware's address is known",
      async () => (await succeed(daemon, "getDevice", { id })).mac !== null,
    );
    await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
    await until("it sleeps", () => set.state.power === "asleep");
    await succeed(daemon, "launchApp", { id, body: { app: "plugin.video.youtube" } });
    expect([set.state.power, await power(id)]).toEqual(["on", "on"]);
  }, 60_000);
});

describe.concurrent("typing", () => {
  const literal = (id: string, text: string) => succeed(daemon, "pressKey", { id, body: { key: `literal:${text}` } });

  for (const followed of [true, false])
    test(`goes on behind what stands there (${followed ? "followed" : "not followed"})`, async () => {
      const { set, id } = await add({}, followed);
      set.openDialog("keyboard", { value: "The " });
      await literal(id, "Wire ");
      expect(set.text).toBe("The Wire ");
      await literal(id, "é📺");
      await literal(id, "!");
      expect(set.text).toBe("The Wire é📺!");
      expect(set.state.dialog).toBe("keyboard");
      // The next keyboard has nothing of the last.
      set.closeDialog();
      await refuse(daemon, "pressKey", { id, body: { key: "literal:x" } }, "device_refused");
      set.openDialog("keyboard");
      await literal(id, "new");
      expect(set.text).toBe("new");
    }, 60_000);

  test("a sequence of literals types all of them, with keys between them", async () => {
    const { set, id } = await add();
    set.openDialog("keyboard");
    const keys = ["literal:a", "literal:b", "down", "literal:c d", "up", "literal:e"];
    expect((await succeed(daemon, "pressKeys", { id, body: { keys, delay_ms: 0 } })).sent).toBe(6);
    expect(set.text).toBe("abc de");
    set.closeDialog();
    set.openDialog("keyboard");
    await succeed(daemon, "pressKeys", { id, body: { keys: ["literal:x", "literal:y"], delay_ms: 20 } });
    expect(set.text).toBe("xy");
  }, 60_000);

  test("numbers are typed alike", async () => {
    const { set, id } = await add();
    set.openDialog("number");
    await succeed(daemon, "pressKeys", { id, body: { keys: ["literal:1", "literal:2", "literal:34"], delay_ms: 0 } });
    expect(set.text).toBe("1234");
  }, 60_000);
});

describe.concurrent("pairing with a Kodi that asks for no login", () => {
  for (const body of [undefined, {}, { user: "kodi", password: "guess-71" }, { pin: "1234" }])
    test(`says so at once, and keeps nothing (${JSON.stringify(body)})`, async () => {
      const { id } = await add();
      const { message } = await within(1_500, () =>
        refuse(daemon, "pairDevice", { id, body }, "unsupported_operation"),
      );
      expect(message).toContain("needs no pairing");
      expect(
        await Bun.file(`${daemon.stateFolder}/credentials.json`)
          .text()
          .catch(() => ""),
      ).not.toContain("guess-71");
      expect((await succeed(daemon, "getDevice", { id })).access).toBe("full");
      expect(await power(id)).toBe("on");
    }, 60_000);

  test("one that asks for a login says that it does, and takes the right one", async () => {
    const { id } = await add({ password: "right-71" });
    expect((await succeed(daemon, "getDevice", { id })).access).toBe("unpaired");
    expect((await succeed(daemon, "pairDevice", { id })).step).toBe("login");
    expect(
      (await refuse(daemon, "pairDevice", { id, body: { password: "wrong" } }, "pairing_failed")).message,
    ).toContain("refused");
    await succeed(daemon, "pairDevice", { id, body: { password: "right-71" } });
    expect(await power(id)).toBe("on");
    expect((await succeed(daemon, "getDevice", { id })).access).toBe("full");
  }, 60_000);

  test("one that has ended says that it does not run", async () => {
    const { set, id } = await add({ password: "right-71" });
    await set.stop();
    const { message } = await within(3_000, () =>
      refuse(daemon, "pairDevice", { id, body: { password: "x" } }, "device_unreachable"),
    );
    expect(message).toContain("does not run");
  }, 60_000);
});

describe.concurrent("hints are true on the device that gives them", () => {
  test("without a tuner, no key of it is named", async () => {
    const { id } = await add();
    const { hint } = await refuse(
      daemon,
      "pressKey",
      { id, body: { key: "channel-up" } },
      "unsupported_key",
      "device_refused",
    );
    expect(hint ?? "").not.toContain("input-tuner");
  }, 60_000);

  test("with one, the key that it names opens a channel", async () => {
    const { set, id } = await add({ channels: [{ id: 1, number: 1, name: "One" }] });
    const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "channel-up" } }, "device_refused");
    expect(hint).toContain("zapd key input-tuner");
    await succeed(daemon, "pressKey", { id, body: { key: "input-tuner" } });
    await succeed(daemon, "pressKey", { id, body: { key: "channel-up" } });
    expect(set.state.playback?.channel).toBe(1);
  }, 60_000);
});
