/** The controls of a Kodi over HTTP, each read back at the set. */
import { expect, test } from "bun:test";
import { createKodiSimulator, type KodiSimulator } from "../../src/simulators/kodi.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startSimulator } = await daemonForFile({ config: { discovery: { interfaces: ["none"] } } });
const channels = [
  // Kodi's own number of each is another's channel number.
  { id: 2, name: "One", number: 1 },
  { id: 1, name: "Two", number: 2 },
  { id: 3, name: "1", number: 7 },
];
const set = await startSimulator(
  createKodiSimulator({ name: "Cinema", host: "127.0.74.1", port: 0, tcpPort: 0, mdns: false, channels }),
);
const plain = await startSimulator(
  createKodiSimulator({ name: "Hall", host: "127.0.74.2", port: 0, tcpPort: 0, mdns: false }),
);
const id = await add(set);

async function add(one: KodiSimulator): Promise<string> {
  const ports = { websocket: one.ports.tcp ?? 0 };
  const body = { host: one.host, port: one.port, platform: "kodi", ports };
  return (await succeed(daemon, "addDevice", { body })).id;
}

test("the volume is set by a level, a step and mute", async () => {
  const volume = (body: object) => succeed(daemon, "setVolume", { id, body });
  expect(await volume({ level: 20 })).toMatchObject({ volume: { level: 20, muted: false }, confirmed: true });
  expect(set.state.volume).toBe(20);
  expect(await volume({ step: -5 })).toMatchObject({ volume: { level: 15 }, confirmed: true });
  expect(await volume({ step: 100 })).toMatchObject({ volume: { level: 100 }, confirmed: true });
  expect(await volume({ level: 30, muted: true })).toMatchObject({
    volume: { level: 30, muted: true },
    confirmed: true,
  });
  expect(await volume({ muted: false })).toMatchObject({ volume: { muted: false }, confirmed: true });
  for (const body of [{}, { level: 101 }, { level: 5, step: 1 }, { level: "20" }])
    await refuse(daemon, "setVolume", { id, body }, "invalid_payload");
});

test("the player pauses, seeks and plays; with nothing to play that is an error", async () => {
  const tell = (body: object) => ({ id, body });
  await refuse(daemon, "controlPlayback", tell({ do: "seek", position_ms: 1 }), "device_refused");
  set.play({ path: "/films/film.mkv", title: "Film", durationMs: 3_600_000 });
  expect(await succeed(daemon, "controlPlayback", tell({ do: "pause" }))).toMatchObject({
    playback: { status: "paused" },
    confirmed: true,
  });
  const sought = await succeed(daemon, "controlPlayback", tell({ do: "seek", position_ms: 750_000 }));
  expect(sought).toMatchObject({ confirmed: true, playback: { position_ms: 750_000, rate: 0 } });
  await succeed(daemon, "controlPlayback", tell({ do: "seek", position_ms: 86_400_000 }));
  await succeed(daemon, "controlPlayback", tell({ do: "seek", position_ms: 750_000 }));
  expect(await succeed(daemon, "controlPlayback", tell({ do: "play" }))).toMatchObject({ confirmed: true });
  expect(await succeed(daemon, "controlPlayback", tell({ do: "stop" }))).toMatchObject({ confirmed: true });
  expect(set.state.playback).toBeNull();
  await refuse(daemon, "controlPlayback", tell({ do: "seek" }), "invalid_payload");
});

test("a file is played by its address, which is confirmed", async () => {
  const body = { url: "http://127.0.74.9/film.mp4", title: "Film" };
  expect(await succeed(daemon, "playMedia", { id, body })).toMatchObject({ confirmed: true });
  expect(set.state.playback?.path).toBe(body.url);
  for (const url of ["file:///etc/passwd", "ftp://127.0.0.1/a", "/etc/passwd", ""])
    await refuse(daemon, "playMedia", { id, body: { url } }, "invalid_payload");
});

test("channels are listed where there is a tuner, and selected by number, name or id", async () => {
  await until("it says that it has channels", async () =>
    (await succeed(daemon, "getDevice", { id })).capabilities.includes("channels"),
  );
  const { channels } = await succeed(daemon, "listChannels", { id });
  expect(channels).toEqual([
    { id: "channel:2", number: "1", name: "One" },
    { id: "channel:1", number: "2", name: "Two" },
    { id: "channel:3", number: "7", name: "1" },
  ]);
  for (const [channel, meant] of [
    ["2", 1],
    ["1", 2],
    ["one", 2],
    ["channel:1", 1],
    ["channel:3", 3],
  ] as const) {
    const tuned = await succeed(daemon, "selectChannel", { id, body: { channel } });
    expect(tuned).toMatchObject({ confirmed: true, channel: { id: `channel:${meant}` } });
    expect([channel, set.state.playback?.channel]).toEqual([channel, meant]);
  }
  await succeed(daemon, "controlPlayback", { id, body: { do: "stop" } });
  set.screensaver(true);
  await succeed(daemon, "pressKey", { id, body: { key: "input-tuner" } });
  expect(set.state.playback?.channel).toBeNumber();
  const { hint } = await refuse(daemon, "selectChannel", { id, body: { channel: "Nine" } }, "invalid_payload");
  expect(hint).toContain("One (1), Two (2)");
  const other = await add(plain);
  await refuse(daemon, "listChannels", { id: other }, "unsupported_operation");
  expect((await succeed(daemon, "getDevice", { id: other })).capabilities).not.toContain("channels");
});

test("a message is shown; it has no inputs", async () => {
  await succeed(daemon, "notify", { id, body: { message: "Dinner is ready" } });
  expect(set.calls.findLast(({ method }) => method === "GUI.ShowNotification")?.params).toMatchObject({
    message: "Dinner is ready",
  });
  await refuse(daemon, "listInputs", { id }, "unsupported_operation");
});

test("a change at the set is an event soon after it", async () => {
  const stream = new EventStream({ to: daemon.port, path: `/events?types=state.changed&devices=${id}` });
  await stream.until(({ type }) => type === "snapshot");
  set.play({ path: "/films/other.mkv", title: "Other Film", durationMs: 60_000 });
  await stream.until(({ state }) => state?.playback?.title === "Other Film");
  stream.close();
});
