/**
 * The eleventh platform is cheap: one of eighty lines is found, paired by a code, driven, and composed with another into one
 * device, on real sockets and over HTTP.
 */
import { afterEach, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { kodi } from "../../src/platforms/kodi/adapter.ts";
import type { Composition } from "../../src/platforms/platform.ts";
import { createKodiSimulator, type KodiSimulator } from "../../src/simulators/kodi.ts";
import type { Answered } from "../support/daemon.ts";
import { type House, openHouseWith } from "../support/house-of.ts";
import { stubPlatform } from "./stub.ts";
import { type StubSet, startStub } from "./stub-set.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const composition: Composition = { pairs: [], leading: ["stub", "kodi"], preferred: { keys: ["kodi", "stub"] } };

interface Room {
  readonly house: House;
  readonly stub: StubSet;
  readonly box: KodiSimulator;
  /** What a call answers; its code, where it fails. */
  ask(method: string, path: string, body?: object): Promise<Answered["body"]>;
}

/** A box that speaks both, and a house that knows nothing yet. */
async function room(): Promise<Room> {
  const box = createKodiSimulator({ name: "Den", uuid: randomUUID(), mdns: false, startMs: 0 });
  await box.start();
  cleanups.push(() => box.stop());
  const stub = await startStub({ name: "Den", mac: box.mac });
  cleanups.push(() => stub.stop());
  const house = await openHouseWith({ platforms: [stubPlatform(stub.service), kodi], composition });
  cleanups.push(() => house.dispose());
  return {
    house,
    stub,
    box,
    async ask(method, path, body) {
      const { body: answered } = await house.api(method, path, body);
      return answered.data ?? answered.error.code;
    },
  };
}

/** Both known, and the stub paired. */
async function composedRoom(): Promise<Room> {
  const all = await room();
  const { stub, box, ask } = all;
  await ask("POST", "/devices", { host: stub.host, port: stub.port });
  await ask("POST", "/devices/Den/pair", { begin: true });
  await ask("POST", "/devices/Den/pair", { pin: "4711" });
  await ask("POST", "/devices", { host: box.host, port: box.port, ports: { websocket: box.ports.tcp } });
  return all;
}

const press = (key: string) => ["POST", "/devices/Den/remote/key", { key }] as const;

test("it is a table and three functions", () => {
  expect(
    readFileSync(`${import.meta.dir}/stub.ts`, "utf8")
      .trimEnd()
      .split("\n").length,
  ).toBeLessThanOrEqual(80);
});

test("it is found by a search, paired by the code that it shows, and driven", async () => {
  const { stub, ask } = await room();
  const { devices } = await ask("POST", "/devices/discover");
  expect(devices).toMatchObject([{ name: "Den", platform: "stub", access: "unpaired", capabilities: ["pair"] }]);
  expect(await ask(...press("volume-up"))).toBe("pairing_required");
  expect(await ask("POST", "/devices/Den/pair", { begin: true })).toMatchObject({
    step: "code",
    form: "digits",
    length: 4,
  });
  expect(await ask("POST", "/devices/Den/pair", { pin: "1234" })).toBe("pairing_failed");
  const paired = await ask("POST", "/devices/Den/pair", { pin: stub.code ?? "" });
  expect(paired.device).toMatchObject({ access: "full", capabilities: ["state", "keys", "hold", "pair"] });
  expect((await ask(...press("volume-up"))).action).toBe("key");
  expect(stub.pressed).toEqual(["VOL+"]);
  expect((await ask("GET", "/devices/Den/state")).state).toMatchObject({ power: "on", volume: { level: 21 } });
  expect(await ask(...press("search"))).toBe("unsupported_key");
});

test("beside a second platform of the same hardware it is one device, and each does what it does best", async () => {
  const { stub, box, ask } = await composedRoom();
  const devices = await ask("GET", "/devices");
  expect(devices).toMatchObject([{ name: "Den", platform: "stub", platforms: ["stub", "kodi"], status: "online" }]);
  expect(devices[0].port).toBe(stub.port);
  expect(devices[0].capabilities).toEqual(expect.arrayContaining(["state", "apps", "launch", "keys", "text", "pair"]));
  // Both have it, and one is preferred; one alone has the other; a sequence goes to both.
  await ask(...press("home"));
  expect(stub.pressed).toEqual([]);
  const before = box.calls.length;
  expect((await ask("POST", "/devices/Den/remote/sequence", { keys: ["home", "mute", "up"], delay_ms: 0 })).sent).toBe(
    3,
  );
  expect(box.calls.length).toBeGreaterThan(before + 1);
  box.play({ title: "Heist", durationMs: 60_000 });
  const { state } = await ask("GET", "/devices/Den/state");
  expect(state).toMatchObject({ playback: { title: "Heist" } });
  expect((await ask("GET", "/devices/Den/apps")).platform).toBe("kodi");
});

test("its user splits it and joins it again, under names and ids that stay", async () => {
  const { stub, box, ask } = await composedRoom();
  const [{ id }] = await ask("GET", "/devices");
  expect(await ask("POST", "/devices/Den/split", { platform: "kodi" })).toMatchObject({ id, platforms: ["stub"] });
  for (const { host, port } of [stub, box]) await ask("POST", "/devices", { host, port });
  const split = await ask("GET", "/devices");
  expect(split.map((one: { name: string; platforms: string[] }) => [one.name, one.platforms])).toEqual([
    ["Den", ["stub"]],
    ["Den 2", ["kodi"]],
  ]);
  expect(await ask("POST", "/devices/Den/split", { platform: "stub" })).toBe("invalid_payload");
  expect(await ask("POST", "/devices/Den/join", { with: "Den" })).toBe("invalid_payload");
  expect(await ask("POST", "/devices/Den/join", { with: "Den 2" })).toMatchObject({ id, platforms: ["stub", "kodi"] });
  expect(await ask("GET", `/devices/${split[1].id}`)).toMatchObject({ id, name: "Den" });
  expect(await ask("DELETE", `/devices/${split[1].id}`)).toMatchObject({ id });
  expect(await ask("GET", "/devices")).toEqual([]);
});
