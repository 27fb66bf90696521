/** The volume of sets that only step: brought to a level by what they show of it. */
import { expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import { setVolume } from "../../src/devices/volume.ts";
import { codeOf } from "../support/failure.ts";
import { asleep } from "../support/fake-platform.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { neverAborted, openHouse } from "./harness.ts";

/** A set that heeds each step so many milliseconds after the one before, and the first not at all where that only shows its scale. */
async function stepping({ lagMs = 0, stride = 1, showsScale = false, sleeps = false } = {}) {
  let heeded = Promise.resolve();
  let isShown = !showsScale;
  const house = await openHouse((set) => {
    const heed = async (by: number) => {
      await Bun.sleep(lagMs);
      const level = (set.state.volume?.level ?? 0) + by * stride;
      if (isShown) set.state = { ...set.state, volume: { level, muted: false } };
      isShown = true;
    };
    const step = async (by: 1 | -1) => {
      heeded = heeded.then(() => heed(by));
      if (sleeps) passTime(6_000);
    };
    return { ...set.connection(), volume: { step } };
  });
  house.set.state = { ...asleep, power: "on", volume: { level: 10, muted: false } };
  const device = house.devices.deviceOf(await house.add("Steps"));
  const to = async (level: number) => {
    const { volume, confirmed } = await setVolume(device, { level }, { signal: neverAborted });
    await heeded;
    return { told: volume?.level, is: house.set.state.volume?.level, confirmed };
  };
  const by = async (step: number) => (await setVolume(device, { step }, { signal: neverAborted })).volume?.level;
  return { device, heeded: () => heeded, to, by, house };
}

test.concurrent("a device that acts on keys later than it takes them ends at the wanted level, and stays there", async () => {
  const { to, house } = await stepping({ lagMs: 200 });
  expect(await to(14)).toEqual({ told: 14, is: 14, confirmed: true });
  await house.remove();
});

test.concurrent("a device whose steps do not meet the wanted level ends at the nearest, from below as from above", async () => {
  const { to, house } = await stepping({ stride: 4 });
  expect(await to(33)).toEqual({ told: 34, is: 34, confirmed: false });
  expect(await to(19)).toEqual({ told: 18, is: 18, confirmed: false });
  await house.remove();
});

test.concurrent("a device whose first step only shows its scale is stepped once more", async () => {
  const { to, house } = await stepping({ showsScale: true });
  expect(await to(12)).toEqual({ told: 12, is: 12, confirmed: true });
  await house.remove();
});

test.concurrent("of what a device takes and does not report it is not said whether it is so", async () => {
  const volume = { set: async () => {}, mute: async () => {} };
  const house = await openHouse((set) => ({ ...set.connection(), volume }));
  const device = house.devices.deviceOf(await house.add("Silent"));
  for (const [asked, reported] of [
    [{ level: 5 }, { level: null, muted: false }],
    [
      { level: 5, muted: true },
      { level: 5, muted: null },
    ],
  ] as const) {
    house.set.state = { ...asleep, power: "on", volume: reported };
    expect((await setVolume(device, asked, { signal: neverAborted })).confirmed).toBe(null);
  }
  await house.remove();
});

test.concurrent("a set that may report 0 of an output that it cannot set is stepped there, and set elsewhere", async () => {
  const sent: unknown[] = [];
  const house = await openHouse((set) => {
    const volume = {
      set: async (level: number) => void sent.push(level),
      step: async (by: number) => void sent.push([by]),
    };
    return { ...set.connection(), volume: { ...volume, stepsAtZero: true } };
  });
  const device = house.devices.deviceOf(await house.add("Receiver"));
  // A Samsung TV with a receiver reports 0 whatever that plays at, and only its keys work (home-assistant/core#134401, #153671).
  for (const [level, step, expected] of [
    [0, 2, [[1], [1]]],
    [0, -1, [[-1]]],
    [7, 2, [9]],
  ] as const) {
    house.set.state = { ...asleep, power: "on", volume: { level, muted: false } };
    await setVolume(device, { step }, { signal: neverAborted });
    expect(sent.splice(0)).toEqual([...expected]);
  }
  await house.remove();
});

/** A set of 15 levels, to which it rounds what it is given, and which shows one so many milliseconds after that. */
async function rounding({ lagMs = 0, isFixed = false } = {}) {
  const sent: string[] = [];
  let own = 8;
  const shown = () => ({ level: Math.round((own * 100) / 15), muted: false });
  const house = await openHouse((set) => {
    const to = async (next: number) => {
      if (!isFixed) own = next;
      setTimeout(() => {
        set.state = { ...set.state, volume: shown() };
      }, lagMs);
    };
    const volume = {
      set: async (level: number) => {
        sent.push(`to ${level}`);
        await to(Math.round((level * 15) / 100));
      },
      step: async (by: 1 | -1) => {
        sent.push(`by ${by}`);
        await to(own + by);
      },
    };
    return { ...set.connection(), volume: { ...volume, rounds: true } };
  });
  house.set.state = { ...asleep, power: "on", volume: shown() };
  const device = house.devices.deviceOf(await house.add("Fifteen"));
  const change = async (body: { readonly level: number } | { readonly step: number }) => {
    const { volume, confirmed } = await setVolume(device, body, { signal: neverAborted });
    return { sent: sent.splice(0), told: volume?.level, confirmed };
  };
  return { change, house };
}

test.concurrent("a step that a device rounds back to where it was is one of its own; a level stays the nearest", async () => {
  const { change, house } = await rounding();
  expect(await change({ step: 3 })).toEqual({ sent: ["to 56", "by 1"], told: 60, confirmed: true });
  expect(await change({ step: -3 })).toEqual({ sent: ["to 57", "by -1"], told: 53, confirmed: true });
  expect(await change({ level: 55 })).toEqual({ sent: ["to 55"], told: 53, confirmed: false });
  await house.remove();
}, 20_000);

test.concurrent("a step that shows late is not taken twice, and one without effect is not confirmed", async () => {
  const late = await rounding({ lagMs: 900 });
  expect(await late.change({ step: 7 })).toEqual({ sent: ["to 60"], told: 60, confirmed: true });
  await late.house.remove();
  const fixed = await rounding({ isFixed: true });
  expect(await fixed.change({ step: 3 })).toEqual({ sent: ["to 56", "by 1"], told: 53, confirmed: false });
  await fixed.house.remove();
}, 20_000);

test.concurrent("of one that does not answer it is said, and not that it does not tell its volume", async () => {
  const { to, house } = await stepping();
  house.set.failure = new ZapdError("device_timeout", "did not answer");
  expect(await to(12).catch(({ code }) => code)).toBe("device_timeout");
  await house.remove();
});

test("R14 steps that are left when this machine has slept are not sent", async () => {
  const { to, by, house } = await stepping({ sleeps: true });
  const level = () => house.set.state.volume?.level;
  expect([await codeOf(by(3)), level()]).toEqual(["device_timeout", 11]);
  expect([await codeOf(to(15)), level()]).toEqual(["device_timeout", 12]);
  wakeUp();
  await house.remove();
});

test.concurrent("a mute that a device lacks is refused before a step is taken", async () => {
  const { device, heeded, house } = await stepping();
  expect(await codeOf(setVolume(device, { step: 1, muted: true }, { signal: neverAborted }))).toBe(
    "unsupported_operation",
  );
  await heeded();
  expect(house.set.state.volume?.level).toBe(10);
  await house.remove();
});

test.concurrent("after steps, the level is given once the last step shows, and at the end of its scale as it stays", async () => {
  const { by, house } = await stepping({ lagMs: 30 });
  expect([await by(1), await by(-3)]).toEqual([11, 8]);
  house.set.state = { ...house.set.state, volume: { level: 100, muted: false } };
  expect(await by(1)).toBe(100);
  await house.remove();
});

test.concurrent("a device with a scale of its own is not made louder on the way than is wanted", async () => {
  const shown = (own: number) => ({ level: Math.round((own * 100) / 60), muted: false });
  let own = 10;
  let loudest = own;
  const house = await openHouse((set) => {
    const step = async (by: 1 | -1) => {
      own += by;
      loudest = Math.max(loudest, own);
      set.state = { ...set.state, volume: shown(own) };
    };
    return { ...set.connection(), volume: { step } };
  });
  house.set.state = { ...asleep, power: "on", volume: shown(own) };
  const device = house.devices.deviceOf(await house.add("Sixty"));
  const { volume, confirmed } = await setVolume(device, { level: 50 }, { signal: neverAborted });
  expect([volume?.level, confirmed, shown(loudest).level]).toEqual([50, true, 50]);
  await house.remove();
});
