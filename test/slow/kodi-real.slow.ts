/** A real Kodi through the daemon's public API (protocols/players.md 13): found by mDNS, and compared with what Kodi itself reports. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { refuse, succeed } from "../blackbox/checked.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { type RealKodi, startRealKodi, whyNoKodi } from "../support/real-kodi.ts";
import { startDaemonBeside, until, windowOf } from "./kodi/client.ts";

const missing = whyNoKodi();
if (missing !== null) process.stderr.write(`skipped: a real Kodi through the daemon: ${missing}\n`);

let real: RealKodi;
let daemon: TestDaemon;
const id = "Twin Kodi";
const pressed = (key: string) => succeed(daemon, "pressKey", { id, body: { key } });
const state = async () => (await succeed(daemon, "getState", { id })).state;
/** The speed and position that Kodi itself reports. */
const own = async () => {
  const [active] = (await real.call("Player.GetActivePlayers")) as { playerid: number }[];
  if (!active) return null;
  const properties = ["speed", "time"];
  const said = await real.call("Player.GetProperties", { playerid: active.playerid, properties });
  const { speed, time } = said as { speed: number; time: { minutes: number; seconds: number; milliseconds: number } };
  return { speed, ms: (time.minutes * 60 + time.seconds) * 1_000 + time.milliseconds };
};
/** Kodi carries out some of what it has accepted a moment later. */
const ownSpeed = (speed: number) => until(`its speed is ${speed}`, async () => (await own())?.speed === speed);
const ownVolume = async () =>
  ((await real.call("Application.GetProperties", { properties: ["volume"] })) as { volume: number }).volume;
const window = () => windowOf(real);
/** What the script add-on was called with, and what it was given by the dialog that it opened: nothing before its end. */
const calledWith = "Window(10000).Property(zapdtest.script)";
const given = "Window(10000).Property(zapdtest.said)";
const labelled = async (name: string) =>
  ((await real.call("XBMC.GetInfoLabels", { labels: [name] })) as Record<string, string>)[name];

beforeAll(async () => {
  if (missing !== null) return;
  real = await startRealKodi({ name: id });
  daemon = await startDaemonBeside(real);
}, 240_000);

afterAll(async () => {
  await daemon?.dispose();
  await real?.stop();
}, 30_000);

describe.skipIf(missing !== null)(`a real Kodi${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test("is found once by mDNS, though two services announce it, under its own name", async () => {
    const { devices } = await succeed(daemon, "discoverDevices");
    expect(devices).toMatchObject([
      { name: id, platform: "kodi", kind: "player", host: real.host, port: 8_080, access: "full" },
    ]);
    expect(devices[0]?.software_version).toMatch(/^\d+\.\d+$/);
    expect((await succeed(daemon, "discoverDevices")).devices.length).toBe(1);
    const added = await succeed(daemon, "addDevice", { body: { host: real.host } });
    expect(added.id).toBe(devices[0]?.id ?? "");
  }, 120_000);

  test("plays, pauses, seeks and stops; positions advance, and all is as Kodi itself says", async () => {
    const launched = await succeed(daemon, "launchApp", { id, body: { app: real.clips.video } });
    expect(launched.confirmed).toBe(true);
    const first = (await state()).playback;
    expect(first).toMatchObject({ status: "playing", live: false });
    expect(Math.abs((first?.duration_ms ?? 0) - 120_000)).toBeLessThan(2_000);
    await until(
      "it advances",
      async () => ((await state()).playback?.position_ms ?? 0) > (first?.position_ms ?? 0) + 800,
    );
    // It plays on between the questions.
    const [before, ours, after] = [(await own())?.ms, (await state()).playback?.position_ms, (await own())?.ms];
    expect(ours).toBeWithin((before ?? 0) - 1_500, (after ?? 0) + 1_500);
    for (const key of ["pause", "pause"]) {
      await pressed(key);
      await ownSpeed(0);
      expect((await state()).playback?.status).toBe("paused");
    }
    const held = (await state()).playback?.position_ms ?? 0;
    await pressed("skip");
    await until("it is ten seconds on", async () => ((await own())?.ms ?? 0) > held + 7_000);
    await until("the daemon has that place", async () => {
      const [ours, theirs] = [(await state()).playback?.position_ms ?? 0, (await own())?.ms ?? 0];
      return Math.abs(ours - theirs) < 1_500;
    });
    await pressed("replay");
    for (const key of ["play", "play"]) {
      await pressed(key);
      await ownSpeed(1);
      expect((await state()).playback?.status).toBe("playing");
    }
    await pressed("play-pause");
    await ownSpeed(0);
    await pressed("fast-forward").catch(() => {});
    await succeed(daemon, "stopApp", { id });
    expect([(await state()).playback, await own()]).toEqual([null, null]);
    expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  }, 120_000);

  test("volume and mute are as Kodi says, pushed", async () => {
    await real.call("Application.SetVolume", { volume: 40 });
    await until("it is heard", async () => (await state()).volume?.level === 40);
    await pressed("volume-up");
    await until("it is louder", async () => (await ownVolume()) > 40);
    const louder = await ownVolume();
    await until("the daemon has it", async () => (await state()).volume?.level === louder);
    for (const muted of [true, false]) {
      await pressed("mute");
      await until(`muted is ${muted}`, async () => (await state()).volume?.muted === muted);
    }
  }, 120_000);

  test("takes a volume, plays a file, seeks in it, and shows a message", async () => {
    for (const level of [20, 0, 100, 37]) {
      const { volume, confirmed } = await succeed(daemon, "setVolume", { id, body: { level } });
      expect([volume?.level, confirmed, await ownVolume()]).toEqual([level, true, level]);
    }
    expect((await succeed(daemon, "setVolume", { id, body: { step: 5 } })).volume?.level).toBe(42);
    expect((await succeed(daemon, "setVolume", { id, body: { muted: true } })).confirmed).toBe(true);
    expect((await succeed(daemon, "setVolume", { id, body: { muted: false } })).volume?.muted).toBe(false);
    await succeed(daemon, "launchApp", { id, body: { app: real.clips.video } });
    const sought = await succeed(daemon, "controlPlayback", { id, body: { do: "seek", position_ms: 60_000 } });
    expect(sought.confirmed).toBe(true);
    expect(Math.abs(((await own())?.ms ?? 0) - 60_000)).toBeLessThan(10_000);
    expect((await succeed(daemon, "controlPlayback", { id, body: { do: "pause" } })).confirmed).toBe(true);
    expect((await own())?.speed).toBe(0);
    await succeed(daemon, "notify", { id, body: { message: "Dinner is ready" } });
    const visible = "Window.IsVisible(notification)";
    await until("the message is on its screen", async () => {
      const said = await real.call("XBMC.GetInfoBooleans", { booleans: [visible] });
      return (said as Record<string, boolean>)[visible] === true;
    });
    expect((await succeed(daemon, "controlPlayback", { id, body: { do: "stop" } })).confirmed).toBe(true);
    expect(await own()).toBeNull();
    expect((await succeed(daemon, "getDevice", { id })).capabilities).not.toContain("channels");
  }, 120_000);

  test("lists add-ons and favourites, no libraries, and launches one of its add-ons", async () => {
    const { apps } = await succeed(daemon, "refreshApps", { id });
    const ids = apps.map((app) => app.platform_id);
    expect(ids).toContain(real.plugin);
    expect(ids).toContain(real.script);
    expect(ids.filter((one) => /^(xbmc\.|metadata\.|resource\.|skin\.|repository\.)/.test(one))).toEqual([]);
    expect((await succeed(daemon, "launchApp", { id, body: { app: real.plugin } })).confirmed).toBe(true);
    expect((await state()).app?.platform_id).toBe(real.plugin);
    expect((await succeed(daemon, "stopApp", { id })).app?.platform_id).toBe(real.plugin);
    await until("it is at home", async () => (await window()) === 10_000);
    await until("no add-on is in front", async () => (await state()).app === null);
    await refuse(daemon, "launchApp", { id, body: { app: "plugin.video.nothing" } }, "app_not_found");
    await refuse(
      daemon,
      "launchApp",
      { id, body: { app: "/nowhere/nothing.mp4" } },
      "app_not_found",
      "device_refused",
      "device_error",
    );
  }, 120_000);

  test.each(["yes-no", "ok", "context-menu", "select"])(
    "with a dialog open (%s) nothing claims what did not happen",
    async (dialog) => {
      await succeed(daemon, "launchApp", { id, body: { app: real.clips.video } });
      // It plays before it fills the screen: what opens between them is opened within the opening of the clip.
      await until("the clip fills the screen", async () => (await window()) === 12_005);
      await real.call("Addons.ExecuteAddon", { addonid: real.script, params: [dialog], wait: false });
      await until("its add-on runs", async () => (await labelled(calledWith)) === dialog);
      let open = 0;
      await until("the dialog is open", async () => {
        open = await window();
        return ![10_000, 10_138, 12_005].includes(open);
      });
      for (const [name, body] of [
        ["launch", { app: real.plugin }],
        ["key", { key: "home" }],
      ] as const) {
        const { error } = (
          await daemon.api(
            "POST",
            `/devices/${encodeURIComponent(id)}/${name === "key" ? "remote/key" : "apps/launch"}`,
            body,
          )
        ).body;
        expect([name, error?.code, error?.hint ?? ""]).toEqual([
          name,
          "device_refused",
          expect.stringContaining("zapd key"),
        ]);
        expect(await window()).toBe(open);
      }
      // Stopping succeeds exactly when the player has stopped.
      const stopped = await daemon.api("POST", `/devices/${encodeURIComponent(id)}/apps/stop`);
      expect(stopped.status === 200).toBe((await own()) === null);
      // A key that comes while it still opens is lost. The next add-on finds nothing of this one.
      const isLeft = async () => {
        if ((await window()) === open) await pressed("back");
        return (await labelled(given)) !== "";
      };
      await until("the dialog is gone, and its add-on has ended", isLeft, 20_000, 250);
      await succeed(daemon, "stopApp", { id });
    },
    120_000,
  );

  test("refuses text while no keyboard is open; goes on typing behind what stands there, and types all of a sequence", async () => {
    await pressed("home");
    await refuse(daemon, "pressKey", { id, body: { key: "literal:nobody" } }, "device_refused");
    for (const [kind, dialog, label, keys, whole] of [
      [
        "keyboard",
        10_103,
        "Control.GetLabel(312).index(1)",
        ["literal:The ", "literal:Wire é", "literal:📺"],
        "The Wire é📺",
      ],
      ["number", 10_109, "Control.GetLabel(4)", ["literal:1", "literal:2", "literal:34"], "1234"],
    ] as const) {
      await pressed("home");
      await real.call("Addons.ExecuteAddon", { addonid: real.script, params: [kind], wait: false });
      await until("it is open", async () => (await window()) === dialog);
      await succeed(daemon, "pressKeys", { id, body: { keys: keys.slice(0, 2), delay_ms: 0 } });
      for (const key of keys.slice(2)) await pressed(key);
      await until("all of it stands there", async () => (await labelled(label)) === whole);
      // The add-on that opened the keyboard gets the text with which it is closed.
      await real.call("Input.SendText", { text: whole, done: true });
      await until("it was given what was typed", async () => (await labelled(given)) === `'${whole}'`);
    }
  }, 120_000);

  test("quits and is off, stays in the registry, comes back, and its state is right within 5 s", async () => {
    await state();
    // After the first read the daemon subscribes in the background.
    await Bun.sleep(500);
    await real.quit();
    await until("it is off", async () => (await state()).power === "off");
    expect((await succeed(daemon, "getDevice", { id })).status).toBe("offline");
    await real.start();
    const started = performance.now();
    await until(
      "it is on",
      async () => (await daemon.api("GET", `/devices/${encodeURIComponent(id)}/state`)).body.data?.state.power === "on",
    );
    expect(performance.now() - started).toBeLessThan(5_000);
    expect((await succeed(daemon, "listDevices")).length).toBe(1);
    expect(daemon.log()).not.toMatch(/error/i);
  }, 90_000);
});
