/** Pairing over HTTP; devices/pairing.test.ts has all its ends. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Failure, operations, success } from "../../src/api/operations.ts";
import { type AskingHouse, AskingSet, openAskingHouse } from "../support/asking-house.ts";
import type { Answered } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";

let house: AskingHouse;
let set: AskingSet;
let path = "";
let made = 0;

beforeAll(async () => {
  house = await openAskingHouse();
});
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
  const over = new AbortController();
  const { body } = await fetch(`${house.url}/events?types=${types}&since=oldest&devices=${path.split("/").at(-1)}`, {
    headers: { accept: "application/x-ndjson" },
    signal: over.signal,
  });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let told = "";
  while (told.split("\n").length <= count) told += (await reader?.read())?.value ?? expect.unreachable();
  over.abort();
  const lines = told
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { told, lines };
}
const credentials = () => readFileSync(join(house.folder, "state/credentials.json"), "utf8");

test("a code: the first answer says what to type, the second call ends it, and the key is in the file of credentials alone", async () => {
  const begun = await pair();
  const { step, form, length, expires_at } = success(operations.pairDevice.data).parse(begun.body).data;
  expect([step, form, length]).toEqual(["code", "digits", 6]);
  expect(Date.parse(expires_at ?? "") - Date.now()).toBeWithin(50_000, 60_001);
  expect(set.showing).toBe(true);
  expect(paired(await pair({ pin: "271 828" }))).toBe("full");
  expect(credentials()).toContain("key-of-271828");
  expect(statSync(join(house.folder, "state/credentials.json")).mode & 0o777).toBe(0o600);
  expect(JSON.stringify((await house.api("GET", path)).body)).not.toContain("key-of");
});

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
  const { lines } = await followed("action.finished", 1);
  expect(lines.map(({ action, error }) => `${action}: ${error.message}`)).toEqual([
    "pair: The caller disconnected before it was done",
  ]);
  const denied = pair();
  await until("it is asked again", () => set.times === 2);
  set.answer(false);
  expect(why(await denied)).toBe("pairing_failed denied");
});

test("each step is an event, without what was typed", async () => {
  await pair();
  await pair({ pin: "314159" });
  await cancel();
  await pair();
  await pair({ pin: "271828" });
  const { told, lines } = await followed("pairing.changed", 4);
  expect(lines.map(({ status, step, reason = "-" }) => `${status} ${step} ${reason}`)).toEqual([
    "waiting code -",
    "failed code cancelled",
    "waiting code -",
    "paired code -",
  ]);
  for (const word of ["314159", "271828"]) expect(told).not.toContain(word);
});

test("foreign pages neither begin nor end a pairing", async () => {
  const answers = await Promise.all(["POST", "DELETE"].map((method) => house.foreign(method, `${path}/pair`)));
  expect(answers).toEqual([403, 403]);
  expect(set.times).toBe(0);
});
