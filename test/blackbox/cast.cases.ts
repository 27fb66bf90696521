/** Cast devices: found once each, groups that move, one box of two protocols, and one driven as a story. */
import { describe, expect, test } from "bun:test";
import { type CastSimulatorOptions, createCastSimulator } from "../../src/simulators/cast.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { ask, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startSimulator } = await daemonForFile(
  { config: { discovery: { timeout_ms: 2_000 }, devices: { request_timeout_ms: 4_000 } } },
  { cleans: "each test after a scan" },
);
const plug = (options: Partial<CastSimulatorOptions> & { readonly name: string }) =>
  startSimulator(createCastSimulator({ host: freeHost(), bufferMs: 5, ...options }));
const group = { model: "Google Cast Group", capabilities: 36, standBy: null };

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly platforms: readonly string[];
}
const listed = async (): Promise<Listed[]> => {
  const devices: readonly Listed[] = await succeed(daemon, "listDevices");
  return devices.toSorted((one, other) => (one.name < other.name ? -1 : 1));
};
const state = async (id: string) => (await succeed(daemon, "getState", { id })).state;

test("a device of few levels takes a step that is smaller than one of its own, and tells where that led", async () => {
  const tv = await plug({ name: "Loft", volume: { level: 8 / 15, steps: 15 } });
  await succeed(daemon, "discoverDevices");
  const id = (await listed())[0]?.id ?? "";
  const stepped = await succeed(daemon, "setVolume", { id, body: { step: 3 } });
  expect(stepped).toMatchObject({ volume: { level: 60 }, confirmed: true });
  expect(tv.state.level).toBe(9 / 15);
  // A level stays the nearest.
  const nearest = await succeed(daemon, "setVolume", { id, body: { level: 58 } });
  expect(nearest).toMatchObject({ volume: { level: 60 }, confirmed: false });
});

describe("a house of Cast devices", () => {
  test("one scan finds each once, by its name, and groups beside the speaker that leads them", async () => {
    const stick = await plug({ name: "Attic" });
    const speaker = await plug({ name: "Kitchen speaker", model: "Google Nest Mini", capabilities: 4, standBy: null });
    const { host } = speaker;
    const all = await plug({ name: "Everywhere", host, port: 32_187, reportsId: speaker.id, ...group });
    // It has the name of the speaker, as people do.
    const pair = await plug({
      name: "Kitchen speaker",
      id: "ab".repeat(16),
      host,
      port: 32_188,
      reportsId: null,
      ...group,
    });
    for (let scan = 0; scan < 3; scan++) await succeed(daemon, "discoverDevices");
    const found = await listed();
    expect(found.map(({ name, host, port, platforms }) => [name, host, port, platforms])).toEqual([
      ["Attic", stick.host, 8_009, ["cast"]],
      ["Everywhere", host, 32_187, ["cast"]],
      ["Kitchen speaker", host, expect.any(Number), ["cast"]],
      ["Kitchen speaker 2", host, expect.any(Number), ["cast"]],
    ]);
    const everywhere = found.find(({ name }) => name === "Everywhere")?.id ?? "";
    await succeed(daemon, "setVolume", { id: everywhere, body: { level: 20 } });
    expect([stick, speaker, all, pair].map(({ state: { level } }) => level)).toEqual([0.5, 0.5, 0.2, 0.5]);
    // When the leader restarts, its groups have other ports.
    await all.stop();
    const moved = await plug({ name: "Everywhere", id: all.id, host, port: 32_999, reportsId: speaker.id, ...group });
    // The next command finds it.
    await succeed(daemon, "setVolume", { id: everywhere, body: { level: 33 } });
    expect(moved.state.level).toBe(0.33);
    expect((await succeed(daemon, "getDevice", { id: everywhere })).port).toBe(32_999);
    expect((await listed()).length).toBe(4);
  }, 60_000);

  test("with a Kodi of the same name it is one device; its group stays another", async () => {
    const box = await plug({ name: "Den" });
    const { host } = box;
    const ports = { port: 8_080, tcpPort: 9_090 };
    const kodi = await startSimulator(createKodiSimulator({ name: "Den", host, ...ports, mdns: true, startMs: 5 }));
    await plug({ name: "Den", id: "cd".repeat(16), host, port: 32_200, reportsId: null, ...group });
    await until("both are there", async () => {
      await succeed(daemon, "discoverDevices");
      const all = (await listed()).map(({ platforms }) => platforms.join(" ")).toSorted();
      return all.join() === "cast,kodi cast";
    });
    const [den, other] = (await listed()).toSorted((one, two) => two.platforms.length - one.platforms.length);
    expect([den?.platforms, other?.platforms]).toEqual([["kodi", "cast"], ["cast"]]);
    expect(other?.port).toBe(32_200);
    // Its maker and its volume are those of the box, not of a program on it.
    const { id = "" } = den ?? {};
    expect((await succeed(daemon, "getDevice", { id })).manufacturer).toBe("Google");
    await succeed(daemon, "setVolume", { id, body: { level: 30 } });
    expect([box.state.level, (await state(id)).volume?.level]).toEqual([0.3, 30]);
    // Without the Kodi the rest goes on.
    await kodi.stop();
    await succeed(daemon, "setVolume", { id, body: { level: 44 } });
    expect(box.state.level).toBe(0.44);
  }, 60_000);
});

describe("a Cast device", () => {
  test("one story: a file, its player, an app by name, home; what it cannot do is refused", async () => {
    const set = await plug({ name: "Attic" });
    const { id, capabilities } = await succeed(daemon, "addDevice", { body: { host: set.host } });
    expect(capabilities).not.toContain("apps");
    const film = "http://192.0.2.1/film.mp4";
    expect(await succeed(daemon, "playMedia", { id, body: { url: film, title: "Film" } })).toMatchObject({
      confirmed: true,
    });
    await until("it plays", async () => (await state(id)).playback?.status === "playing");
    expect((await state(id)).playback).toMatchObject({ title: "Film", duration_ms: 120_000, rate: 1 });
    const told = (body: object) => succeed(daemon, "controlPlayback", { id, body });
    expect(await told({ do: "pause" })).toMatchObject({ confirmed: true, playback: { status: "paused", rate: 0 } });
    expect(await told({ do: "seek", position_ms: 60_000 })).toMatchObject({ confirmed: true });
    expect((await state(id)).playback?.position_ms).toBe(60_000);
    expect(await succeed(daemon, "launchApp", { id, body: { app: "YouTube" } })).toMatchObject({
      app: { id: "youtube", platform_id: "233637DE" },
      confirmed: true,
    });
    expect((await state(id)).app).toMatchObject({ id: "youtube", name: "YouTube" });
    expect((await succeed(daemon, "stopApp", { id })).app).toMatchObject({ id: "youtube" });
    expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
    expect((await refuse(daemon, "launchApp", { id, body: { app: "netflux" } }, "app_not_found")).hint).toContain(
      "netflix",
    );
    await refuse(
      daemon,
      "launchApp",
      { id, body: { app: "netflix", params: { content_id: "1" } } },
      "unsupported_operation",
    );
    await refuse(daemon, "listApps", { id }, "unsupported_operation");
    await refuse(daemon, "controlPlayback", { id, body: { do: "pause" } }, "device_refused");
    await refuse(daemon, "playMedia", { id, body: { url: "http://192.0.2.1/x.unknown" } }, "unsupported_media");
    await refuse(daemon, "getArtwork", { id }, "picture_not_found");
    await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, "unsupported_key");
    await refuse(daemon, "pressKey", { id, body: { key: "literal:a" } }, "unsupported_operation");
  }, 60_000);

  test("pushes what others do, and its standby; it is off when its power is cut after that", async () => {
    const set = await plug({ name: "Loft" });
    const { id } = await succeed(daemon, "addDevice", { body: { host: set.host } });
    await state(id);
    set.launch("CC32E753");
    set.play({ title: "A Song" });
    const shown = async () => (await succeed(daemon, "getDevice", { id })).power;
    await until("it is told", async () => (await state(id)).playback?.title === "A Song");
    set.leave();
    set.setStandBy(true);
    await until("it is in standby", async () => (await shown()) === "standby");
    await set.cutPower();
    // A read right after the failure may fail.
    const power = async () => (await ask(daemon, "getState", { id })).body.data?.state.power;
    await until("it is off", async () => (await power()) === "off");
    await set.wake();
    set.setStandBy(false);
    await until("it is on", async () => (await power()) === "on");
  }, 60_000);
});
