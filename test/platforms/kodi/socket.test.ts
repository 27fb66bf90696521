/** A Kodi that is known by its web server, and has that off now: its socket is all that it has. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { kodi } from "../../../src/platforms/kodi/adapter.ts";
import type { KodiMemory, KodiSecret } from "../../../src/platforms/kodi/memory.ts";
import { has } from "../../contract/bench.ts";
import { freePort } from "../../support/daemon.ts";
import { failureOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { keptSecret, platformHostOf, targetOf } from "../../support/platform-host.ts";
import { startRelay } from "../../support/relay.ts";
import { cleanups, failure, lineTo, never, tidy } from "../harness.ts";
import { doneTo, startKodi } from "./harness.ts";

tidy();

test.each([
  ["it is driven over that, where it announces it", true],
  ["that of another on its machine is left alone", false],
])("%s", async (_what, isOwn) => {
  const before = await startKodi({ mac: "02:00:5e:00:53:31" });
  const { uuid, host } = before;
  const lead = { host, port: before.port };
  const said = { type: "_xbmc-jsonrpc-h._tcp", uuid };
  const sighting = await kodi.identify({ ...lead, announced: said }, platformHostOf(), never);
  await before.stop();
  const now = await startKodi({ mac: "02:00:5e:00:53:31", webServer: false });
  cleanups.push(() => now.stop());
  const relay = await startRelay(host, now.ports.tcp ?? 0);
  cleanups.push(() => relay.stop());
  const { port } = relay;
  const txt = { uuid: isOwn ? uuid : "0a1b2c3d-0000-4000-8000-00000000b172" };
  const service = { type: "_xbmc-jsonrpc._tcp", name: "One", port, source: host, addresses: [host], txt };
  const platformHost = platformHostOf({
    timeout: 1_000,
    announced: (type) => (type === service.type ? service : null),
  });
  const known = { ...sighting, memory: { ...sighting.memory, socket: port } };
  const { target, told } = targetOf<KodiMemory, KodiSecret>(known, lead);
  const connection = kodi.connect(target, platformHost, told.emit);
  cleanups.push(() => connection.close());
  const outcome = await failureOf(Promise.resolve(connection.keys?.press("left", never)));
  expect(outcome).toMatch(isOwn ? /^none$/ : /^device_unreachable: is not running/);
  expect(doneTo(now)).toEqual(isOwn ? ["Input.Left"] : []);
  if (!isOwn) return;
  // What it answers there counts, and not that its web server is off: what it has got must not be sent again.
  const launched = connection.apps?.launch?.("/no/such.mp4", {}, never);
  expect(await failureOf(Promise.resolve(launched))).toMatch(/^app_not_found/);
  relay.keep();
  expect(await failureOf(Promise.resolve(connection.keys?.press("right", never)))).toMatch(/^device_timeout/);
  expect(doneTo(now)).toContain("Input.Right");
});

test("one whose firewall drops what comes to its socket is logged in to in time", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port: websocket } = silent.address() as AddressInfo;
  const player = await startKodi({ password: "popcorn", tcpPort: null });
  const platformHost = platformHostOf({ timeout: 2_000 });
  const sighting = await kodi.identify(player, platformHost, never);
  const secret = keptSecret<KodiSecret>({ user: "kodi", password: "popcorn" });
  const { target, told } = targetOf<KodiMemory, KodiSecret>(sighting, player, { ports: { websocket }, secret });
  const connection = kodi.connect(target, platformHost, told.emit);
  cleanups.push(
    () => connection.close(),
    () => silent.close(),
  );
  const begun = performance.now();
  expect((await connection.state?.read(never))?.power).toBe("on");
  expect(performance.now() - begun).toBeLessThan(5_000);
});

test("what comes over its socket is not believed before it has proven who it is", async () => {
  const stranger = await startKodi({ name: "Other", mac: "02:00:5e:00:53:32" });
  cleanups.push(() => stranger.stop());
  const player = await startKodi({ mac: "02:00:5e:00:53:31" });
  const { host, port, uuid } = player;
  let proofs = 0;
  const { connection, told } = await lineTo<typeof player, KodiMemory, KodiSecret>(kodi, player, {
    lead: { host, port, announced: { type: "_xbmc-jsonrpc-h._tcp", uuid } },
    ports: { websocket: stranger.ports.tcp ?? 0 },
    async announced() {
      if (stranger.state.clients.websocket === 0) return null;
      stranger.notify("System.OnSleep", null);
      await Bun.sleep(50);
      proofs++;
      return null;
    },
  });
  await has(connection.state).read(never);
  await until("it was asked who it is", () => proofs > 0);
  expect(told.ended).toEqual([]);
});

test("what one without a web server answers after it has said that it quits does not count", async () => {
  const player = await startKodi({ webServer: false });
  const lead = { host: player.host, port: player.ports.tcp ?? 0, announced: { type: "_xbmc-jsonrpc._tcp" } };
  const { connection, told } = await lineTo<typeof player, KodiMemory, KodiSecret>(kodi, player, { lead });
  expect((await has(connection.state).read(never)).power).toBe("on");
  player.notify("System.OnQuit", { exitcode: 0 });
  await until("it is told", () => told.ended.includes("going_off"));
  expect(await failureOf(has(connection.state).read(never))).toMatch(/^device_unreachable: has just quit/);
});

test("one without a web server is called over another connection after it was silent on the one before", async () => {
  const player = await startKodi({ webServer: false });
  const relay = await startRelay(player.host, player.ports.tcp ?? 0);
  cleanups.push(() => relay.stop());
  const { connection } = await lineTo(kodi, player, { lead: { host: relay.host, port: relay.port }, timeout: 1_000 });
  const { press } = has(connection.keys);
  await press("left", never);
  relay.keep();
  expect((await failure(press("right", never))).code).toBe("device_timeout");
  await press("up", never);
  expect(doneTo(player)).toEqual(["Input.Left", "Input.Right", "Input.Up"]);
});

test("one whose web server answers does not go off where its socket is refused", async () => {
  const player = await startKodi({ password: "popcorn", tcpPort: null });
  const { host, port, uuid } = player;
  const { connection, told } = await lineTo<typeof player, KodiMemory, KodiSecret>(kodi, player, {
    lead: { host, port, announced: { type: "_xbmc-jsonrpc-h._tcp", uuid } },
    ports: { websocket: await freePort() },
    given: { user: "kodi", password: "popcorn" },
  });
  // It announces nothing, so it gets no login; from the second time on the socket is tried in place of that.
  for (let round = 0; round < 2; round++)
    expect(await failureOf(has(connection.state).read(never))).toMatch(/^device_unproven/);
  expect(told.ended).toEqual([]);
});

test.each([
  ["zapd discover", true],
  ["zapd add with its new address", false],
])("the failure of a Kodi that may have moved names how it is found again: %s", async (command, isAnnounced) => {
  const player = await startKodi({ mac: "02:00:5e:00:53:32" });
  const { host, port, uuid } = player;
  const announced = isAnnounced ? { announced: { type: "_xbmc-jsonrpc-h._tcp", uuid } } : {};
  const { connection } = await lineTo(kodi, player, { lead: { host, port, ...announced } });
  await player.stop();
  const { hint } = await failure(connection.keys?.press("left", never) ?? expect.unreachable());
  expect(hint).toEndWith(`if ${host} is no longer its address, run ${command}`);
});
