/** Adding by address: which devices a caller may move to another address; rogue/second-user.cases.ts has another user try it. */
import { expect, test } from "bun:test";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { packageWith } from "../blackbox/packages.ts";
import { codeOf, deviceOf, houseForFile, press, webosPort } from "./rogue-house.ts";

const house = houseForFile();
const { add, paired, roku } = house;

test("T28 a device that still answers at its address cannot be moved by adding another address", async () => {
  const real = await roku({ name: "Den" });
  const { id } = (await add(real.address)).body.data;
  const fake = await roku({ ...real.identity, name: "Mine now" });
  // Without a platform, a slow device would be probed on every one.
  const answered = await add({ ...fake.address, platform: "roku", name: "Taken" });
  expect(answered.status).toBe(400);
  expect(codeOf(answered)).toBe("device_elsewhere");
  for (const address of [`${real.host}:${real.port}`, `${fake.host}:${fake.port}`])
    expect(answered.body.error.hint).toContain(address);
  // The same host with another port is another address.
  const beside = await roku({ ...real.identity, host: real.host });
  expect(codeOf(await add({ ...beside.address, platform: "roku" }))).toBe("device_elsewhere");
  expect(await deviceOf(house.daemon, id)).toMatchObject({ name: "Den", host: real.host, port: real.port });
  expect(codeOf(await press(house.daemon, id, "literal:a"))).toBe("ok");
  expect([fake.commands, beside.commands]).toEqual([[], []]);
});

test("T28 a silent device without secrets moves when it is added at a new address; added at its own, it takes the new name and ports", async () => {
  const real = await roku({ name: "Den" });
  const { id } = (await add(real.address)).body.data;
  const renamed = await add({ host: real.host, port: real.port, name: "Attic", ports: { installer: 4_711 } });
  expect(renamed.body.data).toMatchObject({ id, name: "Attic", ports: { installer: 4_711 } });
  await real.stop();
  const moved = await roku(real.identity);
  expect((await add(moved.address)).body.data).toMatchObject({ id, name: "Attic", host: moved.host, port: moved.port });
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
});

test("T28 a silent device with a developer password of its own does not move when it is added at a new address", async () => {
  const password = "own-of-den";
  const real = await roku({ name: "Den", developer: { password } });
  const { id } = (await add(real.address)).body.data;
  const form = new FormData();
  form.append("password", password);
  form.append("archive", new Blob([new Uint8Array(packageWith("own"))]), "package.zip");
  const url = `${house.daemon.url}/devices/${id}/dev/install`;
  expect((await fetch(url, { method: "POST", body: form, keepalive: false })).status).toBe(200);
  await real.stop();
  const moved = await roku(real.identity);
  expect(codeOf(await add({ ...moved.address, platform: "roku" }))).toBe("device_elsewhere");
  expect(await deviceOf(house.daemon, id)).toMatchObject({ host: real.host, port: real.port });
});

test("T28 two simultaneous adds of one device at two addresses: one succeeds, the other is refused with device_elsewhere", async () => {
  for (let round = 0; round < 5; round++) {
    const one = await roku();
    const other = await roku(one.identity);
    const answers = await Promise.all([add(one.address), add(other.address)]);
    expect(answers.map(codeOf).toSorted()).toEqual(["device_elsewhere", "ok"]);
    const all = (await house.daemon.api("GET", "/devices")).body.data as { serial: string; host: string }[];
    const known = all.filter(({ serial }) => serial === one.serial);
    expect(known).toHaveLength(1);
    const taken = answers.find((answered) => codeOf(answered) === "ok");
    expect(known[0]?.host).toBe(taken?.body.data.host);
  }
});

test("T28 another port of the same set does not count as another address", async () => {
  const { set, id } = await paired({ name: "Bedroom" });
  const plain = createWebosSimulator({
    name: "Bedroom",
    uuid: set.uuid,
    host: set.host,
    securePort: null,
    plainPort: 3_000,
    ssdp: false,
    tuner: false,
  });
  await plain.start();
  house.atEnd(() => plain.stop());
  const again = await add({ host: set.host, port: 3_000, platform: "webos" });
  expect(codeOf(again)).toBe("ok");
  expect(again.body.data).toMatchObject({ id, host: set.host, port: webosPort });
});
