/** T33 T9 what a broken Roku or LG set gives in place of a picture; kodi-pictures.test.ts has a Kodi's. */
import { describe, expect, test } from "bun:test";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { password } from "../support/daemon-with-roku.ts";
import { figure } from "../support/figure.ts";
import { freeHost } from "../support/lane.ts";
import { residentMiB } from "../support/resident.ts";
import { isQuick } from "../support/whole.ts";
import { refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, packageWith } from "./packages.ts";
import { endless, inFrontOf, type Say, spoiled, whole } from "./spoiled-pictures.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile({
  config: { discovery: { interfaces: ["none"] }, dev: { vendor_password: password } },
});
const memory = () => residentMiB(daemon.process);

/** The path of a picture in the API, and the paths that the set was asked for. */
interface Spoiled {
  readonly path: string;
  readonly asked: string[];
}
function spoil(...[host, port, isPicture, say]: Parameters<typeof inFrontOf>) {
  const proxy = inFrontOf(host, port, isPicture, say);
  atEnd(proxy.stop);
  return proxy;
}

let made = 0;

async function roku(say: Say): Promise<{ id: string; icon: Spoiled; screenshot: Spoiled }> {
  const name = `Spoiled ${++made}`;
  const set = await startSimulator(
    createRokuSimulator({ name, host: freeHost(), ssdp: false, launchMs: 0, developer: { password } }),
  );
  const icons = spoil(set.host, set.port, (path) => path.startsWith("/query/icon"), say);
  const screens = spoil(set.host, set.ports.installer ?? 0, (path) => path.startsWith("/pkgs/"), say);
  const ports = { installer: screens.port, console: set.ports.console };
  const { id } = await succeed(daemon, "addDevice", {
    body: { host: set.host, port: icons.port, name, ports },
  });
  await succeed(daemon, "refreshApps", { id });
  const { body } = await install(daemon, id, packageWith("spoiled"));
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
  const icons = spoil(host, 1, () => true, say);
  const iconAt = () => `http://${host}:${icons.port}/resources/icon.png`;
  const plain = { securePort: 0, plainPort: null, ssdp: false, prompt: "none", firmware: "2021" } as const;
  const set = await startSimulator(createWebosSimulator({ name, host, ...plain, iconAt }));
  const body = { host: set.host, port: set.ports.secure, platform: "webos", name };
  const { id } = await succeed(daemon, "addDevice", { body });
  await succeed(daemon, "pairDevice", { id });
  await succeed(daemon, "listApps", { id });
  return { id, icon: { path: `/devices/${id}/apps/netflix/icon`, asked: icons.asked } };
}

describe("T33 T9 a picture from a set that has gone wrong", () => {
  test("data that is not a picture is refused as an icon and as a screenshot, and the error says why", async () => {
    let say: Say = endless;
    const [player, tv] = [await roku(() => say()), await webos(() => say())];
    for (const [what, spoil] of Object.entries(spoiled)) {
      say = spoil.say;
      for (const { path, asked } of [player.icon, player.screenshot, tv.icon]) {
        asked.length = 0;
        const { message } = refused(await daemon.api("GET", path), spoil.code);
        expect(message).toMatch(spoil.says);
        expect([what, asked.length]).toEqual([what, 1]);
      }
    }
  }, 60_000);

  test("an oversized picture is read only in part: however many of 100 MB are offered, memory stays as after the first ones", async () => {
    const [player, tv] = [await roku(endless), await webos(endless)];
    const ask = async (rounds: number) => {
      for (let round = 0; round < rounds; round++)
        for (const { path } of [player.icon, player.screenshot, tv.icon])
          refused(await daemon.api("GET", path), "device_error");
    };
    const start = memory();
    await ask(isQuick ? 4 : 20);
    const before = memory();
    // 12 GB are offered, and a fifth of it in the usual run.
    await ask(isQuick ? 8 : 40);
    figure(`pictures of 100 MB: ${(before - start).toFixed(0)} MiB, then ${(memory() - before).toFixed(0)} MiB`);
    expect(memory() - before).toBeLessThan(192);
    expect(memory() - start).toBeLessThan(256);
  }, 60_000);

  test("a good one is served by its own type, and is not sniffed", async () => {
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
