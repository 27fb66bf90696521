/** What a set of some year or firmware does otherwise, and what a connection makes of it (smart-tvs.md 3). */
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import net from "node:net";
import { closedBeforeSending, DeviceError, ZapdError } from "../../../src/api/errors.ts";
import { samsung } from "../../../src/platforms/samsung/adapter.ts";
import { Apps } from "../../../src/platforms/samsung/apps.ts";
import type { SamsungTarget } from "../../../src/platforms/samsung/memory.ts";
import { powerOf } from "../../../src/platforms/samsung/power.ts";
import { appOf, type Info, readInfo } from "../../../src/platforms/samsung/protocol.ts";
import { parseInfo, type Rest, requireIdentity } from "../../../src/platforms/samsung/rest.ts";
import { RemoteSession } from "../../../src/platforms/samsung/session.ts";
import { fullBacklog } from "../../blackbox/fault-server.ts";
import { freePort } from "../../support/daemon.ts";
import { until } from "../../support/http-device.ts";
import { freeHost } from "../../support/lane.ts";
import { listening } from "../../support/listening.ts";
import { platformHostOf, turnOn } from "../../support/platform-host.ts";
import { cleanups, failure, lineTo, never, passing, press, state, tidy } from "../harness.ts";
import { type Line, line, startSamsung, taken, token } from "./harness.ts";

const passed = passing();
tidy(afterAll);

const describeOf = ({ target }: Line) => samsung.describe(target.facts, target.memory, true);

describe.concurrent("the identity of a TV", () => {
  test("is read at either port, with the certificate; a TV of 2016 has only the plain port", async () => {
    const one = await line({ network: "wired", frame: true });
    const { identity, certificate, facts, memory, pairing, port, power } = one.sighting;
    expect([identity, certificate, pairing, power]).toEqual([one.set.duid, one.set.fingerprint, "required", "on"]);
    expect(port).toBe(one.set.ports.secure ?? 0);
    // What it tells is the address of its Wi-Fi, and no packet to that wakes it.
    expect(facts).toMatchObject({
      name: "One",
      manufacturer: "Samsung",
      model: "QE55Q60AAUXXH",
      macs: [],
      access: null,
    });
    expect(memory).toEqual({ token: true, saysPower: true, frame: true, year: 2021 });
    const old = await line({ name: "Old", year: 2016 });
    expect(old.sighting).toMatchObject({ pairing: "none", certificate: null, facts: { access: "full" } });
    expect(old.sighting).not.toHaveProperty("power");
    expect(old.sighting.facts.macs).toEqual([old.set.mac]);
  });

  test("found at its plain port, a TV that gives tokens is driven at the other one", async () => {
    const set = await startSamsung();
    cleanups.push(() => set.stop());
    const lead = { host: set.host, port: set.ports.plain ?? 0 };
    const sighting = await samsung.identify(lead, platformHostOf(), never);
    expect(sighting).toMatchObject({ identity: set.duid, port: 8_002, atSecondaryPort: true, certificate: null });
  });

  test("a TV that tells no id is known by its address, one that tells its UDN alone by that", async () => {
    const one = await line({ traits: { hidesIdentity: true } });
    expect(one.sighting).toMatchObject({ identity: `${one.set.host}:${one.set.ports.secure}`, provisional: true });
    await press(one, "home");
    expect(taken(one.set)).toEqual(["KEY_HOME"]);
    const device = { udn: "uuid:AB-CD", modelName: "QE55Q60AAUXXH" };
    expect(readInfo(JSON.stringify({ device })).duid).toBe("ab-cd");
  });

  test("is named as its owner named it, where it escapes that as in HTML (NickWaterton/samsung-tv-ws-api#3)", async () => {
    const named = async (name: string) => (await line({ name })).sighting.facts.name;
    expect(await named("43&quot; The Frame &amp; Hall")).toBe('43" The Frame & Hall');
    expect(await named("Tom & Jerry")).toBe("Tom & Jerry");
  });

  test("is not looked for elsewhere: a redirect is not followed", () => {
    const redirect = { status: 302, headers: new Map([["location", "http://192.0.2.1/"]]), body: Buffer.alloc(0) };
    expect(() => parseInfo(redirect)).toThrow("answered with a redirect, which zapd does not follow");
  });

  test("T27 a TV that tells another id than the known one, or none any more, is not taken for it", () => {
    const check = (duid: string | null) => () =>
      requireIdentity({ identity: "ab-cd", host: "127.0.0.1" }, { duid } as Info);
    expect(check("ab-cd")).not.toThrow();
    expect(check("other")).toThrow("another device");
    expect(check(null)).toThrow("no longer reports its identity");
  });

  test("TVs of 2014 and 2015 are recognized, and not driven", async () => {
    const set = await startSamsung({ year: 2015, model: "UE48J6250" });
    cleanups.push(() => set.stop());
    const lead = { host: set.host, port: set.ports.plain ?? 0 };
    const error = await failure(samsung.identify(lead, platformHostOf(), never));
    expect([error.code, error.hint]).toEqual(["device_error", "zapd supports Samsung TVs of 2016 and newer"]);
  });

  test("each search takes only its own answers", () => {
    const answers = (st: string, server = "SHP, UPnP/1.0, Samsung UPnP SDK/1.0") => {
      const headers = new Map([
        ["st", st],
        ["server", server],
        ["location", "http://192.0.2.9:9197/dmr"],
      ]);
      const leads = samsung.queries.map((query) =>
        query.over === "ssdp" ? query.read({ headers, source: "192.0.2.1" }) : null,
      );
      return leads.filter((lead) => lead !== null);
    };
    expect(answers("urn:samsung.com:device:RemoteControlReceiver:1")).toEqual([{ host: "192.0.2.1", port: 8_002 }]);
    expect(answers("urn:schemas-upnp-org:service:RenderingControl:1")).toHaveLength(1);
    expect(answers("urn:schemas-upnp-org:service:RenderingControl:1", "Linux UPnP/1.0 Sonos/70")).toEqual([]);
    const airplay = samsung.queries.find((query) => query.over === "mdns");
    const service = { name: "x", type: "_airplay._tcp", addresses: [], port: 7000, source: "192.0.2.1" };
    expect(
      airplay?.over === "mdns" && airplay.read({ ...service, txt: { manufacturer: "Samsung Electronics" } }),
    ).toEqual({
      host: "192.0.2.1",
      port: 8_002,
    });
    expect(airplay?.over === "mdns" && airplay.read({ ...service, txt: { manufacturer: "Apple" } })).toBeNull();
  });
});

const pairing = async (options: Parameters<typeof line>[0]) => {
  const one = await line({ tokens: [], ...options }, null);
  return { one, end: () => failure(one.pair()) };
};
const reasonOf = (error: unknown) => (error as { reason?: string }).reason;

describe.concurrent("the pairing request", () => {
  test("is allowed: the token is kept as text, with the certificate, and works", async () => {
    for (const traits of [{}, { numericToken: true }, { sendsOtherEventsFirst: true }]) {
      const { one } = await pairing({ traits });
      await one.pair();
      expect(one.kept()).toEqual({ token: one.set.state.tokens[0] ?? "", certificate: one.set.fingerprint });
      one.renew();
      await press(one, "home");
      expect([one.set.received.prompts, taken(one.set)]).toEqual([["allowed"], ["KEY_HOME"]]);
    }
  });

  test("is denied, by a person or by the Device List; the error tells which", async () => {
    const slow = await pairing({ prompt: "deny", promptMs: 1_200 });
    const person = await slow.end();
    expect([person.code, reasonOf(person)]).toEqual(["pairing_failed", "denied"]);
    expect(person.message).toContain("somebody declined");
    const quick = await pairing({ prompt: "deny", promptMs: 1 });
    const list = await quick.end();
    expect(list.message).toContain("without asking");
    for (const { hint } of [person, list]) expect(hint).toContain("Device Connection Manager > Device List");
    expect(quick.one.kept()).toBeNull();
  });

  test("cannot be shown in standby, and does not wake the TV", async () => {
    const { one } = await pairing({ traits: { socketWakes: true } });
    await one.set.powerOff();
    const error = await failure(one.pair());
    expect([error.code, reasonOf(error)]).toEqual(["device_unreachable", "asleep"]);
    expect(one.set.state).toMatchObject({ power: "standby", channels: { most: 0 } });
  });

  test("disappears when pairing is cancelled", async () => {
    const { one } = await pairing({ prompt: "wait" });
    const over = new AbortController();
    const waiting = one.pair(over.signal);
    await until("it is shown", () => one.set.state.prompting);
    over.abort();
    // Whether our side had heard by then that it is shown, or not.
    expect(
      await waiting.then(
        () => "paired",
        () => "given up",
      ),
    ).toBe("given up");
    await until("it is gone", () => !one.set.state.prompting);
  });

  test("is not shown again by a TV of 2016, which gives no token", async () => {
    const one = await line({ year: 2016, tokens: [], prompt: "wait" });
    const waiting = one.pair();
    await until("it is shown", () => one.set.answerPrompt(true));
    await waiting;
    expect(one.kept()).toBeNull();
    await press(one, "home");
    expect(taken(one.set)).toEqual(["KEY_HOME"]);
  });
});

// One after another: these set the clock that the tests of this file share, or have little time for an answer.
describe("prompts and deadlines", () => {
  test("a request is shown over TLS by a TV of 2016 that is reached only so, and gives no token all the same", async () => {
    const asked = { tokens: [], prompt: "wait", host: freeHost(), securePort: 8_002, plainPort: null } as const;
    const one = await line({ year: 2016, traits: { tls: true }, ...asked }, null, 800);
    expect(one.sighting).toMatchObject({ pairing: "none", port: 8_002, facts: { access: "full" } });
    expect((await state(one)).power).toBe("on");
    // At the first key, as by one without TLS.
    expect((await failure(press(one, "home"))).hint).toMatch(/^Run zapd pair/);
    await until("it is gone", () => !one.set.state.prompting);
    const waiting = one.pair();
    await until("it is shown again", () => one.set.answerPrompt(true));
    await waiting;
    expect(one.kept()).toBeNull();
    await press(one, "home");
    expect(taken(one.set)).toEqual(["KEY_HOME"]);
  });

  test("a prompt ends: nobody answered, or it was never shown", async () => {
    const shown = await pairing({ prompt: "wait", promptEndsMs: 1_500 });
    const begun = await shown.one.begin();
    if (begun.step !== "confirm") return expect.unreachable();
    passed.ms += 5_500;
    const late = await failure(begun.done);
    expect([late.code, reasonOf(late)]).toEqual(["pairing_failed", "late"]);
    expect(late.message).toContain("nobody accepted");
    const unshown = await pairing({ prompt: "unshown" });
    const atOnce = await unshown.end();
    expect([reasonOf(atOnce), atOnce.message.includes("does not show the request")]).toEqual(["late", true]);
    for (const { hint } of [late, atOnce]) expect(hint).toContain("Access Notification: First Time Only");
  });

  test("a TV that prompts with every connection is left alone, and the setting is named", async () => {
    const one = await line({ asks: "always", prompt: "wait" }, undefined, 800);
    const error = await failure(press(one, "home"));
    expect(error.code).toBe("pairing_required");
    expect(error.hint).toContain("Access Notification: First Time Only");
    await until("the request is gone", () => !one.set.state.prompting);
    for (let round = 0; round < 3; round++) await failure(press(one, "home"));
    expect(one.set.received.prompts).toEqual(["cancelled"]);
    expect(one.target.memory.prompted).toBe(1);
    // What is open to everybody is.
    expect((await state(one)).power).toBe("on");
    expect(one.kept()).not.toBeNull();
  });

  test("a TV of 2016 that was never paired asks at the first key, and is not said to ask every time", async () => {
    const one = await line({ year: 2016, tokens: [], prompt: "wait" }, undefined, 800);
    for (let round = 0; round < 2; round++) {
      const { message, hint } = await failure(press(one, "home"));
      expect([message.includes("every"), hint]).toEqual([false, expect.stringMatching(/^Run zapd pair/)]);
    }
    await until("it is gone", () => one.set.received.prompts.length > 0);
    expect(one.set.received.prompts).toEqual(["cancelled"]);
  });

  test("a TV in standby that says nothing over its connection has shown no request, and is woken by a packet", async () => {
    const one = await line({ traits: { silent: true } }, undefined, 800);
    await one.set.powerOff();
    await turnOn(one.connection, one.target, never);
    expect([one.set.state.power, one.target.memory.prompted]).toEqual(["on", undefined]);
  });

  test("a TV that is not paired is not connected to be turned on: only a packet may wake it", async () => {
    const one = await line({}, null);
    await one.set.powerOff();
    const error = await failure(one.connection.power?.on?.(never) ?? Promise.resolve());
    expect([error.code, reasonOf(error), one.set.state.channels.most]).toEqual(["device_unreachable", "asleep", 0]);
  });

  test("a TV that answers in standby, and does not report its power, is taken to be off", async () => {
    const one = await line({ year: 2016, tokens: ["zapd"] });
    const off = one.connection.power?.off?.(never);
    await until("the key has come", () => taken(one.set).length === 1);
    const { length } = one.set.received.requests;
    await until("it is asked whether it is off", () => one.set.received.requests.length > length);
    passed.ms += 7_000;
    await off;
    expect(one.told.ended).toEqual(["going_off"]);
  });

  test("a TV that answers in standby, and reports an empty power, is in standby (tavicu/homebridge-samsung-tizen#702)", () => {
    const read = (power: Record<string, unknown>) => {
      const device = { duid: "uuid:ab-cd", modelName: "QE55S90CATXXU", TokenAuthSupport: "true", ...power };
      const { power: said, memory } = readInfo(JSON.stringify({ device }));
      return [said, memory.saysPower];
    };
    expect(read({ PowerState: "" })).toEqual(["standby", true]);
    expect(read({ PowerState: "standby" })).toEqual(["standby", true]);
    expect(read({ PowerState: "on" })).toEqual(["on", true]);
    expect(read({})).toEqual([null, false]);
  });

  test("a TV that sends no first event times out", async () => {
    const one = await line({ traits: { silent: true } }, undefined, 800);
    const begun = performance.now();
    expect((await failure(press(one, "home"))).code).toBe("pairing_required");
    expect(performance.now() - begun).toBeLessThan(3_000);
    await until("nothing is open", () => one.set.state.channels.open === 0);
  });

  test("R14 a key that the machine slept through while the TV was connected to is not sent", async () => {
    const one = await line({ asks: "always", prompt: "wait" });
    const pressing = failure(press(one, "home"));
    await until("it is connected", () => one.set.state.prompting);
    passed.ms = 8_000;
    one.set.answerPrompt(true);
    expect((await pressing).code).toBe("device_busy");
    expect(one.set.received.keys).toEqual([]);
  });

  test("apps of a TV that shows its prompt again are the known ones", async () => {
    const one = await line({ year: 2019, asks: "always", prompt: "wait" }, undefined, 800);
    expect((await one.connection.apps?.list?.(never))?.map(({ id }) => id)).toContain("netflix");
    await until("the request is gone", () => !one.set.state.prompting);
  });

  test("keys do not wait for a TV that answers no pings", async () => {
    const one = await line({ traits: { answersPings: false } });
    await press(one, "up");
    const begun = performance.now();
    for (let round = 0; round < 4; round++) await press(one, "down");
    expect(performance.now() - begun).toBeLessThan(1_800);
    await until("all have come", () => taken(one.set).length === 5);
  });

  test("keys and text that a TV does not read, which has answered before, are not confirmed", async () => {
    const one = await line();
    one.set.focus(true);
    await press(one, "up");
    one.set.fallSilent();
    const works = [press(one, "down"), press(one, "down"), one.connection.text?.type("secret", never)];
    for (const { code } of await Promise.all(works.map((work) => failure(Promise.resolve(work)))))
      expect(code).toBe("device_error");
    await until("it is hung up on", () => one.set.state.channels.open === 0);
  });

  test("apps are listed by the TV, or else found by asking for each known app, and remembered", async () => {
    const listing = await line({ year: 2019 });
    // The answer names no request: one is for all who ask at once.
    const [listed, shared] = await Promise.all([1, 2].map(() => listing.connection.apps?.list?.(never)));
    expect([shared, listing.target.memory.lists]).toEqual([listed, true]);
    expect(listed?.map(({ platformId }) => platformId).join(" ")).toBe(
      "3201907018807 111299001912 3201910019365 3201901017640 3201606009684 org.tizen.browser",
    );
    const silent = await line({ year: 2022 });
    const probed = await silent.connection.apps?.list?.(never);
    expect(probed?.map(({ id }) => id)).toEqual(["netflix", "youtube", "prime-video", "disney-plus", "spotify"]);
    expect(silent.target.memory).toMatchObject({ lists: false });
    // An empty list is none: so many of 2020 and newer answer.
    const empty = await line({ year: 2022, traits: { listsApps: "empty" } });
    expect(await empty.connection.apps?.list?.(never)).toEqual(probed);
    // Known before the apps are: those of a slow one may come too late.
    expect(silent.told.remembered.find(({ lists }) => lists === false)).not.toHaveProperty("apps");
    // It is not asked for its list again.
    const asking = spyOn(RemoteSession.prototype, "apps");
    await silent.connection.apps?.list?.(never);
    expect(asking).not.toHaveBeenCalled();
    asking.mockRestore();
    // Another connection asks once more: one question that went unanswered does not decide for ever.
    const again = await line({ year: 2019 });
    again.told.emit({ type: "facts", memory: { lists: false, apps: silent.target.memory.apps ?? [] } });
    expect(await again.connection.apps?.list?.(never)).toEqual(listed);
    // Its own apps have no status, and are not gone where it does not answer.
    const browser = { id: "org.tizen.browser", name: "Internet", native: true };
    silent.told.emit({ type: "facts", memory: { apps: [browser, ...(silent.target.memory.apps ?? [])] } });
    const kept = await silent.connection.apps?.list?.(never);
    expect(kept?.map(({ name }) => name)).toEqual([...(probed?.map(({ name }) => name) ?? []), "Internet"]);
    silent.set.open("111299001912");
    const before = silent.set.received.requests.length;
    for (let round = 0; round < 3; round++) expect((await state(silent)).app?.id).toBe("youtube");
    // One that is still there is asked for alone.
    expect(silent.set.received.requests.length - before).toBeLessThan(40);
  }, 60_000);
});

test("an app is the service whose id it has, whatever the TV calls it", () => {
  const named = [
    ["3201412000679", "ARD"],
    ["3202006020991", "Peacock TV"],
    ["3201512006785", "Amazon Video"],
  ] as const;
  expect(named.map(([id, name]) => appOf(id, name).id)).toEqual(["ard-mediathek", "peacock", "prime-video"]);
  for (const id of ["3201607009920", "3201806016390"])
    expect(appOf(id, null)).toMatchObject({ id: "dazn", name: "DAZN" });
});

describe("the effect of a launch or a stop that the TV took", () => {
  const id = "111299001912";
  /** The apps of a TV that shows this one, or not, each time that it is asked; `null`: it takes no connection. */
  function appsOf(...answers: (boolean | null)[]) {
    const app = async () => {
      const visible = answers.length > 1 ? answers.shift() : answers[0];
      if (visible === null)
        throw new DeviceError("device_unreachable", "is silent", { phase: "connect", reason: "refused" });
      return { app: appOf(id, "YouTube"), visible };
    };
    const late = () => {
      passed.ms += 3_000;
    };
    const stop = async () => void setTimeout(late, 10);
    const target = { memory: { apps: [{ id, name: "YouTube", native: false }] } };
    const rest = { app, launch: async () => {}, stop };
    return new Apps(target as unknown as SamsungTarget, rest as unknown as Rest, () => {});
  }

  test("is asked for again where the TV is silent, and the command is not sent again", async () => {
    const open = () => expect.unreachable("it needs no WebSocket");
    expect(await appsOf(false, null, null, true).launch(id, {}, open, never)).toBe(true);
    expect(await appsOf(true, null).stop(never)).toMatchObject({ id: "youtube" });
  });

  test("is an error where the app is still shown", async () => {
    const error = await failure(appsOf(true).stop(never));
    expect([error.code, reasonOf(error)]).toEqual(["device_error", "no_effect"]);
  });
});

describe.concurrent("access", () => {
  test.each([true, false])("is by the token, which may change with each connection; saved: %p", async (isSaved) => {
    const one = await line({ traits: { newTokens: true } });
    const full = { keep: () => Promise.reject(new ZapdError("storage_error", "is full")) };
    if (!isSaved) Object.assign(one.target.secret, full);
    for (let round = 0; round < 2; round++) {
      await press(one, "home");
      one.set.hangUp();
      await until("it has hung up", () => one.set.state.channels.open === 0);
    }
    expect(one.set.received.tokens).toEqual([token, one.set.state.tokens[1] ?? ""]);
    expect(one.kept()?.token).toBe(isSaved ? (one.set.state.tokens[2] ?? "") : token);
    expect(one.kept()?.certificate).toBe(one.set.fingerprint);
  });

  test("is known with the first read where the token is all that was kept", async () => {
    const set = await startSamsung();
    const lead = { host: set.host, port: set.ports.secure ?? 0 };
    const one = await lineTo(samsung, set, { lead, given: (certificate) => ({ token, certificate }) });
    expect(one.target.facts.access).toBeNull();
    await state(one);
    expect(one.target.facts.access).toBe("full");
  });

  test("ends when the TV refuses the token: the error says so, and the token is dropped", async () => {
    const one = await line({ tokens: ["99999999"], prompt: "deny" });
    const error = await failure(press(one, "home"));
    expect([error.code, error.hint?.includes("Device List")]).toEqual(["pairing_required", true]);
    expect(one.kept()).toBeNull();
    expect(one.told.learned.at(-1)).toEqual({ access: "unpaired" });
    // It is not asked again by the way.
    await failure(press(one, "home"));
    expect(one.set.received.tokens).toEqual([token]);
  });

  test("a refused token that cannot be dropped, as on a full disk, is still said to be refused", async () => {
    const one = await line({ tokens: ["99999999"], prompt: "deny" });
    Object.assign(one.target.secret, { drop: () => Promise.reject(new ZapdError("storage_error", "is full")) });
    expect((await failure(press(one, "home"))).code).toBe("pairing_required");
    expect(one.told.learned.at(-1)).toEqual({ access: "unpaired" });
  });

  test("a refusal after the first key fails that key", async () => {
    const one = await line({ traits: { refusesKeys: true } });
    const error = await failure(press(one, "home"));
    expect(error.code).toBe("pairing_required");
    expect(taken(one.set)).toEqual([]);
    expect(one.told.learned.at(-1)).toEqual({ access: "unpaired" });
  });

  test.each([true, "from the start"] as const)(
    "an error in place of a key (%p) fails that key, and each further one",
    async (knowsNoKeys) => {
      const one = await line({ traits: { knowsNoKeys } });
      for (const key of ["home", "up"] as const) {
        const { code, hint } = await failure(press(one, key));
        expect([code, hint?.includes("Device List")]).toEqual(["device_refused", true]);
      }
    },
  );

  test("after a refusal between two keys, over a connection that stays open, nothing more is sent", async () => {
    const got: string[] = [];
    const tv = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request, server) => (server.upgrade(request) ? undefined : new Response()),
      websocket: {
        open: (socket) => void socket.send(JSON.stringify({ event: "ms.channel.connect", data: {} })),
        message(socket, message) {
          const { method, params } = JSON.parse(String(message));
          if (method === "ms.remote.control") return void got.push(params.DataOfCmd);
          // The list comes behind the refusal, so whoever has read it has read both.
          for (const event of ["ms.remote.imeStart", "ms.channel.unauthorized", "ed.installedApp.get"])
            socket.send(JSON.stringify({ event, data: { data: [] } }));
        },
      },
    });
    cleanups.push(() => tv.stop(true));
    const address = { host: "127.0.0.1", port: tv.port ?? 0 };
    const session = new RemoteSession({ address, tls: false, certificate: null, token }, platformHostOf());
    await session.open(never);
    cleanups.push(() => session.destroy());
    await session.press("KEY_UP", "Click", never);
    await session.apps(never, 2_000);
    for (const work of [() => session.press("KEY_DOWN", "Click", never), () => session.type("secret", never)])
      expect((await failure(work())).code).toBe("pairing_required");
    expect(got).toEqual(["KEY_UP"]);
    expect(session.alive).toBe(true);
  });

  test("with too many clients the TV hangs up on all, and is left alone for some seconds", async () => {
    const one = await line({ traits: { connections: 0 } });
    const error = await failure(press(one, "home"));
    expect([error.code, error.hint?.includes("Close other")]).toEqual(["device_busy", true]);
    expect((await failure(press(one, "home"))).code).toBe("device_busy");
    expect(one.set.state.channels.most).toBe(1);
  });

  test("the token is not sent to another certificate", async () => {
    const one = await line({}, { token, certificate: "00".repeat(32) });
    const works = [press(one, "home"), state(one), one.connection.apps?.stop?.(never)];
    const failures = await Promise.all(works.map((work) => failure(Promise.resolve(work))));
    expect(failures.map(({ code }) => code)).toEqual(Array(3).fill("device_unproven"));
    expect([one.set.received.tokens, one.set.received.requests.length]).toEqual([[], 1]);
  });

  test("the token is sent over TLS only, whatever was learned since", async () => {
    const one = await line();
    one.told.emit({ type: "facts", memory: { token: false } });
    one.renew();
    await press(one, "home");
    expect([one.set.received.tokens, taken(one.set)]).toEqual([[token], ["KEY_HOME"]]);
    const plain = await line({ traits: { tokensInPlain: true } });
    plain.told.emit({ type: "facts", memory: { token: false } });
    Object.assign(plain.target, { port: plain.set.ports.plain });
    plain.renew();
    expect((await failure(press(plain, "home"))).code).toBe("device_error");
    expect(plain.set.received.tokens).toEqual([]);
  });

  test("concurrent callers share one socket", async () => {
    const one = await line();
    await Promise.all([press(one, "up"), press(one, "down"), press(one, "left"), state(one)]);
    expect([one.set.state.channels.most, taken(one.set).length]).toEqual([1, 3]);
  });
});

describe.concurrent("without a token", () => {
  test("state and apps work; keys and text need pairing", async () => {
    const one = await line({}, null);
    expect([...describeOf(one).withheld]).toEqual(["keys", "text", "playback"]);
    one.set.open("3201907018807");
    expect(await state(one)).toMatchObject({
      power: "on",
      app: { name: "Netflix" },
      volume: { level: 12, muted: false },
    });
    expect(one.target.facts.access).toBeNull();
    expect(await one.connection.apps?.launch?.("111299001912", {}, never)).toBe(true);
    expect(await one.connection.apps?.stop?.(never)).toMatchObject({ id: "youtube" });
    for (const work of [() => press(one, "home"), () => one.connection.text?.type("a", never)])
      expect((await failure(Promise.resolve(work()))).code).toBe("pairing_required");
    expect(one.set.state.channels.most).toBe(0);
    expect(one.set.received.tokens).toEqual([]);
  });
});

describe.concurrent("keys", () => {
  test("are sent no faster than the TV takes them", async () => {
    const one = await line();
    await Promise.all((["up", "down", "left", "right"] as const).map((key) => press(one, key)));
    expect(taken(one.set).sort()).toEqual(["KEY_DOWN", "KEY_LEFT", "KEY_RIGHT", "KEY_UP"]);
  });

  test("are kept apart also behind one that was long on its way", async () => {
    const one = await line();
    const { host, ports } = one.set;
    let lateMs = 0;
    const slow = net.createServer((client) => {
      const device = net.connect({ host, port: ports.secure ?? 0 });
      client.on("data", (bytes) => setTimeout(() => device.write(bytes), lateMs));
      client.on("close", () => device.destroy());
      device.pipe(client);
    });
    const { port, stop } = await listening(slow, host);
    cleanups.push(stop);
    Object.assign(one.target, { port });
    one.renew();
    await press(one, "up");
    lateMs = 180;
    await press(one, "left");
    lateMs = 0;
    await press(one, "right");
    expect(taken(one.set)).toEqual(["KEY_UP", "KEY_LEFT", "KEY_RIGHT"]);
  });

  test("are released when the caller is gone at once", async () => {
    const one = await line();
    const caller = new AbortController();
    const pressing = Promise.resolve(one.connection.keys?.down?.("right", caller.signal));
    await until("it is down", () => taken(one.set).length === 1);
    caller.abort(new Error("gone"));
    expect(await pressing.catch((error) => error.message)).toBe("gone");
    await until("it is up", () => taken(one.set).includes("KEY_RIGHT Release"));
    one.connection.close();
    await until("the socket is closed", () => one.set.state.channels.open === 0);
  });

  test("for inputs are those of TVs up to 2018", async () => {
    const keysOf = (one: Line) => [...describeOf(one).keys].filter((key) => key.startsWith("input")).join(" ");
    const one = await line({ year: 2018 });
    expect(keysOf(one)).toBe("input-tuner input-hdmi1 input-hdmi2 input-hdmi3 input-hdmi4 input-av");
    expect([...describeOf(one).has]).toContain("inputs");
    const listed = await one.connection.inputs?.list(never);
    expect(listed?.map(({ id }) => id).join(" ")).toBe("hdmi1 hdmi2 hdmi3 hdmi4 av tuner");
    await one.connection.inputs?.select("hdmi2", never);
    await one.connection.inputs?.select("tuner", never);
    expect(taken(one.set)).toEqual(["KEY_HDMI2", "KEY_TV"]);
    const newer = await line({ year: 2022 });
    expect(keysOf(newer)).toBe("input-tuner");
    expect([newer.connection.inputs, describeOf(newer).has.has("inputs")]).toEqual([undefined, false]);
  });

  test("play and pause alternate, since the TV does not report playback", async () => {
    const one = await line();
    for (let round = 0; round < 2; round++) await press(one, "play-pause");
    await one.connection.playback?.do("stop", never);
    expect(taken(one.set)).toEqual(["KEY_PAUSE", "KEY_PLAY", "KEY_STOP"]);
  });

  test("a press whose caller left before it was sent is not counted in the turns of play and pause", async () => {
    const one = await line();
    await press(one, "home");
    const caller = new AbortController();
    setTimeout(() => caller.abort(new ZapdError("device_error", "has left")), 50);
    await failure(one.connection.keys?.press("play-pause", caller.signal) ?? Promise.resolve());
    await press(one, "play-pause");
    expect(taken(one.set)).toEqual(["KEY_HOME", "KEY_PAUSE"]);
  });
});

test("R14 keys do not go over a connection that has slept with the machine: a TV that answers no ping may have left it", async () => {
  const one = await line({ traits: { answersPings: false } });
  const { host, ports } = one.set;
  const devices: net.Socket[] = [];
  const relay = net.createServer((client) => {
    const device = net.connect({ host, port: ports.secure ?? 0 });
    devices.push(device);
    client.pipe(device).pipe(client);
    client.on("close", () => device.destroy());
  });
  const { port, stop } = await listening(relay, host);
  cleanups.push(stop);
  Object.assign(one.target, { port });
  one.renew();
  await press(one, "up");
  // It leaves them while nobody hears of it.
  for (const device of devices) device.unpipe().destroy();
  passed.ms += 60_000;
  await press(one, "down");
  await until("both have come", () => taken(one.set).join(" ") === "KEY_UP KEY_DOWN");
});

test("a power key that was not sent does not count as pressed", async () => {
  const sent: string[] = [];
  const failures = [closedBeforeSending()];
  const session = {
    async press(code: string) {
      const error = failures.pop();
      if (error) throw error;
      sent.push(code);
    },
  };
  const power = powerOf(
    {
      reconnecting: { current: session },
      wake: (_signal: unknown, work: (one: unknown) => unknown) => work(session),
    } as never,
    { info: async () => ({ power: "standby" }) } as never,
    { memory: {}, facts: { access: "full" } } as never,
    () => {},
    () => Promise.reject(new Error("it is off")),
  );
  expect((await failure(Promise.resolve(power.on?.(never)))).code).toBe("device_unreachable");
  for (let round = 0; round < 2; round++) await power.on?.(never);
  expect(sent).toEqual(["KEY_POWER"]);
});

describe.concurrent("text", () => {
  test("goes into the open field, and is refused without one", async () => {
    const one = await line({ traits: { announcesFocus: false } });
    const type = (text: string) => one.connection.text?.type(text, never) ?? Promise.reject(new Error("no text"));
    const error = await failure(type("secret"));
    expect([error.code, error.hint?.includes("open a text field")]).toEqual(["device_refused", true]);
    one.set.focus(true);
    await type("hällo 📺");
    expect([one.set.received.texts, one.set.state.focused]).toEqual([["hällo 📺"], false]);
    // It closed the field.
    expect((await failure(type("more"))).code).toBe("device_refused");
  });
});

describe.concurrent("apps", () => {
  test.each([404, 401] as const)(
    "of the TV itself start although it lists none; others fail: %s",
    async (missingApp) => {
      const one = await line({ year: 2022, traits: { missingApp } });
      const launch = (id: string) =>
        one.connection.apps?.launch?.(id, {}, never) ?? Promise.reject(new Error("no apps"));
      expect(await launch("org.tizen.browser")).toBeNull();
      expect(one.set.state.front).toBe("org.tizen.browser");
      const codes = [
        (await failure(launch("org.example.nothing"))).code,
        (await failure(launch("3201000000000"))).code,
      ];
      expect(codes).toEqual(["app_not_found", missingApp === 404 ? "app_not_found" : "device_refused"]);
    },
  );

  test("that the TV refuses to tell of do not hide those that it has", async () => {
    const one = await line({ year: 2022, traits: { missingApp: 401 } }, null);
    expect((await one.connection.apps?.list?.(never))?.length).toBe(5);
    one.set.open("111299001912");
    expect((await state(one)).app?.id).toBe("youtube");
  });

  test("are launched with a link over the WebSocket; those of the TV itself natively", async () => {
    const one = await line({ year: 2019 });
    await one.connection.apps?.list?.(never);
    const launch = (id: string, link: Record<string, string> = {}) => one.connection.apps?.launch?.(id, link, never);
    expect(await launch("111299001912", { content_id: "v=abc" })).toBe(true);
    expect(await launch("3201907018807")).toBe(true);
    // Whether it is there cannot be read.
    expect(await launch("org.tizen.browser", { url: "http://x/" })).toBeNull();
    expect(one.set.received.launches).toEqual([
      { id: "111299001912", by: "channel", link: "v=abc" },
      { id: "3201907018807", by: "rest", link: "" },
      { id: "org.tizen.browser", by: "channel", link: "url=http%3A%2F%2Fx%2F" },
    ]);
    expect((await state(one)).app).toBeNull();
  });

  test("a TV that accepts zapd and refuses it all the same launches and lists nothing", async () => {
    const launch = ({ connection }: Line) => connection.apps?.launch?.("org.tizen.browser", {}, never);
    const list = ({ connection }: Line) => connection.apps?.list?.(never);
    for (const work of [launch, list]) {
      const one = await line({ traits: { refusesApps: true } });
      expect((await failure(Promise.resolve<unknown>(work(one)))).code).toBe("pairing_required");
      expect(one.told.learned.at(-1)).toEqual({ access: "unpaired" });
      // As of any TV that is not paired.
      expect((await list(one))?.map(({ id }) => id)).toContain("netflix");
    }
  });

  test("a launch that the TV refuses fails", async () => {
    const one = await line({ traits: { launchStatus: 500 } });
    const launched = one.connection.apps?.launch?.("111299001912", { content_id: "v=abc" }, never);
    const { code, message } = await failure(Promise.resolve(launched));
    // No status of the TV (EXPERIENCE.md, errors).
    expect([code, message]).toEqual(["device_refused", "refused the request"]);
  });
});

describe.concurrent("power", () => {
  test("a TV that a connection wakes is never connected for a read", async () => {
    const one = await line({ traits: { socketWakes: true } });
    await press(one, "home");
    await one.set.powerOff();
    await until("it has hung up", () => one.set.state.channels.open === 0);
    for (let round = 0; round < 3; round++) expect((await state(one)).power).toBe("standby");
    expect((await failure(one.connection.apps?.list?.(never) ?? Promise.resolve())).code).toBe("device_unreachable");
    expect((await failure(press(one, "up"))).code).toBe("device_unreachable");
    expect(one.set.state.power).toBe("standby");
    // And turned on by it, not off again by the key.
    await turnOn(one.connection, one.target, never);
    await Bun.sleep(300);
    expect([one.set.state.power, taken(one.set)]).toEqual(["on", ["KEY_HOME"]]);
  });

  test("a TV that a connection wakes may report it late, and gets no key meanwhile", async () => {
    const one = await line({ traits: { socketWakes: true, socketWakesMs: 700 } });
    await one.set.powerOff();
    await turnOn(one.connection, one.target, never);
    expect([one.set.state.power, taken(one.set)]).toEqual(["on", []]);
  });

  test("a TV that stays in standby while connected is turned on by its key, once, although it is read meanwhile", async () => {
    const one = await line();
    await one.set.powerOff();
    const turningOn = turnOn(one.connection, one.target, never);
    await until("it is connected", () => one.set.state.channels.open === 1);
    expect((await state(one)).power).toBe("standby");
    expect((await failure(press(one, "up"))).code).toBe("device_unreachable");
    await turningOn;
    expect([one.set.state.power, taken(one.set)]).toEqual(["on", ["KEY_POWER"]]);
    await press(one, "power-off");
    expect([one.set.state.power, taken(one.set)]).toEqual(["standby", ["KEY_POWER", "KEY_POWER"]]);
    expect(one.told.ended).toEqual(["going_off"]);
    // Off already.
    await press(one, "power-off");
    expect(one.set.state.power).toBe("standby");
    await press(one, "power");
    expect(one.set.state.power).toBe("on");
  }, 60_000);

  test("a TV that refuses the power key does not accept zapd any more", async () => {
    const one = await line({ traits: { refusesKeys: true } });
    expect((await failure(press(one, "power-off"))).code).toBe("pairing_required");
    expect(one.told.learned.at(-1)).toEqual({ access: "unpaired" });
  });

  test("a Frame is turned off by holding the key, and shows no art", async () => {
    const one = await line({ frame: true });
    await press(one, "power-off");
    expect(one.set.state).toMatchObject({ power: "standby", art: false });
    expect(taken(one.set)).toEqual(["KEY_POWER Press", "KEY_POWER Release"]);
  }, 60_000);

  test("a TV of 2016 does not report its power, so only packets wake it", async () => {
    const one = await line({ year: 2016, standby: "off", tokens: ["zapd"] });
    expect(one.connection.power?.on).toBeUndefined();
    expect(await one.connection.power?.isOn(never)).toBeNull();
    await press(one, "power-off");
    expect(one.set.state.power).toBe("standby");
    one.renew();
    await turnOn(one.connection, one.target, never);
    expect(one.set.state.power).toBe("on");
  }, 60_000);
});

describe.concurrent("volume", () => {
  const volumeOf = ({ connection }: Line) => connection.volume ?? expect.unreachable("it has volume");

  test("is set and read by the renderer", async () => {
    const one = await line();
    await volumeOf(one).set?.(33, never);
    await volumeOf(one).mute?.(true, never);
    expect((await state(one)).volume).toEqual({ level: 33, muted: true });
    await volumeOf(one).step?.(1, never);
    expect(one.set.state.volume).toBe(34);
    expect(volumeOf(one).stepsAtZero).toBe(true);
    expect(describeOf(one).has.has("mute")).toBe(true);
  });

  test("without a renderer is stepped by keys, as is known after the first read", async () => {
    const one = await line({ rendererPort: null });
    Object.assign(one.target.ports, { renderer: 1 });
    one.renew();
    expect((await state(one)).volume).toBeNull();
    expect(one.target.memory.renderer).toBe(false);
    expect([describeOf(one).has.has("volume"), describeOf(one).has.has("mute")]).toEqual([true, false]);
    one.renew();
    expect(volumeOf(one).set).toBeUndefined();
    await volumeOf(one).step?.(-1, never);
    expect(taken(one.set)).toEqual(["KEY_VOLDOWN"]);
  });

  test("of a renderer that accepts no connection now is unknown, and not said to be missing", async () => {
    const [host, rendererPort] = ["127.0.0.1", await freePort()];
    const deaf = (await fullBacklog(host, rendererPort)) ?? expect.unreachable("this machine does not fill a backlog");
    cleanups.push(() => deaf.release());
    const one = await line({ rendererPort: null });
    Object.assign(one.target.ports, { renderer: rendererPort });
    one.renew();
    expect((await state(one)).volume).toBeNull();
    expect((await failure(volumeOf(one).set?.(5, never) ?? Promise.resolve())).code).toBe("device_error");
    expect(one.target.memory.renderer).toBeUndefined();
  });

  test("is read once a renderer has opened, later than the control port", async () => {
    const rendererPort = await freePort();
    const one = await line({ rendererPort: null });
    Object.assign(one.target.ports, { renderer: rendererPort });
    one.renew();
    expect([(await state(one)).volume, volumeOf(one).mute]).toEqual([null, undefined]);
    const renderer = await startSamsung({ name: "Renderer", rendererPort });
    cleanups.push(() => renderer.stop());
    expect((await state(one)).volume).toEqual({ level: renderer.state.volume, muted: false });
    expect(describeOf(one).has.has("mute")).toBe(true);
    await volumeOf(one).mute?.(true, never);
    expect(renderer.state.muted).toBe(true);
    // It starts anew: what it has shown it has still.
    await renderer.stop();
    expect((await state(one)).volume).toBeNull();
    expect(describeOf(one).has.has("mute")).toBe(true);
    expect((await failure(volumeOf(one).set?.(5, never) ?? Promise.resolve())).code).toBe("device_error");
  });
});
