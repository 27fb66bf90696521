/** A set as it is driven: what it is told, what is read from what it tells, and how it is left alone. */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:tls";
import { androidtv } from "../../../src/platforms/androidtv/adapter.ts";
import { features } from "../../../src/platforms/androidtv/protocol.ts";
import { createCertificateFor } from "../../../src/simulators/bench/certificate.ts";
import { until } from "../../support/http-device.ts";
import { freeHost } from "../../support/lane.ts";
import { platformHostOf } from "../../support/platform-host.ts";
import { cleanups, failure, never, passing, press, state, tidy } from "../harness.ts";
import { line } from "./harness.ts";

const passed = passing();
tidy();

const all = Object.values(features).reduce((sum, bit) => sum | bit, 0);

describe("what a TV can do", () => {
  test("is what both support: a TV that offers less lacks the rest", async () => {
    const one = await line({ features: all & ~features.appLink & ~features.ime });
    expect(await state(one)).toMatchObject({ power: "on", app: null, volume: { level: 40, muted: false } });
    const { has } = androidtv.describe(one.target.facts, one.target.memory, true);
    expect([has.has("launch"), has.has("text"), has.has("keys")]).toEqual([false, false, true]);
    const launching = one.connection.apps?.launch?.("com.netflix.ninja", {}, never) ?? Promise.resolve();
    expect((await failure(launching)).code).toBe("unsupported_operation");
    expect(one.set.links).toEqual([]);
    // It does not report which app it shows.
    expect(await one.connection.apps?.stop?.(never)).toBeNull();
    await until("it goes home", () => one.set.keys.length === 1);
    const typing = one.connection.text?.type("a", never) ?? Promise.resolve();
    expect((await failure(typing)).code).toBe("unsupported_operation");
  });

  test("is withheld where a TV offers no keys, with what gives them back, and each command says so", async () => {
    const two = await line({ features: all & ~features.key & ~features.ime });
    await state(two);
    const { has, withheld, hint } = androidtv.describe(two.target.facts, two.target.memory, true);
    const byKeys = ["keys", "hold", "stop", "playback", "volume", "mute"] as const;
    expect([...withheld].toSorted()).toEqual(byKeys.toSorted());
    expect(byKeys.filter((one) => !has.has(one))).toEqual([]);
    expect([has.has("text"), hint]).toEqual([false, expect.stringContaining("clear its data")]);
    // Before it is paired, all of it is withheld for that reason.
    const unpaired = androidtv.describe(two.target.facts, two.target.memory, false);
    expect([unpaired.withheld.has("launch"), unpaired.hint]).toEqual([true, expect.stringContaining("zapd pair")]);
    expect(await two.connection.apps?.launch?.("com.netflix.ninja", {}, never)).toBeNull();
    expect(two.set.state.front).toBe("com.netflix.ninja");
    const { keys, apps, power, volume, playback } = two.connection;
    for (const ask of [
      () => press(two, "up"),
      () => keys?.down?.("up", never),
      () => apps?.stop?.(never),
      () => power?.off?.(never),
      () => volume?.step?.(1, never),
      () => volume?.mute?.(true, never),
      () => playback?.do("pause", never),
    ])
      expect(await failure(ask() ?? Promise.resolve())).toMatchObject({ code: "unsupported_operation", hint });
    expect(two.set.keys).toEqual([]);
  });

  test("model and volume are learned", async () => {
    const one = await line({ volume: null, model: "Chromecast HD", vendor: "Google" });
    expect((await state(one)).volume).toBeNull();
    expect(one.target.facts).toMatchObject({
      kind: "player",
      manufacturer: "Google",
      model: "Chromecast HD",
      access: "full",
    });
    expect(one.target.memory.features).toBe(all);
    one.set.setVolume(0);
    const box = await line({ volume: { max: 0, level: 0 } });
    expect((await state(box)).volume).toBeNull();
    const { has, keys } = androidtv.describe(box.target.facts, box.target.memory, true);
    expect([has.has("volume"), has.has("mute")]).toEqual([false, false]);
    // A Shield whose volume goes to the TV by CEC passes its keys on (home-assistant/core#179902); such a one reports 0
    // as the highest volume (#91677).
    expect([keys.has("mute"), keys.has("volume-up")]).toEqual([true, true]);
  });
});

describe("keys", () => {
  test("that are held are released although the caller is gone", async () => {
    const one = await line();
    const caller = new AbortController();
    const letGo = await one.connection.keys?.down?.("up", caller.signal);
    await until("it is down", () => one.set.keys.length === 1);
    caller.abort("gone");
    await letGo?.();
    await until("it is up", () => one.set.keys.length === 2);
    expect(one.set.keys).toEqual([
      { code: 19, direction: 1 },
      { code: 19, direction: 2 },
    ]);
  });

  test("of the player are no toggles: pausing twice pauses", async () => {
    const one = await line();
    for (const key of ["pause", "pause", "play"] as const) await press(one, key);
    await one.connection.playback?.do("pause", never);
    await until("all have come", () => one.set.keys.length === 4);
    expect(one.set.keys.map(({ code }) => code)).toEqual([127, 127, 126, 127]);
  });

  test("that the TV sends back are refused, as are a text and a link", async () => {
    const one = await line({ refuses: true });
    const { keys, text, apps, power } = one.connection;
    one.set.show("com.plexapp.android");
    const hangsUp = () => until("it has hung up", () => one.set.state.clients === 0);
    const hold = async () => {
      const letGo = await keys?.down?.("up", never);
      await hangsUp();
      await letGo?.();
    };
    for (const refused of [
      () => press(one, "home"),
      hold,
      () => text?.type("a", never),
      () => apps?.launch?.("com.netflix.ninja", {}, never),
      // The app that is to be opened is in front already.
      () => apps?.launch?.("com.plexapp.android", {}, never),
      () => apps?.stop?.(never),
      () => power?.off?.(never),
    ]) {
      expect(await failure(Promise.resolve(refused()))).toMatchObject({ code: "device_refused", phase: "answered" });
      await hangsUp();
    }
    expect([one.set.keys, one.set.links]).toEqual([[], []]);
    // One that does not report which app it shows.
    const two = await line({ refuses: true, features: all & ~features.ime });
    expect((await failure(two.connection.apps?.stop?.(never) ?? Promise.resolve())).code).toBe("device_refused");
  });

  test("that the TV may not have read as it hangs up while they are held are not confirmed", async () => {
    const one = await line();
    await press(one, "home");
    one.set.fallSilent();
    const letGo = await one.connection.keys?.down?.("up", never);
    await one.set.stop();
    await until("its end is read", () => one.told.ended.length > 0);
    expect(await failure(letGo?.() ?? Promise.resolve())).toMatchObject({ code: "device_error", reason: "closed" });
  });

  test("that the TV gets as it hangs up are not confirmed", async () => {
    const onEvent = ({ type }: { type: string }) => {
      if (type === "key") void one.set.stop();
    };
    const one = await line({ onEvent });
    expect(await failure(press(one, "home"))).toMatchObject({ code: "device_error", reason: "closed" });
  });

  test("home, that leaves an app, is not confirmed where the TV hangs up and still shows the app", async () => {
    const one = await line();
    one.set.show("com.plexapp.android");
    await state(one);
    one.set.fallSilent();
    const failed = failure(one.connection.apps?.stop?.(never) ?? Promise.resolve());
    setTimeout(() => void one.set.stop(), 100);
    expect(await failed).toMatchObject({ code: "device_error", reason: "closed" });
  });

  test("are not sent over a connection that the TV has closed, though that has not been read yet", async () => {
    const one = await line();
    await press(one, "home");
    const stopped = one.set.stop();
    const failed = failure(press(one, "back"));
    await stopped;
    expect((await failed).code).toBe("device_unreachable");
  });

  test("are not sent over a connection that may be dead", async () => {
    const one = await line({}, undefined, 400);
    await press(one, "home");
    await until("it has come", () => one.set.keys.length === 1);
    const { accepted: taken } = one.set.state;
    one.set.fallSilent();
    passed.ms = 9_000;
    expect((await failure(press(one, "back"))).code).toMatch(/device_(timeout|unreachable)/);
    one.set.fallSilent(false);
    await press(one, "select");
    await until("it has come", () => one.set.keys.length === 2);
    expect(one.set.keys.map(({ code }) => code)).toEqual([3, 23]);
    expect(one.set.state.accepted).toBeGreaterThan(taken);
  });
});

test("volume is stepped, and muted once, whatever its scale", async () => {
  const one = await line({ volume: { level: 10, max: 50 } });
  await one.connection.volume?.mute?.(true, never);
  await one.connection.volume?.mute?.(true, never);
  await one.connection.volume?.step?.(1, never);
  await until("it is told", async () => (await state(one)).volume?.level === 22);
  expect((await state(one)).volume).toEqual({ level: 22, muted: true });
  expect(one.set.keys.map(({ code }) => code)).toEqual([164, 24]);
  expect(one.told.states.at(-1)).toMatchObject({ volume: { level: 22, muted: true } });
  one.set.setVolume(51);
  await until("it is told", async () => (await state(one)).volume?.level === 100);
});

test("text is sent with the TV's last counters, a second time too", async () => {
  const one = await line();
  await state(one);
  one.set.focus(true);
  for (const text of ["né", " 💡"]) await one.connection.text?.type(text, never);
  await until("all has come", () => one.set.state.text === "né 💡");
});

test("text that the TV may not have read as it hangs up is not confirmed", async () => {
  const one = await line();
  await state(one);
  one.set.focus(true);
  await one.connection.text?.type("a", never);
  one.set.fallSilent();
  const failed = failure(one.connection.text?.type("b", never) ?? Promise.resolve());
  setTimeout(() => void one.set.stop(), 50);
  expect(await failed).toMatchObject({ code: "device_error", reason: "closed" });
});

test("a launch that the TV may not have read as it hangs up is not confirmed", async () => {
  const one = await line();
  await press(one, "up");
  one.set.fallSilent();
  const failed = failure(one.connection.apps?.launch?.("com.netflix.ninja", {}, never) ?? Promise.resolve());
  setTimeout(() => void one.set.stop(), 50);
  expect(await failed).toMatchObject({ code: "device_error", reason: "closed" });
});

test("a box that leaves the volume to the TV does not report whether that is muted, also before this is known", async () => {
  const box = await line({ volume: { max: 0, level: 0 } });
  const muting = box.connection.volume?.mute?.(true, never) ?? Promise.resolve();
  expect((await failure(muting)).code).toBe("unsupported_operation");
  expect(box.set.keys).toEqual([]);
});

test("a launch without effect is unconfirmed, and a link in place of an app is opened", async () => {
  const one = await line();
  const launch = (id: string, link = {}) => one.connection.apps?.launch?.(id, link, never);
  const unseen = launch("org.example.app");
  await until("it was told", () => one.set.links.length === 1);
  passed.ms = 6_000;
  expect(await unseen).toBe(false);
  expect(await launch("com.google.android.youtube.tv", { contentId: "abc", media_type: "movie" })).toBe(true);
  expect(await launch("com.netflix.ninja", { content_id: "80057281" })).toBe(true);
  expect(await launch("https://www.youtube.com/watch?v=abc")).toBe(true);
  expect(one.set.links).toEqual([
    "market://launch?id=org.example.app",
    "https://www.youtube.com/watch?v=abc",
    "https://www.netflix.com/title/80057281",
    "https://www.youtube.com/watch?v=abc",
  ]);
  for (const [id, link] of [
    ["com.plexapp.android", { content_id: "7" }],
    ["com.netflix.ninja", { season: "2" }],
  ] as const)
    expect((await failure(launch(id, link) ?? Promise.resolve())).code).toBe("unsupported_operation");
  const inFront = launch("https://example.org/a");
  await until("it was told", () => one.set.links.length === 5);
  passed.ms += 6_000;
  expect(await inFront).toBeNull();
  // Which app opens such a link is not known: another one shows, then none, then still none.
  for (const [shown, isLaunched] of [
    ["org.example.app", true],
    [null, false],
    [null, false],
  ] as const) {
    const sent = one.set.links.length;
    const opened = launch("https://example.org/a");
    await until("it was told", () => one.set.links.length > sent);
    one.set.show(shown);
    await until("it is shown", async () => ((await state(one)).app?.platformId ?? null) === shown);
    if (!isLaunched) passed.ms += 6_000;
    expect(await opened).toBe(isLaunched);
  }
});

test("stop tells which app it left, also while something is cast to the TV", async () => {
  const one = await line();
  for (const [shown, left, level] of [
    [null, undefined, 20],
    ["com.netflix.ninja", "Netflix", 32],
    ["com.google.android.apps.mediashell", "com.google.android.apps.mediashell", 60],
  ] as const) {
    one.set.show(shown);
    // What is told behind it has come: of the shell nothing is told.
    one.set.setVolume(level / 4);
    await until("it is told", async () => (await state(one)).volume?.level === level);
    expect((await state(one)).app?.name).toBe(left === "Netflix" ? left : undefined);
    expect((await one.connection.apps?.stop?.(never))?.name).toBe(left);
  }
  expect(one.set.keys.map(({ code }) => code)).toEqual([3, 3]);
});

describe("power", () => {
  test("is pushed, and a command to a TV that is off does not wake it by itself", async () => {
    const one = await line();
    expect((await state(one)).power).toBe("on");
    one.set.show("com.netflix.ninja");
    await until("it is shown", () => one.told.states.at(-1)?.app?.id === "netflix");
    one.set.turn(false);
    await until("it is told", () => one.told.states.at(-1)?.power === "standby");
    expect(one.told.states.at(-1)).toEqual({ power: "standby", app: null, volume: null });
    expect(await failure(press(one, "home"))).toMatchObject({ code: "device_unreachable", reason: "asleep" });
    expect([one.set.keys, one.set.state.power]).toEqual([[], "standby"]);
    await press(one, "power");
    expect(one.set.state.power).toBe("on");
    await press(one, "power");
    expect(one.set.state.power).toBe("standby");
  });

  test("of a TV that refuses to turn off, and stays connected", async () => {
    const one = await line({ refuses: "stays" });
    await state(one);
    const off = failure(Promise.resolve(one.connection.power?.off?.(never)));
    // Once the key is sent.
    await Bun.sleep(50);
    passed.ms = 3_500;
    expect(await off).toMatchObject({ code: "device_refused", phase: "answered" });
  });

  test("of a TV that has only the toggle key", async () => {
    const one = await line({ knowsWake: false });
    await state(one);
    const off = one.connection.power?.off?.(never);
    await until("the first key has come", () => one.set.keys.length === 1);
    passed.ms = 3_500;
    await off;
    expect([one.set.state.power, one.set.keys.map(({ code }) => code)]).toEqual(["standby", [223, 26]]);
    await one.connection.power?.on?.(never);
    await one.connection.power?.on?.(never);
    await until("it is on", async () => (await state(one)).power === "on");
    expect(one.set.keys.map(({ code }) => code).slice(2)).toEqual([224, 26]);
    one.set.turn(false);
    await until("it is told", async () => (await state(one)).power === "standby");
    await one.connection.power?.on?.(never);
    await until("the key has come", () => one.set.keys.length === 5);
    expect(one.set.keys.at(-1)?.code).toBe(224);
  });

  test("is not toggled once this machine has slept while the TV was to turn off", async () => {
    const one = await line({ knowsWake: false });
    const off = one.connection.power?.off?.(never).catch((error: unknown) => error);
    await until("it was told", () => one.set.keys.length === 1);
    passed.ms = 8_000;
    expect(await off).toMatchObject({ code: "device_timeout" });
    expect(one.set.keys.map(({ code }) => code)).toEqual([223]);
  });

  test("of a TV that does not report it: only the keys that wake and turn off are sent", async () => {
    const one = await line({ features: all & ~features.power });
    for (let round = 0; round < 2; round++) await one.connection.power?.on?.(never);
    await one.connection.power?.off?.(never);
    await until("it is off", () => one.set.state.power === "standby");
    expect(one.set.keys.map(({ code }) => code)).toEqual([224, 224, 223]);
  });

  test("a TV that turns off and hangs up is not reconnected unasked; one silent for 16 s is disconnected", async () => {
    const off = await line({ standby: "off" });
    await state(off);
    off.set.turn(false);
    await until("it has hung up", () => off.told.ended.length === 1);
    expect(off.told.ended).toEqual(["going_off"]);
    const silent = await line();
    await state(silent);
    silent.set.fallSilent();
    passed.ms = 17_000;
    await until("it is hung up on", () => silent.told.ended.length === 1);
    expect([silent.told.ended, silent.connection.state?.pushes?.size]).toEqual([["hung_up"], 0]);
    const { accepted: taken } = off.set.state;
    await Bun.sleep(200);
    expect(off.set.state.accepted).toBe(taken);
  });
});

describe("who answers", () => {
  test("a TV that hangs up at once may be starting; one that goes on has forgotten zapd", async () => {
    const one = await line({ paired: [] });
    for (const ms of [0, 3_600_000]) {
      passed.ms = ms;
      expect(await failure(state(one))).toMatchObject({ code: "device_unreachable", reason: "closed" });
    }
    passed.ms += 4_000;
    expect(await failure(state(one))).toMatchObject({ code: "pairing_required" });
    expect(one.target.facts.access).toBe("unpaired");
    const never_ = await line({ paired: [] }, null);
    const { accepted: taken } = never_.set.state;
    expect(await failure(state(never_))).toMatchObject({ code: "pairing_required" });
    expect(never_.set.state.accepted).toBe(taken);
  });

  test("a TV that was off since it hung up may be starting again", async () => {
    const one = await line({ paired: [] });
    const hungUp = { code: "device_unreachable", reason: "closed" };
    expect(await failure(state(one))).toMatchObject(hungUp);
    await one.set.powerOff("off");
    passed.ms = 2_000;
    expect(await failure(state(one))).toMatchObject({ code: "device_unreachable", reason: "refused" });
    await one.set.wake();
    passed.ms = 6_000;
    expect(await failure(state(one))).toMatchObject(hungUp);
    expect(one.target.facts.access).not.toBe("unpaired");
  });

  test("a TV with TLS 1.2 hangs up on unknown clients, and is identified at its pairing port", async () => {
    const host = freeHost();
    const certificate = createCertificateFor("atvremote/a/b/BRAVIA/AA:BB:CC:DD:EE:01", "rsa");
    const servers = [6_466, 6_467].map((port) => {
      const letsIn = { rejectUnauthorized: port === 6_466, requestCert: true, maxVersion: "TLSv1.2" } as const;
      const server = createServer({ ...certificate, ...letsIn }, (socket) => void socket.on("error", () => {}));
      server.on("tlsClientError", () => {});
      return new Promise<void>((resolve) => server.listen(port, host, () => resolve())).then(() => {
        cleanups.push(() => server.close());
      });
    });
    await Promise.all(servers);
    const met = await androidtv.identify({ host, port: 6_466, announced: { name: "Den" } }, platformHostOf(), never);
    expect(met).toMatchObject({ identity: "aa:bb:cc:dd:ee:01", facts: { name: "Den", model: "BRAVIA" } });
  });

  test("a device with another kind of certificate is an Android TV only if it is announced as one", async () => {
    const host = freeHost();
    const server = createServer({ ...createCertificateFor("router") }, (socket) => void socket.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(6_466, host, () => resolve()));
    cleanups.push(() => server.close());
    const identify = (said?: Record<string, string>) =>
      androidtv.identify({ host, port: 6_466, ...(said && { announced: said }) }, platformHostOf(), never);
    expect((await failure(identify())).code).toBe("device_error");
    expect((await identify({ name: "Den" })).identity).toMatch(/^[0-9a-f]{64}$/);
  });
});
