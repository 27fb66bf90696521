/** Pictures of a Kodi: icons, artwork and screenshots; and what a broken Kodi gives in their place. */
import { expect, test } from "bun:test";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { residentMiB } from "../support/resident.ts";
import { refused, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { endless, inFrontOf, page, type Say, spoiled, svg } from "./spoiled-pictures.ts";

const [icon, logo] = ["/home/kodi/.kodi/addons/plugin.video.one/icon.png", "http://192.0.2.1/logo.png"];
const image = (path: string, within = "") => `image://${within}${encodeURIComponent(path).toLowerCase()}/`;
const song = "/music/song.mp3";
const shelf: Partial<KodiSimulatorOptions> = {
  addons: [
    { id: "plugin.video.one", name: "One", content: "video", thumbnail: image(icon) },
    { id: "script.two", name: "Two", content: "executable" },
  ],
  media: [
    { file: "/films/film.mkv", title: "Film", poster: "/films/film-poster.jpg" },
    { file: song, title: "Song", artist: ["One", "Another"], kind: "audio", thumbnail: image(song, "music@") },
    { file: "/films/bare.mkv", title: "Bare" },
  ],
  channels: [
    { id: 1, number: 1, name: "With", logo },
    { id: 2, number: 2, name: "Without" },
  ],
};
const { daemon, atEnd, startSimulator } = await daemonForFile({ config: { discovery: { interfaces: ["none"] } } });
let made = 0;

function startKodi(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  const plain = { name: `K ${++made}`, host: `127.0.75.${made}`, port: 0, tcpPort: 0, mdns: false };
  return startSimulator(createKodiSimulator({ ...plain, ...shelf, ...options }));
}

async function added({ host, port, ports }: KodiSimulator, web = port): Promise<string> {
  const body = { host, port: web, platform: "kodi", ports: { websocket: ports.tcp ?? 0 } };
  return (await succeed(daemon, "addDevice", { body })).id;
}

/** The picture at a path of the device; a refusal fails the test. */
async function shown(id: string, path: string) {
  const response = await fetch(`${daemon.url}/devices/${encodeURIComponent(id)}${path}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(bytes).toString()}`);
  return { type: response.headers.get("content-type"), bytes };
}

/** The refusal of a picture. */
async function none(id: string, path: string, ...codes: string[]) {
  return refused(await daemon.api("GET", `/devices/${encodeURIComponent(id)}${path}`), ...codes);
}

const isPng = ({ type, bytes }: Awaited<ReturnType<typeof shown>>) =>
  type === "image/png" && Buffer.from(bytes.subarray(1, 4)).toString() === "PNG" && bytes.length > 100;
const open = (id: string, app: string) => succeed(daemon, "launchApp", { id, body: { app } });
const playing = async (id: string) => (await succeed(daemon, "getState", { id })).state.playback;
const can = async (id: string) => (await succeed(daemon, "getDevice", { id })).capabilities;

test("with a login: icons, artwork of what plays, and the screen", async () => {
  const login = { user: "kodi", password: "pop:corn" };
  const set = await startKodi(login);
  const id = await added(set);
  expect(await can(id)).not.toContain("icons");
  await none(id, "/artwork", "pairing_required");
  await succeed(daemon, "pairDevice", { id, body: login });
  expect(await can(id)).toEqual(expect.arrayContaining(["icons", "artwork"]));
  await succeed(daemon, "refreshApps", { id });
  expect(isPng(await shown(id, "/apps/one/icon"))).toBe(true);
  await none(id, "/apps/two/icon", "picture_not_found");
  await none(id, "/apps/three/icon", "app_not_found");

  await none(id, "/artwork", "picture_not_found");
  const pictures = new Set<string>();
  for (const app of ["/films/film.mkv", song, "channel:1"]) {
    await open(id, app);
    const picture = await shown(id, "/artwork");
    expect([app, isPng(picture)]).toEqual([app, true]);
    pictures.add(Buffer.from(picture.bytes).toString("base64"));
    expect(await playing(id)).toMatchObject({ artist: app === song ? "One, Another" : null, artwork: true });
  }
  expect(pictures.size).toBe(3);
  await open(id, "/films/bare.mkv");
  await none(id, "/artwork", "picture_not_found");
  expect(await playing(id)).toMatchObject({ title: "Bare", artist: null, artwork: false });
  await open(id, "channel:2");
  expect((await none(id, "/artwork", "picture_not_found")).hint).toContain("sources");

  set.setScreenshots({ folder: "/home/kodi/shots" });
  const first = await shown(id, "/screenshot");
  expect([isPng(first), first.bytes.length > 1_000]).toEqual([true, true]);
  await open(id, "/films/film.mkv");
  expect(Buffer.from((await shown(id, "/screenshot")).bytes).equals(first.bytes)).toBe(false);
  expect(await can(id)).toContain("screenshot");
}, 60_000);

test("without a usable folder for screenshots none is taken, and the hint names the setting", async () => {
  const set = await startKodi();
  const id = await added(set);
  const { capabilities, withheld = [] } = await succeed(daemon, "getDevice", { id });
  expect([capabilities.includes("screenshot"), withheld.map(({ capability }) => capability)]).toEqual([
    false,
    ["screenshot"],
  ]);
  expect(withheld[0]?.hint).toContain("Screenshot folder");
  for (const screenshots of [null, { folder: "/root/shots/", isSource: false }]) {
    set.setScreenshots(screenshots);
    const { message, hint } = await none(id, "/screenshot", "device_refused");
    expect(hint).toContain("Settings > System > Logging > Screenshot folder");
    expect(message).toContain(screenshots === null ? "no screenshot folder" : "sources");
  }
  // Kodi would have asked the person in front of it for a folder.
  expect(set.calls.some(({ method }) => method === "Input.ExecuteAction")).toBe(false);
  expect(set.state.dialog).toBeNull();
});

test("no screenshot is taken of the screen saver, which that would end", async () => {
  const set = await startKodi({ screenshots: { folder: "/home/kodi/shots/" } });
  const id = await added(set);
  set.screensaver(true);
  const { hint } = await none(id, "/screenshot", "device_refused");
  expect([hint?.includes("zapd key select"), set.state.screensaver]).toEqual([true, true]);
  await succeed(daemon, "pressKey", { id, body: { key: "select" } });
  expect(isPng(await shown(id, "/screenshot"))).toBe(true);
});

test("a folder that is set is known without taking a screenshot", async () => {
  const set = await startKodi({ screenshots: { folder: "/home/kodi/shots/" } });
  const id = await added(set);
  await succeed(daemon, "getState", { id });
  await until("it is known", async () => (await can(id)).includes("screenshot"));
  expect(set.calls.some(({ method }) => method === "Input.ExecuteAction")).toBe(false);
}, 60_000);

const asSvg = { headers: { "content-type": "image/svg+xml" } };
const kinds: readonly (readonly [what: string, say: Say, codes: readonly string[]])[] = [
  ...Object.entries(spoiled).map(([what, { say, code }]) => [what, say, [code]] as const),
  ["an SVG that says so", () => new Response(svg, asSvg), ["picture_not_found"]],
  ["a failure", () => new Response(page, { status: 500 }), ["picture_not_found", "device_refused"]],
];

test("data that is not a picture is refused, as an icon, as artwork and as a screenshot, and little of it is read", async () => {
  const set = await startKodi({ screenshots: { folder: "/home/kodi/shots" } });
  let say: Say = endless;
  const { port, asked, stop } = inFrontOf(
    set.host,
    set.port,
    (path) => path !== "/jsonrpc",
    () => say(),
  );
  atEnd(stop);
  const id = await added(set, port);
  await succeed(daemon, "refreshApps", { id });
  await open(id, "/films/film.mkv");
  for (const [what, answer, codes] of kinds) {
    say = answer;
    asked.length = 0;
    for (const path of ["/apps/one/icon", "/artwork", "/screenshot"]) await none(id, path, ...codes);
    // Only pictures were asked for, where such pictures are.
    expect([what, asked.map((path) => path.split("/")[1])]).toEqual([what, ["image", "image", "vfs"]]);
  }
  say = endless;
  const before = residentMiB(daemon.process);
  for (let round = 0; round < 10; round++) await none(id, "/artwork", "device_error");
  // A thousand megabytes were offered; the 2 MiB that were read of each may still be in memory.
  expect(residentMiB(daemon.process) - before).toBeLessThan(128);
}, 60_000);
