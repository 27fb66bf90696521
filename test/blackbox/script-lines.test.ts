/** Single lines of scripts, on sets of several platforms: an app is launched and waited for, the volume is set to a level. */
import { afterAll, expect, test } from "bun:test";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { setStage } from "../cli/stage.ts";
import { freeHost } from "../support/lane.ts";
import { inFrontOf } from "./spoiled-pictures.ts";

const stage = await setStage();
await stage.reset();
const folder = stage.folder({});
const run = (line: string) => stage.run(line, folder);
// A set that is slow to show an app, and one whose sound comes from a soundbar.
const slow = createRokuSimulator({ name: "Slow", host: freeHost(), ssdp: false, launchMs: 700 });
const soundOutput = "external_arc" as const;
const den = createWebosSimulator({
  name: "Soundbar",
  host: freeHost(),
  securePort: 0,
  plainPort: null,
  ssdp: false,
  prompt: "none",
  soundOutput,
});
for (const set of [slow, den]) await set.start();
// It accepts volume keys without any effect.
const stubborn = createRokuSimulator({ name: "Stubborn", host: freeHost(), kind: "tv", ssdp: false, volume: 57 });
await stubborn.start();
const isVolume = (path: string) => path.startsWith("/keypress/Volume");
const proxy = inFrontOf(stubborn.host, stubborn.port, isVolume, () => new Response(""));
for (const line of [
  "zapd add $KITCHEN --platform webos --name Kitchen && zapd pair Kitchen",
  "zapd add $CINEMA --platform kodi --name Cinema && echo popcorn | zapd pair Cinema --user kodi --password -",
  `zapd add ${slow.host}:${slow.port} --name Slow`,
  `zapd add ${den.host}:${den.ports.secure} --platform webos --name Soundbar && zapd pair Soundbar`,
  `zapd add ${stubborn.host}:${proxy.port} --name Stubborn`,
]) {
  const { status, stderr } = await run(line);
  if (status !== 0) throw new Error(`${line}: ${stderr}`);
}
afterAll(async () => {
  await stage.dispose();
  await Promise.all([proxy, slow, den, stubborn].map((one) => one.stop()));
});

test.each([
  ["Slow", "netflix"],
  ["Kitchen", "youtube"],
  ["Cinema", "youtube"],
])(
  "`zapd launch` and `zapd wait` in one line on %s: the app is in front",
  async (name, app) => {
    const line = `zapd launch ${app} -d '${name}' && zapd wait app:${app} -d '${name}' --timeout 20s && echo there`;
    const { status, stdout, stderr } = await run(line);
    expect([status, stdout, stderr]).toEqual([0, "there\n", expect.any(String)]);
    expect((await stage.daemon.api("GET", `/devices/${name}/state`)).body.data.state.app.id).toBe(app);
    // The same by two calls of the API.
    await stage.daemon.api("POST", `/devices/${name}/apps/stop`);
    const stopped = await stage.daemon.api("GET", `/devices/${name}/state?wait_for=app:none&timeout_ms=20000`);
    expect([stopped.status, stopped.body.data.matched]).toEqual([200, true]);
    expect((await stage.daemon.api("POST", `/devices/${name}/apps/launch`, { app })).status).toBe(200);
    const shown = await stage.daemon.api("GET", `/devices/${name}/state?wait_for=app:${app}&timeout_ms=20000`);
    expect([shown.status, shown.body.data.matched]).toEqual([200, true]);
    expect((await run(`zapd wait app:hulu -d ${name} --timeout 100ms`)).status).toBe(124);
  },
  60_000,
);

test.each(["Living Room", "Kitchen", "Cinema"])(
  "the volume of %s is 20 after `zapd volume 20`, wherever it was before",
  async (name) => {
    const at = `/devices/${encodeURIComponent(name)}`;
    for (const before of [14, 20, 25]) {
      await stage.daemon.api("POST", `${at}/volume`, { level: before });
      const { status, stderr } = await run(`zapd volume 20 -d '${name}'`);
      expect([status, stderr]).toEqual([0, ""]);
      expect((await stage.daemon.api("GET", `${at}/state`)).body.data.state.volume.level).toBe(20);
    }
  },
  60_000,
);

test("a volume that cannot be set is an error: on a stick, with a soundbar, and on a set whose level does not change", async () => {
  const stick = await run("zapd volume 20 -d Bedroom");
  expect([stick.status, stick.stderr]).toEqual([5, expect.stringContaining("step it: zapd volume +5")]);
  // Its settings forbid single steps, too.
  expect(stick.stderr).toContain(
    "On the Roku: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled. Then step",
  );
  const soundbar = await run("zapd volume 20 -d Soundbar");
  expect([soundbar.status !== 0, soundbar.stderr]).toEqual([true, expect.stringContaining("Soundbar")]);
  const { stderr } = await run("zapd volume 60 -d Stubborn");
  expect(stderr).toMatch(/^Stubborn accepted the command, but is /);
  const { body } = await stage.daemon.api("POST", "/devices/Stubborn/volume", { level: 60 });
  expect(body.data.confirmed).toBe(false);
  const group = await run("zapd label Stubborn add odd && zapd mute on -d label:odd");
  expect(group.stderr).toEndWith("zapd: Stubborn accepted the command, but does not show the effect\n");
}, 60_000);
