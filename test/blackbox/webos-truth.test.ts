/** LG sets that answer in unusual ways, played by a fake that shares no code with zapd: what zapd says of them is true. */
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

/** Tests wait for this, so it is short; yet a busy machine needs a part of it to encrypt a connection. */
const requestMs = 2_500;
const { daemon } = await daemonForFile({ config: { devices: { request_timeout_ms: requestMs } } });
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

  test("lists and launches apps by ids of any form", async () => {
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

  test("that lacks an app says so by its error code alone", async () => {
    const refusal = { error: "500 Application error", payload: { errorCode: -101 } };
    const { id } = await paired(({ uri }) => (uri === "system.launcher/launch" ? refusal : "usual"));
    await refuse(daemon, "launchApp", { id, body: { app: "org.example.gone" } }, "app_not_found");
  });

  test("that answers with something else than its apps keeps the list that is known", async () => {
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
    "that stops answering has no state until it answers again",
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

  test("that said that it is in standby, and then stops answering, is off", async () => {
    let silent = false;
    const { id, set } = await paired(() => (silent ? "silence" : "usual"));
    set.power = "Active Standby";
    expect((await state(id)).power).toBe("standby");
    silent = true;
    await daemon.sleep(120);
    expect(await state(id)).toMatchObject({ power: "off", volume: null, app: null });
  });

  test("that does not answer one question has the rest of its state, and is not waited for each time", async () => {
    const { id } = await paired(({ uri }) => (uri === "audio/getVolume" ? "silence" : "usual"));
    for (let round = 0; round < 3; round++) expect(await state(id)).toMatchObject({ power: "on", volume: null });
    const begun = performance.now();
    expect((await state(id)).power).toBe("on");
    // The first of them waited for half the deadline and more.
    expect(performance.now() - begun).toBeLessThan(requestMs / 2);
  }, 60_000);

  test.each([
    ["401 insufficient permissions", "device_refused", { error: "401 insufficient permissions" }],
    ["404 no such service or method", "unsupported_key", { error: "404 no such service or method" }],
    ["busy recording", "device_error", { returnValue: false, errorCode: 500, errorText: "busy recording" }],
    ["not on this TV", "unsupported_key", { returnValue: false, errorCode: 404, errorText: "not on this TV" }],
    ["Application error (-3)", "device_error", { error: "500 Application error", payload: { errorCode: -3 } }],
  ])("that answers power-off with %s is on, and the error quotes it", async (words, code, refusal) => {
    const { id } = await paired(({ uri }) => (uri === "system/turnOff" ? refusal : "usual"));
    const { message } = await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, code);
    expect(message).toContain(words);
    expect((await state(id)).power).toBe("on");
    expect((await succeed(daemon, "getDevice", { id })).power).toBe("on");
  });

  slowTest(
    "that takes power-off and stays on is an error",
    async () => {
      const { id } = await paired(({ uri }) => (uri === "system/turnOff" ? {} : "usual"));
      const { message } = await refuse(daemon, "pressKey", { id, body: { key: "power-off" } }, "device_error");
      expect(message).toEndWith(" accepted the power-off key, but still reports that it is on");
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

  test("that shows its prompt, and accepts the known key by itself, is driven and keeps its key", async () => {
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

  test("that only shows its prompt keeps its key, and is not prompted again", async () => {
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

  test("that refuses its key is paired again without it", async () => {
    let refuses = false;
    const refusal: FakeSetOptions["answer"] = ({ type, payload }) =>
      refuses && type === "register" && "client-key" in payload ? { error: "403 access denied" } : "usual";
    const { id, set } = await paired(refusal);
    const { key = "" } = kept(id) ?? {};
    await set.stop();
    refuses = true;
    await set.start();
    const { message } = await refuse(daemon, "getState", { id }, "pairing_required");
    expect(message).toContain("no longer accepts the pairing");
    expect(kept(id)).toBeUndefined();
    await succeed(daemon, "pairDevice", { id });
    expect(kept(id)?.["key"]).not.toBe(key);
  });

  test("that has had too many pairing requests keeps its key, and a command says so", async () => {
    let refuses = false;
    // It answers so to a key that it gave, and shows nothing, until it is unplugged (klattimer/LGWebOSRemote#158).
    const refusal: FakeSetOptions["answer"] = ({ type }) =>
      refuses && type === "register" ? { error: "403 too many pairing requests" } : "usual";
    const { id, set } = await paired(refusal);
    const before = kept(id);
    await set.stop();
    refuses = true;
    await set.start();
    const { message, hint } = await refuse(daemon, "getState", { id }, "device_refused");
    expect(message).toContain("busy with other pairing requests");
    expect(hint).toContain("unplug the TV");
    expect(kept(id)).toEqual(before);
  });

  slowTest(
    "that pushes nothing is read: what it shows, its volume, and whether commands had an effect",
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

  slowTest("that does not tell what it shows confirms no launch", async () => {
    const { id } = await paired(({ uri }) => (uri === appUri ? { error: "404 no such service or method" } : "usual"));
    await state(id);
    expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).confirmed).toBeNull();
    // Without a pointer socket for buttons the app cannot be left either.
    await refuse(daemon, "stopApp", { id }, "unsupported_operation");
  });

  test("that went to standby unnoticed is woken before a command is sent", async () => {
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

  test.each(["play", "mute", "channel-up", "home", "input-hdmi1"])(
    "without a function for the key %s: unsupported_key, with the words of the set",
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

  test("that cannot be woken has no power-on, and hints name its own remote", async () => {
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

  test("is quoted, up to some length", async () => {
    const { id } = await paired(({ uri }) =>
      uri.startsWith("audio/volume") ? { error: `500 ${"ä".repeat(5_000)}` } : "usual",
    );
    const { message } = await refuse(daemon, "pressKey", { id, body: { key: "volume-up" } }, "device_error");
    expect(message).toContain('it says "500 äää');
    expect(message.length).toBeLessThan(400);
  });
});

describe.concurrent("an LG set that cannot be woken gets few messages", () => {
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
    "when it stays in standby",
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
    "when it accepts the key, and hangs up",
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
    "when it accepts the key and hangs up, and nobody asks any more",
    async () => {
      let hangsUp = false;
      // The inputs are the last question of a new connection.
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
