/** Endpoints, pairing and pushes of a set, each as hardware was seen to do it (protocols/smart-tvs.md 2). */
import { afterAll, describe, expect, test } from "bun:test";
import { ZapdError } from "../../../src/api/errors.ts";
import type { PlatformState, Power } from "../../../src/platforms/platform.ts";
import { webos } from "../../../src/platforms/webos/adapter.ts";
import { RegisteredSession } from "../../../src/platforms/webos/connection.ts";
import type { WebosMemory, WebosSecret } from "../../../src/platforms/webos/memory.ts";
import { Pointer } from "../../../src/platforms/webos/pointer.ts";
import { WebosSession } from "../../../src/platforms/webos/session.ts";
import { WebosState } from "../../../src/platforms/webos/state.ts";
import { until } from "../../support/http-device.ts";
import { freeHost } from "../../support/lane.ts";
import { keptSecret, platformHostOf, targetOf } from "../../support/platform-host.ts";
import { frame, opened } from "../../support/websocket-frames.ts";
import { startDevice } from "../../transport/websocket-device.ts";
import { cleanups, failure, lineTo, never, press, state, tidy } from "../harness.ts";
import { key, line, startWebos, wordedLine, wordedSet } from "./harness.ts";

tidy(afterAll);

describe.concurrent("endpoints", () => {
  test.each([
    ["a set of 2015 has the plain one alone", { firmware: "2015", securePort: null }],
    ["a set of 2023 has the secure one, and resets the other", { firmware: "2023" }],
    ["a set of 2026 has the secure one", { firmware: "2026", plainPort: null }],
  ] as const)("%s", async (_what, options) => {
    const one = await line(options);
    expect(one.sighting).toMatchObject({ identity: one.set.uuid, facts: { manufacturer: "LG", kind: "tv" } });
    // webOS 2 does not report its power: the foreground app tells it.
    const isOld = options.firmware === "2015";
    expect(await state(one)).toMatchObject({ power: "on", screensaver: isOld ? null : false });
    expect(one.sighting.memory.endpoint?.tls).toBe(!isOld);
  });

  test("a TV that answers no hello is known by its address, and driven like any other", async () => {
    const one = await line({ traits: { hello: "none" } });
    const place = `${one.set.host}:${one.set.ports.secure}`;
    expect(one.sighting).toMatchObject({ identity: place, provisional: true, pairing: "required" });
    expect((await state(one)).power).toBe("on");
    await one.pair();
    expect(one.told.learned.at(-1)).toMatchObject({ macs: [one.set.mac, one.set.wifiMac] });
  });

  test("a TV that is described by a name of all TVs has its model once it is paired, also where that name was kept", async () => {
    const traits = { systemInfo: "after-registration" } as const;
    const set = await startWebos({ host: freeHost(), ssdp: true, describedModel: "LG Smart TV", traits });
    const lead = { host: set.host, port: set.ports.secure ?? 0 };
    const announced = { port: String(set.ports.description), path: "/" };
    const one = await lineTo(webos, set, { lead: { ...lead, announced }, given: { key } });
    expect(one.sighting.facts).toMatchObject({ name: "One", model: null });
    const kept = await lineTo(webos, set, { lead, given: { key }, facts: { model: "LG Smart TV" } });
    for (const line of [one, kept]) {
      await state(line);
      expect(line.told.learned.at(-1)?.model).toBe("OLED55C14LB");
    }
  });

  test("a TV that leaves inessential requests unanswered is connected soon, and driven", async () => {
    const silent = {
      getExternalInputList: null,
      registerRemoteKeyboard: null,
      getinfo: null,
      getForegroundAppInfo: null,
    };
    const one = await wordedLine({ ...silent, getPowerState: { state: "Active" } }, 10_000);
    const begun = performance.now();
    expect((await state(one)).power).toBe("on");
    expect(performance.now() - begun).toBeLessThan(10_000);
    await one.connection.playback?.do("play", never);
  });

  test("a caller who is gone while a TV that was registered with is still asked leaves no socket open", async () => {
    const caller = new AbortController();
    // It has taken the key by then, and says no more than that.
    const hangUp = (word: string) => {
      if (word === "getPowerState") caller.abort(new Error("gone"));
    };
    const silent = { getPowerState: null, getVolume: null, getForegroundAppInfo: null };
    const one = await wordedLine(silent, undefined, hangUp);
    const reading = Promise.resolve(one.connection.state?.read(caller.signal));
    expect(await reading.catch((error) => error.message)).toBe("gone");
    await until("it is closed", () => one.set.connections.open === 0);
  });

  test("a TV that never answers the registration times out", async () => {
    const one = await wordedLine({ register: null }, 2_500);
    const { code, message } = await failure(state(one));
    expect([code, message]).toEqual(["device_timeout", "did not answer within 2.5 s"]);
  });

  test("a TV whose new key cannot be saved is driven all the same", async () => {
    const one = await wordedLine({ register: { "client-key": "new" } });
    Object.assign(one.target.secret, { keep: () => Promise.reject(new ZapdError("storage_error", "is full")) });
    expect((await state(one)).power).toBe("on");
  });

  test("a refused key that cannot be dropped, as on a full disk, is still said to be refused", async () => {
    const one = await line({ clientKeys: {}, prompt: "deny" });
    Object.assign(one.target.secret, { drop: () => Promise.reject(new ZapdError("storage_error", "is full")) });
    expect((await failure(state(one))).code).toBe("pairing_required");
  });

  test("when the remembered port is closed, the other is tried", async () => {
    const set = await startWebos({ name: "Mover" });
    cleanups.push(() => set.stop());
    const plain = set.ports.plain ?? 0;
    const platformHost = platformHostOf();
    const sighting = await webos.identify({ host: set.host, port: plain }, platformHost, never);
    // It is remembered by an endpoint that is not there any more, on a port that refuses.
    const known = { ...sighting, memory: { endpoint: { port: 1, tls: true } } };
    const secret = keptSecret<WebosSecret>({ key });
    const { target, told } = targetOf<WebosMemory, WebosSecret>(
      known,
      { host: set.host, port: 1 },
      { ports: { plain }, secret },
    );
    const connection = webos.connect(target, platformHost, told.emit);
    cleanups.push(() => connection.close());
    expect((await connection.state?.read(never))?.power).toBe("on");
  });
});

describe.concurrent("pairing", () => {
  test("accepted: key and certificate are kept; the manifest asks for all permissions, unsigned", async () => {
    const one = await line({ clientKeys: {} }, null);
    expect((await failure(state(one))).code).toBe("pairing_required");
    expect(one.told.learned.at(-1)?.access).toBe("unpaired");
    expect(one.set.received.prompts).toEqual([]);
    await one.pair();
    expect(one.set.received.prompts.length).toBe(1);
    expect(one.set.received.prompts[0]?.permissions).toContain("CONTROL_MOUSE_AND_KEYBOARD");
    const certificate = one.set.fingerprint.replaceAll(":", "").toLowerCase();
    expect(one.kept()).toEqual({ key: [...one.set.clientKeys.keys()][0] ?? "", certificate });
    expect(one.told.learned.at(-1)).toMatchObject({ access: "full", macs: [one.set.mac, one.set.wifiMac] });
    one.renew();
    expect((await state(one)).power).toBe("on");
    await press(one, "home");
    expect(one.set.received.prompts.length).toBe(1);
  });

  test.each(["403 User denied access", "403 cancelled"])("denied (%s): says so, and keeps nothing", async (denial) => {
    const one = await line({ clientKeys: {}, prompt: "deny", denial }, null);
    const { code, message, hint } = await failure(one.pair());
    expect([code, message]).toEqual([
      "pairing_failed",
      `refused the pairing: somebody declined the request on the TV ("${denial}")`,
    ]);
    expect(hint).toContain("zapd pair");
    expect(one.kept()).toBeNull();
  });

  test("busy with another prompt: says so", async () => {
    const one = await line({ clientKeys: {}, prompt: "wait" }, null);
    const caller = new AbortController();
    const first = one.pair(caller.signal).catch((reason: unknown) => reason);
    await until("it asks", () => one.set.state.prompting);
    expect((await failure(one.pair())).message).toStartWith("is busy");
    caller.abort("gone");
    expect(await first).toBeInstanceOf(ZapdError);
    await until("the request is gone from the screen", () => !one.set.state.prompting);
  });

  test("a TV that refuses the signed manifest pairs at once", async () => {
    const one = await line({ clientKeys: {}, firmware: "2026" }, null);
    await one.pair();
    expect(one.kept()?.key).toBeDefined();
  });

  test("a TV that forgot the key: its prompt is removed, the error says what to do, and the key is kept", async () => {
    const one = await line({ prompt: "wait" });
    one.set.forgetKeys();
    for (let round = 0; round < 3; round++) {
      const { code, hint } = await failure(state(one));
      expect([code, hint]).toEqual(["pairing_required", expect.stringContaining("zapd pair")]);
    }
    // One was shown, for no one could know; it is gone, and none came after it.
    await until("it is gone", () => one.set.received.prompts.every(({ answer }) => answer === "cancelled"));
    expect(one.set.received.prompts.length).toBe(1);
    expect(one.kept()).toEqual({ key });
    expect(one.told.learned.at(-1)?.access).toBe("unpaired");
  });

  test("what is withheld before pairing works after it", async () => {
    const one = await line({ clientKeys: {} }, null);
    const { withheld } = webos.describe(one.target.facts, one.target.memory, false);
    expect([...withheld].sort().join(" ")).toBe(
      "apps channels icons inputs keys launch media mute notify playback state stop text volume",
    );
    await one.pair();
    one.renew();
    const paired = webos.describe(one.target.facts, one.target.memory, true);
    expect(paired.withheld.size).toBe(0);
    for (const lacked of ["seek", "artwork", "screenshot"] as const) expect(paired.has.has(lacked)).toBe(false);
    expect(one.connection.power).toBeDefined();
  });
});

/** A session that is open to a set of these words. */
async function sessionWith(hear: Parameters<typeof wordedSet>[0]): Promise<WebosSession> {
  const { host, port, stop } = wordedSet(hear);
  cleanups.push(stop);
  const session = await new WebosSession({ host, port, tls: false }, platformHostOf()).open(never);
  cleanups.push(() => session.destroy());
  return session;
}

test("a registration after one that was refused has another id: a TV answers none a second time (home-assistant/core#147557)", async () => {
  const used: string[] = [];
  const session = await sessionWith(({ id }, say) => {
    if (used.includes(id)) return;
    used.push(id);
    say(used.length === 1 ? { returnValue: false, errorText: "403 cancelled" } : { "client-key": "new" });
  });
  const register = () => session.register({}, () => {}, AbortSignal.timeout(2_000));
  await failure(register());
  expect(await register()).toBe("new");
  expect(used[0]).toBe("register_0");
});

test("the path of the socket for buttons is not sent to another certificate", async () => {
  const heads: string[] = [];
  const stranger = await startDevice(true, (_socket, head) => heads.push(head));
  cleanups.push(() => stranger.stop());
  const session = {
    alive: true,
    fingerprint: "00".repeat(32),
    endpoint: { host: "127.0.0.1" },
    request: async () => ({ socketPath: `wss://127.0.0.1:${stranger.port}/secret` }),
  };
  const pointer = new Pointer(session as unknown as WebosSession, platformHostOf());
  expect((await failure(pointer.press("HOME", never))).code).toBe("device_unproven");
  expect(heads).toEqual([]);
});

test("a socket for buttons that opens when the session is over is closed", async () => {
  const set = wordedSet(() => {});
  cleanups.push(set.stop);
  const { host, port } = set;
  let alive = true;
  const session = {
    get alive() {
      return alive;
    },
    endpoint: { host },
    async request() {
      alive = false;
      return { socketPath: `ws://${host}:${port}/` };
    },
  };
  const pointer = new Pointer(session as unknown as WebosSession, platformHostOf());
  expect((await failure(pointer.press("HOME", never))).code).toBe("device_unreachable");
  await until("it is closed", () => set.connections.open === 0);
});

/** The buttons of a session whose socket for them is at a port. */
function pointerAt(port: number): Pointer {
  const session = {
    alive: true,
    endpoint: { host: "127.0.0.1" },
    request: async () => ({ socketPath: `ws://127.0.0.1:${port}/` }),
  };
  return new Pointer(session as unknown as WebosSession, platformHostOf());
}

test("a TV that is late to answer the first ping answers pings all the same: one that then falls silent has not read a button", async () => {
  const set = await startDevice(false, (socket, head) => void socket.write(opened(head)));
  cleanups.push(() => set.stop());
  const pointer = pointerAt(set.port);
  cleanups.push(() => pointer.close());
  await pointer.press("HOME", never);
  const { socket, frames } = await set.peer;
  const pings = () => frames.filter(({ first }) => first === 0x89);
  socket.write(frame(0x8a, pings()[0]?.payload));
  await Bun.sleep(100);
  expect((await failure(pointer.press("UP", never))).code).toBe("device_error");
  expect(pings().length).toBe(2);
});

test("inputs that were listed are not forgotten where an earlier question for them goes unanswered", async () => {
  const answers: Record<string, object | Promise<object>> = {
    getExternalInputList: new Promise<object>(() => {}),
    getForegroundAppInfo: { appId: "com.webos.app.dock" },
  };
  const one = await wordedLine(answers, 800);
  await state(one);
  answers["getExternalInputList"] = { devices: [{ id: "DOCK_1", appId: "com.webos.app.dock", label: "Dock" }] };
  expect(await one.connection.inputs?.list(never)).toEqual([{ id: "DOCK_1", name: "Dock" }]);
  await Bun.sleep(1_000);
  expect((await state(one)).input).toBe("DOCK_1");
});

test("a TV that hangs up at the first button, and at the next one, has read neither", async () => {
  const set = await startDevice(false, (socket, head) => {
    socket.write(opened(head));
    socket.on("data", () => socket.destroy());
  });
  cleanups.push(() => set.stop());
  const pointer = pointerAt(set.port);
  for (const button of ["HOME", "UP"]) expect((await failure(pointer.press(button, never))).code).toBe("device_error");
});

test("R14 a session that has slept with the machine is asked before a command, whatever it sent last", async () => {
  const polled: string[] = [];
  const session = { sinceMessageMs: 0, silentForMs: 60_000, timeoutMs: 1_000, ping() {} };
  const state = { isStale: () => false, poll: async (topic: string) => polled.push(topic) };
  const parts = [session, state, {}, {}] as unknown as ConstructorParameters<typeof RegisteredSession>;
  await new RegisteredSession(...parts).requireAlive(never);
  expect(polled).toEqual(["power"]);
});

describe.concurrent("state", () => {
  test.each(["2018", "2021", "2023"] as const)(
    "volume, mute, app, input and playback as they are pushed (%s)",
    async (firmware) => {
      const one = await line({ firmware });
      await state(one);
      expect([...(one.connection.state?.pushes ?? [])]).toEqual([]);
      // A second word so soon may belong to the first.
      await Bun.sleep(120);
      const asked = one.set.received.requests.length;
      one.set.setVolume(42);
      one.set.setMuted(true);
      one.set.open("netflix");
      one.set.play("playing");
      await until(
        "it was pushed",
        async () => (await state(one)).volume?.muted === true && (await state(one)).app !== null,
      );
      const now = await state(one);
      expect([...(one.connection.state?.pushes ?? [])]).toEqual(expect.arrayContaining(["volume", "app", "input"]));
      expect(now).toMatchObject({ power: "on", volume: { level: 42, muted: true }, input: null });
      expect(now.app).toMatchObject({ platformId: "netflix", id: "netflix", name: "Netflix", type: "app" });
      if (firmware === "2023") expect(now.playback?.status).toBe("playing");
      // The names of the apps were asked for once.
      const questions = one.set.received.requests.slice(asked).map(({ uri }) => uri);
      expect(questions.filter((uri) => uri.endsWith("/listLaunchPoints")).length).toBe(1);
      one.set.open("com.webos.app.hdmi2");
      await until("the input was pushed", async () => (await state(one)).input === "hdmi2");
      expect((await state(one)).app).toMatchObject({ type: "input", id: "hdmi2" });
    },
  );

  test("after a command the state is polled, not taken from earlier pushes", async () => {
    const one = await line();
    await state(one);
    await press(one, "mute");
    expect((await state(one)).volume?.muted).toBe(true);
    await press(one, "mute");
    expect((await state(one)).volume?.muted).toBe(false);
  });

  test.each([
    ["Always Ready", "netflix", "on"],
    ["Unknown", "netflix", "on"],
    ["Unknown", "", "standby"],
    ["Suspend", "netflix", "off"],
  ])("a power that is %j, with the app %j in front, is %s", async (said, appId, power) => {
    const one = await wordedLine({ getPowerState: { state: said }, getForegroundAppInfo: { appId } });
    expect((await state(one)).power).toBe(power as Power);
  });

  test("the title of an app that comes to the front is pushed unasked", async () => {
    const one = await line();
    await state(one);
    one.set.open("com.webos.app.browser");
    await until("it is told", () => one.told.states.some(({ app }) => app?.name === "Web Browser"));
  });

  test("after a command, what the TV fails to report is unknown, and asked for again", async () => {
    const answers: Record<string, object | null> = { getVolume: { volume: 10 } };
    const one = await wordedLine(answers, 1_000);
    expect((await state(one)).volume?.level).toBe(10);
    // One that misses a question now and then is asked again each time.
    for (const failing of [{ returnValue: false, errorText: "500 Application error" }, null, null]) {
      await one.connection.volume?.mute?.(true, never);
      answers["getVolume"] = failing;
      expect((await state(one)).volume).toBeNull();
      answers["getVolume"] = { volume: 20 };
      expect((await state(one)).volume?.level).toBe(20);
    }
  });

  test("what a TV refuses to report is not waited for, and confirms nothing", async () => {
    const one = await wordedLine({
      getForegroundAppInfo: { returnValue: false, errorText: "401 insufficient permissions" },
    });
    expect((await state(one)).app).toBeNull();
    expect(one.connection.state?.showsPlayback).toBe(false);
  });

  test("a list of apps takes the place of the one before, so that titles do not pile up", async () => {
    const answers = {
      getForegroundAppInfo: { appId: "com.example.app" },
      listLaunchPoints: { launchPoints: [{ id: "com.example.app", title: "Example" }] },
    };
    const one = await wordedLine(answers);
    expect((await state(one)).app?.name).toBe("Example");
    answers.listLaunchPoints = { launchPoints: [] };
    expect(await one.connection.apps?.list?.(never)).toEqual([]);
    expect((await state(one)).app?.name).toBe("com.example.app");
  });

  test("in a standby that answers, app and volume are unknown; they hold again once the TV is on", async () => {
    let tell: (state: string) => void = () => {};
    const session = await sessionWith(({ word }, say) => {
      if (word === "getVolume") say({ volume: 10, muted: false });
      else if (word === "getPowerState") {
        tell = (state) => say({ state });
        tell("Active");
      } else say({ appId: "netflix" });
    });
    let told: Partial<PlatformState> = {};
    const changed = (patch: Partial<PlatformState>) => {
      told = { ...told, ...patch };
    };
    await WebosState.follow(session, { changed, goingOff() {}, title: () => null }, never);
    const shown = { app: { platformId: "netflix" }, volume: { level: 10, muted: false } };
    expect(told).toMatchObject({ power: "on", ...shown });
    tell("Active Standby");
    await until("it is told", () => told.power === "standby");
    expect(told).toMatchObject({ app: null, volume: null, playback: null });
    tell("Active");
    await until("it is told", () => told.power === "on");
    expect(told).toMatchObject(shown);
  });

  test("a push behind an answer is the later report", async () => {
    let subscription = "";
    const session = await sessionWith(({ id, type, word }, say) => {
      if (word !== "getVolume") return say({});
      if (type === "subscribe") subscription = id;
      say({ volume: 10 });
      if (type === "request") say({ volume: 7 }, subscription);
    });
    const pushed = await WebosState.follow(session, { changed() {}, goingOff() {}, title: () => null }, never);
    await pushed.poll("volume", never);
    expect(pushed.volumePayload).toMatchObject({ volume: 7 });
  });

  test("a push counts although the question that came before it goes unanswered", async () => {
    let subscription = "";
    let isSilent = false;
    const session = await sessionWith(({ id, type, word }, say) => {
      if (word !== "getVolume") return say({ state: "Active" });
      if (type === "subscribe") subscription = id;
      say({ volume: isSilent ? 7 : 10 }, isSilent ? subscription : id);
    });
    const pushed = await WebosState.follow(session, { changed() {}, goingOff() {}, title: () => null }, never);
    pushed.invalidate();
    isSilent = true;
    await pushed.refresh(never);
    expect(pushed.volumePayload).toMatchObject({ volume: 7 });
  });

  test("an answer that only says that it is subscribed, before or after a push, changes nothing", async () => {
    const bare = { subscribed: true };
    const session = await sessionWith(({ id, type, word }, say) => {
      if (type === "request" || word !== "getVolume") return say({ volume: 30 });
      for (const payload of [bare, { ...bare, volume: 12, muted: true }, bare]) say(payload, id);
    });
    const told: unknown[] = [];
    const changed = ({ volume }: Partial<PlatformState>) => void (volume !== undefined && told.push(volume));
    const pushed = await WebosState.follow(session, { changed, goingOff() {}, title: () => null }, never);
    await session.request("ssap://any", {}, never);
    expect(told).toEqual([{ level: 12, muted: true }]);
    expect(pushed.volumePayload).toMatchObject({ volume: 12 });
  });
});
