/** Android TVs: one box of two protocols, pairing by a code, and sets that sleep. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAndroidTvSimulator } from "../../src/simulators/androidtv.ts";
import { createCastSimulator } from "../../src/simulators/cast.ts";
import { createGoogleTvSimulator } from "../../src/simulators/google-tv.ts";
import { until } from "../support/http-device.ts";
import { mistyped } from "../support/mistyped.ts";
import { type Data, expectKept, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startSimulator } = await daemonForFile({
  config: { discovery: { timeout_ms: 1_000 }, devices: { request_timeout_ms: 4_000 } },
});
const attic = await startSimulator(createGoogleTvSimulator({ name: "Attic", host: "127.0.97.1" }));
const den = await startSimulator(
  createAndroidTvSimulator({ name: "Den", host: "127.0.97.2", model: "BRAVIA 4K", standby: "off" }),
);
await startSimulator(createCastSimulator({ name: "Study", host: "127.0.97.3", model: "Chromecast" }));
let found: Data<"listDevices"> = [];
await until("all are found", async () => {
  await succeed(daemon, "discoverDevices");
  found = await succeed(daemon, "listDevices");
  return found.flatMap(({ platforms }) => platforms).length === 4;
});
const ids = new Map(found.map(({ name, id }) => [name, id]));
const id = (name: string) => ids.get(name) ?? "";

const device = (name: string) => succeed(daemon, "getDevice", { id: id(name) });
const state = async (name: string) => (await succeed(daemon, "getState", { id: id(name) })).state;
const press = (name: string, key: string) => succeed(daemon, "pressKey", { id: id(name), body: { key } });
const begin = (name: string) => succeed(daemon, "pairDevice", { id: id(name), body: { begin: true } });
const enter = (name: string, pin: string) => ({ id: id(name), body: { pin } });
const kept = () => JSON.parse(readFileSync(join(daemon.folder, "state/credentials.json"), "utf8")).credentials;

test("a Google TV is one device of two protocols; a set without Cast and a Chromecast have one each", async () => {
  const found = await succeed(daemon, "listDevices");
  expect(found.map(({ name, platforms }) => `${name}: ${platforms.join(" ")}`).toSorted()).toEqual([
    "Attic: androidtv cast",
    "Den: androidtv",
    "Study: cast",
  ]);
  expect(await device("Attic")).toMatchObject({ access: "unpaired", host: "127.0.97.1" });
  // Cast works without pairing.
  await succeed(daemon, "setVolume", { id: id("Attic"), body: { level: 30 } });
  expect(attic.cast.state.level).toBe(0.3);
  expect(
    (await refuse(daemon, "pressKey", { id: id("Attic"), body: { key: "up" } }, "pairing_required")).hint,
  ).toContain("zapd pair");
});

test("a code: mistyped, dismissed at the set, and right; the key is in the file of credentials alone", async () => {
  const { remote } = attic;
  expect(await begin("Attic")).toMatchObject({ step: "code", form: "hex", length: 6 });
  const { code } = remote.state;
  expect(await refuse(daemon, "pairDevice", enter("Attic", mistyped(code)), "pairing_failed")).toMatchObject({
    reason: "wrong",
  });
  expect(await refuse(daemon, "pairDevice", enter("Attic", "no code"), "pairing_failed")).toMatchObject({
    reason: "wrong",
  });
  await refuse(daemon, "pairDevice", { id: id("Attic"), body: { begin: true } }, "device_busy");
  expect([remote.state.code, remote.state.wrongSecrets]).toEqual([code, 0]);
  remote.dismiss();
  const typed = () => refuse(daemon, "pairDevice", enter("Attic", mistyped(code)), "pairing_failed");
  await until("that is told", async () => (await typed()).reason === "denied");
  await begin("Attic");
  await succeed(daemon, "pairDevice", enter("Attic", ` ${remote.state.code?.toLowerCase()} `));
  expect((await device("Attic")).access).toBe("full");
  const [secret] = Object.values<Record<string, string>>(kept());
  const { key = "", cert = "", certificate } = secret ?? {};
  expect([Object.keys(kept()).length, certificate]).toEqual([1, remote.fingerprint]);
  await expectKept(daemon, [id("Attic")], [key, cert, key.slice(100, 160)]);
  expect(key.length).toBeGreaterThan(1_000);
});

test("keys, text, power and apps go over the remote, volume and playback over Cast; each goes on without the other", async () => {
  const { remote, cast } = attic;
  await press("Attic", "up");
  await until("it has come", () => remote.keys.length === 1);
  expect(await succeed(daemon, "launchApp", { id: id("Attic"), body: { app: "youtube" } })).toMatchObject({
    confirmed: true,
    app: { id: "youtube", platform_id: "com.google.android.youtube.tv" },
  });
  await succeed(daemon, "setVolume", { id: id("Attic"), body: { level: 42 } });
  expect(cast.commands.map(({ type }) => type)).toEqual(["SET_VOLUME", "SET_VOLUME"]);
  const file = { url: "http://192.0.2.1/a.mp4", mime: "video/mp4", title: "A film" };
  await succeed(daemon, "playMedia", { id: id("Attic"), body: file });
  await until("it plays", async () => (await state("Attic")).playback?.status === "playing");
  expect(await state("Attic")).toMatchObject({
    power: "on",
    app: { platform_id: "CC1AD845" },
    playback: { status: "playing", title: "A film" },
    volume: { level: 42, muted: false },
  });
  await succeed(daemon, "controlPlayback", { id: id("Attic"), body: { do: "pause" } });
  remote.focus(true);
  await succeed(daemon, "pressKey", { id: id("Attic"), body: { key: "literal:héllo" } });
  await until("it is typed", () => remote.state.text === "héllo");
  await cast.stop();
  await press("Attic", "down");
  await until("it has come", () => remote.keys.some(({ code }) => code === 20));
  await succeed(daemon, "launchApp", { id: id("Attic"), body: { app: "netflix" } });
  expect((await state("Attic")).app).toMatchObject({ id: "netflix" });
  await cast.start();
  await remote.stop();
  await succeed(daemon, "setVolume", { id: id("Attic"), body: { level: 10 } });
  expect(cast.state.level).toBe(0.1);
  await remote.start();
  await press("Attic", "left");
  await until("it has come", () => remote.keys.some(({ code }) => code === 21));
});

test("its power is pushed; a command wakes it over the remote, not over Cast", async () => {
  const { remote, cast } = attic;
  await press("Attic", "power-off");
  expect(await state("Attic")).toMatchObject({ power: "standby", app: null });
  await press("Attic", "home");
  expect(remote.state.power).toBe("on");
  await until("it has come", () => remote.keys.at(-1)?.code === 3);
  expect(cast.commands.map(({ type }) => type)).not.toContain("STOP");
  remote.turn(false);
  await until("that is told", async () => (await state("Attic")).power === "standby");
  // A scan makes no new connection to it; its state is read over the open one.
  const { accepted: taken } = remote.state;
  await succeed(daemon, "discoverDevices");
  expect([remote.state.accepted, (await state("Attic")).power]).toEqual([taken, "standby"]);
  remote.turn(true);
  await until("that is told, too", async () => (await state("Attic")).power === "on");
});

test("a launch that is not shown is unconfirmed, and only a command connects to a set that sleeps", async () => {
  await begin("Den");
  await succeed(daemon, "pairDevice", enter("Den", den.state.code ?? ""));
  await press("Den", "input-hdmi2");
  await until("it has come", () => den.keys.length === 1);
  const unseen = { id: id("Den"), body: { app: "org.example.app" } };
  expect((await succeed(daemon, "launchApp", unseen)).confirmed).toBe(false);
  den.turn(false);
  await until("that is told", async () => (await device("Den")).power === "off");
  // Its own remote turns it on, which zapd does not see.
  den.turn(true);
  await until("it is on", () => den.state.power === "on");
  const { accepted: taken } = den.state;
  const { devices } = await succeed(daemon, "discoverDevices");
  expect(devices.map(({ name }) => name)).toContain("Den");
  expect((await state("Den")).power).toBe("off");
  expect(den.state.accepted).toBe(taken);
  await press("Den", "up");
  await until("it has come", () => den.keys.at(-1)?.code === 19);
  expect((await state("Den")).power).toBe("on");
});

test("a set that was reset gets nothing, and is paired again with new credentials", async () => {
  const before = den.fingerprint;
  const { cert } = kept()[id("Den")];
  await den.stop();
  await until("that is seen", async () => (await device("Den")).status === "offline");
  const again = { name: "Den", host: "127.0.97.2", model: "BRAVIA 4K" };
  const reset = await startSimulator(createAndroidTvSimulator(again));
  expect(reset.fingerprint).not.toBe(before);
  const { hint } = await refuse(daemon, "pressKey", { id: id("Den"), body: { key: "up" } }, "device_unproven");
  expect(hint).toContain("zapd pair Den");
  await begin("Den");
  await succeed(daemon, "pairDevice", enter("Den", reset.state.code ?? ""));
  expect([kept()[id("Den")].cert === cert, kept()[id("Den")].certificate]).toEqual([false, reset.fingerprint]);
  await press("Den", "up");
  await until("it has come", () => reset.keys.length === 1);
});

test("a set that offers no keys: what Cast can do goes on, and every other command says what gives the keys back", async () => {
  const usual = 639;
  const loft = await startSimulator(
    createGoogleTvSimulator({ name: "Loft", host: "127.0.97.4", remote: { features: usual & ~2 } }),
  );
  await until("it is found as one", async () => {
    await succeed(daemon, "discoverDevices");
    const found = (await succeed(daemon, "listDevices")).find(({ name }) => name === "Loft");
    ids.set("Loft", found?.id ?? "");
    return found?.platforms.length === 2;
  });
  await begin("Loft");
  await succeed(daemon, "pairDevice", enter("Loft", loft.remote.state.code ?? ""));
  await state("Loft");
  const hint = expect.stringContaining("clear its data");
  const refusal = (key: string) =>
    refuse(daemon, "pressKey", { id: id("Loft"), body: { key } }, "unsupported_operation");
  for (const key of ["up", "power-off"]) expect((await refusal(key)).hint).toEqual(hint);
  await press("Loft", "volume-up");
  await succeed(daemon, "setVolume", { id: id("Loft"), body: { level: 20 } });
  expect(loft.cast.state.level).toBe(0.2);
  const joined = await device("Loft");
  expect(joined.withheld).toEqual([{ capability: "power_off", hint }]);
  expect([joined.keys.includes("volume-up"), joined.keys.includes("up")]).toEqual([true, false]);
  await succeed(daemon, "splitDevice", { id: id("Loft"), body: { platform: "cast" } });
  // The half that was found first has the id.
  const remote = (await succeed(daemon, "listDevices")).find(
    (one) => one.platform === "androidtv" && one.host === loft.host,
  );
  ids.set("Loft", remote?.id ?? "");
  expect((await refusal("volume-up")).hint).toEqual(hint);
  const alone = await device("Loft");
  expect(alone.withheld).toContainEqual({ capability: "keys", hint });
  expect([alone.keys, alone.capabilities.includes("launch")]).toEqual([["power-on"], true]);
  expect(loft.remote.keys).toEqual([]);
});
