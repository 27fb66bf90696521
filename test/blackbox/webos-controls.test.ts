/** The controls of an LG set, each read back at the set; and what happens at the set, in the stream of events. */
import { describe, expect, test } from "bun:test";
import { createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { EventStream } from "../support/event-stream.ts";
import { refuse, succeed } from "./checked.ts";
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
  /** The changes of a set's state, from where it is known to be on. */
  async function follow(id: string): Promise<EventStream> {
    const stream = new EventStream({ to: daemon.port, path: `/events?types=state.changed&devices=${id}` });
    atEnd(() => stream.close());
    await stream.until(({ devices = [], state }) => {
      const now = state ?? devices[0]?.state;
      return now?.power === "on" && now.volume !== null;
    });
    return stream;
  }

  test("a change at the set is pushed", async () => {
    const { set, id } = await plugIn("Pusher");
    const stream = await follow(id);
    for (let level = 30; level < 35; level++) {
      set.setVolume(level);
      const told = await stream.until(({ state }) => state?.volume?.level === level);
      expect(told).toMatchObject({ cause: "push", changed: ["volume.level"] });
    }
  });

  test("after its connection broke it is read again, and changes made meanwhile are events", async () => {
    const { set, id } = await plugIn("Restless");
    const stream = await follow(id);
    for (const level of [7, 8]) {
      await set.stop();
      set.setVolume(level);
      // The first attempt to reach it fails meanwhile.
      await daemon.sleep(2_000);
      await set.start();
      // Polling a silent set, every 30 s, would take longer.
      const within = daemon.speed === 1 ? 45_000 : 20_000 / daemon.speed;
      await stream.until(({ state }) => state?.volume?.level === level, within);
    }
    set.open("netflix");
    await stream.until(({ state }) => state?.app?.id === "netflix");
  }, 120_000);

  test("a set that is off is not woken by those who follow it", async () => {
    const { set, id } = await plugIn("Sleeper", { standby: "active-standby" });
    const stream = await follow(id);
    await set.powerOff();
    await stream.until(({ state }) => state?.power === "standby" || state?.power === "off");
    await daemon.sleep(20_000);
    expect([set.state.power, set.received.prompts.length]).toEqual(["standby", 1]);
  }, 60_000);
});
