/** Trust beyond kept keys: where a caller's words are sent, forged answers, and hints. */
import { expect, test } from "bun:test";
import { createCertificate, createWebosSimulator } from "../../src/simulators/webos.ts";
import { until } from "../support/http-device.ts";
import { freeHost } from "../support/lane.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { codeOf, deviceOf, houseForFile, press, warningsOf, webosPort } from "./rogue-house.ts";

const house = houseForFile();
const { add, discover, paired, webos } = house;

test("T29 on probation, words of the caller's go only to an address that the caller has named", async () => {
  const { set, id, name } = await paired();
  await set.stop();
  const now = await webos(freeHost(), { uuid: set.uuid });
  await until("it is heard there", async () => {
    await discover();
    return (await deviceOf(house.daemon, id)).host === now.host;
  });
  /** A search may still be asking it what it is. */
  const beyondSearch = () => ({
    ...now.received,
    requests: now.received.requests.filter(
      ({ type, uri }) => type !== "hello" && uri !== "ssap://system/getSystemInfo",
    ),
  });
  const before = beyondSearch();
  for (const words of [{ pin: "canary-4711" }, { user: "canary-me", password: "canary-pw" }]) {
    const { body } = await house.daemon.api("POST", `/devices/${id}/pair`, words);
    expect(body.error.code).toBe("device_unproven");
    expect(body.error.message).toStartWith(name);
    for (const { host } of [set, now])
      expect(body.error.hint).toContain(`zapd pair "${name}" --host ${host}:${webosPort}`);
  }
  expect(beyondSearch()).toEqual(before);
  expect(JSON.stringify(now.received)).not.toContain("canary");
  // With the address it goes on.
  expect(
    codeOf(await house.daemon.api("POST", `/devices/${id}/pair`, { pin: "1", host: `${now.host}:${webosPort}` })),
  ).toBe("ok");
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
});

test("T27 a forged answer without the certificate of the pairing is no rival and no move, wherever it comes from", async () => {
  const { set, id, name } = await paired();
  const other = await webos(freeHost(), { uuid: set.uuid, certificate: createCertificate() });
  const plain = createWebosSimulator({
    name,
    host: freeHost(),
    uuid: set.uuid,
    securePort: null,
    plainPort: 3_000,
    ssdp: true,
    ssdpDelayMs: 10,
  });
  await plain.start();
  house.atEnd(() => plain.stop());
  const unharmed = async () => {
    await discover();
    expect(await deviceOf(house.daemon, id)).toMatchObject({ host: set.host });
    expect((await warningsOf(house.daemon)).filter((one) => one.startsWith(name))).toEqual([]);
  };
  await unharmed();
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  // Also while the set is off: it is driven at its address as soon as it is back.
  await set.stop();
  await unharmed();
  for (const [host, port] of [
    [other.host, webosPort],
    [plain.host, 3_000],
    [plain.host, webosPort],
  ] as const) {
    const { body } = await add({ host, port, platform: "webos" });
    expect(body.error.code).toBe("device_elsewhere");
    for (const at of [`${set.host}:${webosPort}`, `${host}:${port}`]) expect(body.error.message).toContain(at);
    expect(body.error.message).toContain("certificate");
    expect(body.error.hint).toContain(`zapd pair "${name}" --host ${host}:${port}`);
  }
  await set.start();
  await unharmed();
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
  for (const rogue of [other, plain])
    for (const key of set.clientKeys.keys()) expect(JSON.stringify(rogue.received)).not.toContain(key);
});

test("T29 a message about a platform without pairing does not mention pairing", async () => {
  const real = await house.roku({ name: "Den" });
  const { fake: rogue } = await house.announced(real.identity);
  const { id } = (await add(real.address)).body.data;
  await discover();
  const { body } = await press(house.daemon, id, "literal:canary");
  expect(body.error.code).toBe("device_unproven");
  expect(body.error.hint).toContain("zapd trust Den");
  expect(body.error.hint).toContain(`zapd forget Den, then zapd add ${rogue.host}:${rogue.port}`);
  expect(body.error.hint).not.toContain("zapd pair");
  const added = await add(rogue.address);
  expect(added.body.error.code).toBe("device_elsewhere");
  expect(added.body.error.hint).not.toContain("zapd pair");
});

test("hints name the device that was meant, as a shell takes it, also where it is the default one", async () => {
  const name = `The $HOME`;
  const set = await webos(freeHost(), { name });
  const { id } = (await add({ host: set.host, port: webosPort, platform: "webos", name })).body.data;
  for (const path of [id, "default", encodeURIComponent(name)]) {
    const { body } = await house.daemon.api("POST", `/devices/${path}/remote/key`, { key: "home" });
    expect(body.error).toMatchObject({
      code: "pairing_required",
      hint: expect.stringContaining(`zapd pair '${name}'`),
    });
  }
  const player = await WiredRoku.start({ name: "Attic" });
  const attic = (await add(player.address)).body.data;
  await player.stop();
  const silent = await press(house.daemon, attic.id, "home");
  expect(silent.body.error.code).toBe("device_unreachable");
  const wakes = attic.capabilities.includes("power_on");
  expect(silent.body.error.hint.includes("zapd key power-on -d Attic")).toBe(wakes);
  expect(silent.body.error.hint).not.toMatch(/[{}]/);
});

test("leaving the app of a set in standby leaves what is known of its power as it is", async () => {
  const set = await house.roku({ facts: { "power-mode": "Ready" } });
  const { id } = (await add(set.address)).body.data;
  expect((await house.daemon.api("GET", `/devices/${id}/state`)).body.data.state.power).toBe("standby");
  expect(codeOf(await house.daemon.api("POST", `/devices/${id}/apps/stop`))).toBe("ok");
  expect((await deviceOf(house.daemon, id)).power).toBe("standby");
});
