import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ZapdError } from "../../src/api/errors.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import type { Task } from "../../src/devices/task.ts";
import { type Connection, noEffect } from "../../src/platforms/platform.ts";
import { sleep } from "../../src/system/sleep.ts";
import { codeOf, failureOf } from "../support/failure.ts";
import { until } from "../support/http-device.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
beforeEach(async () => {
  house = await openHouse();
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

const press = (key: string, signal = neverAborted) => house.actions.key(tv, key, { signal });
const read = () => house.devices.deviceOf(tv).state(neverAborted);

describe("the state", () => {
  test.each([
    ["went well", undefined],
    ["failed", new ZapdError("device_timeout", "did not answer")],
  ])("is never one from before the caller's last command, which %s", async (_how, failure) => {
    house.set.takes = 30;
    const early = read();
    house.set.takes = 0;
    house.set.failure = failure;
    await failureOf(press("home"));
    house.set.failure = undefined;
    await read();
    await early.catch(() => {});
    expect(house.set.done.filter((one) => one === "state").length).toBe(2);
  });

  test("goes on for the others when one caller hangs up, and a failure is all of theirs", async () => {
    house.set.takes = 30;
    const caller = new AbortController();
    const leaving = house.devices
      .deviceOf(tv)
      .state(caller.signal)
      .catch((reason: unknown) => reason);
    const staying = read();
    caller.abort("gone");
    expect(await leaving).toBe("gone");
    expect((await staying).power).toBe("standby");
    house.set.failure = new ZapdError("device_refused", "refused to say");
    const both = [1, 2].map(() => failureOf(read()));
    expect(await Promise.all(both)).toEqual(["device_refused: TV refused to say", "device_refused: TV refused to say"]);
    house.set.failure = undefined;
    expect((await read()).power).toBe("standby");
  });

  test("names its app as the catalog does", async () => {
    const app = { platformId: "12", name: "Netflix", type: "app", version: null } as const;
    await house.catalog.refresh(tv.id, "fake", [app, { ...app, platformId: "13" }]);
    house.set.state = { ...house.set.state, app: { ...app, platformId: "13" } };
    expect((await read()).app).toMatchObject({
      id: "netflix-13",
      platform_id: "13",
      installed: true,
    });
  });
});

describe("commands", () => {
  test.each<[string, (signal: AbortSignal) => Promise<void>]>([
    ["lets go", (signal) => sleep(60_000, signal)],
    ["does not let go", () => new Promise(() => {})],
  ])("end at their deadline, which says what was attempted, though the platform %s then", async (_how, waits) => {
    const work = (_one: Connection, signal: AbortSignal) => waits(signal);
    const task = { activity: "hanging", needs: "keys", timeoutMs: 40, work } as const;
    const hanging = failureOf(house.devices.deviceOf(tv).command({ signal: neverAborted }, task));
    await press("up");
    expect(await hanging).toBe("device_timeout: TV did not finish within 0 s while hanging");
    expect(house.set.done).toEqual(["up"]);
  });

  test("that wait when another caller leases the device are not sent", async () => {
    house.set.takes = 50;
    const pressing = press("up");
    await until("it is being pressed", () => house.set.running === 1);
    const waiting = codeOf(press("down"));
    const taking = house.leases.take(tv.id, { owner: "ada", ttl_s: 60, wait_s: 0 }, undefined, neverAborted);
    expect(await waiting).toBe("device_leased");
    await Promise.all([pressing, taking]);
    expect(house.set.done).toEqual(["up"]);
  });

  test("have the events of what they cause, though each begins as soon as the one before ends", async () => {
    const types = ["state.*"];
    const events = house.devices.journal.follow({ devices: null, types, snapshot: false, since: "oldest" });
    const run = (action: string, power: "on" | "standby") =>
      house.devices.deviceOf(tv).command(
        { signal: neverAborted, action },
        {
          activity: "running",
          needs: "keys",
          timeoutMs: 5_000,
          work: async () => {
            await sleep(20);
            house.connected[0]?.emit({ type: "state", patch: { power } });
          },
        },
      );
    await read();
    house.connected[0]?.emit({ type: "state", patch: { power: "on" } });
    await Promise.all([run("one", "standby"), run("two", "on")]);
    const told = (await events.next())?.map(({ event }) => JSON.parse(event?.json ?? "null"));
    expect(told?.map(({ cause, action_id }) => [cause, action_id])).toEqual([
      ["poll", undefined],
      ["push", undefined],
      ["command", "one"],
      ["command", "two"],
    ]);
    events.close();
  });

  test("with a deadline beyond what a timer holds do not end at once", async () => {
    const task = {
      activity: "waiting",
      needs: "keys",
      timeoutMs: 2 ** 33,
      work: (_one: Connection, signal: AbortSignal) => house.set.do("wait", signal, "done"),
    } as const;
    house.set.takes = 20;
    expect(await house.devices.deviceOf(tv).command({ signal: neverAborted }, task)).toBe("done");
  });
});

describe("a failure", () => {
  test("says whose it is and what was attempted, and keeps its hint", async () => {
    house.set.failure = new ZapdError("device_unreachable", "did not answer at 192.0.2.1:9", { hint: "Is it on?" });
    const error = await press("home").catch((thrown: ZapdError) => thrown);
    expect(error).toMatchObject({ message: "TV did not answer at 192.0.2.1:9 while pressing home", hint: "Is it on?" });
  });

  test("of a command that the device accepted and did not do says itself what that was", async () => {
    house.set.failure = noEffect("accepted the home key, but still shows the app", "Look at {device}");
    const error = await press("home").catch((thrown: ZapdError) => thrown);
    expect(error).toMatchObject({ message: "TV accepted the home key, but still shows the app", hint: "Look at TV" });
  });

  test("of a device that does not answer marks it offline and has it searched for; a refusal does not", async () => {
    house.set.failure = new ZapdError("device_refused", "refused");
    await failureOf(press("home"));
    expect([house.devices.deviceOf(tv).describe().status, house.lost]).toEqual(["online", []]);
    house.set.failure = new ZapdError("device_unreachable", "did not answer");
    await failureOf(press("home"));
    expect([house.devices.deviceOf(tv).describe().status, house.lost]).toEqual(["offline", ["TV"]]);
    house.set.failure = undefined;
    await press("home");
    expect(house.devices.deviceOf(tv).describe().status).toBe("online");
  });

  test("of a command whose caller hung up says nothing of the device", async () => {
    const caller = new AbortController();
    const gone = new ZapdError("device_unreachable", "did not answer in time");
    house.set.takes = 5_000;
    const pressing = failureOf(press("home", caller.signal));
    await until("it has begun", () => house.set.running === 1);
    caller.abort(gone);
    expect(await pressing).toStartWith("device_unreachable");
    expect([house.devices.deviceOf(tv).describe().status, house.lost, house.searches()]).toEqual(["online", [], 0]);
    // One that has hung up before is known to have from the start.
    const task: Task<boolean> = { activity: "testing", timeoutMs: 60_000, work: async (_set, { aborted }) => aborted };
    expect(await house.devices.deviceOf(tv).leading.attempt(task, AbortSignal.abort(gone))).toBe(true);
  });

  test("of what runs when the daemon stops says so", async () => {
    house.set.takes = 60_000;
    const pressing = failureOf(press("home"));
    await until("it has begun", () => house.set.running === 1);
    house.devices.close();
    expect(await pressing).toContain("zapd is stopping");
  });

  test("that is none of a device's is passed on as it is", async () => {
    house.set.failure = new ZapdError("internal_error", "something broke");
    expect(await failureOf(press("home"))).toBe("internal_error: something broke");
  });
});
