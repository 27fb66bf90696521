/** A pairing prompt that nobody answers: it ends after a minute, and the next pairing works (issue 4). */
import { afterAll, expect, test } from "bun:test";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { refuse, succeed } from "../blackbox/checked.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { isSample } from "./length.ts";

const set = createWebosSimulator({ name: "Ignorer", securePort: 0, plainPort: null, ssdp: false, prompt: "wait" });
await set.start();
const daemon = await startTestDaemon({ speed: isSample ? 4 : 1 });
afterAll(async () => {
  await daemon.dispose();
  await set.stop();
});

test("a request that nobody answers ends after 60 s, and the next one works", async () => {
  const { id } = await succeed(daemon, "addDevice", {
    body: { host: set.host, port: set.ports.secure, platform: "webos" },
  });
  const began = performance.now();
  const waiting = refuse(daemon, "pairDevice", { id }, "pairing_failed");
  // Others are answered meanwhile.
  expect((await succeed(daemon, "getDevice", { id })).access).toBe("unpaired");
  const { message, hint } = await waiting;
  expect((performance.now() - began) * daemon.speed).toBeWithin(58_000, 66_000 + 5_000 * (daemon.speed - 1));
  expect(message).toContain("nobody accepted the request");
  expect(hint).toContain("zapd pair");
  set.setPrompting("accept");
  await succeed(daemon, "pairDevice", { id });
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("on");
}, 120_000);
