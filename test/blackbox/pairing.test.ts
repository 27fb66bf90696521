/** Pairing over HTTP; devices/pairing.test.ts has all its ends. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { Failure, operations, success } from "../../src/api/operations.ts";
import { AskingSet, openAskingHouse } from "../support/asking-house.ts";
import type { Answered } from "../support/daemon.ts";
import { EventStream } from "../support/event-stream.ts";
import { until } from "../support/http-device.ts";

const house = await openAskingHouse();
let set: AskingSet;
let path = "";
let made = 0;

afterAll(() => house.dispose());
beforeEach(async () => {
  set = new AskingSet("code", "271828");
  path = `/devices/${await house.add(`Set ${++made}`, set)}`;
});
afterEach(async () => {
  await house.api("DELETE", path);
});

/** A set that pairs in another way. */
async function instead(asks: AskingSet["asks"], secret: string): Promise<void> {
  set = new AskingSet(asks, secret);
  path = `/devices/${await house.add(`Set ${++made}`, set)}`;
}
const pair = (body?: unknown) => house.api("POST", `${path}/pair`, body);
const cancel = () => house.api("DELETE", `${path}/pair`);
const paired = (answered: Answered) => {
  const { data } = success(operations.pairDevice.data).parse(answered.body);
  expect(Object.keys(answered.body.data)).toEqual(["device", "action"]);
  return data.device.access;
};
/** The code of a failure, with its reason. */
const why = (answered: Answered) => {
  const { code, reason } = Failure.parse(answered.body).error;
  return `${code} ${reason ?? "-"}`;
};
/** The first so many events of the device. */
async function followed(types: string, count: number) {
  const stream = new EventStream({
    to: house.socket,
    path: `/events?types=${types}&since=oldest&devices=${path.split("/").at(-1)}`,
  });
  // Where there are none yet, a heartbeat comes first.
  const events = () => stream.frames.filter(({ type }) => type !== "heartbeat");
  await until("all have come", () => events().length >= count);
  stream.close();
  return events().slice(0, count);
}

test("after a wrong code another may be typed, and no code is in an answer or in the log", async () => {
  await pair({ begin: true });
  const wrong = await pair({ pin: "314159" });
  expect([wrong.status, why(wrong)]).toEqual([500, "pairing_failed wrong"]);
  expect(why(await pair({ pin: "no code" }))).toBe("pairing_failed wrong");
  expect([set.typed, set.showing, set.times]).toEqual([["314159"], true, 1]);
  expect(JSON.stringify(wrong.body)).not.toContain("314159");
  expect(paired(await pair({ pin: "271828" }))).toBe("full");
  for (const word of ["314159", "271828"]) expect(house.log()).not.toContain(word);
  expect(house.log()).toContain("pairing");
});

test("the prompt ends when its caller hangs up", async () => {
  await instead("confirm", "accepted");
  const caller = new AbortController();
  const leaving = house.api("POST", `${path}/pair`, undefined, caller.signal).catch(() => "gone");
  await until("it is asked", () => set.showing);
  caller.abort();
  expect(await leaving).toBe("gone");
  await until("nothing is shown any more", () => !set.showing);
  const [end] = await followed("action.finished", 1);
  expect(end).toMatchObject({ action: "pair", error: { message: "The caller disconnected before it was done" } });
});

test("each step is an event, without what was typed", async () => {
  await pair();
  await pair({ pin: "314159" });
  await cancel();
  await pair();
  await pair({ pin: "271828" });
  const events = await followed("pairing.changed", 4);
  expect(events.map(({ status, step, reason = "-" }) => `${status} ${step} ${reason}`)).toEqual([
    "waiting code -",
    "failed code cancelled",
    "waiting code -",
    "paired code -",
  ]);
  for (const word of ["314159", "271828"]) expect(JSON.stringify(events)).not.toContain(word);
});
