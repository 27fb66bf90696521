import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ZapdError } from "../../src/api/errors.ts";
import { readPress } from "../../src/devices/press.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import { keys } from "../../src/platforms/platform.ts";
import { outcomeOf } from "../support/failure.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
beforeEach(async () => {
  house = await openHouse();
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

const key = (wanted: string) => house.actions.key(tv, wanted, { signal: neverAborted });

describe("a key", () => {
  test("is one of the table, or text behind literal:", () => {
    for (const one of keys) expect(readPress(one)).toEqual({ key: one });
    expect(readPress("literal:héllo 📺")).toEqual({ text: "héllo 📺" });
    expect(readPress("literal:literal:")).toEqual({ text: "literal:" });
    expect(readPress(`literal:${"📺".repeat(1_024)}`)).toHaveProperty("text");
    // More that is none: test/server/bad-input.test.ts.
    for (const none of ["constructor", "keypress/Home", "literal:a\nb", "literal:\x7f", "literal:\u0085"])
      expect([none, outcomeOf(() => readPress(none))]).toEqual([none, "invalid_key"]);
  });

  test("goes to the device, text as text, power-on by its own way", async () => {
    for (const wanted of ["home", "literal:ab c"]) await key(wanted);
    const awake = await openHouse((set) => {
      let isOn = false;
      return {
        ...set.connection(),
        power: {
          isOn: (signal) => set.do("asked", signal, isOn),
          on: (signal) => {
            isOn = true;
            return set.do("on", signal, undefined);
          },
          off: (signal) => {
            isOn = false;
            return set.do("off", signal, undefined);
          },
          wakesByPacket: true,
        },
      };
    });
    const set = await awake.add("1");
    for (const wanted of ["power-on", "power-off", "power", "power"])
      await awake.actions.key(set, wanted, { signal: neverAborted });
    const turnedOn = ["asked", "on", "asked"];
    expect(house.set.done).toEqual(["home", "text ab c"]);
    expect(awake.set.done).toEqual([...turnedOn, "off", "asked", ...turnedOn, "asked", "off"]);
    await awake.remove();
  });

  test("has the time for an answer, however short its text is", async () => {
    house.set.takes = 200;
    await key("literal:a");
    expect(house.set.done).toEqual(["text a"]);
  });

  test("that this device lacks is unsupported_key, with those that it has, and nothing is sent", async () => {
    const error = await key("mute").catch((one: ZapdError) => one);
    expect(error).toMatchObject({
      code: "unsupported_key",
      message: "TV has no mute key",
      hint: "It has: home, up, down, play, power, power-off",
    });
    expect(house.set.done).toEqual([]);
  });
});

describe("a sequence", () => {
  const sequence = (wanted: string[], delay: number) =>
    house.actions.sequence(tv, wanted, delay, { signal: neverAborted });

  test("keeps its schedule though keys take time, and does not burst behind a slow one", async () => {
    house.set.takes = 100;
    const start = performance.now();
    await sequence(Array(12).fill("home"), 110);
    // 1,410 ms; each behind the one before would be 2,410.
    expect(performance.now() - start).toBeLessThan(2_300);
    // Longer than two delays, and nearly two; and the first, from whose end on they count.
    for (const [which, takes] of [
      [2, 1_000],
      [2, 560],
      [1, 300],
    ] as const) {
      const sent: number[] = [];
      const slow = await openHouse(() => ({
        close: () => {},
        keys: {
          press: async () => {
            if (sent.push(performance.now()) === which) await Bun.sleep(takes);
          },
        },
      }));
      await slow.actions.sequence(await slow.add("1"), Array(4).fill("home"), 300, { signal: neverAborted });
      // On the schedule, which a late timer before it does not move; a burst would be a gap of 40 ms at most.
      expect((sent[which + 1] ?? 0) - (sent[which] ?? 0)).toBeGreaterThan(50);
      if (which === 1) expect((sent[1] ?? 0) - (sent[0] ?? 0)).toBeGreaterThan(590);
      await slow.remove();
    }
  });
});
