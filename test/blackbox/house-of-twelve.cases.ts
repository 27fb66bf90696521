/** A house of twelve, several of which speak two protocols: one scan finds each once, by the name that people gave it. */
import { afterAll, expect, test } from "bun:test";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createDlnaSimulator } from "../../src/simulators/dlna.ts";
import { createGoogleTvSimulator } from "../../src/simulators/google-tv.ts";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createSamsungSimulator } from "../../src/simulators/samsung.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { succeed } from "./checked.ts";

const sets: { start(): Promise<unknown>; stop(): Promise<unknown> }[] = [];
let daemon: TestDaemon;
afterAll(async () => {
  await daemon?.dispose();
  await Promise.all(sets.map((set) => set.stop()));
});

test("three Rokus, two Kodis on one machine, two LG, a Samsung, what is cast to, a group, and renderers in and beside them", async () => {
  const [machine, google] = [freeHost(), freeHost()];
  for (const name of ["Hall", "Loft", "Nook"])
    sets.push(createRokuSimulator({ name, serial: `X12${name}0001`, kind: "tv", host: freeHost(), port: 8_060 }));
  for (const [at, name] of ["Cinema", "Music"].entries()) {
    const ports = { port: 8_080 + at, tcpPort: 9_090 + at };
    sets.push(createKodiSimulator({ name, host: machine, ...ports, mdns: true }));
    sets.push(createDlnaSimulator({ name, host: machine, stack: "kodi" }));
  }
  for (const name of ["Kitchen", "Bedroom"])
    sets.push(createWebosSimulator({ name, host: freeHost(), securePort: 3_001, plainPort: 3_000 }));
  sets.push(
    createSamsungSimulator({
      name: "Office",
      host: freeHost(),
      securePort: 8_002,
      plainPort: 8_001,
      rendererPort: 9_197,
    }),
  );
  sets.push(createGoogleTvSimulator({ name: "Attic", host: google }));
  sets.push(createDlnaSimulator({ name: "Google TV renderer", host: google }));
  sets.push(createCastSimulator({ name: "Study", host: freeHost(), port: 8_009, model: "Chromecast" }));
  sets.push(createCastSimulator({ name: "Downstairs", host: google, port: 32_187, model: "Google Cast Group" }));
  sets.push(createDlnaSimulator({ name: "Terrace", host: freeHost() }));
  await Promise.all(sets.map((set) => set.start()));
  daemon = await startTestDaemon({ config: { discovery: { timeout_ms: 3_000 } } });
  const names = [
    "Attic",
    "Bedroom",
    "Cinema",
    "Downstairs",
    "Hall",
    "Kitchen",
    "Loft",
    "Music",
    "Nook",
    "Office",
    "Study",
    "Terrace",
  ];
  const ids = new Set<string>();
  for (let round = 0; round < 4; round++) {
    await succeed(daemon, "discoverDevices");
    const devices = await succeed(daemon, "listDevices");
    expect(devices.map(({ name }) => name).toSorted()).toEqual(names);
    for (const { id } of devices) ids.add(id);
    const parts = Object.fromEntries(devices.map(({ name, platforms }) => [name, platforms.join("+")]));
    expect(parts).toMatchObject({
      Cinema: "kodi+dlna",
      Music: "kodi+dlna",
      Attic: "androidtv+cast+dlna",
      Downstairs: "cast",
      Terrace: "dlna",
    });
  }
  expect(ids.size).toBe(12);
}, 90_000);
