/** A Roku's controls over the API, each read back at the set. */
import { expect, test } from "bun:test";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../src/simulators/roku.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startSimulator } = await daemonForFile();

function plugIn(name: string, options: Partial<RokuSimulatorOptions> = {}): Promise<RokuSimulator> {
  const serial = `X0RCTL${name.toUpperCase()}`;
  return startSimulator(createRokuSimulator({ name, serial, ssdp: false, launchMs: 0, ...options }));
}

async function add(set: RokuSimulator, name: string) {
  const { body } = await daemon.api("POST", "/devices", { host: set.host, port: set.port, name });
  const { id } = body.data;
  const post = async (path: string, sent: object) => {
    const answer = await daemon.api("POST", `/devices/${id}/${path}`, sent);
    return answer.body.data ?? answer.body.error;
  };
  return { id, post };
}

test("volume, mute, input and channel are set, and read back at the set", async () => {
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
  for (const input of ["hdmi1", "HDMI 1", "blu-ray PLAYER"])
    expect(await post("../../run", { device: id, steps: [{ input }, { wait_for: `input:${input}` }] })).toMatchObject({
      steps: [{ status: "skipped", reason: "already_so" }, { matched: true }],
    });
  expect(await post("inputs", { input: "hdmi9" })).toMatchObject({
    message: 'No input of Den is called "hdmi9"',
    hint: expect.stringContaining("It has: Blu-ray player"),
  });
  expect(await post("channels", { channel: "9" })).toMatchObject({
    message: 'No channel of Den is called "9"',
    hint: "It has: KZAP (2.1), KDEM (5.1), KDEM+ (5.2)",
  });
  const { body } = await daemon.api("GET", `/devices/${id}/inputs`);
  expect(body.data.inputs).toHaveLength(5);
});

test("of two inputs with one name none is guessed", async () => {
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

test("in limited mode it may show a file, and nobody can see whether it does", async () => {
  const apps = [{ id: "782875", name: "Media Assistant" }];
  const set = await plugIn("Cellar", { apps, access: "limited" });
  const { post } = await add(set, "Cellar");
  const url = "http://192.0.2.7/film.mp4";
  const begun = performance.now();
  expect(await post("media", { url, mime: "video/mp4" })).toMatchObject({ action: "media", confirmed: null });
  expect(performance.now() - begun).toBeLessThan(2_500);
});

test("it plays and pauses, and says which commands it does not take", async () => {
  const set = await plugIn("Loft");
  const { id, post } = await add(set, "Loft");
  set.play({ durationMs: 600_000 });
  expect(await post("playback", { do: "pause" })).toMatchObject({ playback: { status: "paused" }, confirmed: true });
  expect(await post("playback", { do: "play" })).toMatchObject({ playback: { status: "playing" }, confirmed: true });
  // Somebody returns to the player with the set's own remote, which the daemon does not see.
  await daemon.api("POST", `/devices/${id}/inputs`, { input: "hdmi1" });
  await fetch(`http://${set.host}:${set.port}/keypress/Home`, { method: "POST" });
  set.play({ durationMs: 600_000 });
  expect(await post("playback", { do: "pause" })).toMatchObject({ playback: { status: "paused" }, confirmed: true });
  expect(await post("playback", { do: "stop" })).toMatchObject({
    code: "unsupported_operation",
    hint: "It supports: play, pause",
  });
  for (const [path, sent] of [
    ["playback", { do: "seek", position_ms: 1_000 }],
    ["notify", { message: "hello" }],
  ] as const)
    expect([path, (await post(path, sent)).code]).toEqual([path, "unsupported_operation"]);
  const media = await post("media", { url: "http://192.0.2.9/film.mp4" });
  expect(media).toMatchObject({ code: "unsupported_media", hint: expect.stringContaining("782875") });
});

test("icons are cached, and validated by their ETag; a file is played by its address", async () => {
  const set = await plugIn("Attic", { apps: [{ id: "782875", name: "Media Assistant" }] });
  const { id, post } = await add(set, "Attic");
  const icon = (app: string, headers: Record<string, string> = {}) =>
    fetch(`${daemon.url}/devices/${id}/apps/${app}/icon`, { headers });
  // The list of apps has not been read yet; an icon may be asked for by the app's name too.
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
  // HEAD does not ask the set whether there is one.
  expect((await fetch(`${daemon.url}/devices/${id}/apps/4711/icon`, { method: "HEAD" })).status).toBe(200);
  expect(set.requests.filter(({ path }) => path.startsWith("/query/icon"))).toHaveLength(1);
  // The player on the set puts the address into a request unchanged.
  for (const [url, handed] of [
    ["http://192.0.2.9/film.mp4?a=B%20c", "http://192.0.2.9/film.mp4?a=B%20c"],
    ["http://192.0.2.9/ä film.mp4", "http://192.0.2.9/%C3%A4%20film.mp4"],
  ]) {
    expect(await post("media", { url })).toMatchObject({ url, confirmed: true });
    expect(set.state.lastLaunch?.params["u"]).toBe(handed);
    // What has only begun could not be told from what is begun next.
    await fetch(`http://${set.host}:${set.port}/keypress/Fwd`, { method: "POST" });
  }
});
