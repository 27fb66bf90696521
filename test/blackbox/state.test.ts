/** The state of a Roku is put together from several documents, of which some may fail. */
import { expect, test } from "bun:test";
import { element, xmlDocument } from "../../src/simulators/bench/documents.ts";
import type { Answer, Style } from "../support/wire.ts";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { page } from "./documents.ts";

const { daemon, addRoku } = await daemonForFile({ speed: 1 });
const start = (options: WiredOptions = {}) => addRoku({ volume: 23, ...options });
/** A daemon with a short timeout, for sets that never answer; a busy one that answers does so in this time. */
const requestMs = 2_500;
const impatient = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: requestMs } } });

const read = async (id: string, from = daemon) => (await succeed(from, "getState", { id })).state;

function watch(set: WiredRoku): void {
  set.active = set.apps.find((one) => one.id === "12") ?? null;
  const player = element("player", { error: "false", state: "play" }, [
    element("plugin", { bandwidth: "17834211 bps", id: "12", name: "Player" }),
    element("format", { audio: "eac3", captions: "none", drm: "widevine", video: "hevc", video_res: "3840x2160" }),
    element("position", {}, "754321 ms"),
    element("duration", {}, "3600000 ms"),
    element("is_live", {}, "false"),
    element("stream_segment", { bitrate: "3128000", media_sequence: "7", segment_type: "video", time: "41" }),
  ]);
  set.spoiled.set("/query/media-player", () => page(xmlDocument(player)));
}

const whole = {
  power: "on",
  app: { id: "netflix", name: "Netflix", platform_id: "12", type: "app", installed: true },
  screensaver: false,
  volume: { level: 23, muted: false },
  playback: { status: "playing", position_ms: 754_321, duration_ms: 3_600_000, live: false },
};

test.concurrent("the whole state is read, however the set frames its answers", async () => {
  const styles: readonly Style[] = [{}, { close: "rude" }, { old: true }, { chunked: true, dribble: true }];
  await Promise.all(
    styles.map(async (style) => {
      const { set, id } = await start({ style });
      watch(set);
      for (let turn = 0; turn < 2; turn++) expect(await read(id)).toMatchObject(whole);
      set.active = set.apps.find((one) => one.id === "tvinput.hdmi3") ?? null;
      set.spoiled.clear();
      await set.press("VolumeMute");
      expect(await read(id)).toMatchObject({
        app: { type: "input", platform_id: "tvinput.hdmi3" },
        volume: { level: 23, muted: true },
        input: expect.any(String),
      });
    }),
  );
});

test.concurrent("a query that fails costs its own part of the state and no other", async () => {
  const doctype = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><player>&a;</player>';
  const faults: readonly Answer[] = [
    ...[403, 404, 500].map((status) => ({ status })),
    ...(["hang", "reset"] as const),
    ...["", "not xml", "<player", doctype].map((body) => ({ status: 200, body })),
  ];
  await Promise.all(
    faults.map(async (fault) => {
      const { set, id } = await impatient.addRoku({ volume: 23 });
      watch(set);
      const started = performance.now();
      for (const [query, part] of [
        ["media-player", "playback"],
        ["audio-device", "volume"],
      ] as const) {
        set.broken.set(`/query/${query}`, fault);
        const { [part]: gone, ...rest } = whole;
        const state = await read(id, impatient.daemon);
        expect({ part, fault, is: state[part] }).toEqual({ part, fault, is: null });
        expect(state).toMatchObject(rest);
        expect(gone).not.toBeNull();
        set.broken.clear();
      }
      set.broken.set("/query/active-app", fault);
      const { app: shown, playback: _, screensaver: __, ...rest } = whole;
      const state = await read(id, impatient.daemon);
      expect(state).toMatchObject(rest);
      expect({ fault, app: state.app }).not.toEqual({ fault, app: shown as never });
      // Three reads, of which none waits for two deadlines.
      expect(performance.now() - started).toBeLessThan(3 * 2 * requestMs);
    }),
  );
}, 60_000);

test.concurrent("T4 fifty simultaneous reads cause one query, and none gets a state from before a command", async () => {
  const { set, id } = await start();
  set.answerMs = 400;
  set.forget();
  await Promise.all(Array.from({ length: 50 }, () => read(id)));
  const readings = set.wire.requests.filter((request) => request.path === "/query/active-app").length;
  expect(readings).toBeLessThanOrEqual(2);
  const early = read(id);
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect((await read(id)).app?.id).toBe("netflix");
  await early;
});
