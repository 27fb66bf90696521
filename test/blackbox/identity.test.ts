/** A set is its serial, not its address: what answers in its place is never driven. */
import { expect, test } from "bun:test";
import { announce } from "../support/announce.ts";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, type Name, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, sound } from "./packages.ts";

const { daemon, startRoku } = await daemonForFile({
  // On a fast clock a machine that is busy for a second has slept.
  speed: 1,
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
  ["launchApp", { app: "12" }],
  ["launchApp", { app: "netflix" }],
  ["stopApp", undefined],
  ["reloadPackage", undefined],
];

for (const style of [{}, { close: "said" }, { old: true }] as const) {
  test.concurrent(`after a swap nothing is driven, with a connection still warm (${JSON.stringify(style)})`, async () => {
    const mine = await startRoku({ style });
    const device = await add(daemon, mine);
    const { id } = device;
    await succeed(daemon, "listApps", { id });
    await succeed(daemon, "pressKey", { id, body: { key: "up" } });
    const stranger = await swap(mine, { style });
    // Where no connection is kept there is nothing to tell a swap by within a breath: no address changes hands so fast.
    if ("close" in style || "old" in style) await daemon.sleep(600);
    // The first one meets the warm connection, the others what came of it; all at once, too.
    for (const [name, body] of drives) await refuse(daemon, name, { id, body }, "device_unreachable", "device_error");
    await Promise.all(
      drives.map(([name, body]) => refuse(daemon, name, { id, body }, "device_unreachable", "device_error")),
    );
    expect(stranger.commands).toEqual([]);
    expect(stranger.active).toBeNull();
    const state = await daemon.api("GET", `/devices/${id}/state`);
    expect(JSON.stringify(state.body)).not.toContain(stranger.serial);
    // The registry still speaks of the set that went, under its own serial.
    expect(await succeed(daemon, "getDevice", { id })).toMatchObject({ serial: mine.serial, status: "offline" });
  });
}

test("a package goes to the set it was meant for, or nowhere", async () => {
  const mine = await startRoku();
  const { id } = await add(daemon, mine);
  const stranger = await swap(mine);
  // The installer's port is the stranger's now, as a changed address would have it.
  await succeed(daemon, "changeDevice", { id, body: { ports: stranger.address.ports } });
  const answered = await install(daemon, id, sound("stranger"));
  expect(answered.status).toBe(500);
  expect(stranger.uploads).toEqual([]);
  expect(stranger.installer.bytesRead).toBeLessThan(512);
});

test("the stranger added under its own name is its own device, and the first is followed when it answers elsewhere", async () => {
  const mine = await startRoku({ name: "Eins" });
  const first = await add(daemon, mine);
  const stranger = await swap(mine, { name: "Zwei" });
  const second = await add(daemon, stranger);
  expect(second.id).not.toBe(first.id);
  const moved = await startRoku({ serial: mine.serial, mac: mine.identity.mac, name: "Eins" });
  const ssdp = await announce(moved);
  await succeed(daemon, "discoverDevices");
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
