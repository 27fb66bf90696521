/** Pictures and channels of a real Kodi with a login, through the daemon; and the simulator's answers compared with Kodi's. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createKodiSimulator, type KodiSimulator } from "../../src/simulators/kodi.ts";
import { refused, succeed } from "../blackbox/checked.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { type RealKodi, startRealKodi, whyNoKodi, whyNoTuner } from "../support/real-kodi.ts";
import { type Address, ask, startDaemonBeside, until, windowOf } from "./kodi/client.ts";

const missing = whyNoKodi();
const noTuner = whyNoTuner();
const suffix = missing === null ? "" : ` (skipped: ${missing})`;
if (missing !== null) process.stderr.write(`skipped: pictures of a real Kodi: ${missing}\n`);

const id = "Picture Kodi";
const login = { user: "kodi", password: "pop:corn" };
let real: RealKodi;
let simulator: KodiSimulator;
let daemon: TestDaemon;

const setFolder = (value: string) => real.call("Settings.SetSettingValue", { setting: "debug.screenshotpath", value });
const imageOf = (path: string, within = "") =>
  `image://${within}${encodeURIComponent(path).replace(/%../g, (one) => one.toLowerCase())}/`;
const can = async () => (await succeed(daemon, "getDevice", { id })).capabilities;
const open = (app: string) => succeed(daemon, "launchApp", { id, body: { app } });
const window = () => windowOf(real);

beforeAll(async () => {
  if (missing !== null) return;
  real = await startRealKodi({ name: id, password: login.password, pictures: true, pvr: noTuner === null });
  const { icon, film, song, poster, shots } = real.pictures;
  simulator = createKodiSimulator({
    name: "Twin",
    mdns: false,
    ...login,
    addons: [{ id: real.plugin, name: "Zapd Test Videos", content: "video", thumbnail: imageOf(icon) }],
    media: [
      { file: film, title: "film.mp4", poster },
      { file: song, title: "Zapd Song", kind: "audio", thumbnail: imageOf(song, "music@") },
      { file: "/etc/passwd" },
    ],
    screenshots: { folder: shots },
  });
  await simulator.start();
  daemon = await startDaemonBeside(real);
}, 240_000);

afterAll(async () => {
  await daemon?.dispose();
  await simulator?.stop();
  await real?.stop();
}, 30_000);

/** A picture of the device's: its kind, its size in pixels where it is a PNG, and its bytes. */
async function shown(path: string) {
  const response = await fetch(`${daemon.url}/devices/${encodeURIComponent(id)}${path}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${bytes.toString()}`);
  const type = response.headers.get("content-type");
  return { type, bytes, pixels: type === "image/png" ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : null };
}

async function none(path: string, ...codes: string[]) {
  return refused(await daemon.api("GET", `/devices/${encodeURIComponent(id)}${path}`), ...codes);
}

describe.skipIf(missing !== null)(`a real Kodi with a login${suffix}`, () => {
  test("promises no picture before it is paired, and then those that it has", async () => {
    await succeed(daemon, "discoverDevices");
    expect(await can()).not.toContain("icons");
    await none("/artwork", "pairing_required");
    await succeed(daemon, "pairDevice", { id, body: login });
    expect(await can()).toEqual(expect.arrayContaining(["icons", "artwork"]));
    expect(await can()).not.toContain("screenshot");
  }, 120_000);

  test("gives the icon of an add-on, and an error for one without", async () => {
    const { apps } = await succeed(daemon, "refreshApps", { id });
    const icon = (platform: string) => `/apps/${apps.find((app) => app.platform_id === platform)?.id}/icon`;
    const { type, bytes } = await shown(icon(real.plugin));
    expect([/^image\/(png|jpeg)$/.test(type ?? ""), bytes.length > 1_000]).toEqual([true, true]);
    await none(icon(real.script), "picture_not_found");
    await none("/apps/plugin.video.nothing/icon", "app_not_found");
  }, 120_000);

  test("gives the poster of a film, the picture in a song, and an error where there is none", async () => {
    await none("/artwork", "picture_not_found");
    const pictures: string[] = [];
    for (const file of [real.pictures.film, real.pictures.song]) {
      await open(file);
      // Kodi finds the pictures beside a file a moment after it plays.
      await until("it has a picture", async () => (await shown("/artwork").catch(() => null)) !== null);
      const { type, bytes } = await shown("/artwork");
      expect([file, type]).toEqual([file, "image/jpeg"]);
      pictures.push(bytes.toString("base64"));
    }
    await open(real.pictures.bare);
    await until("the picture is gone", async () => (await shown("/artwork").catch(() => null)) === null);
    await none("/artwork", "picture_not_found");
    await succeed(daemon, "stopApp", { id });
    expect(pictures.every((one) => one.length > 5_000)).toBe(true);
  }, 120_000);

  test("gives pictures of its screen from the folder that its user has set, if it shows that; else it is left alone", async () => {
    // While Kodi is busy it shows a dialog.
    await until("it is at rest", async () => (await window()) !== 10_138);
    const before = await window();
    expect((await none("/screenshot", "device_refused")).hint).toContain("Screenshot folder");
    await setFolder(real.pictures.hidden);
    expect((await none("/screenshot", "device_refused")).message).toContain("sources");
    expect(await window()).toBe(before);
    await setFolder(real.pictures.shots);
    const home = await shown("/screenshot");
    expect([home.type, home.pixels]).toEqual(["image/png", [640, 360]]);
    expect(await can()).toContain("screenshot");
    await open(real.pictures.film);
    await until("it fills the screen", async () => (await window()) === 12_005);
    const film = await shown("/screenshot");
    expect([film.pixels, film.bytes.equals(home.bytes)]).toEqual([[640, 360], false]);
    await real.call("Addons.ExecuteAddon", { addonid: real.script, params: ["ok"], wait: false });
    await until("a dialog is open", async () => (await window()) === 12_002);
    expect((await shown("/screenshot")).pixels).toEqual([640, 360]);
    await until("the dialog is gone", async () => {
      await real.call("Input.Back");
      return (await window()) !== 12_002;
    });
    await succeed(daemon, "stopApp", { id });
  }, 120_000);

  test.skipIf(noTuner !== null)(
    `lists its channels, and shows the one that it is told${noTuner === null ? "" : ` (skipped: ${noTuner})`}`,
    async () => {
      await until("it knows its tuner", async () => {
        await succeed(daemon, "getState", { id });
        return (await can()).includes("channels");
      });
      const { channels } = await succeed(daemon, "listChannels", { id });
      expect(channels.map(({ number, name }) => [number, name])).toEqual([
        ["1", "Zapd One"],
        ["2", "Zapd Two"],
      ]);
      const [one, two] = channels;
      for (const [word, channel] of [
        ["2", two],
        ["zapd one", one],
        [two?.id ?? "", two],
        ["Zapd One", one],
      ] as const) {
        const tuned = await succeed(daemon, "selectChannel", { id, body: { channel: word } });
        expect([word, tuned.confirmed, tuned.channel.id]).toEqual([word, true, channel?.id ?? ""]);
        const [player] = (await real.call("Player.GetActivePlayers")) as { playerid: number }[];
        const said = await real.call("Player.GetItem", { playerid: player?.playerid, properties: ["channel"] });
        expect(said).toMatchObject({
          item: { type: "channel", id: Number(channel?.id.slice("channel:".length)), label: channel?.name },
        });
      }
      expect((await shown("/artwork")).bytes.length).toBeGreaterThan(500);
      await refused(
        await daemon.api("POST", `/devices/${encodeURIComponent(id)}/channels`, { channel: "Nine" }),
        "invalid_payload",
      );
      await succeed(daemon, "stopApp", { id });
    },
    120_000,
  );
});

const authorization = `Basic ${btoa(`${login.user}:${login.password}`)}`;

/** A web server's answer at a path: status, challenge, content type, connection, and whether the body is a picture. */
async function said({ host, port }: Address, path: string, credentials: string | null): Promise<unknown> {
  const headers = credentials === null ? {} : { authorization: credentials };
  const response = await fetch(`http://${host}:${port}/${path}`, { headers, redirect: "manual" });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isPicture = ["89504e47", "ffd8ff"].some((start) => bytes.toString("hex").startsWith(start));
  const named = (name: string) => response.headers.get(name);
  return [response.status, named("www-authenticate"), named("content-type"), named("connection"), isPicture];
}

describe.skipIf(missing !== null)(`the simulator beside it${suffix}`, () => {
  const once = encodeURIComponent;
  const sides = () => [simulator, real].map(({ host, port }) => ({ host, port, authorization }));
  /** With one picture in it, on both sides. */
  let shots = "";
  let shot = "";
  const lower = (text: string) => once(text).replace(/%../g, (one) => one.toLowerCase());

  beforeAll(async () => {
    shots = join(real.pictures.shots, "twin/");
    shot = `${shots}screenshot00000.png`;
    mkdirSync(shots);
    simulator.setScreenshots({ folder: shots });
    await setFolder(shots);
    for (const side of sides()) await ask(side, "Input.ExecuteAction", { action: "screenshot" });
    // Kodi creates the file before it writes the picture: it is complete with its last chunk.
    const isWhole = () => existsSync(shot) && readFileSync(shot).subarray(-8, -4).toString() === "IEND";
    await until("it is written", isWhole);
    await Bun.sleep(500);
  });

  test("gives, keeps back and lacks the same", async () => {
    const { icon, song, poster } = real.pictures;
    const paths = [
      "image/",
      "vfs/",
      "image/x",
      "vfs/x",
      "jsonrpc?request=%7B%7D",
      "nothing",
      `image/${once("image://DefaultFolder.png/")}`,
      ...[once, lower].map((escaped) => `image/${escaped(imageOf(icon))}`),
      `image/${once(imageOf(icon).slice(0, -1))}`,
      `image/${imageOf(icon)}`,
      `image/${once(imageOf(`${icon}x`))}`,
      ...[imageOf(poster), imageOf(song, "music@"), imageOf("/etc/passwd")].map((one) => `image/${once(one)}`),
      ...[shot, `${shots}none.png`, "/etc/passwd"].map((one) => `vfs/${once(one)}`),
      ...[imageOf(shot), imageOf("/etc/hostname")].map((one) => `image/${once(one)}`),
    ];
    const differences: unknown[] = [];
    for (const credentials of [authorization, null, `Basic ${btoa("kodi:wrong")}`])
      for (const path of paths) {
        const [ours, theirs] = await Promise.all(sides().map((side) => said(side, path, credentials)));
        if (!Bun.deepEquals(ours, theirs)) differences.push({ path, credentials, ours, theirs });
      }
    expect(differences).toEqual([]);
  }, 120_000);

  test("says the same of its folders", async () => {
    const { hidden } = real.pictures;
    const calls: readonly (readonly [string, object])[] = [
      ["Addons.GetAddonDetails", { addonid: real.plugin, properties: ["thumbnail"] }],
      ["Settings.GetSettingValue", { setting: "debug.screenshotpath" }],
      ...["", "/nowhere/", hidden].map((directory) => ["Files.GetDirectory", { directory, media: "files" }] as const),
      ["Files.GetDirectory", { directory: shots.slice(0, -1), media: "files", limits: { start: 0, end: 1 } }],
      ["Files.GetDirectory", { directory: shots }],
    ];
    const differences: unknown[] = [];
    for (const [method, params] of calls) {
      const [ours, theirs] = await Promise.all(sides().map((side) => ask(side, method, params)));
      if (!Bun.deepEquals(ours, theirs)) differences.push({ method, params, ours, theirs });
    }
    expect(differences).toEqual([]);
  }, 120_000);
});
