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

test("while the app was launched that plays it, is not played", async () => {
  const onEvent = ({ type }: { type: string }) => {
    if (type === "launch") passed.ms = 8_000;
  };
  const { set, connection } = await room({ timeout: 3_000, onEvent });
  const film = { url: "http://192.0.2.1/film.mp4", mime: "video/mp4", title: "Film", image: null };
  await expect(has(connection.media).play(film, never)).rejects.toMatchObject({ code: "device_timeout" });
  expect(doneTo(set)).toEqual(["LAUNCH"]);
});
