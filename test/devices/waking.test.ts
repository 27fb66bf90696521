/** Off is a state, and a command to a device that is asleep wakes it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { DeviceError, inStandby, pairingRequired, wrongDevice, ZapdError } from "../../src/api/errors.ts";
import { holdKey } from "../../src/devices/hold.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import type { WakeOptions } from "../../src/devices/wake.ts";
import { sleep } from "../../src/system/sleep.ts";
import { failureOf } from "../support/failure.ts";
import { neverOff, sightingOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { type House, neverAborted, openDevices, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
/** What the set does when it is called; by default it wakes. */
let wakes: (waking: WakeOptions, signal: AbortSignal) => Promise<void>;
const silent = () => new ZapdError("device_unreachable", "did not answer", { hint: "It may be asleep" });

beforeEach(async () => {
  house = await openHouse(
    (set) => ({ ...set.connection(), power: neverOff }),
    [],
    async (_parts, waking, signal) => {
      house.set.done.push(`called ${waking.isSilent ? "silent" : "asked"} ${Math.round(waking.timeoutMs / 1000)}`);
      await wakes(waking, signal);
    },
  );
  wakes = async () => {
    house.set.failure = undefined;
  };
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

const press = (key: string) => house.actions.key(tv, key, { signal: neverAborted });
const read = () => house.devices.deviceOf(tv).state(neverAborted);
const fallAsleep = async (power: "standby" | "off" = "standby") => {
  house.set.state = { ...house.set.state, power };
  await read();
  house.set.failure = silent();
  house.set.done.length = 0;
};

describe("a device that connecting wakes", () => {
  test("is not read while it last reported off; a command wakes it, and then it is read again", async () => {
    const quiet = await openHouse(
      (set) => ({ ...set.connection(), power: { ...neverOff, wakesByConnecting: true } }),
      [],
      async () => {
        quiet.set.failure = undefined;
      },
    );
    const sleeper = await quiet.add("1", { name: "TV" });
    const state = () => quiet.devices.deviceOf(sleeper).state(neverAborted);
    quiet.set.state = { ...quiet.set.state, power: "on" };
    expect((await state()).power).toBe("on");
    quiet.connected[0]?.emit({ type: "disconnected", why: "going_off" });
    quiet.set.done.length = 0;
    expect((await state()).power).toBe("off");
    expect(await failureOf(quiet.actions.refresh(sleeper, false, neverAborted))).toStartWith(
      "device_unreachable: TV is in standby",
    );
    expect(quiet.set.done).toEqual([]);
    quiet.set.failure = silent();
    await quiet.actions.key(sleeper, "home", { signal: neverAborted });
    expect((await state()).power).toBe("on");
    expect(quiet.set.done).toEqual(["home", "state"]);
    await quiet.remove();
  });
});

test("a device is woken by the hardware address in the neighbour table, beside those that it reports", async () => {
  const called: (readonly string[])[] = [];
  const other = await openHouse(
    (set) => ({ ...set.connection(), power: neverOff }),
    [],
    async ({ macs }) => void called.push(macs),
  );
  const wired = await other.add("1", { name: "TV", macs: ["02:00:00:00:00:01"] });
  const macs = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
  await other.registry.setStanding(wired.id, ({ host, port }) => ({
    host,
    port,
    standing: { rivals: [], dismissed: [], macs },
  }));
  await other.actions.key(other.registry.get(wired.id) ?? wired, "power-on", { signal: neverAborted });
  expect(called).toEqual([macs]);
  await other.remove();
});

describe("the state of a silent device", () => {
  test("is off when it last reported off or standby; the registry keeps it, offline", async () => {
    await fallAsleep();
    const { observed_at, ...state } = await read();
    expect(state).toEqual({ power: "off", app: null, screensaver: null, playback: null, volume: null, input: null });
    expect(Date.parse(observed_at)).toBeGreaterThan(Date.now() - 5_000);
    expect(house.devices.deviceOf(tv).describe().status).toBe("offline");
    // It is where it was: nobody needs to look for it.
    expect(house.lost).toEqual([]);
  });

  test("is an error when it last reported on, or nothing", async () => {
    house.set.failure = silent();
    expect(await failureOf(read())).toStartWith("device_unreachable");
    house.set.failure = undefined;
    house.set.state = { ...house.set.state, power: "on" };
    await read();
    house.set.failure = silent();
    expect(await failureOf(read())).toStartWith("device_unreachable");
    expect(house.lost).toEqual(["TV", "TV"]);
  });

  test("is off after it took power-off, and after it said by itself that it goes off", async () => {
    await press("power-off");
    house.set.failure = silent();
    expect((await read()).power).toBe("off");
    house.set.failure = undefined;
    await press("power-on");
    house.set.failure = silent();
    expect(await failureOf(read())).toStartWith("device_unreachable");
    house.connected[0]?.emit({ type: "disconnected", why: "going_off" });
    expect((await read()).power).toBe("off");
  });

  test("is off after power or power-off, where it said as it took that that it goes off", async () => {
    const off = async () => going.connected[0]?.emit({ type: "disconnected", why: "going_off" });
    const going = await openHouse((set) => ({ ...set.connection(), power: { ...neverOff, off } }));
    const device = going.devices.deviceOf(await going.add("1", { name: "TV" }));
    for (const key of ["power", "power-off"]) {
      going.set.failure = undefined;
      going.set.state = { ...going.set.state, power: "on" };
      await device.state(neverAborted);
      await going.actions.key(device.record, key, { signal: neverAborted });
      expect(device.describe()).toMatchObject({ status: "offline", power: "off" });
      going.set.failure = silent();
      expect((await device.state(neverAborted)).power).toBe("off");
    }
    await going.remove();
  });

  test("is on after power where it said so meanwhile, and still in standby after another power-off", async () => {
    const told = (power: "on" | "standby") => {
      own.set.state = { ...own.set.state, power };
      own.connected[0]?.emit({ type: "state", patch: { power } });
    };
    const isOn = async () => own.set.state.power === "on";
    const off = async () => ((await isOn()) ? told("standby") : undefined);
    const power = { isOn, wakesByPacket: true, on: async () => told("on"), off };
    const own = await openHouse((set) => ({ ...set.connection(), power }));
    own.set.state = { ...own.set.state, power: "on" };
    const device = own.devices.deviceOf(await own.add("1", { name: "TV" }));
    const events = own.devices.journal.follow({ devices: null, types: ["state.*"], snapshot: false, since: null });
    for (const key of ["power-off", "power-off", "power"])
      await own.actions.key(device.record, key, { signal: neverAborted });
    const seen = (await events.next())?.flatMap(({ event }) => JSON.parse(event?.json ?? "{}").state?.power ?? []);
    expect(seen).toEqual(["standby", "on"]);
    events.close();
    await own.remove();
  });

  test("is off when it reported that during the read: the answer is older", async () => {
    const device = house.devices.deviceOf(tv);
    house.set.state = { ...house.set.state, power: "on", volume: { level: 3, muted: false } };
    await device.state(neverAborted);
    house.set.takes = 50;
    const asked = device.state(neverAborted);
    await until("it is asked", () => house.set.running === 1);
    house.connected[0]?.emit({ type: "disconnected", why: "going_off" });
    expect(await asked).toMatchObject({ power: "off", volume: null });
    expect(device.lastState.parts).toMatchObject({ power: "off", volume: null });
    expect(device.describe()).toMatchObject({ status: "offline", power: "off" });
    // So it is where a command was on its way.
    await press("power-on");
    const pressed = press("home");
    await until("it is pressed", () => house.set.running === 1);
    house.connected[0]?.emit({ type: "disconnected", why: "going_off" });
    await pressed;
    expect(device.describe().power).toBe("off");
  });

  test("its last state has one writer, whatever observed a part of it", async () => {
    const device = house.devices.deviceOf(tv);
    house.set.state = { ...house.set.state, power: "on", volume: { level: 3, muted: false } };
    await device.state(neverAborted);
    const { emit } = house.connected[0] ?? expect.unreachable();
    emit({ type: "state", patch: { volume: { level: 4, muted: true } } });
    expect(device.lastState.parts).toMatchObject({ power: "on", volume: { level: 4, muted: true } });
    emit({ type: "disconnected", why: "going_off" });
    expect(device.lastState.parts).toMatchObject({ power: "off", volume: null });
    expect(device.describe()).toMatchObject({ status: "offline", power: "off" });
    await press("power-on");
    expect(device.lastState.parts.power).toBe("on");
    await house.devices.remove(device);
    emit({ type: "state", patch: { power: "standby" } });
    expect(device.lastState.parts.power).toBe("on");
  });

  test("is not off because of a report older than a command that it took", async () => {
    house.set.state = { ...house.set.state, power: "standby" };
    await read();
    await press("home");
    house.set.failure = silent();
    expect(await failureOf(read())).toStartWith("device_unreachable");
  });

  test("is what it said while a command was on its way; in standby it shows nothing, whatever it showed before", async () => {
    const device = house.devices.deviceOf(tv);
    const app = { platformId: "12", name: "Netflix", type: "app", version: null } as const;
    const playback = { status: "playing", position_ms: 0, duration_ms: 1, live: false, title: null } as const;
    house.set.state = { ...house.set.state, power: "on", app, playback, input: "hdmi1" };
    await device.state(neverAborted);
    house.set.takes = 50;
    const pressed = press("home");
    await until("it is pressed", () => house.set.running === 1);
    house.connected[0]?.emit({ type: "state", patch: { power: "standby" } });
    await pressed;
    expect(device.lastState.parts).toMatchObject({ power: "standby", app: null, playback: null, input: null });
    expect(device.describe()).toMatchObject({ status: "online", power: "standby" });
  });

  test("a demand for pairing shows that it answers only where it was asked", async () => {
    const device = house.devices.deviceOf(tv);
    house.set.failure = silent();
    await failureOf(device.state(neverAborted));
    house.set.failure = pairingRequired("is not paired", "Pair it", "connect");
    expect(await failureOf(device.state(neverAborted))).toStartWith("pairing_required");
    expect(device.describe().status).toBe("offline");
    house.set.failure = pairingRequired("lets nobody in", "Pair it");
    expect(await failureOf(device.state(neverAborted))).toStartWith("pairing_required");
    expect(device.describe().status).toBe("online");
  });

  test("is not known of one that has forgotten its pairing while it was off", async () => {
    await fallAsleep("off");
    house.set.failure = pairingRequired("lets nobody in", "Pair it");
    const device = house.devices.deviceOf(tv);
    expect(await failureOf(read())).toStartWith("pairing_required");
    expect(device.describe()).toMatchObject({ status: "online", power: "unknown" });
  });

  test("is known after a restart, and is its state once it was asked", async () => {
    await fallAsleep("off");
    await house.devices.saveAvailability();
    const { registry, devices } = await openDevices(house.folder, [house.platform]);
    expect(registry.get(tv.id)?.last_power).toBe("off");
    const events = devices.journal.follow({ devices: null, types: ["state.*"], snapshot: false, since: "oldest" });
    const device = devices.deviceOf(tv);
    expect(device.lastState.view).toBe(null);
    expect((await device.state(neverAborted)).power).toBe("off");
    expect(device.lastState.view).toMatchObject({ power: "off", app: null });
    const told = (await events.next())?.map(({ event }) => JSON.parse(event?.json ?? "null").state.power);
    expect(told).toEqual(["off"]);
    devices.close();
  });
});

describe("a command to a device that is asleep", () => {
  test("wakes it, and then runs", async () => {
    await fallAsleep();
    await press("home");
    expect(house.set.done).toEqual(["called silent 30", "home"]);
    expect(house.devices.deviceOf(tv).describe().status).toBe("online");
    house.set.failure = silent();
    house.set.done.length = 0;
    // Its last word is that it is on: it may as well be unplugged, and is called only as long as one answer may take.
    wakes = () => Promise.reject(new ZapdError("device_unreachable", "did not wake"));
    expect(await failureOf(press("home"))).toBe("device_unreachable: TV did not answer while pressing home");
    expect(house.set.done).toEqual(["called silent 5"]);
  });

  test("one that says that it is in standby is there, and is woken for as long as that takes", async () => {
    wakes = () => Promise.reject(new ZapdError("device_error", "did not turn on"));
    for (const failure of [inStandby(), silent()]) {
      house.set.failure = failure;
      await failureOf(press("home"));
      // Nothing of its state was seen yet.
      expect(house.devices.deviceOf(tv).lastState.view).toBe(null);
    }
    house.set.failure = undefined;
    const app = { platformId: "12", name: "Film", type: "app", version: null } as const;
    house.set.state = { ...house.set.state, power: "on", app };
    await read();
    house.set.done.length = 0;
    house.set.failure = inStandby();
    expect(await failureOf(press("home"))).toBe("device_error: TV did not turn on while waking it");
    expect(house.set.done).toEqual(["called asked 30"]);
    expect(house.devices.deviceOf(tv).describe()).toMatchObject({ status: "online", power: "standby" });
    expect(house.devices.deviceOf(tv).lastState.view).toMatchObject({ power: "standby", app: null });
  });

  test("fails with how waking failed", async () => {
    await fallAsleep();
    wakes = () => Promise.reject(new ZapdError("device_unreachable", "did not wake within 30 s"));
    expect(await failureOf(press("home"))).toBe("device_unreachable: TV did not wake within 30 s while waking it");
    expect(house.set.done).toEqual(["called silent 30"]);
  });

  test("one that only its refusal shows to be off is searched for, since it may have moved; one that is known to be off is not", async () => {
    await press("home");
    const refused = new DeviceError("device_unreachable", "is not running", { phase: "connect", reason: "refused" });
    wakes = () => Promise.reject(refused);
    Object.defineProperty(house.set, "failure", {
      get() {
        house.connected[0]?.emit({ type: "disconnected", why: "going_off" });
        return refused;
      },
    });
    const searches: number[] = [];
    for (let times = 0; times < 2; times++) {
      expect(await failureOf(press("home"))).toStartWith("device_unreachable: TV is not running");
      searches.push(house.searches());
    }
    expect(searches).toEqual([1, 1]);
  });

  test("one that is found at another address while it is woken is turned on there, also where another device has its old one", async () => {
    await fallAsleep();
    const moves = async (host: string) => {
      const address = { host, port: 9 };
      await house.registry.merge({ platform: "fake", sighting: sightingOf("1", { name: "TV" }), address });
      house.devices.endpointOf(tv).recovery.foundAgain();
    };
    const isThere = async () => {
      house.set.failure = undefined;
    };
    wakes = async (_waking, signal) => {
      wakes = isThere;
      await moves("192.0.2.2");
      await sleep(5_000, signal);
    };
    await press("power-on");
    expect(house.connected.map(({ target }) => target.host)).toEqual(["192.0.2.1", "192.0.2.2"]);
    await fallAsleep();
    wakes = async () => {
      wakes = isThere;
      await moves("192.0.2.3");
      throw wrongDevice("192.0.2.2");
    };
    await press("home");
    expect(house.set.done).toEqual(["called silent 30", "called silent 30", "home"]);
    expect(house.connected.at(-1)?.target.host).toBe("192.0.2.3");
    await fallAsleep();
    wakes = () => Promise.reject(wrongDevice("192.0.2.3"));
    const error = await press("home").catch((thrown) => thrown);
    expect(error.message).toBe("TV is not at 192.0.2.3 any more: another device answers there while waking it");
    expect(error.hint).toEndWith("if it was reset or replaced: zapd forget TV");
  });

  test("R14 that the machine slept through before it was woken, or while it was, does not reach it", async () => {
    const stale = "device_timeout: The command was not sent, or not all of it: this machine slept meanwhile";
    await fallAsleep();
    house.set.takes = 20;
    const pressing = failureOf(press("home"));
    await until("it is connected to", () => house.set.running > 0);
    passTime(6_000);
    expect(await pressing).toBe(stale);
    expect(house.set.done).toEqual([]);
    wakes = async () => {
      house.set.failure = undefined;
      passTime(6_000);
    };
    expect(await failureOf(press("home"))).toBe(stale);
    expect(house.set.done).toEqual(["called silent 30"]);
    wakeUp();
  });

  test("power turns it on, once", async () => {
    await fallAsleep();
    await press("power");
    expect(house.set.done).toEqual(["called silent 30"]);
    expect(house.devices.deviceOf(tv).describe().power).toBe("on");
  });

  test("what may be off already is not woken to be turned off, nor said to be off", async () => {
    house.set.failure = silent();
    house.set.done.length = 0;
    expect(await failureOf(press("power-off"))).toStartWith("device_unreachable: TV did not answer");
    expect(await failureOf(house.actions.stop(tv, { signal: neverAborted }))).toStartWith("device_unreachable");
    expect(house.set.done).toEqual([]);
  });

  test("power-on calls it once, also as the first of a sequence, and does not call again when that was in vain", async () => {
    await fallAsleep();
    wakes = () => Promise.reject(new ZapdError("device_unreachable", "did not wake within 30 s"));
    await failureOf(press("power-on"));
    const sequence = house.actions.sequence(tv, ["power-on", "home"], 0, { signal: neverAborted });
    expect(await failureOf(sequence)).toContain("0 of 2 keys were sent");
    expect(house.set.done).toEqual(["called asked 30", "called asked 30"]);
  });

  test("a sequence wakes it before its first key, and is not begun again when a later one finds it silent", async () => {
    await fallAsleep();
    await house.actions.sequence(tv, ["home", "home"], 0, { signal: neverAborted });
    expect(house.set.done).toEqual(["called silent 30", "home", "home"]);
    house.set.done.length = 0;
    const running = failureOf(house.actions.sequence(tv, ["home", "home", "home"], 400, { signal: neverAborted }));
    await until("the first key is sent", () => house.set.done.length === 1);
    house.set.failure = silent();
    expect(await running).toContain("1 of 3 keys were sent");
    expect(house.set.done).toEqual(["home"]);
  });

  test("of a sequence, the first key does what it does alone: power is done by waking, power-off wakes nothing", async () => {
    const sequence = (...wanted: string[]) => house.actions.sequence(tv, wanted, 0, { signal: neverAborted });
    for (const [wanted, done] of [
      [["power"], ["called silent 30"]],
      [
        ["power", "home"],
        ["called silent 30", "home"],
      ],
      [["power-off"], []],
      [
        ["power-off", "home"],
        ["called silent 30", "home"],
      ],
      [
        ["home", "power", "power-off"],
        ["called silent 30", "home", "power", "power-off"],
      ],
    ] as const) {
      await fallAsleep();
      expect(await sequence(...wanted)).toMatchObject({ sent: wanted.length });
      expect(house.set.done).toEqual([...done]);
      expect(house.devices.deviceOf(tv).describe().power).toBe(wanted.at(-1) === "power-off" ? "off" : "on");
      house.set.failure = undefined;
    }
  });

  test("of a key that is held, only the first press wakes it", async () => {
    const hold = () => holdKey(house.devices.deviceOf(tv), "up", { repeat: 3 }, { signal: neverAborted });
    await fallAsleep();
    expect(await hold()).toBe(3);
    expect(house.set.done).toEqual(["called silent 30", "up", "up", "up"]);
    house.set.done.length = 0;
    const holding = failureOf(hold());
    await until("it is pressed", () => house.set.done.length > 0);
    house.set.failure = silent();
    expect(await holding).toStartWith("device_unreachable: TV did not answer");
    expect(house.set.done).not.toContain("called silent 5");
  });

  test("a caller that hangs up while it is woken ends that", async () => {
    await fallAsleep();
    const caller = new AbortController();
    let ended = false;
    wakes = (_waking, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          ended = true;
          reject(signal.reason);
        });
      });
    const pressing = house.actions.key(tv, "home", { signal: caller.signal }).catch((reason: unknown) => reason);
    await until("it is called", () => house.set.done.length === 1);
    caller.abort("gone");
    expect(await pressing).toBe("gone");
    expect(ended).toBe(true);
  });

  test("a read does not wake it", async () => {
    await fallAsleep();
    await read();
    await failureOf(house.actions.refresh(tv, false, neverAborted));
    expect([house.set.done, house.searches()]).toEqual([[], 0]);
  });
});
