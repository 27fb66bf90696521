import { afterEach, expect, test } from "bun:test";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { until } from "../../support/http-device.ts";
import { platformHostOf, targetOf } from "../../support/platform-host.ts";
import { startKodi } from "./harness.ts";

const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("what happens on the machine itself is told as it happens, each part for itself", async () => {
  const player = await startKodi();
  cleanups.push(() => player.stop());
  const platformHost = platformHostOf();
  const lead = { host: player.host, port: player.port };
  const said = { type: "_xbmc-jsonrpc-h._tcp", uuid: player.uuid };
  const sighting = await kodi.identify({ ...lead, said }, platformHost, never);
  const { target, told } = targetOf<KodiMemory, KodiSecret>(sighting, lead, {
    ports: { websocket: player.ports.tcp ?? 0 },
  });
  const connection = kodi.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  let level = 0;
  // It is followed from the first reading on, as soon as its socket is open.
  await until("it is told", async () => {
    await connection.state?.read(never);
    player.setVolume(++level, true);
    await Bun.sleep(5);
    return told.states.some(({ volume }) => volume?.level === level);
  });
  expect(told.states.at(-1)).toEqual({ power: "on", volume: { level, muted: true } });
  await player.sleep();
  await until("it is told", () => told.ended.includes("going_off"));
});
