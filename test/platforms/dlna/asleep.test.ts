/** A command that the machine slept through before it could be sent (SECURITY.md R14). */
import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { dlna } from "../../../src/platforms/dlna/adapter.ts";
import type { Connection } from "../../../src/platforms/platform.ts";
import { createDlnaSimulator } from "../../../src/simulators/dlna.ts";
import { failureOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { startRelay } from "../../support/relay.ts";
import { cleanups, lineTo, never, passing, state, tidy } from "../harness.ts";

const passed = passing();
tidy();

const film = { url: "http://192.0.2.7/a.mp4", mime: "video/mp4", title: null, image: null };
const commands: readonly [string, (to: Connection) => unknown][] = [
  ["volume-up", ({ keys }) => keys?.press("volume-up", never)],
  ["a step of the volume", ({ volume }) => volume?.step?.(-1, never)],
  ["mute", ({ keys }) => keys?.press("mute", never)],
  ["skip", ({ keys }) => keys?.press("skip", never)],
  ["play-pause", ({ keys }) => keys?.press("play-pause", never)],
  ["a file", ({ media }) => media?.play(film, never)],
];

test.each(commands)("%s, while what is asked first was awaited, is not sent", async (_what, send) => {
  const set = createDlnaSimulator({ name: "Speaker", uuid: randomUUID(), ssdp: false, stack: "kodi" });
  await set.start();
  const relay = await startRelay(set.host, set.port);
  cleanups.push(() => relay.stop());
  const line = await lineTo(dlna, set, { lead: { host: set.host, port: relay.port, path: set.path } });
  set.play();
  await state(line);
  relay.keep();
  const asked = set.requests.length;
  const sent = failureOf(Promise.resolve(send(line.connection)));
  await until("it is asked", () => set.requests.length > asked);
  passed.ms += 8_000;
  relay.give();
  expect(await sent).toMatch(/^device_busy: did not get the command/);
  expect(set.commands).toEqual([]);
});

test("a file that it was given before, is not played, and the failure says that something was sent", async () => {
  const onEvent = () => {
    passed.ms += 8_000;
  };
  const set = createDlnaSimulator({ name: "Speaker", uuid: randomUUID(), ssdp: false, onEvent });
  await set.start();
  const { connection } = await lineTo(dlna, set, { lead: { host: set.host, port: set.port, path: set.path } });
  const failed = await failureOf(Promise.resolve(connection.media?.play(film, never)));
  expect(failed).toStartWith("device_timeout: The command was not sent, or not all of it");
  expect(set.state).toMatchObject({ uri: film.url, transport: "STOPPED" });
});
