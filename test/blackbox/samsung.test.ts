/** A Samsung set behind a daemon: pairing, driving and power as one story, its token, and a key that is held. */
import { expect, test } from "bun:test";
import {
  createSamsungSimulator,
  type SamsungSimulator,
  type SamsungSimulatorOptions,
} from "../../src/simulators/samsung.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { expectKept, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, atEnd, startSimulator } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });

async function plugIn(
  name: string,
  { traits, ...options }: Partial<SamsungSimulatorOptions> = {},
  to = daemon,
): Promise<{ set: SamsungSimulator; id: string }> {
  const set = await startSimulator(
    createSamsungSimulator({
      name,
      host: freeHost(),
      securePort: 0,
      plainPort: 0,
      rendererPort: 0,
      ssdp: false,
      promptMs: 50,
      bootMs: 200,
      // The daemon's clock runs faster than the set's.
      traits: { keyMs: 0, ...traits },
      ...options,
    }),
  );
  const { secure, plain, renderer, wake } = set.ports;
  const ports = { wake, ...(renderer !== null && { renderer }) };
  const body = { host: set.host, port: secure ?? plain, platform: "samsung", name, ports };
  return { set, id: (await succeed(to, "addDevice", { body })).id };
}

const state = async (id: string) => (await succeed(daemon, "getState", { id })).state;
const press = (id: string, body: object) => succeed(daemon, "pressKey", { id, body });
const taken = ({ received }: SamsungSimulator) =>
  received.keys
    .filter(({ outcome }) => outcome === "taken")
    .map(({ code, how }) => (how === "Click" ? code : `${code} ${how}`));

test("one story: unpaired, denied, allowed; driven, turned off, and woken by the next command", async () => {
  const { set, id } = await plugIn("Story", { standby: "off" });
  const before = await succeed(daemon, "getDevice", { id });
  expect([before.access, before.power]).toEqual(["unpaired", "on"]);
  expect(before.withheld.map(({ capability }) => capability)).toEqual([
    "keys",
    "hold",
    "text",
    "power_off",
    "playback",
  ]);
  expect((await state(id)).volume).toEqual({ level: 12, muted: false });
  const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "pairing_required");
  expect(hint).toBe("Run zapd pair Story, and accept the request that the TV shows");
  set.setPrompting("wait");
  await succeed(daemon, "pairDevice", { id, body: { begin: true } });
  await refuse(daemon, "listInputs", { id }, "device_busy");
  await succeed(daemon, "cancelPairing", { id });
  set.setPrompting("deny");
  const denied = await refuse(daemon, "pairDevice", { id }, "pairing_failed");
  expect([denied.reason, denied.hint?.includes("Device List")]).toEqual(["denied", true]);
  set.setPrompting("accept");
  expect((await succeed(daemon, "pairDevice", { id })).device?.access).toBe("full");
  await press(id, { key: "home" });
  expect((await succeed(daemon, "launchApp", { id, body: { app: "youtube" } })).confirmed).toBe(true);
  expect((await state(id)).app?.id).toBe("youtube");
  const volume = await succeed(daemon, "setVolume", { id, body: { level: 30, muted: true } });
  expect([volume.volume, volume.confirmed]).toEqual([{ level: 30, muted: true }, true]);
  await press(id, { key: "right", hold_ms: 300 });
  expect(taken(set)).toEqual(["KEY_HOME", "KEY_RIGHT Press", "KEY_RIGHT Release"]);
  await press(id, { key: "power-off" });
  // It may still answer for a moment.
  await until("it is silent", async () => (await state(id)).power === "off");
  expect(set.state.power).toBe("standby");
  // Neither has anything to do, nor turns it on.
  await press(id, { key: "power-off" });
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  expect(set.state.power).toBe("standby");
  expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).confirmed).toBe(true);
  expect([(await state(id)).power, set.state.front]).toEqual(["on", "3201907018807"]);
  expect(set.received.prompts).toEqual(["cancelled", "denied", "allowed"]);
  expect(set.state.channels.most).toBe(1);
}, 60_000);

test("its token is in the file of credentials, and nowhere else", async () => {
  const { set, id } = await plugIn("Keeper");
  await succeed(daemon, "pairDevice", { id });
  await press(id, { key: "home" });
  // A later connection gets another token, which replaces it.
  set.hangUp();
  await press(id, { key: "home" });
  const [token = ""] = set.state.tokens;
  expect(token).toMatch(/^\d{8}$/);
  await expectKept(daemon, [id], [token]);
});

test("a TV of 2016 that answers only over TLS, and gives no tokens, is driven once its request is accepted", async () => {
  const { set, id } = await plugIn("Early", {
    year: 2016,
    traits: { tls: true },
    securePort: 8_002,
    plainPort: null,
    rendererPort: null,
  });
  expect((await succeed(daemon, "getDevice", { id })).access).toBe("full");
  expect((await state(id)).power).toBe("on");
  await press(id, { key: "home" });
  expect([set.received.prompts, taken(set)]).toEqual([["allowed"], ["KEY_HOME"]]);
});

test("a key that is down is released when the daemon is stopping", async () => {
  const own = await startTestDaemon({ config: { devices: { request_timeout_ms: 3_000 } } });
  atEnd(() => own.dispose());
  const { set, id } = await plugIn("Held", {}, own);
  await succeed(own, "pairDevice", { id });
  await succeed(own, "pressKey", { id, body: { key: "right", phase: "down" } });
  expect(taken(set)).toEqual(["KEY_RIGHT Press"]);
  expect(await own.stop()).toBe(0);
  await until("it is up", () => taken(set).includes("KEY_RIGHT Release"));
});

test("once paired, it lists its own apps in place of those that were looked for before", async () => {
  const { id } = await plugIn("Lists", { year: 2019 });
  const names = async () => (await succeed(daemon, "listApps", { id })).apps.map(({ name }) => name);
  expect(await names()).not.toContain("Internet");
  await succeed(daemon, "pairDevice", { id });
  await until("it lists them", async () => (await names()).includes("Internet"));
});
