/** A set is known by its serial, not by its address: another set at the address is never driven. */
import { expect, test } from "bun:test";
import { announce } from "../support/announce.ts";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, type Name, refuse, succeed, until } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const { daemon, startRoku } = await daemonForFile({
  // On a faster clock, a machine that is busy for a second seems to have slept.
  speed: 2,
  config: {
    devices: { request_timeout_ms: 3_000 },
    dev: { vendor_password: "secret-of-the-set" },
    discovery: { timeout_ms: 1_000 },
  },
});

/** Another set, at the very address of the first. */
async function swap(fake: WiredRoku, options: WiredOptions = {}): Promise<WiredRoku> {
  const { host, port } = fake;
  await fake.stop();
  return startRoku({ ...options, host, port });
}

const drives: readonly [Name, unknown][] = [
  ["pressKey", { key: "home" }],
  ["pressKey", { key: "literal:secret" }],
  ["pressKey", { key: "power-on" }],
  ["pressKey", { key: "power-off" }],
  ["pressKeys", { keys: ["up", "down"], delay_ms: 0 }],
  ["launchApp", { app: "netflix" }],
  ["stopApp", undefined],
  ["reloadPackage", undefined],
];

test.concurrent.each([{}, { close: "said" }, { old: true }] as const)(
  "another set at its address is not driven, over a connection that was open before either: %j",
  async (style) => {
    const mine = await startRoku({ style });
    const { id } = await add(daemon, mine);
    await succeed(daemon, "listApps", { id });
    await succeed(daemon, "pressKey", { id, body: { key: "up" } });
    const stranger = await swap(mine, { style });
    // Where no connection is kept, a proof of identity holds for a moment: no address changes hands that fast.
    if ("close" in style || "old" in style) await daemon.sleep(600);
    const refused = ([name, body]: (typeof drives)[number]) =>
      refuse(daemon, name, { id, body }, "device_unreachable", "device_error", "device_busy");
    // The first command meets the open connection.
    for (const drive of drives.slice(0, 2)) await refused(drive);
    await Promise.all(drives.map(refused));
    expect(stranger.commands).toEqual([]);
    expect(stranger.active).toBeNull();
    const state = await daemon.api("GET", `/devices/${id}/state`);
    expect(JSON.stringify(state.body)).not.toContain(stranger.serial);
    expect(await succeed(daemon, "getDevice", { id })).toMatchObject({ serial: mine.serial, status: "offline" });
  },
);

test("another set at the old address is a new device, and the first is driven at its new address", async () => {
  const mine = await startRoku({ name: "Eins" });
  const first = await add(daemon, mine);
  const stranger = await swap(mine, { name: "Zwei" });
  const second = await add(daemon, stranger);
  expect(second.id).not.toBe(first.id);
  const moved = await startRoku({ serial: mine.serial, mac: mine.identity.mac, name: "Eins" });
  const ssdp = await announce(moved);
  await until("it is found there", async () => {
    await succeed(daemon, "discoverDevices");
    return (await succeed(daemon, "getDevice", { id: first.id })).host === moved.host;
  });
  await ssdp.stop();
  expect(await succeed(daemon, "getDevice", { id: first.id })).toMatchObject({
    host: moved.host,
    port: moved.port,
    status: "online",
  });
  await succeed(daemon, "pressKey", { id: first.id, body: { key: "left" } });
  await succeed(daemon, "pressKey", { id: second.id, body: { key: "right" } });
  expect([moved.commands, stranger.commands]).toEqual([["/keypress/Left"], ["/keypress/Right"]]);
});
