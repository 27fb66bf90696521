/** How a device is turned on, by a clock that nobody waits for. */
import { expect, test } from "bun:test";
import { DeviceError, type DeviceReason, inStandby, wrongDevice, ZapdError } from "../../src/api/errors.ts";
import { type WakeOptions, type WakeParts, wake } from "../../src/devices/wake.ts";
import { TestClock } from "../support/test-clock.ts";

const key: WakeOptions = { isSilent: false, timeoutMs: 30_000 };
const command: WakeOptions = { isSilent: true, timeoutMs: 30_000 };

interface Story {
  /** What it answers to the question whether it is on, at a moment after the beginning: a word, or how it fails. */
  isOn(ms: number, set: Telling): boolean | null | Error | "silence";
  /** What comes of telling it to turn on; absent where it cannot be told. */
  on?(ms: number, set: Telling): Error | undefined;
  wakesByPacket?(ms: number): boolean;
  readonly macs?: readonly string[];
  /** When it says by itself that it is on. */
  readonly saysOnAt?: number;
  /** When this machine sleeps. */
  readonly sleepsAt?: number;
}

/** What was done to it so far, and when, in milliseconds after the beginning. */
interface Telling {
  readonly asked: number[];
  readonly told: number[];
  readonly called: number[];
}

const failing = (reason: DeviceReason, code: "device_unreachable" | "device_unproven" = "device_unreachable") =>
  new DeviceError(code, `fails by ${reason}`, { phase: "connect", reason });

/** Plays a story; how it ends, after how long, and all that was done. */
async function play(story: Story, waking: WakeOptions, caller = new AbortController().signal) {
  const clock = new TestClock();
  const begun = clock.now();
  const at = () => clock.now() - begun;
  const set: Telling = { asked: [], told: [], called: [] };
  const parts: WakeParts = {
    clock,
    macs: story.macs ?? ["aa:bb:cc:dd:ee:ff"],
    hint: "see its menu",
    reportedOnAt: () => (story.saysOnAt !== undefined && at() >= story.saysOnAt ? begun + story.saysOnAt : -1),
    sendPackets: async () => void set.called.push(at()),
    checkAwake() {
      if (at() > (story.sleepsAt ?? Number.POSITIVE_INFINITY)) throw new ZapdError("device_timeout", "slept");
    },
    power: {
      async isOn(signal) {
        set.asked.push(at());
        const said = story.isOn(at(), set);
        if (said instanceof Error) throw said;
        if (said !== "silence") return said;
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
      ...(story.on && {
        async on() {
          set.told.push(at());
          const failure = story.on?.(at(), set);
          if (failure) throw failure;
        },
      }),
      get wakesByPacket() {
        return story.wakesByPacket?.(at()) ?? true;
      },
    },
  };
  let hint: string | undefined;
  const outcome = await clock.run(
    wake(parts, waking, caller).then(
      () => "on",
      (error: unknown) => {
        if (!(error instanceof ZapdError)) return String(error);
        hint = error.hint;
        return `${error.code}: ${error.message}`;
      },
    ),
  );
  return { outcome, ...(hint && { hint }), after: at(), ...set };
}

test("one that is on is asked, gets power-on once, and no packets", async () => {
  expect(await play({ isOn: () => true, on: () => undefined }, key)).toEqual({
    outcome: "on",
    after: 0,
    asked: [0],
    told: [0],
    called: [],
  });
  expect(await play({ isOn: () => true }, key)).toMatchObject({ outcome: "on", asked: [0], called: [] });
});

test("one in standby that answers gets power-on and is waited for", async () => {
  const slow = await play({ isOn: (ms) => ms >= 3_000, on: () => undefined }, key);
  expect(slow).toMatchObject({ outcome: "on", told: [0], called: [], after: 3_000 });
});

test("one that still reports off after 5 s gets power-on once more, and then it is an error", async () => {
  const late = await play({ isOn: (_ms, { told }) => told.length > 1, on: () => undefined }, key);
  expect(late.outcome).toBe("on");
  expect(late.told.length).toBe(2);
  expect(late.told[1]).toBeWithin(5_000, 6_000);
  const unwoken = await play({ isOn: () => false, on: () => undefined }, key);
  expect(unwoken).toMatchObject({
    outcome: "device_error: accepted the power-on key, but still reports that it is off",
    called: [],
  });
  expect(unwoken.told.length).toBe(2);
  expect(unwoken.after).toBeWithin(20_000, 22_000);
});

test("one that goes on reporting off for 12 s is on then: what it reports may be old", async () => {
  expect(await play({ isOn: (ms) => ms > 12_000, on: () => undefined }, key)).toMatchObject({ outcome: "on" });
});

test("R14 after a sleep of this machine nothing is sent: no packet, no power-on, and that not once more", async () => {
  const outcome = "device_timeout: slept";
  const slow: Story = { isOn: () => "silence", sleepsAt: 4_000 };
  expect(await play(slow, key)).toMatchObject({ outcome, called: [2_500, 3_500] });
  const starting: Story = { isOn: (ms: number) => (ms > 2_600 ? false : "silence"), on: () => undefined };
  expect(await play({ ...starting, sleepsAt: 2_550 }, key)).toMatchObject({ outcome, called: [2_500], told: [] });
  expect(await play({ isOn: () => false, on: () => undefined, sleepsAt: 3_000 }, key)).toMatchObject({
    outcome,
    told: [0],
  });
});

test("one that does not report its power counts as on once it took power-on", async () => {
  expect(await play({ isOn: () => null, on: () => undefined }, key)).toMatchObject({ outcome: "on", told: [0] });
  // It answered, was told, and has been silent since.
  for (const unheard of [undefined, failing("timeout")]) {
    const on: Story["on"] = (_ms, { told }) => (told.length > 1 ? unheard : undefined);
    const gone = await play({ isOn: (_ms, { told }) => (told.length > 0 ? "silence" : false), on }, key);
    expect(gone).toMatchObject({ outcome: "on", called: [] });
    expect(gone.told.length).toBe(2);
  }
});

test("one in deep sleep gets packets every second until it answers, then power-on", async () => {
  const set = await play({ isOn: (ms) => (ms >= 7_300 ? ms > 8_000 : "silence"), on: () => undefined }, key);
  expect(set.outcome).toBe("on");
  // One that may as well be on has 2.5 s for its first answer.
  expect(set.called).toEqual([2_500, 3_500, 4_500, 5_500, 6_500, 7_500]);
  expect(set.told.length).toBe(1);
  expect(set.after).toBeLessThan(9_000);
});

test("one that was just silent is called at once, and no longer than it is to be", async () => {
  const set = await play({ isOn: () => "silence" }, { isSilent: true, timeoutMs: 4_000 });
  expect(set.called).toEqual([250, 1_250, 2_250, 3_250]);
  expect(set.outcome).toBe("device_unreachable: did not wake within 4 s of the first magic packet");
  expect(set.after).toBeWithin(4_000, 4_500);
});

test("one that refuses while it starts is asked again soon", async () => {
  const set = await play({ isOn: (ms) => (ms > 1_900 ? true : failing("refused")) }, command);
  expect(set.outcome).toBe("on");
  expect(set.after).toBeLessThanOrEqual(2_200);
});

test("one without a known hardware address gets no packets", async () => {
  const set = await play({ isOn: () => failing("timeout"), macs: [] }, command);
  expect(set).toMatchObject({ called: [], after: 0 });
  // Predicates are followed by the activity: a second clause would be taken for part of it.
  expect(set.outcome).toBe("device_unreachable: does not answer");
  expect(set.hint).toBe("zapd knows no hardware address to wake it with. see its menu");
  // It needs none while it answers.
  expect(await play({ isOn: () => true, on: () => undefined, macs: [] }, command)).toMatchObject({ outcome: "on" });
});

test("one in a standby that only packets end gets them, and is asked once a second", async () => {
  const set = await play({ isOn: (ms) => ms > 4_200, on: (ms) => (ms > 4_200 ? undefined : inStandby()) }, key);
  expect(set.outcome).toBe("on");
  expect(set.called.slice(0, 3)).toEqual([0, 1_000, 2_000]);
  expect(set.asked.length).toBeLessThan(8);
  const unwoken = await play({ isOn: () => false, on: () => inStandby() }, key);
  expect(unwoken.outcome).toStartWith("device_unreachable: did not wake within 30 s");
  expect(unwoken.asked.length).toBeLessThan(40);
  expect(unwoken.after).toBeWithin(30_000, 31_500);
});

test("one that answers in standby, and closes what power-on is to go over, gets packets: nothing has reached it", async () => {
  const on = (ms: number) => (ms < 3_000 ? failing("closed") : undefined);
  const set = await play({ isOn: (ms) => ms >= 4_000, on }, key);
  expect([set.outcome, set.called[0], set.told.length > 1]).toEqual(["on", 0, true]);
  const other = await play({ isOn: () => false, on: () => wrongDevice("192.0.2.1") }, key);
  expect([other.outcome, other.called]).toEqual([expect.stringMatching(/^device_unreachable/), []]);
  const unknown = await play({ isOn: () => false, on, macs: [] }, key);
  expect([unknown.outcome, unknown.called]).toEqual(["device_unreachable: fails by closed", []]);
});

test("it is asked at once when it pushes that it is on", async () => {
  const set = await play({ isOn: (ms) => ms >= 1_300, saysOnAt: 1_300 }, command);
  expect(set.outcome).toBe("on");
  expect(set.after).toBeLessThanOrEqual(1_500);
});

test("one that answers at the last moment has 10 s more to be on", async () => {
  const set = await play({ isOn: (ms) => (ms < 3_000 ? "silence" : ms > 9_000) }, { isSilent: true, timeoutMs: 3_500 });
  expect(set.outcome).toBe("on");
  expect(set.after).toBeWithin(9_000, 11_000);
});

test("one that accepts a connection and closes it is asked less and less often", async () => {
  const set = await play({ isOn: () => failing("closed") }, command);
  expect(set.outcome).toStartWith("device_unreachable: did not wake");
  expect(set.asked.length).toBeLessThan(16);
  const pauses = set.asked.slice(1).map((ms, at) => ms - (set.asked[at] ?? 0));
  expect(Math.max(...pauses)).toBeWithin(4_000, 4_500);
});

test("one that does not prove its identity is waited for, since it may be starting, and gives the error in the end", async () => {
  const starting = (ms: number) => (ms > 3_000 ? true : failing("protocol", "device_unproven"));
  const set = await play({ isOn: starting }, command);
  expect(set).toMatchObject({ outcome: "on" });
  expect(set.asked.length).toBeLessThan(6);
  const stranger = await play({ isOn: () => failing("protocol", "device_unproven") }, command);
  expect(stranger.outcome).toBe("device_unproven: fails by protocol");
  const slow = await play({ isOn: (ms) => (ms < 3_000 ? failing("protocol", "device_unproven") : "silence") }, command);
  expect(slow.outcome).toBe("device_unproven: fails by protocol");
});

test.each([
  ["another device", wrongDevice("192.0.2.1")],
  ["one with another certificate", failing("wrong_device", "device_unproven")],
  ["one on probation", new ZapdError("device_unproven", "is on probation")],
  ["one that lets nobody in", new ZapdError("pairing_required", "is not paired")],
  ["a fault of ours", new TypeError("a fault")],
])("%s ends it at once", async (_who, error) => {
  const set = await play({ isOn: () => error }, command);
  expect(set).toMatchObject({ after: 0, called: [], asked: [0] });
  expect(set.outcome).toContain(error.message);
  const later = await play({ isOn: (ms) => (ms < 2_000 ? failing("refused") : error) }, command);
  expect(later.outcome).toContain(error.message);
  expect(later.after).toBeLessThan(2_500);
});

test("where packets cannot help, a command fails at once, and the key calls for 5 s all the same", async () => {
  const ended = { isOn: () => failing("refused"), wakesByPacket: () => false };
  expect(await play(ended, command)).toEqual({
    outcome: "device_unreachable: fails by refused",
    after: 0,
    asked: [0],
    told: [],
    called: [],
  });
  const called = await play(ended, key);
  expect(called.outcome).toBe("device_unreachable: fails by refused");
  expect(called.called.length).toBe(5);
  expect(called.after).toBeWithin(5_000, 5_500);
});

test("a caller that hangs up ends it", async () => {
  const caller = new AbortController();
  const set = await play(
    {
      isOn: (ms) => {
        if (ms > 3_000) caller.abort("gone");
        return failing("refused");
      },
    },
    key,
    caller.signal,
  );
  expect(set.outcome).toBe("gone");
  expect(set.called.length).toBeGreaterThan(0);
});

test("a failure of telling it is the failure", async () => {
  const refusal = new ZapdError("device_refused", "refused it");
  expect((await play({ isOn: () => false, on: () => refusal }, key)).outcome).toBe("device_refused: refused it");
});
