import { describe, expect, test } from "bun:test";
import type { ZapdError } from "../../src/api/errors.ts";
import { Queue, type Turn } from "../../src/devices/queue.ts";
import { machineSleep, sleptSince } from "../../src/system/clock.ts";
import { codeOf } from "../support/failure.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { neverAborted } from "./harness.ts";

const turn = (more: Partial<Turn> = {}): Turn => ({ signal: neverAborted, ...more });

/** Work that waits until it is let go. */
function gate(): { work: () => Promise<void>; open: () => void; begun: () => boolean } {
  let open = () => {};
  let begun = false;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const work = () => {
    begun = true;
    return opened;
  };
  return { work, open: () => open(), begun: () => begun };
}

describe("commands to one device", () => {
  test("run one at a time, in order of arrival, though they come in one breath", async () => {
    const queue = new Queue();
    const order: number[] = [];
    let running = 0;
    const run = (number: number) =>
      queue.run(turn(), async () => {
        expect(++running).toBe(1);
        await Bun.sleep(number % 3);
        order.push(number);
        running--;
        return number;
      });
    const numbers = Array.from({ length: 33 }, (_, number) => number);
    expect(await Promise.all(numbers.map(run))).toEqual(numbers);
    expect(order).toEqual(numbers);
  });

  test("that fail let the next one through", async () => {
    const queue = new Queue();
    const said = (work: Promise<unknown>) => work.catch((error: Error) => error.message);
    const fails = said(queue.run(turn(), () => Promise.reject(new Error("oops"))));
    const throws = said(
      queue.run(turn(), () => {
        throw new Error("at once");
      }),
    );
    const next = queue.run(turn(), () => Promise.resolve("fine"));
    expect(await Promise.all([fails, throws, next])).toEqual(["oops", "at once", "fine"]);
  });

  test("wait, 32 at most, and the next is refused at once", async () => {
    const queue = new Queue();
    expect(queue.isIdle).toBe(true);
    const first = gate();
    const running = queue.run(turn(), first.work);
    expect(queue.isIdle).toBe(false);
    const waiting = Array.from({ length: 32 }, () => queue.run(turn(), () => Promise.resolve()));
    expect(await codeOf(queue.run(turn(), () => Promise.resolve()))).toBe("device_busy");
    first.open();
    await Promise.all([running, ...waiting]);
    expect(queue.isIdle).toBe(true);
    expect(await queue.run(turn(), () => Promise.resolve("free again"))).toBe("free again");
  });

  test("are refused at once behind sequences that take over 5 s, with the time of their end, unless they wait for long ones", async () => {
    const queue = new Queue();
    const [first, second] = [gate(), gate()];
    const long = { minimumMs: 3_000, expectedMs: 3_000, waitsForLongCommands: true };
    const running = [queue.run(turn(long), first.work), queue.run(turn(long), second.work)];
    const refused = queue.run(turn(), () => Promise.resolve()).catch((error: ZapdError) => error);
    const { code, message, hint = "" } = (await refused) as ZapdError;
    expect([code, message]).toEqual(["device_busy", "is running a sequence that ends in 6 s"]);
    const [, at = ""] = /^Nothing was sent. Try again in 6 s \((.{19}Z)\), or stop /.exec(hint) ?? [];
    expect(Date.parse(at) - Date.now()).toBeWithin(1_000, 6_001);
    const patient = queue.run(turn({ waitsForLongCommands: true }), () => Promise.resolve("after both"));
    first.open();
    second.open();
    expect(await patient).toBe("after both");
    await Promise.all(running);
  });

  test("R14 that waited while the machine slept are dropped, and those that came since then are not", async () => {
    const queue = new Queue();
    const first = gate();
    const running = queue.run(turn({ expectedMs: 8_000 }), first.work);
    const patient = turn({ waitsForLongCommands: true });
    const hasSlept = sleptSince();
    const before = codeOf(queue.run(patient, () => Promise.resolve("before")));
    passTime(6_000);
    const after = queue.run(turn(), () => Promise.resolve("after"));
    // It was decided on before, and is queued only now.
    const old = codeOf(queue.run(turn({ hasSlept }), () => Promise.resolve("old")));
    first.open();
    expect([await before, await after, await old]).toEqual(["device_busy", "after", "device_busy"]);
    wakeUp();
    await running;
  });

  test("whose caller hangs up while they wait never run, and make room", async () => {
    const queue = new Queue();
    const first = gate();
    const running = queue.run(turn(), first.work);
    const caller = new AbortController();
    let ran = false;
    const left = queue.run(turn({ signal: caller.signal }), async () => {
      ran = true;
    });
    const next = queue.run(turn(), () => Promise.resolve("next"));
    caller.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    first.open();
    expect(await next).toBe("next");
    await running;
    expect(ran).toBe(false);
    const already = queue.run(turn({ signal: AbortSignal.abort(new Error("before")) }), () => Promise.resolve());
    await expect(already).rejects.toThrow("before");
  });

  test("are dropped rather than sent late: after 5 s, or when the known work ahead is long overdue for the patient", async () => {
    const queue = new Queue();
    const sequence = gate();
    const running = queue.run(turn({ expectedMs: 300 }), sequence.work);
    let late = 0;
    const start = performance.now();
    const impatient = codeOf(queue.run(turn(), async () => void late++)).then(
      (code) => [code, performance.now() - start] as const,
    );
    const patient = codeOf(queue.run(turn({ waitsForLongCommands: true }), async () => void late++)).then(
      (code) => [code, performance.now() - start] as const,
    );
    const [[code, waited], [patientCode, patientWaited]] = await Promise.all([impatient, patient]);
    expect([code, patientCode]).toEqual(["device_busy", "device_busy"]);
    // Never sooner than that; how much later is the machine's.
    expect(waited).toBeGreaterThan(4_990);
    expect(patientWaited).toBeGreaterThan(5_290);
    expect(patientWaited).toBeGreaterThan(waited);
    sequence.open();
    await running;
    expect(late).toBe(0);
    expect(await queue.run(turn(), () => Promise.resolve("free"))).toBe("free");
  }, 60_000);

  test("R14 that waited while nothing ran are dropped when their turn comes before their timers; those behind them are not", async () => {
    const queue = new Queue();
    const [first, patient] = [gate(), gate()];
    const running = queue.run(turn({ expectedMs: 8_000 }), first.work);
    const late = [0, 1, 2].map(() => codeOf(queue.run(turn(), () => Promise.resolve())));
    const waiting = queue.run(turn({ waitsForLongCommands: true }), patient.work);
    // In two parts, neither of which is a sleep of this machine.
    for (let part = 0; part < 2; part++) {
      passTime(2_600);
      void machineSleep().sleepCount;
    }
    first.open();
    await running;
    expect(await Promise.all(late)).toEqual(["device_busy", "device_busy", "device_busy"]);
    expect(patient.begun()).toBe(true);
    const young = queue.run(turn(), () => Promise.resolve("young"));
    patient.open();
    await waiting;
    expect(await young).toBe("young");
  });
});
