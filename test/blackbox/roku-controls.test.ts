/** A Roku's controls over the API, and what is asked of sets while somebody follows: the table of polling, counted at the sets. */
import { describe, expect, test } from "bun:test";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../src/simulators/roku.ts";
import { until } from "../support/http-device.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startSimulator } = await daemonForFile();

function plugIn(name: string, options: Partial<RokuSimulatorOptions> = {}): Promise<RokuSimulator> {
  const serial = `X0RCTL${name.toUpperCase()}`;
  return startSimulator(createRokuSimulator({ name, serial, ssdp: false, launchMs: 0, ...options }));
}

async function add(set: RokuSimulator, name: string) {
  const { body } = await daemon.api("POST", "/devices", { host: set.host, port: set.port, name });
  const { id, capabilities } = body.data;
  const post = async (path: string, sent: object) => {
    const answer = await daemon.api("POST", `/devices/${id}/${path}`, sent);
    return answer.body.data ?? answer.body.error;
  };
  return { id, capabilities, post };
}

describe("a TV", () => {
  test("is brought to a level, muted, switched and tuned, each read back", async () => {
    const set = await plugIn("Den");
    const { id, post } = await add(set, "Den");
    expect(await post("volume", { level: 25 })).toMatchObject({ volume: { level: 25 }, confirmed: true });
    expect(set.state.volume).toBe(25);
    for (const muted of [true, true])
      expect(await post("volume", { muted })).toMatchObject({ volume: { muted }, confirmed: true });
    expect(await post("inputs", { input: "Blu-ray player" })).toMatchObject({
      input: { id: "hdmi1" },
      confirmed: true,
    });
    expect(await post("channels", { channel: "KDEM" })).toMatchObject({ channel: { id: "5.1" }, confirmed: true });
    expect([set.state.input, set.state.channel]).toEqual(["tvinput.dtv", "5.1"]);
    expect(await post("inputs", { input: "HDMI 1" })).toMatchObject({ input: { id: "hdmi1" }, confirmed: true });
    expect(await post("inputs", { input: "hdmi9" })).toMatchObject({
      message: 'No input of Den is called "hdmi9"',
      hint: expect.stringContaining("It has: Blu-ray player"),
    });
    const { body } = await daemon.api("GET", `/devices/${id}/inputs`);
    expect(body.data.inputs).toHaveLength(5);
  });

  test("has inputs that its user called alike: none of them is guessed", async () => {
    const inputs = [1, 2].map((number) => ({ id: `tvinput.hdmi${number}`, name: "Roku" }));
    const { post } = await add(await plugIn("Hall", { apps: inputs }), "Hall");
    for (const input of ["Roku", "roku"])
      expect(await post("inputs", { input })).toMatchObject({
        code: "invalid_payload",
        message: `Several inputs of Hall are called "${input}"`,
        hint: "Use the id of one: hdmi1, hdmi2",
      });
    expect(await post("inputs", { input: "hdmi2" })).toMatchObject({ input: { id: "hdmi2" }, confirmed: true });
  });

  test("plays and pauses, and says what it cannot be told", async () => {
    const set = await plugIn("Loft");
    const { id, post } = await add(set, "Loft");
    set.play({ durationMs: 600_000 });
    expect(await post("playback", { do: "pause" })).toMatchObject({ playback: { status: "paused" }, confirmed: true });
    expect(await post("playback", { do: "play" })).toMatchObject({ playback: { status: "playing" }, confirmed: true });
    // Somebody went back to the player with its own remote, unseen.
    await daemon.api("POST", `/devices/${id}/inputs`, { input: "hdmi1" });
    await fetch(`http://${set.host}:${set.port}/keypress/Home`, { method: "POST" });
    set.play({ durationMs: 600_000 });
    expect(await post("playback", { do: "pause" })).toMatchObject({ playback: { status: "paused" }, confirmed: true });
    expect(await post("playback", { do: "stop" })).toMatchObject({
      code: "unsupported_operation",
      hint: "It can be told: play, pause",
    });
    for (const [path, sent] of [
      ["playback", { do: "seek", position_ms: 1_000 }],
      ["notify", { message: "hello" }],
    ] as const)
      expect([path, (await post(path, sent)).code]).toEqual([path, "unsupported_operation"]);
    const media = await post("media", { url: "http://192.0.2.9/film.mp4" });
    expect(media).toMatchObject({ code: "unsupported_media", hint: expect.stringContaining("782875") });
  });

  test("gives the icons of its apps, which are then kept", async () => {
    const set = await plugIn("Attic", { apps: [{ id: "782875", name: "Media Assistant" }] });
    const { id, post } = await add(set, "Attic");
    const icon = (app: string, headers: Record<string, string> = {}) =>
      fetch(`${daemon.url}/devices/${id}/apps/${app}/icon`, { headers });
    // Nobody has asked for its apps before; an icon may be asked for by the app's name too.
    for (const response of [await icon("782875"), await icon("media%20assistant")])
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
    const tag = (await icon("782875")).headers.get("etag") ?? "";
    for (const [has, status] of [
      [tag, 304],
      [`"x", W/${tag}`, 304],
      ["*", 304],
      ['"x"', 200],
    ] as const)
      expect([has, (await icon("782875", { "if-none-match": has })).status]).toEqual([has, status]);
    expect((await icon("4711")).status).toBe(404);
    expect(set.requests.filter(({ path }) => path.startsWith("/query/icon"))).toHaveLength(1);
    // Its player puts the address into a request as it is.
    for (const [url, handed] of [
      ["http://192.0.2.9/film.mp4?a=B%20c", "http://192.0.2.9/film.mp4?a=B%20c"],
      ["http://192.0.2.9/ä film.mp4", "http://192.0.2.9/%C3%A4%20film.mp4"],
    ]) {
      expect(await post("media", { url })).toMatchObject({ url, confirmed: true });
      expect(set.state.lastLaunch?.params["u"]).toBe(handed);
    }
  });
});

test("a stick has neither mute, inputs nor channels, and says that it does not tell a level", async () => {
  const stick = await add(await plugIn("Stick", { kind: "stick" }), "Stick");
  for (const lacking of ["mute", "inputs", "channels"]) expect(stick.capabilities).not.toContain(lacking);
  for (const sent of [{ muted: true }, { level: 20 }])
    expect([sent, (await stick.post("volume", sent)).code]).toEqual([sent, "unsupported_operation"]);
});

test.concurrent("after a command only what it can change is asked for, and no more once its effect shows", async () => {
  const set = await plugIn("Burst");
  const { id, post } = await add(set, "Burst");
  const over = new AbortController();
  const stream = await fetch(`${daemon.url}/events?devices=${id}`, { signal: over.signal });
  const ends = stream.body?.pipeTo(new WritableStream()).catch(() => {});
  const asked = new Map<string, string[]>();
  const level = set.state.volume + 3;
  for (const [path, body, command] of [
    ["remote/key", { key: "volume-up" }, "/keypress/VolumeUp"],
    ["remote/key", { key: "home" }, "/keypress/Home"],
    ["apps/launch", { app: "netflix" }, "/launch/"],
    ["notify", { message: "hello" }, null],
    ["volume", { level }, "/keypress/VolumeUp"],
  ] as const) {
    // Right after a look by the table: the next is seconds away.
    const looked = set.requests.length;
    await until("it is looked at", () => set.requests.length > looked, 30_000);
    await Bun.sleep(100);
    const from = set.requests.length;
    await post(path, body);
    await daemon.sleep(2_400);
    const paths = set.requests.slice(from).map((one) => one.path);
    const after = command === null ? 0 : paths.findIndex((one) => one.startsWith(command));
    expect([path, after < 0]).toEqual([path, false]);
    const reads = paths.slice(after).filter((one) => one.startsWith("/query/"));
    asked.set(Object.entries(body)[0]?.join(" ") ?? "", [...new Set(reads)].toSorted());
  }
  over.abort();
  await ends;
  const shown = ["/query/active-app", "/query/media-player"];
  expect(Object.fromEntries(asked)).toEqual({
    "key volume-up": ["/query/audio-device"],
    "key home": shown,
    "app netflix": shown,
    "message hello": [],
    [`level ${level}`]: ["/query/audio-device"],
  });
}, 60_000);

/** Sets that do what the table of polling tells apart: one plays, one shows its home, one an input, one sleeps, one keeps back. */
async function plugInHouse(name: string) {
  const playing = await plugIn(`${name}1`);
  const idle = await plugIn(`${name}2`);
  const input = await plugIn(`${name}3`);
  const standby = await plugIn(`${name}4`);
  const limited = await plugIn(`${name}5`, { access: "limited" });
  const all = [playing, idle, input, standby, limited];
  const added = [];
  for (const [at, set] of all.entries()) added.push(await add(set, `${name} ${at}`));
  await added[2]?.post("inputs", { input: "hdmi1" });
  playing.play({ durationMs: 3_600_000 });
  await standby.sleep("standby");
  return { all, added, totals: () => all.map(({ requests }) => requests.length) };
}

test.concurrent("nobody interested: nothing is asked", async () => {
  const { totals } = await plugInHouse("Unseen");
  const unseen = totals();
  await daemon.sleep(20_000);
  expect(totals()).toEqual(unseen);
}, 90_000);

test.concurrent("somebody interested: what the table says, and no more; when nobody is any more, nothing", async () => {
  const { all, added, totals } = await plugInHouse("Polled");
  /** How often each document was asked for. */
  const asked = (set: RokuSimulator, from: number) => {
    const count = { "device-info": 0, "active-app": 0, "media-player": 0, "audio-device": 0 };
    for (const { path } of set.requests.slice(from)) count[path.replace("/query/", "") as keyof typeof count]++;
    return count;
  };
  const over = new AbortController();
  const ids = added.map(({ id }) => id).join(",");
  const stream = await fetch(`${daemon.url}/events?devices=${ids}`, { signal: over.signal });
  const ends = stream.body?.pipeTo(new WritableStream()).catch(() => {});
  await daemon.sleep(1_000);
  const first = totals();
  await daemon.sleep(36_000);
  over.abort();
  await ends;
  // A look that is under way asks for the rest of its documents.
  await daemon.sleep(2_000);
  const [whenPlaying, whenIdle, whenInput, whenStandby, whenLimited] = all.map((set, at) => asked(set, first[at] ?? 0));

  const thirdOf = (count = 0) => [Math.floor(count / 3) - 1, Math.floor(count / 3) + 2] as const;
  // Every 2 s, and 20 s late at most under load.
  expect(whenPlaying?.["media-player"]).toBeWithin(6, 21);
  expect(whenPlaying?.["active-app"]).toBeWithin(...thirdOf(whenPlaying?.["media-player"]));
  expect(whenPlaying?.["audio-device"]).toBe(whenPlaying?.["active-app"] ?? -1);
  expect(whenPlaying?.["device-info"]).toBe(0);
  expect(whenIdle?.["media-player"]).toBeWithin(3, 9);
  expect(whenIdle?.["active-app"]).toBe(whenIdle?.["media-player"] ?? -1);
  expect(whenIdle?.["device-info"]).toBeWithin(...thirdOf(whenIdle?.["media-player"]));
  expect(whenInput?.["active-app"]).toBeWithin(2, 5);
  expect(whenInput?.["audio-device"]).toBe(whenInput?.["active-app"] ?? -1);
  expect([whenInput?.["media-player"], (whenInput?.["device-info"] ?? 9) < 2]).toEqual([0, true]);
  expect(whenStandby?.["device-info"]).toBeWithin(1, 4);
  expect(whenStandby).toMatchObject({ "active-app": 0, "media-player": 0, "audio-device": 0 });
  expect(whenLimited?.["device-info"]).toBeWithin(2, 5);
  expect(whenLimited).toMatchObject({
    "active-app": whenLimited?.["device-info"],
    "media-player": 0,
    "audio-device": 0,
  });

  await daemon.sleep(2_000);
  const after = totals();
  await daemon.sleep(20_000);
  expect(totals()).toEqual(after);
}, 90_000);
