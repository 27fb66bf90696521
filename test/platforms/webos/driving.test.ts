/** Keys, apps, text and power of a set, each as hardware was seen to do it (protocols/smart-tvs.md 2.4, 2.5, 8). */
import { describe, expect, test } from "bun:test";
import type { Key } from "../../../src/platforms/platform.ts";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { until } from "../../support/http-device.ts";
import { turnOn } from "../../support/platform-host.ts";
import { cleanups, failure, never, passing, press, state, tidy } from "../harness.ts";
import { line, wordedLine } from "./harness.ts";

const passed = passing();
tidy();

describe("keys, apps and text", () => {
  test("play and pause do what they say, however often", async () => {
    const one = await line({ firmware: "2023" });
    one.set.open("netflix");
    one.set.play("playing");
    await state(one);
    for (const [name, status] of [
      ["pause", "paused"],
      ["pause", "paused"],
      ["play", "playing"],
      ["play", "playing"],
      ["play-pause", "paused"],
      ["play-pause", "playing"],
    ] as const) {
      await press(one, name);
      expect([name, one.set.state.playback]).toEqual([name, status]);
    }
  });

  test.each([
    ["mute", "getVolume", "setMute"],
    ["play", "getForegroundAppInfo", "play"],
    ["input-hdmi1", "getExternalInputList", "switchInput"],
    ["up", "getPointerInputSocket", "none"],
  ] as const)(
    "R14 %s is not sent when the machine slept while the answer to %s was awaited",
    async (name, before, word) => {
      const asked: string[] = [];
      const answers: Record<string, object | null> = {};
      const one = await wordedLine(answers, 1_000, (said) => void asked.push(said));
      await state(one);
      // By then what it has reported is asked for again.
      passed.ms = 150;
      answers[before] = null;
      asked.length = 0;
      const pressing = failure(press(one, name));
      await until("it is asked", () => asked.includes(before));
      passed.ms += 8_000;
      expect((await pressing).code).toBe("device_busy");
      expect(asked).not.toContain(word);
    },
  );

  test("a TV that takes longer for its answers is not asleep", async () => {
    let answersAfterMs = 0;
    const asked: string[] = [];
    const answers = {
      get getPowerState() {
        return Bun.sleep(answersAfterMs).then(() => ({ state: "Active" }));
      },
    };
    const one = await wordedLine(answers, 10_000, (said) => void asked.push(said));
    await state(one);
    passed.ms = 3_000;
    answersAfterMs = 1_700;
    await press(one, "mute");
    expect(asked).toContain("setMute");
  });

  test("a deep link is sent in the TV's own words", async () => {
    const one = await line();
    const launch = (id: string, params: Record<string, string>) => one.connection.apps?.launch?.(id, params, never);
    expect(await launch("netflix", { content_id: "m=80100172" })).toBe(true);
    expect(await launch("youtube.leanback.v4", { content_id: "dQw4w9WgXcQ" })).toBe(true);
    expect(one.set.received.launches).toMatchObject([
      { id: "netflix", contentId: "m=80100172" },
      { id: "youtube.leanback.v4", params: { contentTarget: "https://www.youtube.com/tv?v=dQw4w9WgXcQ" } },
    ]);
  });

  test("a launch that a TV cannot show is not waited for", async () => {
    const getForegroundAppInfo = { returnValue: false, errorCode: 404, errorText: "no such service or method" };
    const one = await wordedLine({ getForegroundAppInfo });
    await state(one);
    const begun = performance.now();
    expect(await one.connection.apps?.launch?.("netflix", {}, never)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(4_000);
  });

  test("text without a focused field is refused, and nothing is typed", async () => {
    const one = await line();
    one.set.focus(false);
    const type = (text: string) => one.connection.text?.type(text, never) ?? expect.unreachable();
    const { code, message } = await failure(type("hello"));
    expect([code, message]).toEqual(["device_refused", "has no text field open"]);
    one.set.focus(true);
    await until("it was told", () =>
      type("hi").then(
        () => true,
        () => false,
      ),
    );
    expect(one.set.text).toBe("hi");
  });

  test("an input is left by going home, an app by closing it", async () => {
    const one = await line();
    one.set.open("com.webos.app.hdmi1");
    expect(await one.connection.apps?.stop?.(never)).toMatchObject({ id: "hdmi1" });
    one.set.open("netflix");
    expect(await one.connection.apps?.stop?.(never)).toMatchObject({ id: "netflix" });
    expect(await one.connection.apps?.stop?.(never)).toBeNull();
  });

  test("a TV that hangs up once it was told to close an app has taken the command", async () => {
    const one = await wordedLine({ getForegroundAppInfo: { appId: "netflix" } }, undefined, (word) => {
      if (word === "close") void one.set.stop();
    });
    const { code, message } = await failure(one.connection.apps?.stop?.(never) ?? expect.unreachable());
    expect([code, message]).toEqual(["device_error", "closed the connection after it took the command"]);
  });

  test("R14 HOME, for an app that is not closed, is not pressed once the machine has slept", async () => {
    const asked: string[] = [];
    const one = await wordedLine({ getForegroundAppInfo: { appId: "netflix" } }, undefined, (word) => {
      asked.push(word);
      if (word === "close") passed.ms += 8_000;
    });
    expect(await one.connection.apps?.stop?.(never).catch((error) => error.code)).toBe("device_timeout");
    expect(asked).not.toContain("getPointerInputSocket");
  });

  test("R14 a file that the viewer refuses is not given to an app once the machine has slept", async () => {
    const asked: string[] = [];
    const refusal = { returnValue: false, errorText: "500 Application error" };
    const one = await wordedLine({ open: refusal, launch: {} }, undefined, (word) => {
      asked.push(word);
      if (word === "open") passed.ms += 8_000;
    });
    const film = { url: "http://192.0.2.9/film.mp4", mime: "video/mp4", title: null, image: null };
    expect(await one.connection.media?.play(film, never).catch((error) => error.code)).toBe("device_timeout");
    expect([asked.includes("open"), asked.includes("launch")]).toEqual([true, false]);
  });

  test("the input keys are those of the TV's inputs", async () => {
    const one = await line();
    const has = (key: Key) => webos.describe(one.target.facts, one.target.memory, true).keys.has(key);
    expect(has("input-hdmi4")).toBe(true);
    await state(one);
    expect([has("input-hdmi3"), has("input-hdmi4"), has("input-av")]).toEqual([true, false, false]);
  });
});

/** A socket for buttons of its own, and what comes over it. */
function buttonSocket(): { readonly buttons: readonly string[]; readonly socketPath: string } {
  const buttons: string[] = [];
  const remote = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, server) => (server.upgrade(request) ? undefined : new Response()),
    websocket: { message: (_socket, message) => void buttons.push(String(message)) },
  });
  cleanups.push(() => remote.stop(true));
  return { buttons, socketPath: `ws://127.0.0.1:${remote.port}/` };
}

describe("power", () => {
  test("off: pushed by the TV, its half-open socket abandoned, woken by a packet, and driven again", async () => {
    const one = await line({ socketsCloseMs: 60_000 });
    await state(one);
    one.renew();
    await press(one, "power-off");
    expect(one.set.state.power).toBe("standby");
    expect(one.told.ended).toContain("going_off");
    const tries = one.set.received.requests.length;
    await Bun.sleep(1_500);
    // Nobody asked: nobody is called.
    expect(one.set.received.requests.length).toBe(tries);
    expect((await failure(state(one))).code).toBe("device_unreachable");
    await turnOn(one.connection, one.target, never);
    expect(one.set.state.power).toBe("on");
    await press(one, "home");
  }, 60_000);

  test("turned off by its own remote, the TV is off", async () => {
    const one = await line();
    await state(one);
    one.set.press("POWER");
    await until("it is heard", () => one.told.states.some(({ power }) => power === "off"));
  });

  test("power-off leaves a set in standby in standby, and power turns it on", async () => {
    const one = await line({ standby: "active-standby" });
    await state(one);
    one.renew();
    await one.set.powerOff();
    await until("it is in standby", async () => (await state(one)).power === "standby");
    await press(one, "power-off");
    expect(one.set.state.power).toBe("standby");
    await press(one, "power");
    expect(one.set.state.power).toBe("on");
  }, 60_000);

  test("a TV that answers in standby takes no command before it is woken", async () => {
    const one = await line({ standby: "active-standby" });
    await state(one);
    one.renew();
    await one.set.powerOff();
    await until("it is in standby", async () => (await state(one)).power === "standby");
    const { code, message } = await failure(
      one.connection.apps?.launch?.("netflix", {}, never) ?? expect.unreachable(),
    );
    expect([code, message]).toEqual(["device_unreachable", "is in standby"]);
    await turnOn(one.connection, one.target, never, true);
    expect(await one.connection.apps?.launch?.("netflix", {}, never)).toBe(true);
  }, 60_000);

  test("whether it is on is asked each time; without a report of its power, its foreground app tells", async () => {
    const none = { returnValue: false, errorText: "404 no such service or method" };
    const answers = { getPowerState: none, getForegroundAppInfo: { appId: "netflix" } };
    const one = await wordedLine(answers);
    for (const appId of ["netflix", ""]) {
      answers.getForegroundAppInfo = { appId };
      expect(await one.connection.power?.isOn(never)).toBe(appId !== "");
    }
  });

  test("one in standby that no packet can wake gets its POWER button, once, while it wakes", async () => {
    const { buttons, socketPath } = buttonSocket();
    const one = await wordedLine({
      getPowerState: { state: "Active Standby" },
      getPointerInputSocket: { socketPath },
    });
    for (let round = 0; round < 2; round++) await one.connection.power?.on?.(never);
    expect(buttons).toEqual(["type:button\nname:POWER\n\n"]);
  });

  test("a POWER button that was not sent does not count as pressed", async () => {
    const { buttons, socketPath } = buttonSocket();
    const answers = {
      getPowerState: { state: "Active Standby" },
      getPointerInputSocket: { socketPath: "ws://127.0.0.1:1/" },
    };
    const one = await wordedLine(answers);
    const turnOn = () => Promise.resolve(one.connection.power?.on?.(never));
    expect((await failure(turnOn())).code).toBe("device_unreachable");
    answers.getPointerInputSocket = { socketPath };
    await turnOn();
    expect(buttons).toEqual(["type:button\nname:POWER\n\n"]);
  });

  test("a screen that the TV refuses to turn on is not said to be on", async () => {
    const refused = { returnValue: false, errorText: "401 insufficient permissions" };
    const one = await wordedLine({ getPowerState: { state: "Screen Off" }, turnOnScreen: refused });
    expect((await failure(Promise.resolve(one.connection.power?.on?.(never)))).code).toBe("device_refused");
  });

  test("a button that the TV does not read, which has answered before, is not confirmed", async () => {
    const one = await line();
    await press(one, "up");
    one.set.fallSilent();
    const failures = await Promise.all(["home", "up"].map((key) => failure(press(one, key as Key))));
    expect(failures.map(({ code }) => code)).toEqual(["device_error", "device_error"]);
    expect(one.set.received.buttons).toEqual(["UP"]);
  });

  test("a command notices a socket that is open and silent, and is not sent", async () => {
    const one = await line({ socketsCloseMs: 60_000, portsCloseMs: 60_000 });
    await state(one);
    // As the power cut does: the set says nothing of it.
    const silent = one.set.received.requests.length;
    await one.set.powerOff();
    passed.ms = 2_100;
    expect((await failure(press(one, "home"))).code).toBe("device_unreachable");
    expect(one.set.received.requests.slice(silent).some(({ uri }) => uri.includes("Pointer"))).toBe(false);
  }, 60_000);
});

test("closing leaves no socket open", async () => {
  const one = await line();
  await state(one);
  await press(one, "up");
  expect(one.set.state.connections.open).toBeGreaterThan(0);
  one.connection.close();
  await until("all are closed", () => one.set.state.connections.open === 0);
});
