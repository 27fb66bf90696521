/** Renderers behind the daemon: found, joined to what drives their set otherwise, driven, heard, and followed where they go. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createDlnaSimulator, type DlnaSimulator, type DlnaSimulatorOptions } from "../../src/simulators/dlna.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { refuse, succeed } from "./checked.ts";

let daemon: TestDaemon;
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  daemon = await startTestDaemon({
    config: { devices: { request_timeout_ms: 3_000 }, discovery: { timeout_ms: 1_000 } },
  });
});
afterEach(async () => {
  for (const { id } of await succeed(daemon, "listDevices")) await succeed(daemon, "removeDevice", { id });
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => daemon.dispose());

let number = 0;
async function plugIn(options: Partial<DlnaSimulatorOptions> = {}): Promise<DlnaSimulator> {
  const set = createDlnaSimulator({ name: `Renderer ${number++}`, host: freeHost(), ...options });
  cleanups.push(() => set.stop());
  await set.start();
  return set;
}

async function kodi(name: string, host: string, port = 0) {
  const set = createKodiSimulator({ name, host, port, tcpPort: 0, mdns: true });
  cleanups.push(() => set.stop());
  await set.start();
  return set;
}

const scan = async () => (await succeed(daemon, "discoverDevices")).devices;
/** Names, with all that reaches each. */
const house = async () =>
  (await succeed(daemon, "listDevices")).map(({ name, platforms }) => `${name}: ${platforms.join(" ")}`).toSorted();
const film = "http://192.0.2.7/film.mp4";

test("a house of renderers: each stack is found once, by its own version, and named as people named it", async () => {
  for (const stack of ["kodi", "gmediarender", "rygel", "tv"] as const) await plugIn({ name: `A ${stack}`, stack });
  await plugIn({ name: "Inner", embedded: true });
  for (let round = 0; round < 3; round++) {
    await scan();
    expect(await house()).toEqual([
      "A gmediarender: dlna",
      "A kodi: dlna",
      "A rygel: dlna",
      "A tv: dlna",
      "Inner: dlna",
    ]);
  }
});

test("two players on one machine, each a renderer too, and a third renderer there: three devices, and each command to its own", async () => {
  const host = freeHost();
  const [left, right] = [await kodi("Left", host), await kodi("Right", host)];
  const renderers = [
    await plugIn({ name: "Right", host, stack: "kodi" }),
    await plugIn({ name: "Left", host, stack: "kodi" }),
    await plugIn({ name: "Jukebox", host }),
  ];
  await until("all is found", async () => {
    await scan();
    return (await house()).length === 3;
  });
  expect(await house()).toEqual(["Jukebox: dlna", "Left: kodi dlna", "Right: kodi dlna"]);
  await succeed(daemon, "setVolume", { id: "Left", body: { level: 31 } });
  expect([left.state.volume, right.state.volume]).toEqual([31, 80]);
  // Its own protocol ends: the rest goes on.
  await left.stop();
  expect((await succeed(daemon, "setVolume", { id: "Left", body: { level: 17 } })).confirmed).toBe(true);
  expect(renderers.map(({ state }) => state.volume)).toEqual([50, 17, 50]);
  await succeed(daemon, "getState", { id: "Left" });
});

test("a television that is a renderer, too, is one device, with its own keys; split from it, the renderer plays", async () => {
  const host = freeHost();
  const tv = createRokuSimulator({ name: "Den", serial: "X0DLNA000001", kind: "tv", host, port: 0, launchMs: 0 });
  cleanups.push(() => tv.stop());
  await tv.start();
  const renderer = await plugIn({ name: "[TV] Den 43", host, stack: "tv" });
  await until("both are found", async () => {
    await scan();
    return (await house()).join() === "Den: roku dlna";
  });
  const { id, keys, platform } = await succeed(daemon, "getDevice", { id: "Den" });
  expect([platform, keys.includes("stop"), keys.includes("home")]).toEqual(["roku", false, true]);
  expect((await refuse(daemon, "pressKey", { id, body: { key: "stop" } }, "unsupported_key")).hint).toContain("home");
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
  await succeed(daemon, "splitDevice", { id, body: { platform: "dlna" } });
  expect(await house()).toEqual(["Den: roku", "[TV] Den 43: dlna"]);
  const played = await succeed(daemon, "playMedia", { id: "[TV] Den 43", body: { url: film } });
  expect([played.confirmed, renderer.state.uri]).toEqual([true, film]);
  // It has no app that could be left, which is not what somebody means who wants it to stop.
  const { hint } = await refuse(daemon, "stopApp", { id: "[TV] Den 43" }, "unsupported_operation");
  expect(hint).toContain('zapd key stop -d "[TV] Den 43"');
});

test("plays a file, is told of its end by the renderer itself, and asks for nothing meanwhile", async () => {
  const set = await plugIn({ name: "Kitchen", durationMs: 3_000 });
  await scan();
  const stream = new EventStream({ to: daemon.port });
  cleanups.push(() => stream.close());
  await until("it is subscribed to", () => set.subscribers.length === 2, 15_000);
  const { confirmed } = await succeed(daemon, "playMedia", { id: "Kitchen", body: { url: film, title: "Film" } });
  expect(confirmed).toBe(true);
  await until("it is asked no more", async () => {
    const asked = set.requests.length;
    await Bun.sleep(300);
    return set.requests.length === asked;
  });
  const query = "wait_for=playback:stopped&timeout_ms=20000";
  expect((await succeed(daemon, "getState", { id: "Kitchen", query })).matched).toBe(true);
  expect(set.state.transport).toBe("STOPPED");
});

test("one that starts anew at another port is driven there by the command that missed it", async () => {
  const was = await plugIn({ name: "Cellar", stack: "rygel" });
  await scan();
  await succeed(daemon, "setVolume", { id: "Cellar", body: { level: 30 } });
  await was.stop();
  const now = await plugIn({ name: "Cellar", stack: "rygel", host: was.host });
  expect(now.port).not.toBe(was.port);
  await succeed(daemon, "pressKey", { id: "Cellar", body: { key: "volume-up" } });
  expect([now.commands.length, (await succeed(daemon, "getDevice", { id: "Cellar" })).port]).toEqual([1, now.port]);
  // Elsewhere, and under another name.
  await now.stop();
  const moved = await plugIn({ name: "Attic", uuid: now.uuid, stack: "rygel" });
  await scan();
  expect(await house()).toEqual(["Attic: dlna"]);
  await succeed(daemon, "setVolume", { id: "Attic", body: { level: 40 } });
  expect(moved.state.volume).toBe(40);
});

test("two that swap their places are each driven under their own name, or not at all", async () => {
  const [one, other] = [await plugIn({ name: "One" }), await plugIn({ name: "Other" })];
  await scan();
  const places = [one, other].map(({ host, port }) => ({ host, port }));
  await Promise.all([one.stop(), other.stop()]);
  const swapped = [await plugIn({ name: "One", ...places[1] }), await plugIn({ name: "Other", ...places[0] })];
  await succeed(daemon, "setVolume", { id: "One", body: { level: 20 } });
  await succeed(daemon, "setVolume", { id: "Other", body: { level: 30 } });
  expect(swapped.map(({ state }) => state.volume)).toEqual([20, 30]);
});

test("one is added by its address alone, told what it cannot, and forgotten with its subscription", async () => {
  const set = await plugIn({ name: "Alone", ssdp: false, stack: "tv" });
  const added = await succeed(daemon, "addDevice", { body: { host: set.host, port: set.port } });
  expect(added).toMatchObject({ name: "Alone", platform: "dlna", kind: "tv", power: "unknown", access: "full" });
  const { id } = added;
  expect(
    (
      await refuse(
        daemon,
        "playMedia",
        { id, body: { url: "http://192.0.2.7/a.xyz", mime: "video/x-flv" } },
        "unsupported_media",
      )
    ).message,
  ).toContain("Alone");
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "unsupported_key");
  await refuse(daemon, "pressKey", { id, body: { key: "literal:a" } }, "unsupported_operation");
  const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "pause" } }, "device_refused");
  expect(hint).toContain("zapd play URL -d Alone");
  const stream = new EventStream({ to: daemon.port });
  cleanups.push(() => stream.close());
  await until("it is subscribed to", () => set.subscribers.length === 2, 15_000);
  await succeed(daemon, "removeDevice", { id });
  await until("it is let go of", () => set.subscribers.length === 0);
});

test("told to stop, it gives back what it is subscribed to", async () => {
  const set = await plugIn({ name: "Last", ssdp: false, stack: "tv" });
  // The second that a process has to say goodbye is a whole one.
  const own = await startTestDaemon({ speed: 1 });
  cleanups.push(() => own.dispose());
  await succeed(own, "addDevice", { body: { host: set.host, port: set.port } });
  const stream = new EventStream({ to: own.port });
  cleanups.push(() => stream.close());
  await until("it is subscribed to", () => set.subscribers.length === 2, 15_000);
  expect(await own.stop()).toBe(0);
  await until("it is let go of", () => set.subscribers.length === 0);
}, 60_000);
