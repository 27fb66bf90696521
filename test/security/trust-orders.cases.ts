/**
 * Sets that copy the whole public identity of another: which of the two is driven, what a person is told, and how trust is
 * restored. rogue/orders.ts plays every order of events, and searches what each stranger was sent.
 */
import { expect, test } from "bun:test";
import { createCertificate, type WebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../blackbox/checked.ts";
import { install } from "../blackbox/packages.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import {
  codeOf,
  credentialsOf,
  deviceOf,
  earlier,
  editRegistry,
  houseForFile,
  press,
  quick,
  type SetOptions,
  startHouse,
  warningsOf,
  webosPort,
} from "./rogue-house.ts";

const house = houseForFile();
const { announced: roku, discover, paired } = house;
const trust = (id: string) => house.daemon.api("POST", `/devices/${id}/trust`);
const type = (id: string) => press(house.daemon, id, "literal:hunter2");
const place = async (id: string) => (await deviceOf(house.daemon, id)).host;
const webos = (host: string, name: string, options: SetOptions = {}) => house.webos(host, { name, ...options });

/** Scans until the device is at this address: a busy machine may identify a set after the scan that has asked it. */
const heardAt = (id: string, host: string) =>
  until("it is heard there", async () => {
    await discover();
    return (await place(id)) === host;
  });

/** Scans until somebody else is known to answer for the device. */
const rivalled = (daemon: TestDaemon, name: string) =>
  until("the rival is known", async () => {
    await daemon.api("POST", "/devices/discover");
    return (await warningsOf(daemon)).some((one) => one.startsWith(name));
  });

/** Everything that came in at a rogue, searched for what it must never get. */
function expectNothing(rogue: WebosSimulator, key: string): void {
  expect(JSON.stringify(rogue.received)).not.toContain(key);
  expect(JSON.stringify(rogue.received)).not.toContain("hunter2");
}

test("T29 a silent set with secrets that answers elsewhere is on probation: it gets no keys and no secret", async () => {
  const { set, id, key, name } = await paired();
  await set.stop();
  const rogue = await webos(freeHost(), "x", { uuid: set.uuid });
  await heardAt(id, rogue.host);
  for (const answered of [await type(id), await press(house.daemon, id, "home")]) {
    expect(codeOf(answered)).toBe("device_unproven");
    expect(answered.body.error.message).toStartWith(name);
    expect(answered.body.error.hint).toContain(`zapd trust "${name}"`);
    expect(answered.body.error.hint).toContain(`zapd pair "${name}" --host ${rogue.host}:${webosPort}`);
  }
  const warned = (await warningsOf(house.daemon)).filter((one) => one.startsWith(name));
  expect(warned).toHaveLength(1);
  expect(warned[0]).toContain(set.host);
  expect(warned[0]).toContain(rogue.host);
  expect(warned[0]).not.toContain(key);
  expectNothing(rogue, key);
});

test("T29 when the real set comes back beside the rogue, its former address is used, and the rogue is reported as a rival", async () => {
  const { set, id, key, name } = await paired();
  await set.stop();
  const rogue = await webos(freeHost(), "x", { uuid: set.uuid });
  await heardAt(id, rogue.host);
  await set.start();
  await heardAt(id, set.host);
  await rivalled(house.daemon, name);
  // Two answer for it: keys go on to the set, by the connection that it has; what is typed is not sent to either.
  expect(codeOf(await type(id))).toBe("device_unproven");
  const [warned = ""] = (await warningsOf(house.daemon)).filter((one) => one.startsWith(name));
  expect(warned).toContain(`${set.host}:${webosPort}`);
  expect(warned).toContain(`${rogue.host}:${webosPort}`);
  expectNothing(rogue, key);
  // The user says which is it: the other is passed over from then on.
  expect((await trust(id)).body.data).toMatchObject({ id, host: set.host });
  await discover();
  expect((await warningsOf(house.daemon)).filter((one) => one.startsWith(name))).toEqual([]);
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  expectNothing(rogue, key);
});

test("T29 a scan also queries the former address, so that a real set that answers no search is found there", async () => {
  const fake = await house.roku();
  const { id } = (await house.daemon.api("POST", "/devices", fake.address)).body.data;
  await fake.stop();
  const rogue = await roku(fake.identity);
  await discover();
  expect(await place(id)).toBe(rogue.fake.host);
  await house.roku({ ...fake.identity, host: fake.host, port: fake.port });
  await discover();
  expect(await deviceOf(house.daemon, id)).toMatchObject({ host: fake.host, port: fake.port });
});

test("T29 a set without secrets is followed to a new address, and back when its former address answers again", async () => {
  const real = await roku();
  const { id } = (await house.daemon.api("POST", "/devices", real.fake.address)).body.data;
  await real.off();
  const rogue = await roku(real.fake.identity);
  await discover();
  expect(await deviceOf(house.daemon, id)).toMatchObject({ host: rogue.fake.host, port: rogue.fake.port });
  // It moved alone: it is followed as ever.
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  expect(rogue.fake.commands).toEqual(["/keypress/Home"]);
  const back = await roku({ ...real.fake.identity, host: real.fake.host, port: real.fake.port });
  await discover();
  expect(await deviceOf(house.daemon, id)).toMatchObject({ host: real.fake.host, port: real.fake.port });
  expect(codeOf(await press(house.daemon, id, "up"))).toBe("ok");
  expect(back.fake.commands).toEqual(["/keypress/Up"]);
  // Two answer for it, also without secrets: what is typed goes to neither, alone or in a sequence, and no key before it.
  expect(codeOf(await type(id))).toBe("device_unproven");
  const keys = ["down", "literal:hunter2"];
  expect(codeOf(await house.daemon.api("POST", `/devices/${id}/remote/sequence`, { keys, delay_ms: 0 }))).toBe(
    "device_unproven",
  );
  expect(back.fake.commands).toEqual(["/keypress/Up"]);
  // The rogue is not protected as the one that is still there, whoever is met first, however often.
  for (let round = 0; round < 3; round++) await discover();
  expect(await place(id)).toBe(real.fake.host);
  expect(rogue.fake.commands).toEqual(["/keypress/Home"]);
});

test("T29 a rogue beside the real set is a rival, also after a restart, until it was silent for a day", async () => {
  const own = await startHouse(quick);
  const real = await roku();
  const { id, name } = (await own.api("POST", "/devices", real.fake.address)).body.data;
  const rogue = await roku(real.fake.identity);
  await rivalled(own, name);
  expect(await deviceOf(own, id)).toMatchObject({ host: real.fake.host });
  expect(codeOf(await press(own, id, "literal:hunter2"))).toBe("device_unproven");
  await own.stop();
  const again = await startHouse({ folder: own.folder });
  expect((await warningsOf(again)).filter((one) => one.startsWith(name))).toHaveLength(1);
  expect(codeOf(await press(again, id, "literal:hunter2"))).toBe("device_unproven");
  expect(codeOf(await press(again, id, "home"))).toBe("ok");
  await again.stop();
  await rogue.off();
  editRegistry(again, (devices) => {
    for (const one of devices) one.standing = earlier(one.standing, 23) as Record<string, unknown>;
  });
  const later = await startHouse({ folder: own.folder });
  expect(codeOf(await press(later, id, "literal:hunter2"))).toBe("device_unproven");
  await later.stop();
  editRegistry(later, (devices) => {
    for (const one of devices) one.standing = earlier(one.standing, 2) as Record<string, unknown>;
  });
  const dayAfter = await startHouse({ folder: own.folder });
  expect(await warningsOf(dayAfter)).toEqual([]);
  expect(codeOf(await press(dayAfter, id, "literal:x"))).toBe("ok");
  expect(rogue.fake.commands).toEqual([]);
  await dayAfter.dispose();
});

test("T29 no package is installed on a set with a rival, no byte of it is accepted, and no password is sent", async () => {
  const own = await startHouse({ config: { ...quick.config, dev: { vendor_password: "rokudev-secret" } } });
  const real = await roku({ facts: { "developer-enabled": "true" } });
  const { id, name } = (await own.api("POST", "/devices", real.fake.address)).body.data;
  const rogue = await roku({ ...real.fake.identity, facts: { "developer-enabled": "true" } });
  await rivalled(own, name);
  expect(codeOf(await install(own, id, Buffer.from("PK")))).toBe("device_unproven");
  expect(codeOf(await own.api("GET", `/devices/${id}/screenshot`))).toBe("device_unproven");
  expect(codeOf(await own.api("DELETE", `/devices/${id}/dev`))).toBe("device_unproven");
  for (const { fake } of [real, rogue]) {
    expect(fake.uploads).toEqual([]);
    expect(fake.installer.requests).toEqual([]);
  }
  await own.dispose();
});

test("T27 T29 pairing at a new address starts without the old key, and changes something only if it succeeds", async () => {
  const { set, id, key, name } = await paired();
  await set.stop();
  const deaf = await webos(freeHost(), "x", { uuid: set.uuid, denies: true });
  const at = { host: `${deaf.host}:${webosPort}` };
  // Denied: all stays as it was, the key that was kept too.
  expect(codeOf(await house.daemon.api("POST", `/devices/${id}/pair`, at))).toBe("pairing_failed");
  expect(await place(id)).toBe(set.host);
  expect(JSON.stringify(credentialsOf(house.daemon, id))).toContain(key);
  expectNothing(deaf, key);
  await deaf.stop();
  // Another set answers there: it says who.
  const other = await webos(freeHost(), "Other");
  const refused = await house.daemon.api("POST", `/devices/${id}/pair`, { host: other.host });
  expect(codeOf(refused)).toBe("device_elsewhere");
  expect(refused.body.error.message).toContain(other.host);
  expect(await place(id)).toBe(set.host);
  expectNothing(other, key);
  // It was really replaced, board and all, or has moved: it is there from now on, and believed.
  const now = await webos(freeHost(), "x", { uuid: set.uuid, certificate: createCertificate() });
  expect(codeOf(await house.daemon.api("POST", `/devices/${id}/pair`, { host: `${now.host}:${webosPort}` }))).toBe(
    "ok",
  );
  expect(await deviceOf(house.daemon, id)).toMatchObject({ host: now.host, port: webosPort, access: "full" });
  expect(JSON.stringify(credentialsOf(house.daemon, id))).not.toContain(key);
  expectNothing(now, key);
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  expect((await warningsOf(house.daemon)).filter((one) => one.startsWith(name))).toEqual([]);
  // The old address answers again: it is the one that was left, and takes nothing back.
  await set.start();
  await discover();
  expect(await place(id)).toBe(now.host);
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
});

test("T29 pairing a set on probation starts without the old key, and ends the probation if it succeeds", async () => {
  const { set, id, key } = await paired();
  await set.stop();
  const now = await webos(freeHost(), "x", { uuid: set.uuid });
  await heardAt(id, now.host);
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("device_unproven");
  expect(codeOf(await house.daemon.api("POST", `/devices/${id}/pair`))).toBe("ok");
  expectNothing(now, key);
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  expect(JSON.stringify(credentialsOf(house.daemon, id))).not.toContain(key);
});
