/** A command that the machine slept through before it could be sent (SECURITY.md R14). */
import { expect, test } from "bun:test";
import { failure, has } from "../../contract/bench.ts";
import { never, passing, tidy } from "../harness.ts";
import { doneTo, room } from "./harness.ts";

const passed = passing();
tidy();

test("while the status was awaited that precedes it, is not sent", async () => {
  const { set, connection } = await room({ timeout: 3_000 });
  await has(connection.state).read(never);
  set.fallSilent();
  const pressed = failure(has(connection.keys).press("volume-up", never));
  await Bun.sleep(200);
  passed.ms = 8_000;
  expect((await pressed).code).toBe("device_busy");
  expect(doneTo(set)).toEqual([]);
});
