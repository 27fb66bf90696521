/** What is said of an LG set is so: its apps, its state, its power, its pairing, its keys, and how often it is asked. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "../../src/simulators/webos.ts";
import { freePort } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { slowConcurrentTest, slowTest } from "../support/whole.ts";
import { type Data, refuse, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { type Asked, type FakeSet, type FakeSetOptions, fakeSet } from "./fake-webos.ts";

const certificate = createCertificate();
const powerUri = "com.webos.service.tvpower/power/getPowerState";
const appUri = "com.webos.applicationManager/getForegroundAppInfo";

const { daemon } = await daemonForFile({ config: { devices: { request_timeout_ms: 1_000 } } });
const sets: FakeSet[] = [];

let made = 0;
async function paired(answer?: FakeSetOptions["answer"]): Promise<{ id: string; set: FakeSet }> {
  const host = freeHost();
  const uuid = `set-${++made}-${process.pid}`;
  const set = await fakeSet({ host, uuid, certificate, ...(answer && { answer }) });
  sets.push(set);
  const ports = { plain: await freePort(host), wake: await freePort(host) };
  const body = { host, port: set.port, platform: "webos", name: uuid, ports };
  const { id } = await succeed(daemon, "addDevice", { body });
  await succeed(daemon, "pairDevice", { id });
  return { id, set };
}

const state = async (id: string): Promise<Data<"getState">["state"]> =>
  (await succeed(daemon, "getState", { id })).state;
const press = (id: string, key: string) => succeed(daemon, "pressKey", { id, body: { key } });
const kept = (id: string): Record<string, string> | undefined =>
  JSON.parse(readFileSync(join(daemon.stateFolder, "credentials.json"), "utf8")).credentials[id];
const unplug = async () => {
  for (const set of sets.splice(0)) await set.stop();
};

describe("an LG set", () => {
  afterEach(unplug);

  test("lists and launches apps by ids without a dot, and whatever else its ids look like", async () => {
    const { id, set } = await paired();
    const ids = ["netflix", "amazon", "youtube.leanback.v4", "cdp-30", "vudu", "3201506", "Big App_2/x", "ivi äö"];
    set.apps = ids.map((one, at) => ({ id: one, title: `Title ${at}` }));
    const { apps } = await succeed(daemon, "refreshApps", { id });
    expect(apps.map(({ platform_id }) => platform_id)).toEqual(ids);
    for (const wanted of ["vudu", "Title 6"]) await succeed(daemon, "launchApp", { id, body: { app: wanted } });
    const launched = set.asked
      .filter(({ uri }) => uri === "system.launcher/launch")
      .map(({ payload }) => payload["id"]);
    expect(launched).toEqual(["vudu", "Big App_2/x"]);
  });

  test("that answers its list of apps with something else keeps the list that is known", async () => {
    let broken = false;
    const { id } = await paired(({ uri }) =>
      broken && uri.endsWith("listLaunchPoints") ? { subscribed: false } : "usual",
    );
    await succeed(daemon, "refreshApps", { id });
    broken = true;
    await refuse(daemon, "refreshApps", { id, body: {} }, "device_error");
    expect((await succeed(daemon, "listApps", { id })).apps.map(({ installed }) => installed)).toEqual([true]);
  });

  slowTest(
    "that answers no question any more has no state, until it answers again",
    async () => {
      let silent = false;
      const { id } = await paired(({ type }) =>
        silent && type !== "hello" && type !== "register" ? "silence" : "usual",
      );
      expect((await state(id)).volume?.level).toBe(20);
      silent = true;
      await daemon.sleep(120);
      for (let round = 0; round < 2; round++)
        await refuse(daemon, "getState", { id }, "device_timeout", "device_unreachable");
      silent = false;
      await until("it is read again", async () => (await daemon.api("GET", `/devices/${id}/state`)).status === 200);
    },
    60_000,
  );

  test("that said that it is in standby, and answers no more, is off", async () => {
    let silent = false;
    const { id, set } = await paired(() => (silent ? "silence" : "usual"));
    set.power = "Active Standby";
    expect((await state(id)).power).toBe("standby");
    silent = true;
    await daemon.sleep(120);
    expect(await state(id)).toMatchObject({ power: "off", volume: null, app: null });
  });

  test("that leaves one question open tells the rest, and is not waited for each time", async () => {
    const { id } = await paired(({ uri }) => (uri === "audio/getVolume" ? "silence" : "usual"));
    for (let round = 0; round < 3; round++) expect(await state(id)).toMatchObject({ power: "on", volume: null });
    const begun = performance.now();
    expect((await state(id)).power).toBe("on");
    expect(performance.now() - begun).toBeLessThan(500);
  }, 60_000);

  test.each([
    ["500 Application error", "device_error", { returnValue: false, errorCode: -1, errorText: "not now" }],
    ["401 insufficient permissions", "device_refused", {}],
    ["403 access denied", "device_refused", {}],
    ["404 no such service or method", "unsupported_key", {}],
  ])("that answers power-off with %s is on, and the answer says why", async (error, code, payload) => {
    const { id } = await paired(({ uri }) => (uri === "system/turnOff" ? { error, payload } : "usual"));
    const { message } = await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, code);
    expect(message).toContain(error);
    expect((await state(id)).power).toBe("on");
    expect((await succeed(daemon, "getDevice", { id })).power).toBe("on");
  });

  test("that answers power-off with a refusal of the other shape is on, too", async () => {
    const said = { returnValue: false, errorCode: 500, errorText: "busy recording" };
    const { id } = await paired(({ uri }) => (uri === "system/turnOff" ? said : "usual"));
    const { message } = await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, "device_error");
    expect(message).toContain("busy recording");
  });

  slowTest(
    "that takes power-off and stays on is an error",
    async () => {
      const { id } = await paired(({ uri }) => (uri === "system/turnOff" ? {} : "usual"));
      const { message } = await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, "device_error");
      expect(message).toContain("still says that it is on");
      expect((await state(id)).power).toBe("on");
    },
    60_000,
  );

  test.each(["hangs up", "falls silent", "says standby"])(
    "that %s at power-off is off",
    async (how) => {
      let silent = false;
      const { id } = await paired(({ uri, line }, set) => {
        if (silent) return "silence";
        if (uri !== "system/turnOff") return "usual";
        if (how === "says standby") return "usual";
        silent = true;
        if (how === "hangs up") {
          void set.stop();
          line.hangUp();
        }
        return "silence";
      });
      await press(id, "power-off");
      expect(["off", "standby"]).toContain((await state(id)).power);
    },
    60_000,
  );

  test("that shows its prompt and lets the known key in by itself is driven, and its key is kept", async () => {
    let glitch = false;
    const { id, set } = await paired(({ type, id: asked, line, payload }) => {
      if (!glitch || type !== "register") return "usual";
      line.say({ id: asked, type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
      setTimeout(
        () => line.say({ id: asked, type: "registered", payload: { "client-key": payload["client-key"] } }),
        150,
      );
      return "silence";
    });
    const before = kept(id);
    glitch = true;
    await set.stop();
    await set.start();
    await until("it is driven", async () => (await daemon.api("GET", `/devices/${id}/state`)).status === 200);
    expect(kept(id)).toEqual(before);
    expect((await succeed(daemon, "getDevice", { id })).access).toBe("full");
  }, 60_000);

  test("that only shows its prompt keeps its key, is hung up on, and is not made to show it again and again", async () => {
    let forgot = false;
    const { id, set } = await paired(({ type, id: asked, line }) => {
      if (!forgot || type !== "register") return "usual";
      line.say({ id: asked, type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
      return "silence";
    });
    const before = kept(id);
    await set.stop();
    forgot = true;
    set.asked.length = 0;
    await set.start();
    for (let round = 0; round < 4; round++) await refuse(daemon, "getState", { id }, "pairing_required");
    const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "pairing_required");
    expect(hint).toContain("zapd pair");
    expect(set.asked.filter(({ type }) => type === "register").length).toBe(1);
    expect(kept(id)).toEqual(before);
    await until("it is known", async () => (await succeed(daemon, "getDevice", { id })).access === "unpaired");
    forgot = false;
    await succeed(daemon, "pairDevice", { id });
    expect((await state(id)).power).toBe("on");
  }, 60_000);

  test("that refuses its key has lost it, and is paired anew without it", async () => {
    let refuses = false;
    const refusal: FakeSetOptions["answer"] = ({ type, payload }) =>
      refuses && type === "register" && "client-key" in payload ? { error: "403 access denied" } : "usual";
    const { id, set } = await paired(refusal);
    const { key = "" } = kept(id) ?? {};
    await set.stop();
    refuses = true;
    await set.start();
    const { message } = await refuse(daemon, "getState", { id }, "pairing_required");
    expect(message).toContain("no longer lets zapd in");
    expect(kept(id)).toBeUndefined();
    await succeed(daemon, "pairDevice", { id });
    expect(kept(id)?.["key"]).not.toBe(key);
  });

  test("whose key is refused as it is paired anew is asked without it, at once", async () => {
    let refuses = false;
    const refusal: FakeSetOptions["answer"] = ({ type, payload }) =>
      refuses && type === "register" && "client-key" in payload ? { error: "403 access denied" } : "usual";
    const { id } = await paired(refusal);
    refuses = true;
    await succeed(daemon, "pairDevice", { id });
    refuses = false;
    expect((await state(id)).power).toBe("on");
  });

  slowTest(
    "that pushes nothing is asked: what it shows, its volume, and whether it took what it was told",
    async () => {
      let stuck = false;
      const { id, set } = await paired(({ uri }) => (stuck && uri === "system.launcher/launch" ? {} : "usual"));
      await state(id);
      set.app = "com.webos.app.hdmi1";
      set.volume = 63;
      await daemon.sleep(120);
      expect(await state(id)).toMatchObject({ input: "hdmi1", volume: { level: 63, muted: false } });
      expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).confirmed).toBe(true);
      expect((await state(id)).app?.id).toBe("netflix");
      set.muted = true;
      await daemon.sleep(120);
      await press(id, "mute");
      expect(set.muted).toBe(false);
      stuck = true;
      set.app = "com.webos.app.home";
      expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).confirmed).toBe(false);
    },
    60_000,
  );

  slowTest("that does not tell what it shows confirms nothing", async () => {
    const { id } = await paired(({ uri }) => (uri === appUri ? { error: "404 no such service or method" } : "usual"));
    await state(id);
    expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).confirmed).toBeNull();
    // Without buttons it cannot be left either, and that is said.
    await refuse(daemon, "stopApp", { id }, "unsupported_operation");
  });

  test("that went to standby without a word is not told a command", async () => {
    const { id, set } = await paired();
    await press(id, "volume-up").catch(() => {});
    set.power = "Active Standby";
    await daemon.sleep(2_100);
    const asked = set.asked.length;
    const waking = daemon.api("POST", `/devices/${id}/remote/key`, { key: "play" });
    await until("its power is asked for", () => set.times(powerUri) > 1);
    set.power = "Active";
    expect((await waking).status).toBe(200);
    expect(set.asked.slice(asked).filter(({ uri }) => uri === "media.controls/play").length).toBe(1);
  }, 60_000);

  test.each(["play", "play-pause", "mute", "channel-up", "home", "input-hdmi1", "info", "stop", "input-tuner"])(
    "has no %s key where it has no function for it: unsupported_key, in its own words",
    async (key) => {
      const functions = /^(media\.controls|audio\/setMute|tv\/|system\.launcher|com\.webos\.service\.networkinput)/;
      const words = "404 no such \u001b[31mservice\u0000 or\u202e method";
      const { id } = await paired(({ uri }) => (functions.test(uri) ? { error: words } : "usual"));
      const { message } = await refuse(daemon, "pressKey", { id, body: { key } }, "unsupported_key");
      expect(message).toContain(key);
      expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      if (key !== "input-hdmi1") expect(message).toContain("404 no such");
    },
  );

  test("that nobody can wake is told to be turned on by hand, and has no key for it", async () => {
    const { id, set } = await paired(({ uri }) =>
      uri.endsWith("connectionmanager/getinfo") ? { error: "404 no such service or method" } : "usual",
    );
    await state(id);
    const unsupported = await refuse(daemon, "pressKey", { id, body: { key: "power-on" } }, "unsupported_key");
    expect(unsupported.hint?.split(/[ ,:]+/)).not.toContain("power-on");
    set.power = "Active Standby";
    await daemon.sleep(120);
    await state(id);
    const standby = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_refused");
    expect(standby.hint).toContain("its own remote");
    set.power = "Active";
    await daemon.sleep(120);
    await state(id);
    await set.stop();
    const { hint } = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable");
    expect(hint).toContain("its own remote");
    expect(hint).not.toContain("power-on");
  });

  test("is quoted, and not at any length", async () => {
    const { id } = await paired(({ uri }) =>
      uri.startsWith("audio/volume") ? { error: `500 ${"ä".repeat(5_000)}` } : "usual",
    );
    const { message } = await refuse(daemon, "pressKey", { id, body: { key: "volume-up" } }, "device_error");
    expect(message).toContain('it says "500 äää');
    expect(message.length).toBeLessThan(400);
  });
});

describe.concurrent("an LG set that cannot be woken is asked seldom", () => {
  afterAll(unplug);

  const commanded = async (answer: FakeSetOptions["answer"], prepare: (set: FakeSet) => void) => {
    const { id, set } = await paired(answer);
    await state(id);
    prepare(set);
    await daemon.sleep(2_100);
    const asked = set.asked.length;
    const { error } = (await daemon.api("POST", `/devices/${id}/remote/key`, { key: "home" })).body;
    const messages: Asked[] = set.asked.slice(asked);
    return { error, count: messages.length };
  };

  slowConcurrentTest(
    "when it says that it is in standby for ever",
    async () => {
      const { error, count } = await commanded(undefined, (set) => {
        set.power = "Active Standby";
      });
      expect(error.code).toBe("device_unreachable");
      expect(count).toBeLessThan(70);
    },
    60_000,
  );

  slowConcurrentTest(
    "when it lets in, and hangs up",
    async () => {
      let hangsUp = false;
      const { error, count } = await commanded(
        ({ type, id, line, payload }) => {
          if (!hangsUp || type !== "register") return "usual";
          line.say({ id, type: "registered", payload: { "client-key": payload["client-key"] } });
          setTimeout(() => line.hangUp(), 5);
          return "silence";
        },
        (set) => {
          hangsUp = true;
          set.power = "Active Standby";
        },
      );
      expect(error.code).toBe("device_unreachable");
      expect(count).toBeLessThan(120);
    },
    60_000,
  );

  slowConcurrentTest(
    "when it lets in and hangs up, and nobody asks any more",
    async () => {
      let hangsUp = false;
      // The inputs are the last that is asked for: it is let in wholly then.
      const { id, set } = await paired(({ uri, line }) => {
        if (hangsUp && uri === "tv/getExternalInputList") setTimeout(() => line.hangUp(), 200);
        return "usual";
      });
      await state(id);
      hangsUp = true;
      await set.stop();
      await set.start();
      const asked = set.asked.length;
      await daemon.api("GET", `/devices/${id}/state`);
      await daemon.sleep(15_000);
      // After one second, two, four and eight; each a conversation of a dozen messages.
      expect(set.asked.length - asked).toBeLessThan(90);
    },
    60_000,
  );
});
