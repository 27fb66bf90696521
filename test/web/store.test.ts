/** What the page keeps of the events and of its requests. */
import { expect, test } from "bun:test";
import type { Device, Followed } from "../../src/api/client-types.ts";
import { CallError, noAnswer } from "../../src/web/calls.ts";
import { applyEvent, attempt, entryOf, events, updateDevice } from "../../src/web/store.ts";

test("the progress of a package leaves the other events in the activity", () => {
  const event = (number: number, type: Followed["type"]) =>
    ({ id: `boot.${number}`, type, device_id: "tv" }) as Followed;
  applyEvent(event(0, "action.finished"));
  for (let number = 1; number <= 300; number++) applyEvent(event(number, "install.progress"));
  expect(events.value.map(({ type }) => type)).toEqual(["action.finished"]);
});

test("a request that succeeds takes away only the failure that was shown when it began", async () => {
  updateDevice({ id: "tv" } as Device);
  const entry = entryOf("tv");
  if (!entry) throw new Error("no entry");
  const first = Promise.withResolvers<void>();
  const slow = attempt(entry, "pressing", () => first.promise);
  await attempt(entry, "pressing", () => Promise.reject(new CallError(noAnswer)));
  first.resolve();
  await slow;
  expect(entry.refusal.peek()).toBe(noAnswer);
  await attempt(entry, "pressing", async () => {});
  expect(entry.refusal.peek()).toBeNull();
});
