import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { protocolError, ZapdError } from "../../src/api/errors.ts";
import { playMedia, selectChannel, selectInput } from "../../src/devices/controls.ts";
import { holdKey } from "../../src/devices/hold.ts";
import type { DeviceRecord } from "../../src/devices/record.ts";
import type { Sighting } from "../../src/platforms/platform.ts";
import { hungUp } from "../../src/transport/http-connection.ts";
import { codeOf, outcomeOf } from "../support/failure.ts";
import { factsOf, idle, neverOff, sightingOf } from "../support/fake-platform.ts";
import { until } from "../support/http-device.ts";
import { passTime, wakeUp } from "../support/test-clock.ts";
import { type House, neverAborted, openHouse } from "./harness.ts";

let house: House;
let tv: DeviceRecord;
beforeEach(async () => {
  house = await openHouse();
  tv = await house.add("1", { name: "TV" });
});
afterEach(() => house.remove());

const press = (key: string) => house.actions.key(tv, key, { signal: neverAborted });

describe("capabilities", () => {
  test("are the methods that its connection has, without those withheld now", async () => {
    expect(house.devices.deviceOf(tv).describe().capabilities).toEqual([
      "state",
      "apps",
      "launch",
      "stop",
      "keys",
      "hold",
      "text",
      "power_off",
    ]);
    const limited = await openHouse((set) => ({ ...set.connection(), power: neverOff }), ["apps", "power_on"]);
    const record = await limited.add("1");
    const view = limited.devices.deviceOf(record).describe();
    expect(view.capabilities).toEqual(["state", "launch", "stop", "keys", "hold", "text", "power_off"]);
    expect(view.withheld.map(({ capability }) => capability)).toEqual(["apps", "power_on"]);
    expect(view.keys).toEqual(["home", "up", "down", "play", "power", "power-off"]);
    await limited.actions.refresh(record, false, neverAborted);
    expect(limited.set.done).toEqual(["apps"]);
    await limited.remove();
  });

  test("of one whose secret was lost are those of an unpaired one, and its access, too", async () => {
    const lost = await openHouse((set) => set.connection(), ["keys"]);
    const record = await lost.add("1", { access: "full" });
    expect(lost.devices.deviceOf(record).describe().access).toBe("unpaired");
    await lost.remove();
  });

  test("that a device lacks fail with unsupported_operation", async () => {
    const bare = await openHouse(() => ({ close: () => {} }));
    const record = await bare.add("1", { name: "Bare" });
    const { actions, devices } = bare;
    const now = { signal: neverAborted };
    expect(devices.deviceOf(record).describe().capabilities).toEqual([]);
    const asked = [
      devices.deviceOf(record).state(neverAborted),
      actions.apps(record, neverAborted),
      actions.refresh(record, true, neverAborted),
      actions.stop(record, now),
      actions.launch(record, "12", {}, now),
      actions.launch(record, "weather", {}, now),
      actions.key(record, "home", now),
      actions.key(record, "literal:x", now),
      actions.sequence(record, ["home"], 0, now),
      actions.reload(record, now),
      actions.logs(record, null, neverAborted),
      actions.install(record, { path: "/nowhere", bytes: 1 }, { password: "x" }, now),
    ];
    for (const work of asked) expect(await codeOf(work)).toBe("unsupported_operation");
    await bare.remove();
  });

  test("of a device on an unknown platform are none, and every request to it fails with that", async () => {
    const { record } = await house.registry.merge({
      platform: "gone",
      sighting: sightingOf("9", { name: "Old" }),
      address: { host: "192.0.2.1", port: 9 },
    });
    expect(house.devices.deviceOf(record).describe().capabilities).toEqual([]);
    expect(outcomeOf(() => house.devices.deviceOf(record).leading.connection)).toBe("unsupported_operation");
    expect(await codeOf(house.devices.deviceOf(record).state(neverAborted))).toBe("unsupported_operation");
  });
});

describe("a connection", () => {
  test("is opened once, and again when the device has moved, which closes the old one; an open one gets new facts", async () => {
    await press("home");
    await house.devices.deviceOf(tv).state(neverAborted);
    expect(house.connected.length).toBe(1);
    await house.registry.merge({
      platform: "fake",
      sighting: sightingOf("1", { name: "TV" }),
      address: { host: "192.0.2.8", port: 9 },
    });
    await press("up");
    expect(house.connected.map(({ target }) => target.host)).toEqual(["192.0.2.1", "192.0.2.8"]);
    expect(house.set.closed.length).toBe(1);
    house.connected[1]?.emit({ type: "facts", facts: factsOf("1", { name: "TV", access: "limited" }) });
    house.connected[1]?.emit({ type: "facts", facts: { model: "M" } });
    expect(house.devices.deviceOf(tv).describe()).toMatchObject({ access: "limited", model: "M" });
    await until("it is known", () => house.registry.get(tv.id)?.access === "limited");
    await press("down");
    expect(house.connected.at(-1)?.target.facts.access).toBe("limited");
    expect(house.set.closed.length).toBe(1);
    await house.registry.change(tv.id, { ports: { installer: 81 } });
    await press("down");
    expect(house.connected.at(-1)?.target.ports).toEqual({ installer: 81 });
  });

  test("is opened again when the device's own identity is known", async () => {
    const shows = (sighting: Sighting) =>
      house.registry.merge({ platform: "fake", sighting, address: { host: "192.0.2.8", port: 9 } });
    const { record } = await shows(sightingOf("2", { serial: null }, { provisional: true }));
    await house.devices.deviceOf(record).state(neverAborted);
    await shows(sightingOf("own"));
    await house.devices.deviceOf(record).state(neverAborted);
    expect(house.connected.map(({ target }) => target.identity)).toEqual(["2", "own"]);
  });

  test("is closed when zapd ends", async () => {
    await press("home");
    house.devices.close();
    expect(house.set.closed.length).toBe(1);
  });
});

test("a channel is found however the parts of its number are parted, by that before a name, and by its very name before one alike", async () => {
  const channels = ["51", "5.1", "9-2"].map((number, at) => ({ id: `id-${at}`, number, name: `Name ${at}` }));
  for (const [number, name] of [
    ["7", "Seven"],
    ["8", "7"],
    ["9", "seven"],
  ] as const)
    channels.push({ id: `id-${number}`, number, name });
  const tuner = { list: async () => channels, select: async () => null };
  const one = await openHouse((set) => ({ ...set.connection(), channels: tuner }));
  const device = one.devices.deviceOf(await one.add("1", { name: "TV" }));
  const tuned = async (wanted: string) =>
    (await selectChannel(device, wanted, { signal: neverAborted })).channel.number;
  for (const [wanted, number] of [
    ["5-1", "5.1"],
    ["5.1", "5.1"],
    ["51", "51"],
    ["9.2", "9-2"],
    ["name-1", "5.1"],
    ["7", "7"],
    ["Seven", "7"],
    ["seven", "9"],
  ] as const)
    expect(await tuned(wanted)).toBe(number);
  for (const wanted of ["5-11", "92"]) expect(await codeOf(tuned(wanted))).toBe("invalid_payload");
  await one.remove();
});

test("R14 what is read before an input, a channel, a file or an app takes a sleep of this machine: none is sent", async () => {
  const sent: string[] = [];
  const sleeping = async <Result>(result: Result) => {
    await Bun.sleep(1);
    passTime(8_000);
    return result;
  };
  const list = () => sleeping([{ id: "1", number: "1", name: "One" }]);
  const send = (what: string) => async () => {
    sent.push(what);
    return null;
  };
  const app = { platformId: "12", name: "One", type: "app", version: null } as const;
  const one = await openHouse((set) => ({
    ...set.connection(),
    state: { read: () => sleeping(idle) },
    inputs: { list, select: async () => void sent.push("input") },
    channels: { list, select: send("channel") },
    media: { play: async () => void sent.push("file") },
    apps: { list: () => sleeping([app]), launch: send("app") },
  }));
  const device = one.devices.deviceOf(await one.add("1", { name: "TV" }));
  const turn = { signal: neverAborted };
  const file = { url: "http://192.0.2.9/a.mp4", mime: "video/mp4", title: null, image: null };
  expect(await codeOf(selectInput(device, "One", turn))).toBe("device_busy");
  expect(await codeOf(selectChannel(device, "One", turn))).toBe("device_busy");
  expect(await codeOf(playMedia(device, file, turn))).toBe("device_busy");
  expect(await codeOf(one.actions.launch(device.record, "One", {}, turn))).toBe("device_timeout");
  expect(sent).toEqual([]);
  wakeUp();
  await one.remove();
});

test("a list makes no connection, and a device removed in the midst of a read leaves none open", async () => {
  for (let made = 0; made < 20; made++) await house.add(`more-${made}`);
  const before = house.connected.length;
  expect(house.devices.describeAll()).toHaveLength(21);
  expect(house.connected.length).toBe(before);
  const device = house.devices.deviceOf(tv);
  house.set.takes = 50;
  const reading = device.state(neverAborted);
  await house.devices.remove(device);
  // Asked for once more by who holds it still, after it was removed.
  const late = device.state(neverAborted).catch(() => null);
  await Promise.allSettled([reading, late]);
  expect(house.set.closed.length).toBe(house.connected.length);
  expect(house.registry.get(tv.id)).toBeUndefined();
  expect(() => house.devices.find(tv.id)).toThrow("No device has the id");
});

test("R8 a device whose secrets or whose record cannot be removed stays as it is, and is removed once that is possible", async () => {
  const kept = () => [house.credentials.keeper(tv.id).read(), house.credentials.developer(tv.id).read()];
  await house.credentials.keeper(tv.id).keep({ key: "a-key" });
  await house.credentials.developer(tv.id).keep({ password: "a-password" });
  const before = kept();
  for (const name of ["credentials.json", "devices.json"]) {
    const path = join(house.folder, name);
    renameSync(path, `${path}.away`);
    mkdirSync(path);
    expect(await codeOf(house.devices.remove(house.devices.deviceOf(tv)))).toBe("storage_error");
    expect([house.registry.get(tv.id)?.id, kept()]).toEqual([tv.id, before]);
    rmSync(path, { recursive: true });
    renameSync(`${path}.away`, path);
  }
  // The apps are only a cache.
  await house.actions.apps(tv, neverAborted);
  rmSync(join(house.folder, "apps.json"));
  mkdirSync(join(house.folder, "apps.json"));
  await house.devices.remove(house.devices.deviceOf(tv));
  expect([house.registry.get(tv.id), kept()]).toEqual([undefined, [null, null]]);
});

test("what runs on a device and what waits for it end when it is removed, and the set gets nothing more", async () => {
  const sequence = () => codeOf(house.actions.sequence(tv, ["up", "down"], 60_000, { signal: neverAborted }));
  const running = sequence();
  await until("the first key is taken", () => house.set.done.length === 1);
  const all = Promise.all([running, sequence(), sequence()]);
  await house.devices.remove(house.devices.deviceOf(tv));
  expect(await all).toEqual(["device_not_found", "device_not_found", "device_not_found"]);
  expect(house.set.done).toEqual(["up"]);
});

test("what is removed while a long snapshot is read is not in its last part, and leaves nothing", async () => {
  await Promise.all(Array.from({ length: 100 }, (_, at) => house.add(`more-${at}`)));
  const all = { devices: null, types: null, snapshot: true, since: null };
  const reader = house.devices.journal.follow(all);
  const next = async () => JSON.parse((await reader.next())?.[0]?.event?.json ?? "").devices.length;
  expect(await next()).toBe(100);
  await house.devices.remove(house.devices.find(house.registry.devices.at(-1)?.id ?? ""));
  expect([await next(), house.devices.sizes.devices]).toEqual([0, 100]);
  reader.close();
});

test("a key that is held is no longer held once its device is removed, and its caller is told that", async () => {
  const holding = holdKey(house.devices.deviceOf(tv), "up", { hold_ms: 10_000 }, { signal: neverAborted });
  const code = codeOf(holding);
  await until("it is pressed again", () => house.set.done.length === 2);
  await house.devices.remove(house.devices.deviceOf(tv));
  expect(await code).toBe("device_not_found");
});

test("an answer that makes no sense, or is cut off, has a hint about the address, unless its adapter has a better one", async () => {
  for (const [error, hint] of [
    [protocolError("answered with a web page"), /^Restart the device\..* zapd discover/],
    [hungUp("closed the connection without an answer"), /^It may have been done all the same: .* zapd discover/],
    [
      protocolError("answered with a web page").reworded("said no", { hint: "Press OK on {device}" }),
      /Press OK on Odd/,
    ],
    [new ZapdError("device_error", "reported an internal error"), undefined],
  ] as const) {
    const odd = await openHouse((set) => ({ ...set.connection(), keys: { press: () => Promise.reject(error) } }));
    const record = await odd.add("1", { name: "Odd" });
    const failure = await odd.actions.key(record, "home", { signal: neverAborted }).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "device_error", hint: hint ? expect.stringMatching(hint) : undefined });
    await odd.remove();
  }
});
