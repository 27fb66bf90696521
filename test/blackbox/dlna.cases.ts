/** DLNA renderers: found, joined to other protocols of their device, driven, subscribed to, and found at a new address. */
import { expect, test } from "bun:test";
import { createDlnaSimulator, type DlnaSimulator, type DlnaSimulatorOptions } from "../../src/simulators/dlna.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile(
  { config: { devices: { request_timeout_ms: 3_000 }, discovery: { timeout_ms: 1_000 } } },
  { cleans: "each test" },
);
const plugIn = (options: Partial<DlnaSimulatorOptions> & { readonly name: string }) =>
  startSimulator(createDlnaSimulator({ host: freeHost(), ...options }));
const kodi = (name: string, host: string) =>
  startSimulator(createKodiSimulator({ name, host, port: 0, tcpPort: 0, mdns: true }));

/** Somebody follows the events, so that the daemon subscribes to a renderer. */
async function subscribed(set: DlnaSimulator, { port } = daemon): Promise<void> {
  const stream = new EventStream({ to: port });
  atEnd(() => stream.close());
  await until("it is subscribed to", () => set.subscribers.length === 2, 15_000);
}

const scan = async () => (await succeed(daemon, "discoverDevices")).devices;
/** The devices, by name and platforms. */
const house = async () =>
  (await succeed(daemon, "listDevices")).map(({ name, platforms }) => `${name}: ${platforms.join(" ")}`).toSorted();
const film = "http://192.0.2.7/film.mp4";

test("renderers of each software are found once each, by the names that people gave them", async () => {
  for (const stack of ["kodi", "gmediarender", "rygel", "tv"] as const) await plugIn({ name: `A ${stack}`, stack });
  await plugIn({ name: "Inner", embedded: true });
  for (let round = 0; round < 2; round++) {
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

test("two Kodis that are renderers and a third renderer, all on one machine, are three devices", async () => {
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
  // Kodi's own protocol ends: the renderer goes on.
  await left.stop();
  expect((await succeed(daemon, "setVolume", { id: "Left", body: { level: 17 } })).confirmed).toBe(true);
  expect(renderers.map(({ state }) => state.volume)).toEqual([50, 17, 50]);
  await succeed(daemon, "getState", { id: "Left" });
});

test("a TV that is a renderer, too, is one device with the TV's keys; split off, the renderer plays", async () => {
  const host = freeHost();
  await startSimulator(
    createRokuSimulator({ name: "Den", serial: "X0DLNA000001", kind: "tv", host, port: 0, launchMs: 0 }),
  );
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
  // It has no app to leave; who asks for that wants it to stop playing.
  const { hint } = await refuse(daemon, "stopApp", { id: "[TV] Den 43" }, "unsupported_operation");
  expect(hint).toContain('zapd key stop -d "[TV] Den 43"');
});

test("the renderer pushes the end of a file, and is not polled meanwhile", async () => {
  const set = await plugIn({ name: "Kitchen", durationMs: 1_500 });
  await scan();
  await subscribed(set);
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

test("one that restarts at another port is driven there by the first command", async () => {
  const was = await plugIn({ name: "Cellar", stack: "rygel" });
  await scan();
  await succeed(daemon, "setVolume", { id: "Cellar", body: { level: 30 } });
  await was.stop();
  const now = await plugIn({ name: "Cellar", stack: "rygel", host: was.host });
  expect(now.port).not.toBe(was.port);
  await succeed(daemon, "pressKey", { id: "Cellar", body: { key: "volume-up" } });
  expect([now.commands.length, (await succeed(daemon, "getDevice", { id: "Cellar" })).port]).toEqual([1, now.port]);
  // At another address, and under another name.
  await now.stop();
  const moved = await plugIn({ name: "Attic", uuid: now.uuid, stack: "rygel" });
  await scan();
  expect(await house()).toEqual(["Attic: dlna"]);
  await succeed(daemon, "setVolume", { id: "Attic", body: { level: 40 } });
  expect(moved.state.volume).toBe(40);
});

test("two that swap their addresses are each driven under their own name", async () => {
  const [one, other] = [await plugIn({ name: "One" }), await plugIn({ name: "Other" })];
  await scan();
  const places = [one, other].map(({ host, port }) => ({ host, port }));
  await Promise.all([one.stop(), other.stop()]);
  const swapped = [await plugIn({ name: "One", ...places[1] }), await plugIn({ name: "Other", ...places[0] })];
  await succeed(daemon, "setVolume", { id: "One", body: { level: 20 } });
  await succeed(daemon, "setVolume", { id: "Other", body: { level: 30 } });
  expect(swapped.map(({ state }) => state.volume)).toEqual([20, 30]);
});

test("one is added by its address, refuses what it cannot do, and is unsubscribed from when it is removed", async () => {
  const set = await plugIn({ name: "Alone", ssdp: false, stack: "tv" });
  const added = await succeed(daemon, "addDevice", { body: { host: set.host, port: set.port } });
  expect(added).toMatchObject({ name: "Alone", platform: "dlna", kind: "tv", power: "unknown", access: "full" });
  const { id } = added;
  const flash = { id, body: { url: "http://192.0.2.7/a.xyz", mime: "video/x-flv" } };
  expect((await refuse(daemon, "playMedia", flash, "unsupported_media")).message).toContain("Alone");
  await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "unsupported_key");
  await refuse(daemon, "pressKey", { id, body: { key: "literal:a" } }, "unsupported_operation");
  const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "pause" } }, "device_refused");
  expect(hint).toContain("zapd play URL -d Alone");
  await subscribed(set);
  await succeed(daemon, "removeDevice", { id });
  await until("the subscriptions end", () => set.subscribers.length === 0);
});

test("a daemon that stops cancels its subscriptions", async () => {
  const set = await plugIn({ name: "Last", ssdp: false, stack: "tv" });
  // Connections have one second to end in, which a faster clock shortens.
  const own = await startTestDaemon({ speed: 2 });
  atEnd(() => own.dispose());
  await succeed(own, "addDevice", { body: { host: set.host, port: set.port } });
  await subscribed(set, own);
  expect(await own.stop()).toBe(0);
  await until("the subscriptions end", () => set.subscribers.length === 0);
}, 60_000);
