/** T33 T9 what comes in the place of a picture from a Roku or an LG set that has gone wrong; kodi-pictures.test.ts has a Kodi's. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { picture } from "../../src/simulators/bench/documents.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { figure } from "../support/figure.ts";
import { freeHost } from "../support/lane.ts";
import { password } from "../support/room.ts";
import { isQuick } from "../support/whole.ts";
import { refused, succeed } from "./checked.ts";
import { install, sound } from "./packages.ts";

let daemon: TestDaemon;
const cleanups: (() => unknown)[] = [];
beforeAll(async () => {
  daemon = await startTestDaemon({
    config: { discovery: { interfaces: ["none"] }, dev: { vendor_password: password } },
  });
});
afterAll(async () => {
  await daemon.dispose();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A picture, where it is asked for, and what the set gives in its place. */
interface Spoiled {
  readonly path: string;
  /** How often the set was asked for the picture. */
  asked(): number;
}
type Say = () => Response;

/** Passes everything on to a port of the set, but the pictures. */
function inFrontOf(host: string, port: number, isPicture: (path: string) => boolean, say: () => Response) {
  let asked = 0;
  const proxy = Bun.serve({
    hostname: host,
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (isPicture(pathname)) {
        asked++;
        return say();
      }
      const { method } = request;
      const headers = new Headers(request.headers);
      headers.set("host", `${host}:${port}`);
      const body = method === "POST" ? await request.arrayBuffer() : null;
      return fetch(`http://${host}:${port}${pathname}${search}`, { method, headers, body, redirect: "manual" });
    },
  });
  cleanups.push(() => proxy.stop(true));
  return { port: proxy.port ?? 0, asked: () => asked };
}

let made = 0;

async function roku(say: Say): Promise<{ id: string; icon: Spoiled; screenshot: Spoiled }> {
  const name = `Spoiled ${++made}`;
  const set = createRokuSimulator({
    name,
    host: freeHost(),
    ssdp: false,
    launchMs: 0,
    developer: { password },
  });
  await set.start();
  cleanups.push(() => set.stop());
  const icons = inFrontOf(set.host, set.port, (path) => path.startsWith("/query/icon"), say);
  const screens = inFrontOf(set.host, set.ports.installer ?? 0, (path) => path.startsWith("/pkgs/"), say);
  const ports = { installer: screens.port, console: set.ports.console };
  const { id } = await succeed(daemon, "addDevice", {
    body: { host: set.host, port: icons.port, name, ports },
  });
  await succeed(daemon, "refreshApps", { id });
  const { body } = await install(daemon, id, sound("spoiled"));
  expect(body.ok).toBe(true);
  return {
    id,
    icon: { path: `/devices/${id}/apps/netflix/icon`, asked: icons.asked },
    screenshot: { path: `/devices/${id}/screenshot`, asked: screens.asked },
  };
}

async function webos(say: Say): Promise<{ id: string; icon: Spoiled }> {
  const host = freeHost();
  const name = `Spoiled TV ${++made}`;
  const icons = inFrontOf(host, 1, () => true, say);
  const iconAt = () => `http://${host}:${icons.port}/resources/icon.png`;
  const set = createWebosSimulator({
    ...{
      name,
      host,
      securePort: 0,
      plainPort: null,
      ssdp: false,
      prompt: "none",
      firmware: "2021",
      iconAt,
    },
  });
  await set.start();
  cleanups.push(() => set.stop());
  const body = { host: set.host, port: set.ports.secure, platform: "webos", name };
  const { id } = await succeed(daemon, "addDevice", { body });
  await succeed(daemon, "pairDevice", { id });
  await succeed(daemon, "listApps", { id });
  return { id, icon: { path: `/devices/${id}/apps/netflix/icon`, asked: icons.asked } };
}

const page = "<!DOCTYPE html><title>Router</title><script>alert(1)</script>";
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const whole = picture("a picture", 64, 64);
const asPng = { headers: { "content-type": "image/png" } };

/** 100 MB that begin like a picture, as fast as they are taken. */
function endless(): ReadableStream<Uint8Array> {
  let left = 100;
  const chunk = new Uint8Array(1024 * 1024);
  return new ReadableStream({
    pull(controller) {
      if (left === 100) controller.enqueue(Uint8Array.from(whole.subarray(0, 8)));
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
}

const spoiled: Readonly<Record<string, { say: Say; code: string; says: RegExp }>> = {
  "a page": { say: () => new Response(page, asPng), code: "picture_not_found", says: /no PNG, JPEG or WebP/ },
  "a drawing": { say: () => new Response(svg, asPng), code: "picture_not_found", says: /no PNG, JPEG or WebP/ },
  "a page behind a signature": {
    say: () => new Response(Buffer.concat([whole.subarray(0, 8), Buffer.from(page)]), asPng),
    code: "picture_not_found",
    says: /only a part of one/,
  },
  "half of it": {
    say: () => new Response(Uint8Array.from(whole.subarray(0, whole.length / 2)), asPng),
    code: "picture_not_found",
    says: /only a part of one/,
  },
  nothing: { say: () => new Response("", asPng), code: "picture_not_found", says: /has no / },
  "100 MB": { say: () => new Response(endless(), asPng), code: "device_error", says: /more than \d+ KiB/ },
  "a redirect to a picture": {
    say: () => new Response(null, { status: 302, headers: { location: "/elsewhere.png" } }),
    code: "device_error",
    says: /redirect/,
  },
};

const memory = () => {
  const status = readFileSync(`/proc/${daemon.process.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
};

describe("T33 T9 a picture from a set that has gone wrong", () => {
  test.each(Object.entries(spoiled))(
    "%s is refused as an icon and as a screenshot, and it is said why",
    async (_what, { say, code, says }) => {
      const [player, tv] = [await roku(say), await webos(say)];
      for (const { path, asked } of [player.icon, player.screenshot, tv.icon]) {
        const { message } = refused(await daemon.api("GET", path), code);
        expect(message).toMatch(says);
        expect(asked()).toBe(1);
      }
    },
  );

  test("is read no further than it may be long: however many of 100 MB come, the memory is as after the first ones", async () => {
    const say = () => new Response(endless(), asPng);
    const [player, tv] = [await roku(say), await webos(say)];
    const ask = async (rounds: number) => {
      for (let round = 0; round < rounds; round++)
        for (const { path } of [player.icon, player.screenshot, tv.icon])
          refused(await daemon.api("GET", path), "device_error");
    };
    const start = memory();
    await ask(isQuick ? 5 : 20);
    const before = memory();
    // 12 GB are offered, and a quarter of it in `npm test`.
    await ask(isQuick ? 10 : 40);
    figure(`pictures of 100 MB: ${(before - start).toFixed(0)} MiB, then ${(memory() - before).toFixed(0)} MiB`);
    expect(memory() - before).toBeLessThan(192);
    expect(memory() - start).toBeLessThan(256);
  }, 60_000);

  test("that is sound is served as what it is, and sniffed by nobody", async () => {
    const say = () => new Response(Uint8Array.from(whole), { headers: { "content-type": "text/html" } });
    const [player, tv] = [await roku(say), await webos(say)];
    for (const { path } of [player.icon, player.screenshot, tv.icon]) {
      const { status, headers } = await fetch(`${daemon.url}${path}`);
      const [type, sniff] = [headers.get("content-type"), headers.get("x-content-type-options")];
      expect([path, status, type, sniff]).toEqual([path, 200, "image/png", "nosniff"]);
      for (const tag of [headers.get("etag"), `W/${headers.get("etag")}`])
        expect((await fetch(`${daemon.url}${path}`, { headers: { "if-none-match": `${tag}` } })).status).toBe(304);
    }
  });
});
