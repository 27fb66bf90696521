/** The controls of an LG set, each read back at the set; and what happens at the set, in the stream of events. */
import { describe, expect, test } from "bun:test";
import { createClient } from "../../src/api/client.ts";
import { createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";
import { type Data, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile();

async function plugIn(name: string, options: object = {}, pair = true): Promise<{ set: WebosSimulator; id: string }> {
  const quick = { promptMs: 50, bootMs: 300, socketsCloseMs: 300, portsCloseMs: 100, channelMs: 300 };
  const plain = { securePort: 0, plainPort: null, ssdp: false, tuner: false, firmware: "2023" } as const;
  const set = await startSimulator(createWebosSimulator({ name, ...plain, ...quick, ...options }));
  const { secure: port, wake } = set.ports;
  const body = { host: set.host, port, platform: "webos", ports: { wake }, name };
  const { id } = await succeed(daemon, "addDevice", { body });
  if (pair) await succeed(daemon, "pairDevice", { id });
  return { set, id };
}

test("volume, channel, input, media and playback are set, and read back at the set", async () => {
  const { set, id } = await plugIn("Lounge", { tuner: true });
  const volume = (body: object) => succeed(daemon, "setVolume", { id, body });
  expect(await volume({ level: 20 })).toMatchObject({ volume: { level: 20, muted: false }, confirmed: true });
  expect(await volume({ step: -5, muted: true })).toMatchObject({
    volume: { level: 15, muted: true },
    confirmed: true,
  });
  expect(set.state).toMatchObject({ volume: 15, muted: true });
  expect(await succeed(daemon, "listChannels", { id })).toMatchObject({ channels: [{ number: "5-1" }, {}, {}] });
  const tuned = await succeed(daemon, "selectChannel", { id, body: { channel: "KNTV" } });
  expect([tuned.channel.number, tuned.confirmed, set.state.channel]).toEqual(["11-1", true, "11-1"]);
  const shown = await succeed(daemon, "selectInput", { id, body: { input: "playstation 5" } });
  expect(shown).toMatchObject({ input: { id: "hdmi1" }, confirmed: true });
  await refuse(daemon, "listChannels", { id }, "device_refused");
  const film = { url: "http://192.168.1.5/film.mp4", title: "Film" };
  expect(await succeed(daemon, "playMedia", { id, body: film })).toMatchObject({ confirmed: true });
  expect(set.state).toMatchObject({ activeApp: "com.webos.app.mediadiscovery", playback: "playing" });
  const tell = (what: string) => succeed(daemon, "controlPlayback", { id, body: { do: what } });
  expect(await tell("pause")).toMatchObject({ playback: { status: "paused" }, confirmed: true });
  expect(await tell("stop")).toMatchObject({ confirmed: true });
  await succeed(daemon, "notify", { id, body: { message: "Dinner is ready" } });
  expect(set.received.toasts).toEqual(["Dinner is ready"]);
});

describe.concurrent("events", () => {
  /** The states of a set that the stream of events tells from now on. */
  async function follow(id: string) {
    const over = new AbortController();
    const told: {
      cause: string;
      changed: readonly string[];
      level: number | null;
      power: string;
      app: string | null;
    }[] = [];
    const take = (cause: string, changed: readonly string[], { volume, power, app }: Data<"getState">["state"]) =>
      told.push({ cause, changed, level: volume?.level ?? null, power, app: app?.id ?? null });
    const { promise, resolve } = Promise.withResolvers<void>();
    const following = (async () => {
      for await (const event of createClient({ url: daemon.url }).events({ signal: over.signal })) {
        if (event.type === "snapshot") {
          const { state } = event.devices.find(({ device }) => device.id === id) ?? {};
          if (state) take("snapshot", [], state);
          resolve();
        } else if (event.type === "state.changed" && event.device_id === id)
          take(event.cause, event.changed, event.state);
      }
    })().catch(() => {});
    const close = async () => {
      over.abort();
      await following;
    };
    atEnd(close);
    await promise;
    return { told, close };
  }

  test("a change at the set is pushed", async () => {
    const { set, id } = await plugIn("Pusher");
    const { told, close } = await follow(id);
    await until("it is followed", () => told.some(({ power }) => power === "on"));
    for (let level = 30; level < 35; level++) {
      told.length = 0;
      set.setVolume(level);
      await until("it is told", () => told.some((one) => one.level === level));
      expect(told[0]).toMatchObject({ cause: "push", changed: ["volume.level"] });
    }
    await close();
  });

  test("after its connection broke it is read again, and changes made meanwhile are events", async () => {
    const { set, id } = await plugIn("Restless");
    const { told, close } = await follow(id);
    await until("it is followed", () => told.some(({ power }) => power === "on"));
    for (const level of [7, 8]) {
      await set.stop();
      set.setVolume(level);
      // The first attempt to reach it fails meanwhile.
      await daemon.sleep(2_000);
      await set.start();
      // Polling a silent set, every 30 s, would take longer.
      const within = daemon.speed === 1 ? 45_000 : 20_000 / daemon.speed;
      await until("it is told", () => told.some((one) => one.level === level), within);
    }
    set.open("netflix");
    await until("it is followed again", () => told.some((one) => one.app === "netflix"));
    await close();
  }, 120_000);

  test("a set that is off is not woken by those who follow it", async () => {
    const { set, id } = await plugIn("Sleeper", { standby: "active-standby" });
    const { told, close } = await follow(id);
    await until("it is followed", () => told.some(({ power }) => power === "on"));
    await set.powerOff();
    await until("it is told", () => told.some(({ power }) => power === "standby" || power === "off"));
    await daemon.sleep(20_000);
    expect([set.state.power, set.received.prompts.length]).toEqual(["standby", 1]);
    await close();
  }, 60_000);
});
