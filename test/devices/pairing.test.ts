/** Pairing in steps, and the credentials that it leaves. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DeviceError, pairingFailed, type ZapdError } from "../../src/api/errors.ts";
import { Credentials } from "../../src/devices/credentials.ts";
import type { PairingRequest } from "../../src/devices/pairing.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import { initialStanding, type Standing } from "../../src/devices/standing.ts";
import type { Paired, Pairing, Target } from "../../src/platforms/platform.ts";
import { sightingOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

const key = "0123456789abcdef";
const given: Paired = { secret: { key, certificate: "aa11" }, facts: { access: "full" } };

/** A set whose pairing this test answers. */
class Asked {
  readonly end = Promise.withResolvers<Paired>();
  readonly entered: string[] = [];
  cancelled = 0;
  expiresMs = 60_000;
  step: Pairing["step"] = "confirm";
  /** What it makes of what is typed. */
  judge: (typed: string) => Promise<Paired> = async (typed) => {
    if (typed === "4F21A9" || typed === "kodi:popcorn") return given;
    throw pairingFailed("wrong", `does not know ${typed}`);
  };

  pairing(): Pairing {
    this.end.promise.catch(() => {});
    const { expiresMs } = this;
    const cancel = () => {
      this.cancelled++;
      this.end.reject(new Error("hung up"));
    };
    const enter = (typed: string) => {
      this.entered.push(typed);
      return Promise.race([this.judge(typed), this.end.promise]);
    };
    if (this.step === "code") return { step: "code", form: "hex", length: 6, expiresMs, cancel, enter };
    if (this.step === "login")
      return { step: "login", expiresMs, cancel, enter: (user, password) => enter(`${user ?? "kodi"}:${password}`) };
    return { step: "confirm", expiresMs, cancel, done: this.end.promise };
  }
}

let house: House;
let tv: DeviceRecord;
/** Where the set was asked last, and each time that it was, the last one last. */
let target: Target | undefined;
let asked: Asked[];
let next: () => Asked | Promise<Asked>;
beforeEach(async () => {
  asked = [];
  next = () => new Asked();
  house = await openHouse(undefined, [], undefined, async (at) => {
    target = at;
    const one = await next();
    asked.push(one);
    return one.pairing();
  });
  tv = await house.add("1", { name: "TV", access: "unpaired" });
});
afterEach(() => house.remove());

const device = () => house.devices.deviceOf(tv);
const pair = (request: PairingRequest = {}, signal = neverAborted) => device().pair(request, signal);
const keeper = () => house.credentials.keeper(tv.id);
const file = () => join(house.folder, "credentials.json");
/** What is told of its pairing, in order. */
const told = (): unknown[] =>
  (house.devices.journal.after(0) ?? []).flatMap(({ type, json }) =>
    type === "pairing.changed" ? [JSON.parse(json).status] : [],
  );
const last = () => asked.at(-1) ?? expect.unreachable();
const access = () => house.registry.get(tv.id)?.access;
const failure = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: ZapdError) => `${error.code}${error instanceof DeviceError ? ` (${error.reason})` : ""}: ${error.message}`,
  );
/** A set that asks in a step of its own. */
const asks = (step: Pairing["step"], more: Partial<Asked> = {}) => {
  next = () => Object.assign(new Asked(), { step, ...more });
};
/** A set whose user accepts at once. */
const willing = () => {
  next = () => {
    const one = new Asked();
    one.end.resolve(given);
    return one;
  };
};

describe("a pairing that is accepted at the set", () => {
  test("that needs no user is done when it begins", async () => {
    willing();
    await device().state(neverAborted);
    house.set.closed.length = 0;
    expect(await pair({ begin: true })).toBeNull();
    expect(access()).toBe("full");
    // The connection that was open has no secret, or the old one.
    expect(house.set.closed).toEqual(["closed"]);
  });

  test("of a set whose secret was lost, though its record says that it is paired, gives it full access again", async () => {
    const { describe: own } = house.platform;
    const describe: typeof own = (facts, memory, paired) => {
      const described = own(facts, memory, paired);
      return paired ? described : { ...described, withheld: new Set(["keys"] as const) };
    };
    Object.assign(house.platform, { describe });
    willing();
    await pair();
    await device().state(neverAborted);
    await house.connected.at(-1)?.target.secret.drop();
    expect([access(), device().describe().access]).toEqual(["full", "unpaired"]);
    await pair();
    expect(device().describe().access).toBe("full");
  });

  test("of a device that was off shows that it may be on by now", async () => {
    device().leading.presence.noteState({ power: "standby" }, "push");
    willing();
    await pair();
    expect(device().describe().power).toBe("unknown");
  });

  test("runs once: a second caller waits for the same prompt and gets the same result", async () => {
    const first = pair();
    const second = pair();
    const third = pair({ begin: true });
    expect((await third)?.step).toBe("confirm");
    last().end.reject(pairingFailed("denied", "was denied: somebody said no"));
    expect([await failure(first), await failure(second)]).toEqual(
      Array(2).fill("pairing_failed (denied): TV was denied: somebody said no"),
    );
    expect(asked.length).toBe(1);
    expect(device().describe().status).toBe("online");
    willing();
    await pair();
    expect(asked.length).toBe(2);
  });

  test("ends when the last of its callers hangs up, and another may begin", async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const waiting = [pair({}, one.signal), pair({}, other.signal)].map((each) =>
      each.catch((reason: unknown) => reason),
    );
    await until("it is asked", () => asked.length === 1);
    one.abort("gone");
    expect(await waiting[0]).toBe("gone");
    expect(last().cancelled).toBe(0);
    other.abort("gone, too");
    expect(await waiting[1]).toBe("gone, too");
    expect(last().cancelled).toBe(1);
    willing();
    await pair();
  });

  test("whose secret is being saved when its last caller hangs up is paired, and is not said to have failed first", async () => {
    const caller = new AbortController();
    const waiting = pair({}, caller.signal).catch((reason: unknown) => reason);
    await until("it is asked", () => asked.length === 1);
    last().end.resolve({
      get secret() {
        caller.abort("gone");
        return given.secret;
      },
    });
    expect(await waiting).toBe("gone");
    await until("it is paired", () => told().includes("paired"));
    expect(told()).toEqual(["waiting", "paired"]);
  });

  test("ends by itself in time", async () => {
    asks("confirm", { expiresMs: 50 });
    expect(await failure(pair())).toBe(
      "pairing_failed (late): TV was not paired: nobody accepted the request on its screen within 0 s",
    );
    expect(last().cancelled).toBe(1);
  });

  test("ends when it is cancelled, for all callers; it cannot be cancelled again", async () => {
    const waiting = failure(pair());
    await until("it is asked", () => asked.length === 1);
    expect(device().cancelPairing()).toBe(true);
    expect(await waiting).toBe("pairing_failed (cancelled): TV was not paired: the pairing was cancelled");
    expect([last().cancelled, device().cancelPairing()]).toEqual([1, false]);
  });

  test("is ended on the device when it is cancelled before the device has answered", async () => {
    const gate = Promise.withResolvers<Asked>();
    next = () => gate.promise;
    const waiting = failure(pair());
    expect(device().cancelPairing()).toBe(true);
    gate.resolve(new Asked());
    expect(await waiting).toContain("(cancelled)");
    await until("it was taken from the screen", () => asked.length === 1 && last().cancelled === 1);
    expect(house.devices.journal.after(0)?.filter(({ type }) => type === "pairing.changed")).toEqual([]);
  });

  test("ends with the device: removed and added again, it can be paired at once", async () => {
    const left = failure(pair());
    await until("it is asked", () => asked.length === 1);
    await house.devices.deleteKept([tv]);
    willing();
    await pair();
    expect(await left).toStartWith("device_not_found");
    expect(asked[0]?.cancelled).toBe(1);
  });

  test("ends with the daemon", async () => {
    await pair({ begin: true });
    house.devices.close();
    expect(last().cancelled).toBe(1);
    expect(await failure(pair())).toBe("internal_error: zapd is stopping");
  });

  test("T29 makes the address of a set that has moved its own; a rival that shows meanwhile stays one", async () => {
    const since = new Date().toISOString();
    const other = { host: "192.0.2.8", port: 9 };
    const stand = (more: Partial<Standing>) =>
      house.registry.setStanding(tv.id, () => ({ ...initialStanding, ...more }));
    await stand({ since, former: other });
    const first = pair();
    await until("it is asked", () => asked.length === 1);
    last().end.resolve(given);
    await first;
    expect(house.registry.get(tv.id)?.standing).toBeUndefined();
    const second = pair();
    await until("it is asked again", () => asked.length === 2);
    const doubt: Partial<Standing> = { probation: { reason: "rival", since }, rivals: [{ ...other, seen_at: since }] };
    await stand(doubt);
    last().end.resolve(given);
    await second;
    expect(house.registry.get(tv.id)?.standing).toMatchObject(doubt);
  });

  test("T29 of a set that was followed to another address meanwhile keeps no secret, which would go there", async () => {
    const waiting = failure(pair());
    await until("it is asked", () => asked.length === 1);
    await house.registry.setStanding(tv.id, () => ({ host: "192.0.2.8", port: 9, standing: initialStanding }));
    last().end.resolve(given);
    expect(await waiting).toStartWith("pairing_failed (cancelled): TV was not paired: it was found at another address");
    expect(keeper().read()).toBeNull();
  });

  test("does not wait behind commands, nor they behind it", async () => {
    const waiting = pair();
    await house.actions.key(tv, "home", { signal: neverAborted });
    last().end.resolve(given);
    await waiting;
  });
});

describe("a pairing by a code", () => {
  beforeEach(() => asks("code"));

  test("says what to type, and takes it, as it may be typed", async () => {
    expect(await pair()).toMatchObject({ step: "code", form: "hex", length: 6 });
    expect(await pair({ pin: " 4f2-1a9 " })).toBeNull();
    expect([last().entered, access(), asked.length]).toEqual([["4F21A9"], "full", 1]);
  });

  test("given with the first call is tried once, right or wrong", async () => {
    await expect(pair({ pin: "000000" })).rejects.toMatchObject({
      reason: "wrong",
      hint: "Run zapd pair TV again: it shows a new code",
    });
    expect(last().cancelled).toBe(1);
    expect(await pair({ pin: "4F21A9" })).toBeNull();
    expect(asked.length).toBe(2);
    asks("code", { expiresMs: 30, judge: () => new Promise(() => {}) });
    expect(await failure(pair({ pin: "4F21A9" }))).toContain("(late)");
    asks("code");
    expect(await pair({ pin: "4F21A9" })).toBeNull();
  });

  test("that comes too late fails as late, and the next one begins a new pairing", async () => {
    asks("code", { expiresMs: 30 });
    await pair();
    await until("it is over", () => last().cancelled === 1);
    expect(await failure(pair({ pin: "4F21A9" }))).toStartWith(
      "pairing_failed (late): TV was not paired: nobody entered the code that it showed",
    );
    asks("code");
    expect(asked.length).toBe(1);
    await pair();
    expect(await pair({ pin: "4F21A9" })).toBeNull();
  });

  test("that is being tried when the time is over is too late", async () => {
    asks("code", { expiresMs: 60, judge: () => new Promise(() => {}) });
    await pair();
    expect(await failure(pair({ pin: "4F21A9" }))).toContain("(late)");
  });

  test("after the pairing was cancelled fails as cancelled, unless another has begun, or five minutes have passed", async () => {
    await pair();
    device().cancelPairing();
    expect(await failure(pair({ pin: "4F21A9" }))).toContain("(cancelled)");
    expect(asked.length).toBe(1);
    await pair();
    device().cancelPairing();
    await pair();
    expect(await pair({ pin: "4F21A9" })).toBeNull();
    await pair();
    device().cancelPairing();
    passTime(300_000);
    expect(await pair({ pin: "4F21A9" })).toBeNull();
    wakeUp();
    expect(asked.length).toBe(5);
  });

  test("that is accepted when it is cancelled is cancelled; once its secret is being saved, it is paired", async () => {
    const gate = Promise.withResolvers<Paired>();
    asks("code", { judge: () => gate.promise });
    await pair();
    const waiting = failure(pair({ pin: "4F21A9" }));
    await until("it is tried", () => last().entered.length === 1);
    gate.resolve(given);
    expect(device().cancelPairing()).toBe(true);
    expect(await waiting).toContain("(cancelled)");
    expect(keeper().read()).toBeNull();
    let isCancelled = true;
    const late: Paired = {
      get secret() {
        isCancelled = device().cancelPairing();
        Bun.sleepSync(60);
        return given.secret;
      },
    };
    asks("code", { expiresMs: 50, judge: async () => late });
    await pair();
    expect(await pair({ pin: "4F21A9" })).toBeNull();
    expect(isCancelled).toBe(false);
    asks("code");
    expect(await pair({ pin: "4F21A9" })).toBeNull();
  });

  test("runs one at a time: another that begins, or types at the same time, fails with device_busy", async () => {
    const gate = Promise.withResolvers<Paired>();
    asks("code", { judge: () => gate.promise });
    await pair();
    expect(await failure(pair())).toBe("device_busy: TV is already being paired");
    expect(await failure(pair({ begin: true }))).toStartWith("device_busy");
    const first = pair({ pin: "4F21A9" });
    expect(await failure(pair({ pin: "4F21A9" }))).toStartWith("device_busy");
    gate.resolve(given);
    expect(await first).toBeNull();
  });

  test("T29 goes to the address that its caller has named, and to no other that is being paired", async () => {
    const address = { host: "192.0.2.9", port: 9 };
    const foundAt = { platform: "fake", sighting: sightingOf("1", { model: "There" }), address };
    const pairThere = (request: PairingRequest) => device().pair(request, neverAborted, foundAt);
    await pairThere({ begin: true });
    expect(target).toMatchObject({ ...address, facts: { model: "There" } });
    const busy = "device_busy: TV is already being paired at 192.0.2.9:9";
    expect(await failure(pair({ pin: "4F21A9" }))).toBe(busy);
    expect(last().entered).toEqual([]);
    expect(await pairThere({ pin: "4F21A9" })).toBeNull();
    expect(house.registry.get(tv.id)).toMatchObject(address);
  });

  test("is not asked for where it would be refused, of a device that has moved", async () => {
    const probation = { reason: "moved", since: new Date().toISOString() } as const;
    await house.registry.setStanding(tv.id, () => ({ ...initialStanding, probation }));
    expect(await failure(pair({ begin: true }))).toStartWith("device_unproven");
    expect(last().cancelled).toBeGreaterThan(0);
    expect(device().cancelPairing()).toBe(false);
  });
});

describe("a pairing by a login", () => {
  beforeEach(() => asks("login"));

  test("asks for it, and takes it; without a name, the usual one", async () => {
    expect(await pair()).toMatchObject({ step: "login", form: null, length: null });
    expect(await failure(pair({ user: "kodi", password: "corn" }))).toContain("(wrong)");
    expect(await pair({ password: "popcorn" })).toBeNull();
    expect(last().entered).toEqual(["kodi:corn", "kodi:popcorn"]);
  });

  test("takes a login with the first call, as a pin too", async () => {
    expect(await pair({ user: "kodi", password: "popcorn" })).toBeNull();
    await expect(pair({ pin: "1234" })).rejects.toMatchObject({ reason: "wrong", hint: undefined });
    expect(asked.length).toBe(2);
  });

  test("of a device that accepts everybody is none, and its access is known to be full", async () => {
    next = () =>
      Promise.reject(
        new DeviceError("unsupported_operation", "needs no pairing", { phase: "answered", reason: "open" }),
      );
    expect(await failure(pair({ password: "popcorn" }))).toBe("unsupported_operation (open): TV needs no pairing");
    expect(access()).toBe("full");
    expect(keeper().read()).toBeNull();
  });
});

test.each([
  ["confirm", {}],
  ["code", { pin: "4F21A9" }],
] as const)("a pairing by a %s leaves nothing of a set that is removed meanwhile", async (step, typed) => {
  const gate = Promise.withResolvers<Paired>();
  asks(step, { judge: () => gate.promise });
  if (step === "code") await pair();
  const waiting = failure(pair(typed));
  await until("it is asked", () => asked.length === 1 && (step === "confirm" || last().entered.length === 1));
  await house.registry.remove(tv.id);
  await house.devices.deleteKept([tv]);
  for (const end of [gate, last().end]) end.resolve(given);
  expect(await waiting).toBe("device_not_found: TV was removed while it was being paired");
  expect([keeper().read(), last().cancelled]).toEqual([null, 1]);
});

test("a pairing of a set that is removed while its secret is being saved has failed, and keeps nothing", async () => {
  const waiting = failure(pair());
  await until("it is asked", () => asked.length === 1);
  const removed = Promise.withResolvers<unknown>();
  last().end.resolve({
    get secret() {
      removed.resolve(house.devices.remove(device()));
      return given.secret;
    },
  });
  expect(await waiting).toBe("device_not_found: TV was removed while it was being paired");
  await removed.promise;
  expect([told(), keeper().read()]).toEqual([["waiting", "failed"], null]);
});

test("a pairing of a set that is not in the registry any more keeps nothing", async () => {
  const waiting = failure(pair());
  await until("it is asked", () => asked.length === 1);
  await house.registry.remove(tv.id);
  last().end.resolve(given);
  expect(await waiting).toBe("device_not_found: The device is no longer known");
  expect(keeper().read()).toBeNull();
});

describe("credentials", () => {
  test("are on disk, for the user alone, when they are kept; secrets are hidden, a name and a certificate are not", async () => {
    willing();
    await pair();
    const kept = JSON.parse(readFileSync(file(), "utf8"));
    expect(kept).toEqual({ version: 1, credentials: { [tv.id]: { key: "0123456789abcdef", certificate: "aa11" } } });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    await keeper().keep({ user: "kodi", password: "s3cret!" });
    expect(house.hidden).toEqual(["0123456789abcdef", "s3cret!"]);
    expect(JSON.stringify(house.devices.describeAll())).not.toContain("s3cret!");
  });

  test("are hidden from the start when they are read from disk", async () => {
    willing();
    await pair();
    const hidden: string[] = [];
    const again = await Credentials.open({ path: file(), damaged: () => {}, hide: (secret) => hidden.push(secret) });
    expect(hidden).toEqual(["0123456789abcdef"]);
    expect(again.keeper(tv.id).read()).toEqual({ key: "0123456789abcdef", certificate: "aa11" });
    expect(again.keeper("__proto__").read()).toBeNull();
  });

  test("are those of one device, and go with it", async () => {
    const other = await house.add("2");
    await house.credentials.keeper(other.id).keep({ key: "other-key" });
    willing();
    await pair();
    await house.devices.deleteKept([tv]);
    expect(house.credentials.keeper(tv.id).read()).toBeNull();
    expect(house.credentials.keeper(other.id).read()).toEqual({ key: "other-key" });
    await house.credentials.keeper(other.id).drop();
    expect(JSON.parse(readFileSync(file(), "utf8")).credentials).toEqual({});
  });
});

describe("a device that talks to one at a time", () => {
  test("has no other conversation while it is paired: what is open is closed first, and commands are busy", async () => {
    const { platform, connected, set } = house;
    Object.assign(platform, { oneConversation: true });
    set.takes = 100;
    const before = house.actions.key(tv, "home", { signal: neverAborted });
    await until("it is under way", () => set.running === 1);
    set.closed.length = 0;
    let closedFirst: readonly string[] = [];
    next = () => {
      closedFirst = [...set.done, ...set.closed];
      return new Asked();
    };
    await pair({ begin: true });
    await before;
    expect(closedFirst).toEqual(["home", "closed"]);
    expect(await failure(house.actions.key(tv, "home", { signal: neverAborted }))).toStartWith(
      "device_busy: TV is already being paired",
    );
    // What it does is no conversation.
    await device().state(neverAborted);
    expect(connected.length).toBeGreaterThan(1);
    last().end.resolve(given);
    await until("it is paired", () => access() === "full");
    await house.actions.key(tv, "home", { signal: neverAborted });
    expect(set.done.filter((one) => one === "home").length).toBe(2);
  });
});
