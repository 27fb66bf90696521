/** Power of a Roku. In standby it answers, and takes keys that nobody sees: it is turned on first, or an error says why not. */
import { expect, test } from "bun:test";
import type { WiredOptions, WiredRoku } from "../support/wired-roku.ts";
import { add, ask, type Call, type Name, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { install, packageWith } from "./packages.ts";

const { daemon, startRoku, addRoku } = await daemonForFile({
  config: { devices: { request_timeout_ms: 3_000 }, dev: { vendor_password: "secret-of-the-set" } },
});

async function inStandby(options: WiredOptions = {}) {
  const set = await startRoku(options);
  await set.simulator.sleep("standby");
  const { id } = await add(daemon, set);
  set.forget();
  return { set, id };
}
const power = (set: WiredRoku) => (set.simulator.state.power === "on" ? "PowerOn" : "Ready");
const key = (id: string, name: string) => succeed(daemon, "pressKey", { id, body: { key: name } });

const commands: Readonly<Record<string, readonly [Name, Call, readonly string[]]>> = {
  "a key": ["pressKey", { body: { key: "home" } }, ["/keypress/Home"]],
  "a key that looks at the player": ["pressKey", { body: { key: "pause" } }, ["/keypress/Play"]],
  "the volume": ["pressKey", { body: { key: "volume-up" } }, ["/keypress/VolumeUp"]],
  text: ["pressKey", { body: { key: "literal:ab" } }, ["/keypress/Lit_a", "/keypress/Lit_b"]],
  "a launch": ["launchApp", { body: { app: "12" } }, ["/launch/12"]],
  "a launch by name": ["launchApp", { body: { app: "netflix" } }, ["/launch/12"]],
  "a sequence": ["pressKeys", { body: { keys: ["up", "select"], delay_ms: 0 } }, ["/keypress/Up", "/keypress/Select"]],
};

test.concurrent.each(Object.entries(commands))(
  "%s turns it on first, and is sent once",
  async (what, [name, call, sent]) => {
    // A set in standby answers: no MAC address is needed to turn it on.
    const facts = what === "text" ? { "wifi-mac": null, "ethernet-mac": null } : {};
    const { set, id } = await inStandby({ facts });
    await succeed(daemon, name, { id, ...call });
    expect(power(set)).toBe("PowerOn");
    expect(set.commands).toEqual(["/keypress/PowerOn", ...sent]);
    expect(set.wakes).toBe(0);
    expect((await succeed(daemon, "getDevice", { id })).power).toBe("on");
  },
);

test.concurrent("an installation and a reload turn it on first", async () => {
  const { set, id } = await inStandby();
  expect((await install(daemon, id, packageWith("standby"))).status).toBe(200);
  expect(set.commands[0]).toBe("/keypress/PowerOn");
  await set.simulator.sleep("standby");
  set.active = null;
  await daemon.sleep(2_100);
  set.forget();
  await succeed(daemon, "reloadPackage", { id });
  expect(set.commands[0]).toBe("/keypress/PowerOn");
  expect(set.active).toMatchObject({ id: "dev" });
});

test.concurrent("power-off and stop leave it in standby, power-on and power turn it on", async () => {
  const { set, id } = await inStandby();
  await key(id, "power-off");
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  // It may name an app even in standby, and take long for that.
  set.active = { id: "12" };
  set.answerMs = 700;
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  set.answerMs = 0;
  expect(power(set)).toBe("Ready");
  expect(set.commands.filter((command) => command !== "/keypress/PowerOff")).toEqual([]);
  await key(id, "power-on");
  expect(power(set)).toBe("PowerOn");
  await set.simulator.sleep("standby");
  set.forget();
  await key(id, "power");
  expect(set.commands).toEqual(["/keypress/Power"]);
  expect(power(set)).toBe("PowerOn");
});

test.concurrent("a set that is on gets one request for a key, and is asked for its power every two seconds at most", async () => {
  const { set, id } = await addRoku();
  await key(id, "home");
  await key(id, "home");
  await Bun.sleep(100);
  await key(id, "home");
  set.forget();
  const began = performance.now();
  for (let times = 0; times < 5; times++) await key(id, "up");
  const asked = set.wire.requests.map((request) => request.target).filter((target) => target !== "/keypress/Up");
  // The last word may be as old as that already.
  expect(asked.length).toBeLessThanOrEqual(1 + ((performance.now() - began) * daemon.speed) / 2_000);
  expect(set.commands).toEqual(Array(5).fill("/keypress/Up"));
});

test.concurrent("a set that somebody else turns off while keys are pressed is turned on again within two seconds", async () => {
  const { set, id } = await addRoku();
  await key(id, "home");
  await set.simulator.sleep("standby");
  set.forget();
  const began = performance.now();
  while (power(set) === "Ready" && performance.now() - began < 10_000) {
    await key(id, "up");
    await Bun.sleep(100);
  }
  expect(power(set)).toBe("PowerOn");
  // Two seconds, and time for the last press on a busy machine.
  expect(performance.now() - began).toBeLessThan(5_000);
});

test.concurrent("turned off by zapd itself, the very next key turns it on", async () => {
  const { set, id } = await addRoku();
  await key(id, "home");
  await key(id, "power-off");
  expect(power(set)).toBe("Ready");
  set.forget();
  await key(id, "up");
  expect(set.commands).toEqual(["/keypress/PowerOn", "/keypress/Up"]);
  // Within a sequence the next key is not sent, and the hint says what turns it on.
  const sequence: Call = { body: { keys: ["power-off", "up"], delay_ms: 0 } };
  const { hint } = await refuse(daemon, "pressKeys", { id, ...sequence }, "device_unreachable");
  expect(hint).toMatch(/^It must be on for that: try zapd key power-on -d /);
});

test.concurrent("where its settings forbid turning it on, an error says so, and nothing is sent", async () => {
  const { set, id } = await inStandby({ access: "limited", limitedLaunch: true });
  for (const [name, call] of [
    ["launchApp", { body: { app: "12" } }],
    ["pressKey", { body: { key: "home" } }],
    ["pressKey", { body: { key: "literal:a" } }],
  ] as const) {
    const error = await refuse(daemon, name, { id, ...call }, "device_refused");
    expect(`${error.message} ${error.hint}`).toMatch(/standby.*Limited.*Network access/);
  }
  expect(set.commands).toEqual([]);
  expect(power(set)).toBe("Ready");
});

test.concurrent("where it takes the key and stays in standby, an error says so, and the command is not sent", async () => {
  const { set, id } = await inStandby();
  set.broken.set("/keypress/PowerOn", { status: 202 });
  const error = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_error");
  expect(error.message).toContain("off");
  expect(set.commands.filter((command) => command !== "/keypress/PowerOn")).toEqual([]);
}, 60_000);

test.concurrent("a player has no power of its own, and takes its keys in any power mode", async () => {
  for (const mode of ["PowerOn", "Headless", "Ready"]) {
    const { set, id } = await addRoku({ kind: "stick", facts: { "power-mode": mode } });
    await key(id, "home");
    expect([mode, set.commands]).toEqual([mode, ["/keypress/Home"]]);
  }
});

test.concurrent("the hint of a set that zapd cannot turn on does not name power-on", async () => {
  const set = await startRoku({ kind: "stick", facts: { "supports-cec-power-control": null, "wifi-mac": null } });
  const { id } = await add(daemon, set);
  await set.sleep();
  const error = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unreachable", "device_timeout");
  expect(error.hint ?? "").not.toContain("power-on");
  expect(error.hint ?? "").not.toBe("");
});

for (const [what, name, body, path, whole] of [
  ["text", "pressKey", { key: "literal:abcd" }, "/keypress/Lit_b", ["a", "b", "c", "d"].map((one) => `Lit_${one}`)],
  ["steps of the volume", "setVolume", { step: 4 }, "/keypress/VolumeUp", Array(4).fill("VolumeUp")],
] as const) {
  test.concurrent(`${what}: none is sent twice to a set that is away for a moment between them`, async () => {
    const set = await startRoku({ style: { close: "said" } });
    const { id } = await add(daemon, set);
    set.forget();
    const back = Promise.withResolvers<void>();
    set.spoiled.set(path, (said) => {
      set.spoiled.clear();
      setTimeout(async () => {
        await set.wire.close();
        await Bun.sleep(100);
        await set.wire.listen(set.host, set.port);
        back.resolve();
      }, 5);
      return said;
    });
    const { status } = await ask(daemon, name, { id, body });
    await back.promise;
    // A set that is back before the next one gets them all.
    const sent = set.commands.map((command) => command.replace("/keypress/", ""));
    expect(sent).toEqual(whole.slice(0, status === 200 ? whole.length : sent.length));
  });
}

test.concurrent("a package that was taken is not sent again to a set that is away for a moment after it", async () => {
  const { set, id } = await addRoku({ style: { close: "said" } });
  const back = Promise.withResolvers<void>();
  set.spoiled.set("/plugin_install", (said) => {
    set.spoiled.clear();
    set.wire.close();
    setTimeout(() => set.wire.listen(set.host, set.port).then(() => back.resolve()), 200);
    return said;
  });
  await install(daemon, id, packageWith("away"), { params: "{}" });
  await back.promise;
  expect(set.uploads).toHaveLength(1);
});

test.concurrent("in deep sleep it is woken by a magic packet to its MAC address, then turned on by its key", async () => {
  const { set, id } = await addRoku();
  set.wakeMs = 700;
  await set.sleep();
  expect((await daemon.api("GET", `/devices/${id}/state`)).status).toBeOneOf([200, 500]);
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("offline");
  const start = performance.now();
  await key(id, "power-on");
  expect(performance.now() - start).toBeGreaterThan(600);
  expect(set.wakes).toBeGreaterThan(0);
  expect(power(set)).toBe("PowerOn");
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("online");
});

test.concurrent("a set that falls silent after its standby is off, and is woken by every command but those that turn it off", async () => {
  const { set, id } = await inStandby();
  expect((await succeed(daemon, "getDevice", { id })).power).toBe("standby");
  set.wakeMs = 1_500;
  await set.sleep();
  expect((await succeed(daemon, "getState", { id })).state.power).toBe("off");
  expect((await succeed(daemon, "getDevice", { id })).status).toBe("offline");
  await key(id, "power-off");
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  expect(set.wakes).toBe(0);
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect(set.wakes).toBeGreaterThan(0);
  expect(set.commands.slice(-2)).toEqual(["/keypress/PowerOn", "/launch/12"]);
});
