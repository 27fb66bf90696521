/** Pictures of a Kodi: icons, what plays, its screen; and what comes in their place from a Kodi that has gone wrong. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { picture } from "../../src/simulators/bench/documents.ts";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { refused, succeed, until } from "./checked.ts";

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
let daemon: TestDaemon;
let made = 0;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  daemon = await startTestDaemon({ config: { discovery: { interfaces: ["none"] } } });
});

afterAll(async () => {
  await daemon.dispose();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startKodi(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  const host = `127.0.75.${++made}`;
  const set = createKodiSimulator({ name: `K ${made}`, host, port: 0, tcpPort: 0, mdns: false, ...shelf, ...options });
  await set.start();
  cleanups.push(() => set.stop());
  return set;
}

async function added({ host, port, ports }: KodiSimulator, web = port): Promise<string> {
  const body = { host, port: web, platform: "kodi", ports: { websocket: ports.tcp ?? 0 } };
  return (await succeed(daemon, "addDevice", { body })).id;
}

interface Shown {
  readonly type: string | null;
  readonly bytes: Uint8Array;
}

/** The picture at a path of the device's; what is refused fails the test. */
async function shown(id: string, path: string): Promise<Shown> {
  const response = await fetch(`${daemon.url}/devices/${encodeURIComponent(id)}${path}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(bytes).toString()}`);
  return { type: response.headers.get("content-type"), bytes };
}

/** The refusal of a picture. */
async function none(id: string, path: string, ...codes: string[]) {
  return refused(await daemon.api("GET", `/devices/${encodeURIComponent(id)}${path}`), ...codes);
}

const isPng = ({ type, bytes }: Shown) =>
  type === "image/png" && Buffer.from(bytes.subarray(1, 4)).toString() === "PNG" && bytes.length > 100;
const open = (id: string, app: string) => succeed(daemon, "launchApp", { id, body: { app } });
const playing = async (id: string) => (await succeed(daemon, "getState", { id })).state.playback;
const can = async (id: string) => (await succeed(daemon, "getDevice", { id })).capabilities;

for (const [kind, options] of [
  ["that lets everybody in", {}],
  ["with a login", { user: "kodi", password: "pop:corn" }],
] as const) {
  test(`a Kodi ${kind}: icons, what plays, and its screen`, async () => {
    const set = await startKodi(options);
    const id = await added(set);
    if ("password" in options) {
      expect(await can(id)).not.toContain("icons");
      await none(id, "/artwork", "pairing_required");
      await succeed(daemon, "pairDevice", { id, body: options });
    }
    expect(await can(id)).toEqual(expect.arrayContaining(["icons", "artwork"]));
    await succeed(daemon, "refreshApps", { id });
    expect(isPng(await shown(id, "/apps/one/icon"))).toBe(true);
    await none(id, "/apps/two/icon", "picture_not_found");
    await none(id, "/apps/three/icon", "app_not_found");

    await none(id, "/artwork", "picture_not_found");
    const pictures: Uint8Array[] = [];
    for (const app of ["/films/film.mkv", song, "channel:1"]) {
      await open(id, app);
      const picture = await shown(id, "/artwork");
      expect([app, isPng(picture)]).toEqual([app, true]);
      pictures.push(picture.bytes);
      const artist = app === song ? "One, Another" : null;
      expect(await playing(id)).toMatchObject({ artist, artwork: true });
    }
    // Each is another one.
    expect(new Set(pictures.map((bytes) => Buffer.from(bytes).toString("base64"))).size).toBe(3);
    await open(id, "/films/bare.mkv");
    await none(id, "/artwork", "picture_not_found");
    expect(await playing(id)).toMatchObject({ title: "Bare", artist: null, artwork: false });
    await open(id, "channel:2");
    const { hint } = await none(id, "/artwork", "picture_not_found");
    expect(hint).toContain("sources");

    set.setScreenshots({ folder: "/home/kodi/shots" });
    const first = await shown(id, "/screenshot");
    expect([isPng(first), first.bytes.length > 1_000]).toEqual([true, true]);
    await open(id, "/films/film.mkv");
    expect(Buffer.from((await shown(id, "/screenshot")).bytes).equals(first.bytes)).toBe(false);
    expect(await can(id)).toContain("screenshot");
  }, 60_000);
}

test("without a folder for them, or with one that it shows to nobody, no picture of its screen is taken, and it says what to set", async () => {
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
    expect(message).toContain(screenshots === null ? "no folder" : "sources");
  }
  // It would have asked somebody in front of it for a folder.
  expect(set.calls.some(({ method }) => method === "Input.ExecuteAction")).toBe(false);
  expect(set.state.dialog).toBeNull();
});

test("of its screen saver, which that would end, no picture is taken", async () => {
  const set = await startKodi({ screenshots: { folder: "/home/kodi/shots/" } });
  const id = await added(set);
  set.screensaver(true);
  const { hint } = await none(id, "/screenshot", "device_refused");
  expect([hint?.includes("zapd key select"), set.state.screensaver]).toEqual([true, true]);
  await succeed(daemon, "pressKey", { id, body: { key: "select" } });
  expect(isPng(await shown(id, "/screenshot"))).toBe(true);
});

test("that its owner has set a folder is known without asking for a picture", async () => {
  const set = await startKodi({ screenshots: { folder: "/home/kodi/shots/" } });
  const id = await added(set);
  await succeed(daemon, "getState", { id });
  await until("it is known", async () => (await can(id)).includes("screenshot"), 10_000);
  expect(set.calls.some(({ method }) => method === "Input.ExecuteAction")).toBe(false);
}, 60_000);

const page = "<!DOCTYPE html><title>Router</title><script>alert(1)</script>";
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const whole = picture("a picture", 64, 64);
const megabytes = 100;

/** 100 MB that begin like a picture, as fast as they are taken. */
function endless(): ReadableStream<Uint8Array> {
  let left = megabytes;
  const chunk = new Uint8Array(1024 * 1024);
  return new ReadableStream({
    pull(controller) {
      if (left === megabytes) controller.enqueue(Uint8Array.from(whole.subarray(0, 8)));
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

const spoiled: Readonly<Record<string, { readonly say: () => Response; readonly codes: readonly string[] }>> = {
  "a page": {
    say: () => new Response(page, { headers: { "content-type": "image/png" } }),
    codes: ["picture_not_found"],
  },
  "a drawing": {
    say: () => new Response(svg, { headers: { "content-type": "image/svg+xml" } }),
    codes: ["picture_not_found"],
  },
  "half of it": {
    say: () => new Response(Uint8Array.from(whole.subarray(0, whole.length / 2))),
    codes: ["picture_not_found"],
  },
  nothing: { say: () => new Response(""), codes: ["picture_not_found"] },
  "100 MB": { say: () => new Response(endless()), codes: ["device_error"] },
  "a redirect to a picture": {
    say: () => new Response(null, { status: 302, headers: { location: "/elsewhere.png" } }),
    codes: ["device_error"],
  },
  "a failure of its own": {
    say: () => new Response(page, { status: 500 }),
    codes: ["picture_not_found", "device_refused"],
  },
};

describe("a Kodi that gives something else in place of a picture", () => {
  test.each(Object.keys(spoiled))("%s is refused, as an icon, as what plays, and of its screen", async (name) => {
    const { say, codes } = spoiled[name] ?? { say: () => new Response(), codes: [] };
    const set = await startKodi({ screenshots: { folder: "/home/kodi/shots" } });
    const asked: string[] = [];
    const proxy = Bun.serve({
      hostname: set.host,
      port: 0,
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname !== "/jsonrpc") {
          asked.push(pathname);
          return say();
        }
        const { method, headers } = request;
        return fetch(`http://${set.host}:${set.port}/jsonrpc`, { method, headers, body: await request.arrayBuffer() });
      },
    });
    cleanups.push(() => proxy.stop(true));
    const id = await added(set, proxy.port ?? 0);
    await succeed(daemon, "refreshApps", { id });
    await open(id, "/films/film.mkv");
    for (const path of ["/apps/one/icon", "/artwork", "/screenshot"]) await none(id, path, ...codes);
    // Nothing else was asked for on the way, and what was asked for is where such pictures are.
    expect(asked.map((path) => path.split("/")[1])).toEqual(["image", "image", "vfs"]);
  });

  test("is not read further than a picture may be long: ten such answers leave the memory as it was", async () => {
    const set = await startKodi();
    let sent = 0;
    const proxy = Bun.serve({
      hostname: set.host,
      port: 0,
      async fetch(request) {
        if (new URL(request.url).pathname !== "/jsonrpc") {
          sent++;
          return new Response(endless());
        }
        const { method, headers } = request;
        return fetch(`http://${set.host}:${set.port}/jsonrpc`, { method, headers, body: await request.arrayBuffer() });
      },
    });
    cleanups.push(() => proxy.stop(true));
    const id = await added(set, proxy.port ?? 0);
    await open(id, "/films/film.mkv");
    const memory = () => {
      const status = readFileSync(`/proc/${daemon.process.pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    };
    await none(id, "/artwork", "device_error");
    const before = memory();
    for (let round = 0; round < 10; round++) await none(id, "/artwork", "device_error");
    // A thousand megabytes were on their way; what was read of them, 2 MiB each, may not have been swept up yet.
    expect([sent, memory() - before < 128]).toEqual([11, true]);
  }, 60_000);
});
