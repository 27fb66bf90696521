/** What the page keeps of the events. */
import { expect, test } from "bun:test";
import type { Followed } from "../../src/api/client-types.ts";
import { applyEvent, events } from "../../src/web/store.ts";

test("the progress of a package leaves the other events in the activity", () => {
  const event = (number: number, type: Followed["type"]) =>
    ({ id: `boot.${number}`, type, device_id: "tv" }) as Followed;
  applyEvent(event(0, "action.finished"));
  for (let number = 1; number <= 300; number++) applyEvent(event(number, "install.progress"));
  expect(events.value.map(({ type }) => type)).toEqual(["action.finished"]);
});
