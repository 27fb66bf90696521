/**
 * Real renderers through the daemon's public API (protocols/players.md 8, 13.8): Kodi's own, gmediarender and rygel of Debian, all
 * on one machine.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { refuse, succeed } from "../blackbox/checked.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { EventStream, type Frame } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";
import { clipFile } from "../support/real-kodi/profile.ts";
import { type RealKodi, startRealKodi, whyNoKodi } from "../support/real-kodi.ts";
import { startDaemonBeside } from "./kodi/client.ts";

const programs = ["gmediarender", "rygel"] as const;
const absent = programs.filter((program) => Bun.which(program) === null);
const missing = whyNoKodi() ?? (absent.length > 0 ? `${absent.join(" and ")} is not installed` : null);
if (missing !== null) process.stderr.write(`skipped: real renderers through the daemon: ${missing}\n`);

/** Long enough that the daemon, which subscribes to a renderer that is read often, has done so before its end. */
const shortSeconds = 15;

const names = { kodi: "Zapd Cinema", gmediarender: "Zapd Kitchen", rygel: "Zapd Study" } as const;
let real: RealKodi;
let daemon: TestDaemon;
let files: ReturnType<typeof Bun.serve> | undefined;
/** Where the renderers fetch what they play; a gmediarender whose screen is none runs ahead in a film. */
let server = "";

const houseNow = async () =>
  (await succeed(daemon, "listDevices")).map(({ name, platforms }) => `${name}: ${platforms.join(" ")}`).toSorted();

beforeAll(async () => {
  if (missing !== null) return;
  real = await startRealKodi({ name: names.kodi, renderer: true });
  for (const program of programs) real.also(program, names[program]);
  files = Bun.serve({
    hostname: real.ourAddress,
    port: 0,
    fetch: ({ url }) => {
      const kind = /mp4$/.test(url) ? "video" : "audio";
      const file = /short/.test(url) ? clipFile(kind, shortSeconds) : real.clips[kind];
      return new Response(Bun.file(file), { headers: { "content-type": `${kind}/mp4` } });
    },
  });
  server = `http://${real.ourAddress}:${files.port}`;
  daemon = await startDaemonBeside(real);
}, 240_000);

afterAll(async () => {
  await daemon?.dispose();
  await files?.stop(true);
  await real?.stop();
}, 30_000);

describe.skipIf(missing !== null)(`real renderers${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test("are found: Kodi's own is one device with Kodi, by its name, the others of that machine are devices of their own", async () => {
    const wanted = [`${names.kodi}: kodi dlna`, `${names.gmediarender}: dlna`, `${names.rygel}: dlna`];
    await until(
      "all are found",
      async () => {
        await succeed(daemon, "discoverDevices");
        return (await houseNow()).length === 3 && (await houseNow()).join().includes("kodi dlna");
      },
      120_000,
    );
    expect(await houseNow()).toEqual(wanted.toSorted());
    for (let round = 0; round < 3; round++) await succeed(daemon, "discoverDevices");
    expect(await houseNow()).toEqual(wanted.toSorted());
    // From here on the renderer is driven by itself.
    await succeed(daemon, "splitDevice", { id: names.kodi, body: { platform: "dlna" } });
    expect(await houseNow()).toHaveLength(4);
  }, 90_000);

  for (const program of ["kodi", "gmediarender", "rygel"] as const) {
    describe(program, () => {
      let id = "";
      const clip = program === "gmediarender" ? "/clip.m4a" : "/clip.mp4";
      const state = async () => (await succeed(daemon, "getState", { id })).state;
      const tell = (what: "play" | "pause" | "stop") => succeed(daemon, "controlPlayback", { id, body: { do: what } });

      test("plays what it is handed, goes to a place and on from there, pauses, twice, and plays on", async () => {
        const devices = await succeed(daemon, "listDevices");
        const one = devices.find(({ platform, name }) => platform === "dlna" && name.startsWith(names[program]));
        id = one?.id ?? "";
        expect(one).toMatchObject({ platform: "dlna", access: "full", power: "unknown" });
        expect(one?.capabilities).toEqual(expect.arrayContaining(["volume", "mute", "seek", "media", "playback"]));
        expect((await state()).playback).toBeNull();
        const played = await succeed(daemon, "playMedia", {
          id,
          body: { url: `${server}${clip}`, title: "A & <clip>" },
        });
        // `null` where it still loads after the 3 s that zapd looks.
        expect(played.confirmed).not.toBe(false);
        await until("it plays", async () => (await state()).playback?.status === "playing", 20_000);
        await until("its length is known", async () => (await state()).playback?.duration_ms != null, 20_000);
        expect(Math.abs(((await state()).playback?.duration_ms ?? 0) - 120_000)).toBeLessThan(2_000);
        // Kodi does not seek while it is paused.
        const sought = await succeed(daemon, "controlPlayback", { id, body: { do: "seek", position_ms: 60_000 } });
        expect(sought.confirmed).toBe(true);
        await until("it goes on", async () => ((await state()).playback?.position_ms ?? 0) > 61_000, 20_000);
        for (let round = 0; round < 2; round++) {
          expect((await tell("pause")).confirmed).toBe(true);
          expect((await state()).playback?.status).toBe("paused");
        }
        expect((await tell("play")).confirmed).toBe(true);
      }, 90_000);

      test("takes the volume and the mute that it is given, and shows them", async () => {
        for (const level of [23, 40]) {
          const { confirmed, volume } = await succeed(daemon, "setVolume", { id, body: { level } });
          expect([confirmed, volume?.level]).toEqual([true, level]);
        }
        for (const muted of [true, false]) {
          const { confirmed, volume } = await succeed(daemon, "setVolume", { id, body: { muted } });
          expect([confirmed, volume?.muted, volume?.level]).toEqual([true, muted, 40]);
        }
      }, 120_000);

      test("tells by itself that what it plays has come to its end", async () => {
        const stream = new EventStream({ to: daemon.port });
        const changes = (is: (frame: Frame) => boolean) =>
          stream.frames.filter((one) => one.type === "state.changed" && one["device_id"] === id && is(one));
        try {
          // Played to its end, and not gone to near that: after a jump rygel's own player stands still now and then, and goes on
          // saying that it plays (one time in forty, driven by nothing but SOAP).
          const short = { url: `${server}${clip.replace("clip", "short")}` };
          expect((await succeed(daemon, "playMedia", { id, body: short })).confirmed).not.toBe(false);
          await until("it plays", async () => (await state()).playback?.status === "playing", 20_000);
          const query = "wait_for=playback:stopped&timeout_ms=60000";
          // The whole state, so that a failure shows it.
          expect(await succeed(daemon, "getState", { id, query })).toMatchObject({ matched: true });
          await until("the end is told", () => changes((one) => one["state"].playback === null).length > 0);
          expect(changes((one) => one["state"].playback === null && one["cause"] === "push")).not.toEqual([]);
        } finally {
          stream.close();
        }
      }, 120_000);

      test("says why it does nothing when nothing is there to be paused, or agrees to it and is not believed", async () => {
        await tell("stop");
        expect((await state()).playback).toBeNull();
        if (program === "kodi") expect((await tell("pause")).confirmed).toBe(false);
        else await refuse(daemon, "controlPlayback", { id, body: { do: "pause" } }, "device_refused");
      }, 120_000);
    });
  }
});
