/** What a set is asked for beyond keys, as hardware was seen to answer (protocols/smart-tvs.md 2.4, 2.5; next/CONTROLS.md). */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { ZapdError } from "../../../src/api/errors.ts";
import type { MediaItem } from "../../../src/platforms/platform.ts";
import { iconOf, readLaunchPoints } from "../../../src/platforms/webos/protocol.ts";
import { createCertificate } from "../../../src/simulators/webos.ts";
import { readOwnPicture } from "../../../src/transport/own-picture.ts";
import { until } from "../../support/http-device.ts";
import { listening } from "../../support/listening.ts";
import { cleanups, failure, never, passing, press, state, tidy } from "../harness.ts";
import { type Line, line, wordedLine } from "./harness.ts";

const passed = passing();
tidy();

const film: MediaItem = { url: "http://192.168.1.5/film.mp4", mime: "video/mp4", title: "Film", image: null };
const parts = ({ connection }: Line) => {
  const { volume, playback, media, inputs, channels, icon } = connection;
  if (!volume || !playback || !media || !inputs || !channels || !icon) return expect.unreachable();
  return { volume, playback, media, inputs, channels, icon };
};
const uris = ({ set }: Line) => set.received.requests.map(({ uri }) => uri.replace("ssap://", ""));

describe("volume", () => {
  test.each(["2018", "2021"] as const)("is set, stepped and muted, and told: %s", async (firmware) => {
    const one = await line({ firmware });
    const { volume } = parts(one);
    await volume.set?.(42, never);
    await volume.step?.(-1, never);
    await volume.mute?.(true, never);
    await volume.mute?.(true, never);
    expect((await state(one)).volume).toEqual({ level: 41, muted: true });
    await volume.mute?.(false, never);
    expect(one.set.state).toMatchObject({ volume: 41, muted: false });
  });

  test("a soundbar that hides its level takes only steps, at its own pace", async () => {
    const one = await line({ soundOutput: "external_arc" });
    const { volume } = parts(one);
    const { code, hint } = await failure(volume.set?.(42, never) ?? expect.unreachable());
    expect([code, hint]).toEqual(["unsupported_operation", "Change it in steps: zapd volume +5 -d {device}"]);
    expect(uris(one)).not.toContain("audio/setVolume");
    const begun = performance.now();
    await volume.step?.(1, never);
    // Its keys are steps, too.
    await press(one, "volume-up");
    await volume.step?.(1, never);
    expect(performance.now() - begun).toBeGreaterThan(650);
    expect(one.set.state.volume).toBe(21);
    expect((await state(one)).volume?.level).toBeNull();
  });

  test.each([
    [{ volumeStatus: { volume: 10, soundOutput: "external_arc", volumeSyncable: false } }, null],
    [{ volumeStatus: { volume: 10, soundOutput: "external_arc", volumeSyncable: true } }, 10],
    [{ volumeStatus: { volume: 10, soundOutput: "tv_speaker" } }, 10],
    [{ volumeStatus: { volume: 10, soundOutput: "external_optical" } }, null],
    [{ volumeStatus: { volume: 10, soundOutput: "external_optical", adjustVolume: true } }, 10],
    [{ volumeStatus: { volume: 10, soundOutput: "lineout", adjustVolume: false, externalDeviceControl: false } }, null],
    [{ volume: 10, scenario: "mastervolume_ext_speaker_arc" }, null],
    [{ volume: 10, scenario: "mastervolume_ext_speaker_optical" }, null],
    [{ volume: 10, scenario: "mastervolume_tv_speaker_ext" }, 10],
    [{ volume: 10, scenario: "mastervolume_tv_speaker" }, 10],
  ])("a level that is not that of what plays the sound is neither told nor set: %j", async (getVolume, level) => {
    const asked: string[] = [];
    const one = await wordedLine({ getVolume }, undefined, (word) => void asked.push(word));
    expect((await state(one)).volume?.level).toBe(level);
    const code = await one.connection.volume?.set?.(43, never).then(
      () => "set",
      (error: ZapdError) => error.code,
    );
    expect([code, asked.includes("setVolume")]).toEqual(
      level === null ? ["unsupported_operation", false] : ["set", true],
    );
  });
});

describe("playback", () => {
  test("sends a command once, and confirms it", async () => {
    const one = await line({ firmware: "2023" });
    const { playback } = parts(one);
    one.set.open("netflix");
    one.set.play("playing");
    for (const [what, status] of [
      ["pause", "paused"],
      ["pause", "paused"],
      ["play", "playing"],
    ] as const) {
      await playback.do(what, never);
      expect((await state(one)).playback?.status).toBe(status);
    }
    expect(uris(one).filter((uri) => uri === "media.controls/pause")).toHaveLength(1);
    await playback.do("stop", never);
    expect(one.set.state.playback).toBeNull();
    expect([one.connection.state?.showsPlayback, playback.seek]).toEqual([true, undefined]);
  });

  test("a TV that does not report playback gets the command, unconfirmed", async () => {
    const one = await line({ firmware: "2021" });
    const { playback } = parts(one);
    one.set.open("netflix");
    one.set.play("playing");
    await playback.do("pause", never);
    expect([one.set.state.playback, one.connection.state?.showsPlayback]).toEqual(["paused", false]);
  });
});

test("a pause that the TV has not taken is not counted in the turns of play and pause", async () => {
  const asked: string[] = [];
  const answers: Record<string, object> = { pause: { returnValue: false, errorText: "not now" } };
  const one = await wordedLine(answers, undefined, (word) => void asked.push(word));
  await failure(press(one, "play-pause"));
  delete answers["pause"];
  await press(one, "play-pause");
  expect(asked.filter((word) => word === "play" || word === "pause")).toEqual(["pause", "pause"]);
});

describe("a file by its address", () => {
  test.each([
    ["2015", "com.webos.app.smartshare"],
    ["2018", "com.webos.app.photovideo"],
    ["2021", "com.webos.app.mediadiscovery"],
    ["2026", "com.webos.app.mediadiscovery"],
  ] as const)("goes to the app of its year: %s", async (firmware, app) => {
    const one = await line({ firmware });
    await parts(one).media.play(film, never);
    expect(one.set.received.launches).toMatchObject([
      { id: app, params: { payload: [{ fullPath: film.url, fileName: "Film", mediaType: "VIDEO" }] } },
    ]);
    expect(one.set.state).toMatchObject({ activeApp: app, playback: "playing" });
  });

  test("a file that no player takes is unsupported_media", async () => {
    const one = await line();
    const play = (item: Partial<MediaItem>) => failure(parts(one).media.play({ ...film, ...item }, never));
    expect((await play({ mime: null })).code).toBe("unsupported_media");
    const { code, message } = await play({ mime: "audio/flac" });
    expect([code, message]).toEqual([
      "unsupported_media",
      'cannot play audio/flac from an address: it says "500 Application error"',
    ]);
    const other = await line({ traits: { mediaApp: "com.example.other" } });
    expect((await failure(parts(other).media.play(film, never))).code).toBe("unsupported_media");
    expect([one.set.received.launches, other.set.received.launches]).toEqual([[], []]);
  });
});

describe("inputs and channels", () => {
  test("of two inputs of a kind each has its own id, as has one of an unknown kind", async () => {
    const input = (id: string, app: string) => ({ id, label: id, appId: `com.webos.app.${app}`, connected: true });
    const av = input("AV_1", "externalinput.av1");
    const one = await line({ inputs: [av, input("COMP_1", "externalinput.component"), input("DP_1", "dp1")] });
    const { inputs } = parts(one);
    expect((await inputs.list(never)).map(({ id }) => id)).toEqual(["av", "COMP_1", "DP_1"]);
    for (const word of ["COMP_1", "av", "DP_1"]) {
      await inputs.select(word, never);
      expect((await state(one)).input).toBe(word);
    }
  });

  test("channels are listed in live TV, waited for while it starts, and confirmed", async () => {
    const one = await line({ tuner: true, channelMs: 600 });
    const { channels } = parts(one);
    one.set.open("netflix");
    expect((await failure(channels.list(never))).code).toBe("device_refused");
    expect(uris(one)).not.toContain("tv/getChannelList");
    one.set.open("com.webos.app.livetv");
    const listed = await channels.list(never);
    expect(listed[1]).toEqual({ id: "1_7-1", number: "7-1", name: "KGO" });
    expect(await channels.select("1_7-1", never)).toBe(true);
    expect(one.set.state.channel).toBe("7-1");
    expect((await failure(channels.select("1_99", never))).code).toBe("device_error");
  });

  test("a TV that is turned off after it took a channel is not woken to take it again", async () => {
    const one = await line({ tuner: true, channelMs: 60_000 });
    await state(one);
    one.set.open("com.webos.app.livetv");
    const selecting = failure(parts(one).channels.select("1_7-1", never));
    await until("the channel is asked for", () => uris(one).includes("tv/getCurrentChannel"));
    one.set.press("POWER");
    const { code, message } = await selecting;
    expect([code, message]).toEqual(["device_error", "closed the connection after it took the command"]);
  });

  test("a TV without a tuner is never asked for the channel list", async () => {
    const one = await line();
    one.set.open("com.webos.app.livetv");
    const listing = failure(parts(one).channels.list(never));
    await until("it was asked twice", () => uris(one).filter((uri) => uri === "tv/getCurrentChannel").length > 1);
    passed.ms += 4_000;
    const { code, message } = await listing;
    expect([code, message]).toEqual([
      "device_refused",
      "is showing live TV, but no channel: it has no tuner or no signal",
    ]);
    expect(uris(one)).not.toContain("tv/getChannelList");
    expect(one.told.ended).toEqual([]);
  });
});

describe("icons", () => {
  const png = "89504e470d0a1a0a";
  const headOf = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes?.subarray(0, 8) ?? []).toString("hex");
  const certificate = createCertificate();

  test("a larger one that is a mere file name gives way to the smaller one", () => {
    const icons = { largeIcon: "setting_130x130.png", icon: "http://192.0.2.9:3000/setting_80x80.png" };
    expect(iconOf({ launchPoints: [{ id: "a", ...icons }] }, "a")?.href).toBe(icons.icon);
  });

  const isAsked: string[] = [];
  /** Another server of the same machine. */
  async function another(secure: boolean, status: number, headers: Record<string, string>, body: Uint8Array | string) {
    const answer = (request: { url?: string | undefined }, response: import("node:http").ServerResponse) => {
      isAsked.push(request.url ?? "");
      response.writeHead(status, headers).end(body);
    };
    const server = secure ? createSecureServer(certificate, answer) : createServer(answer);
    const { port, stop } = await listening(server);
    cleanups.push(stop);
    return () => `http${secure ? "s" : ""}://127.0.0.1:${port}/icon.png`;
  }
  const icon = async (iconAt?: (address: string) => string, firmware: "2015" | "2021" = "2021") =>
    parts(await line({ firmware, ...(iconAt && { iconAt }) })).icon("netflix", never);

  test.each(["2015", "2021"] as const)(
    "come from the set itself, over the connection that it has: %s",
    async (year) => {
      expect(headOf(await icon(undefined, year))).toBe(png);
      const one = await line();
      expect(await parts(one).icon("no.such.app", never)).toBeNull();
    },
  );

  test("an address on another host, or none, is not fetched", async () => {
    isAsked.length = 0;
    const away = (await another(false, 200, {}, "x"))().replace("127.0.0.1", "localhost");
    expect((await failure(icon(() => away))).code).toBe("picture_not_found");
    expect(await icon(() => "file:///etc/passwd")).toBeNull();
    expect(await icon(() => "not an address")).toBeNull();
    expect(isAsked).toEqual([]);
  });

  test("a port of the set where nothing answers does not make the set unreachable", async () => {
    const { port, stop } = await listening(createServer());
    await stop();
    expect((await failure(icon(() => `http://127.0.0.1:${port}/icon.png`))).code).toBe("picture_not_found");
  });

  test("an IPv6 address is that of the set, also in the brackets of a URL", async () => {
    const own = { host: "fd00::40", certificate: null };
    const host = { requestTimeoutMs: () => 1_000, isOwnListener: () => true };
    const refusal = await failure(readOwnPicture(new URL("http://[fd00::40]:3000/icon.png"), own, host, never));
    expect(refusal.message).toContain("does not connect to itself");
  });

  test("a server with another certificate gets no request", async () => {
    isAsked.length = 0;
    const other = await another(true, 200, {}, "x");
    expect((await failure(icon(other))).code).toBe("device_unproven");
    expect(isAsked).toEqual([]);
  });

  test("a redirect is not followed, and no more than 2 MiB is read", async () => {
    isAsked.length = 0;
    const target = await another(false, 200, {}, "x");
    const elsewhere = await another(false, 302, { location: target().replace("icon", "there") }, "");
    expect((await failure(icon(elsewhere))).message).toContain("redirect");
    expect(isAsked).toEqual(["/icon.png"]);
    const huge = await another(false, 200, {}, new Uint8Array(2 * 1024 * 1024 + 1));
    expect((await failure(icon(huge))).code).toBe("device_error");
  });
});

test("Prime Video is known on a German TV, too, which has another id for it", () => {
  // hobbyquaker/node-red-contrib-lgtv#10, iobroker-community-adapters/ioBroker.lgtv#8.
  const launchPoints = [{ id: "lovefilm.de", title: "Amazon Video" }];
  expect(readLaunchPoints({ launchPoints })[0]).toMatchObject({ id: "prime-video", name: "Amazon Video" });
});
