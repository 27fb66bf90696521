/** A Roku with full and with limited access: what is known of it, and what is refused, which names the setting. */
import { expect, test } from "bun:test";
import { accepted, add, refuse, refused, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, packageWith } from "./packages.ts";

const password = "secret-of-the-set";
const { daemon, startRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 4_000 }, dev: { vendor_password: password } },
});
const looks = { vendor: "Norwood", softwareVersion: "14.6.4", volume: 23, developer: { password } };
const setting = /Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled/;

const tv = await startRoku({ serial: "ZBMODE000001", name: "Küche “TV” • été", ...looks });

test("enabled: it is known by all that it says of itself, and withholds nothing", async () => {
  const device = await add(daemon, tv);
  expect(device).toMatchObject({
    name: "Küche “TV” • été",
    platform: "roku",
    kind: "tv",
    serial: tv.serial,
    host: tv.host,
    manufacturer: "Norwood",
    mac: tv.identity.mac,
    status: "online",
    access: "full",
    is_default: true,
    software_version: expect.stringMatching(/^14\.6\.4/),
    capabilities: expect.arrayContaining(["state", "apps", "launch", "stop", "keys", "text", "dev", "power_on"]),
    withheld: [],
  });
  const { state } = await succeed(daemon, "getState", { id: device.id });
  expect(state).toMatchObject({ power: "on", app: null, volume: { level: 23, muted: false } });
});

test("limited: what a set in this mode allows works, and each refusal names the setting", async () => {
  const set = await startRoku({
    ...looks,
    serial: "ZBMODE000002",
    name: "Diele",
    access: "limited",
    limitedLaunch: true,
  });
  const device = await add(daemon, set);
  expect(device).toMatchObject({ access: "limited", serial: set.serial, kind: "tv", status: "online" });
  const { id } = device;
  set.active = set.apps.find((one) => one.id === "837") ?? null;
  const { state } = await succeed(daemon, "getState", { id });
  expect(state).toMatchObject({ power: "on", app: { id: "youtube" }, playback: null, volume: null });
  for (const name of ["listApps", "refreshApps", "stopApp", "reloadPackage"] as const) {
    expect((await refuse(daemon, name, { id }, "device_refused")).hint).toMatch(setting);
  }
  for (const key of ["home", "power-off", "literal:x"]) {
    expect((await refuse(daemon, "pressKey", { id, body: { key } }, "device_refused")).hint).toMatch(setting);
  }
  const sequence = await refuse(
    daemon,
    "pressKeys",
    { id, body: { keys: ["up", "up", "up"], delay_ms: 0 } },
    "device_refused",
  );
  expect(sequence.message).toMatch(/\b0 of 3\b/);
  // Some sets are reported to refuse launches, too.
  set.broken.set("/launch/12", { status: 403 });
  for (const app of ["12", "netflix"]) {
    expect((await refuse(daemon, "launchApp", { id, body: { app } }, "device_refused")).hint).toMatch(setting);
  }
  expect(set.commands).toContain("/launch/12");
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("online");
  set.broken.clear();
  expect(await succeed(daemon, "launchApp", { id, body: { app: "12" } })).toMatchObject({
    app: { platform_id: "12" },
    confirmed: true,
  });
  // The developer page has its own port, and its own password.
  accepted("installPackage", await install(daemon, id, packageWith("limited")));
  expect(set.uploads).toHaveLength(1);
  expect((await succeed(daemon, "readLogs", { id })).lines.length).toBeGreaterThan(0);
});

test("outside its network it refuses everything: the hint names Permissive, and no password is sent", async () => {
  const set = await startRoku({ serial: "ZBMODE000003", ...looks });
  const { id } = await add(daemon, set);
  const queries = ["device-info", "active-app", "apps", "media-player", "audio-device"];
  for (const path of ["/", ...queries.map((query) => `/query/${query}`)]) set.broken.set(path, { status: 403 });
  set.forget();
  const calls = [
    ["getState", { id }],
    ["pressKey", { id, body: { key: "home" } }],
    ["reloadPackage", { id }],
    ["addDevice", { body: set.address }],
    ["addDevice", { body: { ...set.address, platform: "roku" } }],
  ] as const;
  const errors = [];
  for (const [name, call] of calls) errors.push(await refuse(daemon, name, call, "device_error"));
  errors.push(refused(await install(daemon, id, packageWith("abroad")), "device_error"));
  for (const { hint } of errors) expect(hint).toContain("Network access: Permissive");
  expect(set.commands).not.toContain("/keypress/Home");
  expect(set.installer.requests).toEqual([]);
});

test("T5 every call to a set carries an IP literal in Host and the marker, and zapd refuses requests with the marker", async () => {
  tv.forget();
  await succeed(daemon, "getState", { id: tv.identity.name });
  const [request] = tv.wire.requests;
  expect(tv.wire.requests.every((one) => one.headers.get("host") === `${tv.host}:${tv.port}`)).toBe(true);
  const headers = Object.fromEntries(
    [...(request?.headers ?? [])].filter(([name]) => name !== "host" && name !== "connection"),
  );
  const looped = await daemon.api("GET", "/health", undefined, headers);
  refused(looped, "loop_detected");
});

test("T12 the name that a set gives itself is cleaned of controls, direction marks and line breaks, and cut; each log entry stays one line", async () => {
  const names = [
    "\u001b]0;owned\u0007",
    "a\nb\r\n",
    "\u202eevil",
    "x".repeat(5_000),
    "  ",
    "default",
    '{"level":"info"}\n{"level":"error"}',
    "50%/2",
  ];
  const sets = await Promise.all(names.map((name) => startRoku({ facts: { "user-device-name": name } })));
  for (const set of sets) {
    const { name } = await add(daemon, set);
    expect(name).toMatch(/^[^\u0000-\u001f\u007f-\u009f/%]{1,128}$/);
    expect(name.trim()).toBe(name);
    expect(name.toLowerCase()).not.toBe("default");
    expect((await succeed(daemon, "getDevice", { id: name })).serial).toBe(set.serial);
    set.broken.set("/keypress/Home", { status: 403 });
    const { hint } = await refuse(daemon, "pressKey", { id: name, body: { key: "home" } }, "device_refused");
    expect(hint).toContain("Network access: Permissive");
  }
  const lines = daemon.log().trim().split("\n");
  for (const line of lines) {
    expect(() => JSON.parse(line)).not.toThrow();
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  }
});
