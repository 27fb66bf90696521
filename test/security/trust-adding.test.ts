/** Adding by address: what a caller may re-point, and what not; a user who is not this one, and two calls at once. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { freeHost } from "../support/lane.ts";
import { codeOf, credentialsOf, deviceOf, houseForFile, press, tv, twin, warningsOf } from "./rogue-house.ts";

const house = houseForFile();
const { add, paired, roku } = house;

interface Told {
  readonly uid: number;
  readonly read: string;
  readonly port: number;
  readonly added: { readonly ok: boolean; readonly error?: { readonly code: string; readonly hint: string } };
  readonly received: string;
}

/** What a second user gets who poses as a set. */
function secondUser(host: string, platform: string, identity: string): Promise<Told> {
  const secret = join(house.daemon.stateFolder, "credentials.json");
  const words = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath];
  const script = join(import.meta.dir, "second-user.ts");
  const child = spawn("setpriv", [...words, script, house.daemon.url, host, platform, identity, secret], {
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let wrong = "";
  child.stdout.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    wrong += bytes.toString();
  });
  return new Promise((resolve, reject) =>
    child.on("close", () => {
      try {
        resolve(JSON.parse(said) as Told);
      } catch {
        reject(new Error(`the second user said nothing: ${wrong.slice(0, 2_000)}`));
      }
    }),
  );
}

const canBeAnother = process.getuid?.() === 0 && Bun.which("setpriv") !== null;

test.skipIf(!canBeAnother)(
  "T28 a second user with a fake of the same identity re-points neither a set that answers nor a silent one with secrets",
  async () => {
    const { set, id, key } = await paired({ name: "Kitchen" });
    const player = await roku({ name: "Den" });
    const den: string = (await add(player.address)).body.data.id;
    for (const [fake, identity, real, known] of [
      ["webos", set.uuid, set, id],
      ["roku", player.serial, player, den],
    ] as const) {
      const host = freeHost();
      const told = await secondUser(host, fake, identity);
      expect(told).toMatchObject({ uid: 65_534, read: "EACCES" });
      expect(told.added.error?.code).toBe("device_elsewhere");
      expect(told.added.error?.hint).toContain(real.host);
      expect(told.added.error?.hint).toContain(`${host}:${told.port}`);
      expect(told.received).not.toContain(key);
      expect(await deviceOf(house.daemon, known)).toMatchObject({ host: real.host });
      expect(codeOf(await press(house.daemon, known, "home"))).toBe("ok");
    }
    // What was refused has changed nothing: the set is not on probation for it.
    expect(await warningsOf(house.daemon)).toEqual([]);
    await set.stop();
    const told = await secondUser(freeHost(), "webos", set.uuid);
    expect(told.added.error?.code).toBe("device_elsewhere");
    expect(told.added.error?.hint).toContain("zapd forget Kitchen");
    expect(told.added.error?.hint).toContain("zapd pair Kitchen --host ");
    expect(told.received).not.toContain(key);
    expect(await deviceOf(house.daemon, id)).toMatchObject({ host: set.host });
    expect(JSON.stringify(credentialsOf(house.daemon, id))).toContain(key);
  },
);

test("T28 a device that answers where it is stays there, whatever is said with the other address", async () => {
  const real = await roku({ name: "Den" });
  const { id } = (await add(real.address)).body.data;
  const fake = await roku({ ...twin(real), name: "Mine now" });
  // Asked on every platform, a slow one would also be asked whether it is a Kodi.
  const answered = await add({ ...fake.address, platform: "roku", name: "Taken" });
  expect(answered.status).toBe(400);
  expect(codeOf(answered)).toBe("device_elsewhere");
  for (const address of [`${real.host}:${real.port}`, `${fake.host}:${fake.port}`])
    expect(answered.body.error.hint).toContain(address);
  // The very same host with another port is another address.
  const beside = await roku({ ...twin(real), host: real.host });
  expect(codeOf(await add({ ...beside.address, platform: "roku" }))).toBe("device_elsewhere");
  expect(await deviceOf(house.daemon, id)).toMatchObject({ name: "Den", host: real.host, port: real.port });
  expect(codeOf(await press(house.daemon, id, "literal:a"))).toBe("ok");
  expect([fake.commands, beside.commands]).toEqual([[], []]);
});

test("T28 a silent device without secrets moves by being added; at its own address it takes a new name and ports", async () => {
  const real = await roku({ name: "Den" });
  const { id } = (await add(real.address)).body.data;
  const renamed = await add({ host: real.host, port: real.port, name: "Attic", ports: { installer: 4_711 } });
  expect(renamed.body.data).toMatchObject({ id, name: "Attic", ports: { installer: 4_711 } });
  await real.stop();
  const moved = await roku(twin(real));
  expect((await add(moved.address)).body.data).toMatchObject({ id, name: "Attic", host: moved.host, port: moved.port });
  expect(codeOf(await press(house.daemon, id, "home"))).toBe("ok");
});

test("T28 of two calls at once for one device at two addresses, one is taken, and the other is told of it", async () => {
  for (let round = 0; round < 5; round++) {
    const one = await roku();
    const other = await roku(twin(one));
    const answers = await Promise.all([add(one.address), add(other.address)]);
    expect(answers.map(codeOf).toSorted()).toEqual(["device_elsewhere", "ok"]);
    const all = (await house.daemon.api("GET", "/devices")).body.data as { serial: string; host: string }[];
    const known = all.filter(({ serial }) => serial === one.serial);
    expect(known).toHaveLength(1);
    const taken = answers.find((answered) => codeOf(answered) === "ok");
    expect(known[0]?.host).toBe(taken?.body.data.host);
  }
});

test("T28 the same set by another of its own ports is no other address", async () => {
  const { set, id } = await paired({ name: "Bedroom" });
  const { createWebosSimulator } = await import("../../src/simulators/webos.ts");
  const plain = createWebosSimulator({
    ...{
      name: "Bedroom",
      uuid: set.uuid,
      host: set.host,
      securePort: null,
      plainPort: 3_000,
      ssdp: false,
      tuner: false,
    },
  });
  await plain.start();
  house.leaves(() => plain.stop());
  const again = await add({ host: set.host, port: 3_000, platform: "webos" });
  expect(codeOf(again)).toBe("ok");
  expect(again.body.data).toMatchObject({ id, host: set.host, port: tv.secure });
});
