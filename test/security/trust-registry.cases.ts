/** The registry under a flood from the network, under strangers with the names of others, and with a file that is damaged. */
import { expect, test } from "bun:test";
import dgram from "node:dgram";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../blackbox/checked.ts";
import { runZapd } from "../cli/program.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { connect } from "../support/mcp-clients.ts";
import { slowTest } from "../support/whole.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { codeOf, deviceOf, editRegistry, houseForFile, press, quick, startHouse, warningsOf } from "./rogue-house.ts";

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly serial: string;
  readonly used: boolean;
  readonly is_default: boolean;
}

const { announced, atEnd, roku: plugIn } = houseForFile({ daemon: false });
const roku = (options: object = {}) => announced(options, 60);

async function house(setup = quick): Promise<TestDaemon> {
  const daemon = await startHouse(setup);
  atEnd(() => daemon.dispose());
  return daemon;
}

const all = async (daemon: TestDaemon): Promise<Shown[]> => (await daemon.api("GET", "/devices")).body.data;
const named = async (daemon: TestDaemon, serial: string) =>
  (await all(daemon)).find((one) => one.serial === serial) ?? {
    id: "",
    name: "",
    host: "",
    used: false,
    is_default: false,
  };

/** Scans until each set is listed under its name: a busy machine may identify one after the scan that has asked it. */
const listed = (daemon: TestDaemon, sets: Readonly<Record<string, { readonly fake: WiredRoku }>>) =>
  until("they are found", async () => {
    await daemon.api("POST", "/devices/discover");
    const now = await all(daemon);
    return Object.entries(sets).every(([name, { fake }]) =>
      now.some((one) => one.serial === fake.serial && one.name === name),
    );
  });

/** Hosts that answer every search from so many ports, each time as sets that were never there before. */
async function flood(hosts: readonly string[], ports: number) {
  let round = 0;
  const first = 20_000;
  const servers = hosts.flatMap((hostname) =>
    Array.from({ length: ports }, (_, at) =>
      Bun.serve({
        hostname,
        port: first + at,
        fetch: () => {
          const serial = `F${hostname}.${at}.${round}`;
          const body = `<device-info><serial-number>${serial}</serial-number><user-device-name>Flood</user-device-name><is-tv>true</is-tv><ecp-setting-mode>enabled</ecp-setting-mode></device-info>`;
          return new Response(body, { headers: { "Content-Type": "text/xml" } });
        },
      }),
    ),
  );
  const mouths = await Promise.all(
    hosts.map(async (host) => {
      const mouth = dgram.createSocket("udp4");
      await new Promise<void>((resolve) => mouth.bind(0, host, resolve));
      return { host, mouth };
    }),
  );
  const ear = dgram.createSocket({ type: "udp4", reuseAddr: true });
  await new Promise<void>((resolve) => ear.bind(1900, "0.0.0.0", resolve));
  ear.addMembership("239.255.255.250", "127.0.0.1");
  ear.on("message", (bytes, from) => {
    if (!bytes.toString().includes("roku:ecp")) return;
    for (let at = 0; at < ports; at++)
      for (const { host, mouth } of mouths)
        mouth.send(
          `HTTP/1.1 200 OK\r\nST: roku:ecp\r\nUSN: uuid:roku:ecp:F${at}\r\nLOCATION: http://${host}:${first + at}/\r\n\r\n`,
          from.port,
          from.address,
        );
  });
  atEnd(() => {
    ear.close();
    for (const { mouth } of mouths) mouth.close();
    for (const server of servers) server.stop(true);
  });
  return {
    next() {
      round++;
    },
  };
}

slowTest(
  "T30 a flood from 9 addresses with 128 ports each adds at most 16 devices per host and 128 per scan, and displaces no known set",
  async () => {
    // A scan has to last long enough for this process to answer it a thousand times.
    const daemon = await house({ speed: 1, config: { ...quick.config, discovery: { timeout_ms: 1_200 } } });
    const driven = await roku({ name: "Driven" });
    await listed(daemon, { Driven: driven });
    const mine = await named(daemon, driven.fake.serial);
    expect(mine.used).toBe(false);
    expect(codeOf(await press(daemon, mine.id, "home"))).toBe("ok");
    await driven.off();
    const hosts = Array.from({ length: 9 }, () => freeHost());
    const many = await flood(hosts, 128);
    const real = await roku({ name: "Real" });
    let before = 1;
    for (let scan = 1; scan <= 10; scan++) {
      many.next();
      expect((await daemon.api("POST", "/devices/discover")).status).toBe(200);
      let now = await all(daemon);
      // Whoever was being asked when the time was over comes in a moment later, and is of this scan.
      for (let last = -1; last !== now.length; now = await all(daemon)) {
        last = now.length;
        await Bun.sleep(500);
      }
      // A real one is met in the crowd, from the first scan on.
      expect(now.map(({ serial }) => serial)).toContain(real.fake.serial);
      expect(now.length - before).toBeLessThanOrEqual(128);
      const fresh = now.filter(({ serial }) => serial.endsWith(`.${scan}`));
      for (const host of hosts) expect(fresh.filter((one) => one.host === host).length).toBeLessThanOrEqual(16);
      before = now.length;
    }
    expect(before).toBe(1_000);
    // Full of finds: what a user adds has a seat, and who was driven has kept hers.
    const added = await plugIn({ name: "Added" });
    expect(codeOf(await daemon.api("POST", "/devices", added.address))).toBe("ok");
    expect(await all(daemon)).toHaveLength(1_000);
    expect(await named(daemon, driven.fake.serial)).toMatchObject({ name: "Driven", used: true });
    // All that nobody has used goes at a word; nothing else does.
    expect((await daemon.api("DELETE", "/devices")).status).toBe(400);
    expect((await daemon.api("DELETE", "/devices?unused=false")).status).toBe(400);
    const removed = (await daemon.api("DELETE", "/devices?unused=true")).body.data.devices as Shown[];
    expect(removed).toHaveLength(998);
    expect((await all(daemon)).map(({ name }) => name).toSorted()).toEqual(["Added", "Driven"]);
  },
  120_000,
);

test("T30 the mark that a device was used is permanent, and written once; what zapd asks by itself does not set it", async () => {
  const mqtt = { url: "mqtt://127.0.0.1:1", home_assistant: true };
  const daemon = await house({ config: { ...quick.config, mqtt, mcp: { http: true } } });
  const { fake } = await roku({ name: "Den" });
  await listed(daemon, { Den: { fake } });
  const { id } = await named(daemon, fake.serial);
  const apps = join(daemon.stateFolder, "apps.json");
  await until("Home Assistant is told its apps", () => existsSync(apps) && readFileSync(apps, "utf8").includes(id));
  // A diagnosis asks every device, wanted or not.
  const words = ["doctor", "--config", daemon.configFile, "--socket", join(daemon.stateFolder, "zapd.sock")];
  const { stdout } = await runZapd(words, { env: { PATH: process.env["PATH"], HOME: daemon.folder } });
  expect(stdout).toContain("ok    Den: ");
  expect((await daemon.api("GET", "/doctor")).body.data.checks).toContainEqual(
    expect.objectContaining({ id: `device:${id}`, status: "ok" }),
  );
  // An agent's list has the state of every device.
  await fetch(`http://127.0.0.1:${daemon.port}/mcp`, { method: "POST", body: "{}" });
  const token = readFileSync(join(daemon.stateFolder, "mcp.token"), "utf8").trim();
  for (const edition of ["the second edition over HTTP", "the second edition over stdio"] as const) {
    const agent = await connect(edition, { daemon, token });
    const list = async () => (await agent.call("list_devices")).structuredContent.devices;
    let devices = await list();
    // A busy machine may give no state in time.
    for (let rounds = 0; rounds < 20 && devices[0]?.state === null; rounds++) devices = await list();
    await agent.close();
    expect(devices).toMatchObject([{ id, used: false, state: { power: "on" } }]);
  }
  expect((await named(daemon, fake.serial)).used).toBe(false);
  expect((await daemon.api("GET", `/devices/${id}/state`)).status).toBe(200);
  expect((await named(daemon, fake.serial)).used).toBe(true);
  const file = join(daemon.stateFolder, "devices.json");
  await until("it is on disk", () => readFileSync(file, "utf8").includes('"used": true'));
  expect((await daemon.api("DELETE", "/devices?unused=true")).body.data.devices).toEqual([]);
  const written = readFileSync(file, "utf8");
  const inode = (await Bun.file(file).stat()).ino;
  for (let round = 0; round < 20; round++) await press(daemon, id, "up");
  expect((await Bun.file(file).stat()).ino).toBe(inode);
  expect(readFileSync(file, "utf8")).toBe(written);
  await daemon.stop();
  editRegistry(daemon, (devices) => {
    // As an older zapd wrote it.
    for (const one of devices) for (const key of ["used", "added_by", "standing"]) delete one[key];
  });
  const again = await house({ folder: daemon.folder });
  expect(await named(again, fake.serial)).toMatchObject({ id, used: true });
  expect((await again.api("DELETE", "/devices?unused=true")).body.data.devices).toEqual([]);
});

test("T32 a default device that is renamed on the set stays the default when a stranger with its old name is found", async () => {
  const daemon = await house({ config: { ...quick.config, daemon: { default_device: "Den" } } });
  // Set before any device of that name is there: the first one that is has it.
  const mine = await roku({ name: "Den" });
  await listed(daemon, { Den: mine });
  expect(await named(daemon, mine.fake.serial)).toMatchObject({ name: "Den", is_default: true });
  mine.fake.facts.set("user-device-name", "Attic");
  const stranger = await roku({ name: "Den" });
  for (let round = 0; round < 3; round++) await listed(daemon, { Attic: mine, "Den 2": stranger });
  expect(await named(daemon, mine.fake.serial)).toMatchObject({ name: "Attic", is_default: true });
  expect(await named(daemon, stranger.fake.serial)).toMatchObject({ name: "Den 2", is_default: false });
  expect((await daemon.api("GET", "/daemon/status")).body.data.default_device).toBe("Attic");
  // The file says what its user wrote there.
  expect((await daemon.api("GET", "/config")).body.data.daemon.default_device).toBe("Den");
  expect(codeOf(await press(daemon, "default", "literal:a"))).toBe("ok");
  expect(stranger.fake.commands).toEqual([]);
  // By a restart it is not another either.
  await daemon.stop();
  const again = await house({ folder: daemon.folder });
  expect((await again.api("GET", "/devices/default")).body.data).toMatchObject({ name: "Attic" });
  // Renamed through zapd, it is followed, in the file too.
  expect((await again.api("PATCH", "/devices/Attic", { name: "Loft" })).status).toBe(200);
  expect((await again.api("GET", "/config")).body.data.daemon.default_device).toBe("Loft");
  expect((await again.api("GET", "/devices/default")).body.data).toMatchObject({ name: "Loft" });
  // Named anew, the name means who has it now.
  await again.api("PATCH", "/config", { "daemon.default_device": "Den 2" });
  expect((await again.api("GET", "/devices/default")).body.data).toMatchObject({ serial: stranger.fake.serial });
  // Removed, it is nobody, and nobody found becomes it.
  await again.api("DELETE", "/devices/default");
  expect(codeOf(await again.api("GET", "/devices/default"))).toBe("default_device_missing");
  await stranger.off();
  const third = await roku({ name: "Den 2" });
  await listed(again, { "Den 2 2": third });
  expect(await named(again, third.fake.serial)).toMatchObject({ name: "Den 2 2", is_default: false });
  expect(codeOf(await press(again, "default", "home"))).toBe("default_device_missing");
});

for (const first of ["the stranger", "the set"] as const) {
  test(`T32 a default device that was renamed while zapd was down stays the default beside a stranger of the same name, when ${first} is found first`, async () => {
    const daemon = await house({ config: { ...quick.config, daemon: { default_device: "Den" } } });
    const mine = await roku({ name: "Den" });
    await listed(daemon, { Den: mine });
    expect((await named(daemon, mine.fake.serial)).is_default).toBe(true);
    await daemon.stop();
    // As one that knew nothing of it yet left it.
    const file = join(daemon.stateFolder, "devices.json");
    const { default: _chosen, ...older } = JSON.parse(readFileSync(file, "utf8")) as { default?: unknown };
    writeFileSync(file, JSON.stringify(older));
    mine.fake.facts.set("user-device-name", "Attic");
    const stranger = await roku({ name: "Den" });
    (first === "the set" ? stranger : mine).fake.answerMs = 100;
    const again = await house({ folder: daemon.folder });
    await listed(again, { Attic: mine, "Den 2": stranger });
    expect(await named(again, mine.fake.serial)).toMatchObject({ name: "Attic", is_default: true });
    expect(await named(again, stranger.fake.serial)).toMatchObject({ name: "Den 2", is_default: false });
    expect(codeOf(await press(again, "default", "home"))).toBe("ok");
    expect([mine.fake.commands, stranger.fake.commands]).toEqual([["/keypress/Home"], []]);
  });
}

test("T32 a default name that the user sets again means the device that has it now", async () => {
  const daemon = await house({ config: { ...quick.config, daemon: { default_device: "Den" } } });
  const mine = await roku({ name: "Den" });
  await listed(daemon, { Den: mine });
  const other = await plugIn({ name: "Other" });
  mine.fake.facts.set("user-device-name", "Attic");
  await listed(daemon, { Attic: mine });
  // A user may give the name to another: the default stays who it is until the user says otherwise.
  await daemon.api("POST", "/devices", { ...other.address, name: "Den" });
  expect((await daemon.api("GET", "/devices/default")).body.data).toMatchObject({ serial: mine.fake.serial });
  await daemon.api("PATCH", "/config", { "daemon.log_level": "info" });
  expect((await daemon.api("GET", "/devices/default")).body.data).toMatchObject({ serial: mine.fake.serial });
  await daemon.api("PATCH", "/config", { "daemon.default_device": "Den" });
  expect((await daemon.api("GET", "/devices/default")).body.data).toMatchObject({ serial: other.serial });
});

test("a damaged record is set aside and reported, and the others are kept", async () => {
  const daemon = await house();
  const fakes = await Promise.all(["Eins", "Zwei", "Drei"].map((name) => plugIn({ name })));
  for (const fake of fakes) expect(codeOf(await daemon.api("POST", "/devices", fake.address))).toBe("ok");
  await daemon.stop();
  const file = join(daemon.stateFolder, "devices.json");
  for (const wrong of [{ port: 70_000 }, { port: 0 }, { ports: { installer: -1 } }, { added_at: "yesterday" }]) {
    const content = JSON.parse(readFileSync(file, "utf8")) as { devices: Record<string, unknown>[] };
    const text = JSON.stringify({
      ...content,
      devices: content.devices.map((one, at) => (at === 1 ? { ...one, ...wrong } : one)),
    });
    writeFileSync(file, text);
    // No backup that would know better.
    writeFileSync(`${file}.bak`, "");
    const again = await startHouse({ folder: daemon.folder });
    expect((await all(again)).map(({ name }) => name)).toEqual(["Eins", "Drei"]);
    const warnings = await warningsOf(again);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("Zwei");
    const aside = readdirSync(daemon.stateFolder).filter((name) => name.startsWith("devices.json.corrupt-"));
    expect(aside.map((name) => readFileSync(join(daemon.stateFolder, name), "utf8"))).toContain(text);
    // Told of once: the next start finds nothing wrong.
    await again.stop();
    const next = await startHouse({ folder: daemon.folder });
    expect(await warningsOf(next)).toEqual([]);
    expect(codeOf(await press(next, "Eins", "home"))).toBe("ok");
    await next.stop();
    writeFileSync(file, JSON.stringify(content));
  }
});

test("a damaged record is restored from the backup", async () => {
  const daemon = await house();
  const fake = await plugIn({ name: "Eins" });
  const { id } = (await daemon.api("POST", "/devices", fake.address)).body.data;
  const other = await plugIn({ name: "Zwei" });
  await daemon.api("POST", "/devices", other.address);
  await daemon.api("PATCH", "/devices/Zwei", { name: "Drei" });
  await daemon.stop();
  editRegistry(daemon, (devices) => {
    for (const one of devices) if (one.id === id) one.port = 99_999;
  });
  const again = await house({ folder: daemon.folder });
  expect((await all(again)).map(({ name }) => name).toSorted()).toEqual(["Drei", "Eins"]);
  expect(await deviceOf(again, id)).toMatchObject({ port: fake.port });
});
