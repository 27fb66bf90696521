/** Two daemons with their sets on one Mosquitto, and `zapd fleet` as its user types it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { discoveryTopic } from "../../src/mqtt/home-assistant.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { type Ended, runZapd } from "../cli/program.ts";
import { refusals } from "../mqtt/home-assistant-schema.ts";
import { startTestDaemon, zapdWords } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";

const password = "x1y2z3";
const archive = zipSync({
  manifest: strToU8("title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=7\n"),
  "source/main.brs": strToU8(`sub main()\nend sub\n' ${randomBytes(600).toString("base64")}\n`),
});
const sha256 = createHash("sha256").update(archive).digest("hex");
const certificate = createCertificateFor("localhost");

describe.skipIf(noMosquitto !== null)(`fleet${noMosquitto === null ? "" : ` (skipped: ${noMosquitto})`}`, () => {
  let broker: Mosquitto;
  const folder = testFolder();
  let asked = 0;
  let firsts = 0;
  const server = https.createServer(certificate, ({ url }, response) => {
    asked++;
    const isHeld = url === "/held.zip" || (url === "/first.zip" && firsts++ > 0);
    if (!isHeld) response.end(archive);
  });
  let origin = "";
  type House = Awaited<ReturnType<typeof house>>;
  const houses: House[] = [];
  const [lab, bar] = [() => houses[0] as House, () => houses[1] as House];

  async function house(site: string, commands: string, names: readonly string[]) {
    const mqtt = { url: `mqtt://127.0.0.1:${broker.port}`, site, site_labels: [`at=${site}`], commands };
    const config = {
      mqtt: { ...mqtt, ca: join(folder, "ca.pem"), home_assistant: true },
      dev: { vendor_password: password },
      fleet: { artifact_origins: [origin] },
      discovery: { interfaces: ["none"] },
    };
    const sets: RokuSimulator[] = [];
    const ids: string[] = [];
    const daemon = await startTestDaemon({ config });
    for (const name of names) {
      const serial = `X0${randomBytes(5).toString("hex").toUpperCase()}`;
      const set = createRokuSimulator({ name, serial, kind: "tv", ssdp: false, launchMs: 0, developer: { password } });
      await set.start();
      sets.push(set);
      const ports = { installer: set.ports.installer, console: set.ports.console };
      const { body } = await daemon.api("POST", "/devices", { host: set.host, port: set.port, name, ports });
      ids.push(body.data.id);
      await daemon.api("PATCH", `/devices/${body.data.id}`, { labels: name === "Left" ? ["lobby"] : [] });
    }
    return { daemon, sets, ids };
  }

  beforeAll(async () => {
    writeFileSync(join(folder, "ca.pem"), certificate.cert);
    writeFileSync(join(folder, "app.zip"), archive);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `https://localhost:${(server.address() as AddressInfo).port}`;
    broker = await Mosquitto.start();
    houses.push(await house("lab", "developer", ["Left", "Right"]), await house("bar", "control", ["Left"]));
    // With their labels, which came last.
    const isKept = async () => /\n.*lobby.*\n.*lobby.*\n.*Right.*\n$/.test((await fleet("ls")).stdout);
    await until("all sets are kept", isKept, 20_000);
  }, 60_000);

  afterAll(async () => {
    for (const { daemon, sets } of houses) {
      await daemon.dispose();
      for (const set of sets) await set.stop();
    }
    await broker.dispose();
    server.closeAllConnections();
    server.close();
  });

  function fleet(...words: readonly string[]): Promise<Ended> {
    const env = { PATH: process.env["PATH"], HOME: folder, NO_COLOR: "1" };
    return runZapd(["fleet", ...words, "--broker", `mqtt://127.0.0.1:${broker.port}`], { env });
  }
  const pressed = ({ sets }: House) => sets.map(({ keys }) => keys.length);

  test("ls and state tell of the sets of all sites", async () => {
    const { stdout, stderr, status } = await fleet("ls");
    const rows = stdout.split("\n").map((line) => line.split(/\s{2,}/));
    expect(rows.map(([site, name, platform]) => [site, name, platform]).slice(1, 4)).toEqual([
      ["bar", "Left", "roku"],
      ["lab", "Left", "roku"],
      ["lab", "Right", "roku"],
    ]);
    expect([rows[1]?.at(-1), stderr, status]).toEqual(["lobby,at=bar", "3 devices, 2 sites\n", 0]);
    expect((await fleet("ls", "--label", "at=lab")).stderr).toBe("2 devices, 1 site\n");
    expect((await fleet("ls", "-d", "Right")).stderr).toBe("1 device, 1 site\n");
    expect((await fleet("ls", "-d", "Nobody", "--site", "bar")).stderr).toBe("0 devices, 1 site\n");
    const told = await fleet("state", "--label", "at=lab", "--json");
    const { data } = JSON.parse(told.stdout);
    expect(data.devices.map((one: { site: string; device: { name: string } }) => [one.site, one.device.name])).toEqual([
      ["lab", "Left"],
      ["lab", "Right"],
    ]);
    expect(data.devices[0].state).toMatchObject({ power: "on" });
  });

  test("a key goes to each set that has the label, and to no other", async () => {
    const before = houses.map(pressed);
    const { stdout, stderr, status } = await fleet("key", "home", "--label", "lobby");
    expect([stdout.trim().split("\n").sort(), stderr, status]).toEqual([
      ["bar/Left: ok", "lab/Left: ok"],
      "2 of 2 accepted it\n",
      0,
    ]);
    const after = houses.map(pressed);
    expect(after.map((keys, at) => keys.map((count, set) => count - (before[at]?.[set] ?? 0)))).toEqual([[1, 0], [1]]);
  });

  test("what one refuses is its own, and what all refuse is the exit status", async () => {
    const volume = await fleet("run", "launch", "netflix", "-d", "all", "--json");
    expect(JSON.parse(volume.stdout).data.results.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, true, true]);
    const nothing = await fleet("key", "nothing", "-d", "all");
    expect([nothing.status, nothing.stdout]).toEqual([2, ""]);
    expect(nothing.stderr.split("\n").filter((line) => line.includes("is not a key"))).toHaveLength(3);
    expect(nothing.stderr.match(/The keys are/g)).toHaveLength(1);
    const nobody = await fleet("key", "home", "--label", "nobody");
    expect([nobody.status, nobody.stderr]).toEqual([3, expect.stringContaining("zapd fleet ls")]);
    const { status, stderr } = await fleet("key", "home");
    expect([status, stderr]).toEqual([2, expect.stringContaining("--label")]);
  });

  test("a scene of each site is run with the set that is meant; a step that fails is its failure", async () => {
    for (const { daemon } of houses) {
      mkdirSync(join(dirname(daemon.configFile), "scenes"), { recursive: true });
      writeFileSync(
        join(dirname(daemon.configFile), "scenes", "film.toml"),
        'steps = [{ launch = "netflix" }, { key = "up" }]\n',
      );
    }
    const broken = 'steps = [{ launch = "nothing-of-the-kind" }]\n';
    writeFileSync(join(dirname(bar().daemon.configFile), "scenes", "broken.toml"), broken);
    const before = lab().sets.map(({ keys }) => keys.length);
    const ran = await fleet("run", "scene", "film", "--site", "lab", "-d", "Right");
    expect([ran.stdout, ran.stderr, ran.status]).toEqual(["lab/Right: ok\n", "", 0]);
    expect(lab().sets.map(({ keys }, at) => keys.length - (before[at] ?? 0))).toEqual([0, 1]);
    const failed = await fleet("run", "scene", "broken", "--site", "bar", "--json");
    expect([failed.status, JSON.parse(failed.stdout).error.code]).toEqual([3, "app_not_found"]);
    const none = await fleet("run", "scene", "broken", "--site", "lab", "--json");
    expect([none.status, JSON.parse(none.stdout).error.code]).toEqual([3, "scene_not_found"]);
  });

  test("a package is fetched by each site itself, where that takes packages from there", async () => {
    const words = ["install", `${origin}/app.zip`, "content_id=42", "--file", join(folder, "app.zip"), "--json"];
    const { stdout, status } = await fleet(...words, "-d", "all");
    const { results } = JSON.parse(stdout).data;
    const outcome = (one: { site: string; device: { name: string }; ok: boolean; error?: { code: string } }) => [
      one.site,
      one.device.name,
      one.ok,
      one.error?.code,
    ];
    expect([results.map(outcome), status]).toEqual([
      [
        // It takes commands, and no packages.
        ["bar", "Left", false, "unsupported_operation"],
        ["lab", "Left", true, undefined],
        ["lab", "Right", true, undefined],
      ],
      0,
    ]);
    expect(results[1].data.package).toMatchObject({ name: "Hello", version: "1.0.7" });
    for (const { state } of lab().sets)
      expect(state.lastLaunch).toMatchObject({ id: "dev", params: { contentId: "42" } });
    expect(bar().sets[0]?.state.lastLaunch?.id).not.toBe("dev");
    expect(asked).toBe(2);
    // The lease is given back.
    const { body } = await lab().daemon.api("GET", `/devices/${lab().ids[0]}`);
    expect(body.data.lease).toBeNull();
  });

  test("what is not what was named reaches no set; what is elsewhere is not asked for; nor is it without a lease", async () => {
    const launched = lab().sets.map(({ state }) => state.lastLaunch);
    const before = asked;
    const named = ["--bytes", `${archive.length}`, "--site", "lab", "--json"];
    const other = await fleet("install", `${origin}/app.zip`, "--sha256", "0".repeat(64), ...named);
    expect([other.status, JSON.parse(other.stdout).error.code]).toEqual([1, "invalid_archive"]);
    expect(asked).toBe(before + 2);
    const elsewhere = await fleet("install", "https://localhost:1/app.zip", "--sha256", sha256, ...named);
    const { error } = JSON.parse(elsewhere.stdout);
    expect([elsewhere.status, error.code, error.hint]).toEqual([
      5,
      "forbidden_origin",
      expect.stringContaining("fleet.artifact_origins"),
    ]);
    const { port } = broker;
    const call = { device: "Left", url: `${origin}/app.zip`, sha256, bytes: archive.length };
    const answers: string[] = [];
    for (const lease of [undefined, "made-up"]) {
      const body = JSON.stringify({ op: "dev_install", args: call, lease });
      const words = ["mosquitto_rr", "-p", `${port}`, "-V", "5", "-W", "10", "-t", "zapd/1/lab/rpc"];
      const ran = Bun.spawnSync([...words, "-e", "zapd/1/lab/reply/me", "-m", body]);
      answers.push(JSON.parse(ran.stdout.toString()).error.code);
    }
    expect(answers).toEqual(["invalid_payload", "device_leased"]);
    expect(asked).toBe(before + 2);
    expect(lab().sets.map(({ state }) => state.lastLaunch)).toEqual(launched);
  });

  // Before a site is stopped: for half a second after its end, a site drops commands as old.
  test("an installation whose reader has gone ends, and frees the leases of the sets that are still to have it", async () => {
    const words = ["fleet", "install", `${origin}/first.zip`, "--file", join(folder, "app.zip"), "--site", "lab"];
    const address = ["--broker", `mqtt://127.0.0.1:${broker.port}`];
    const child = Bun.spawn(["sh", "-c", '"$@" | :', "sh", ...zapdWords(), ...words, ...address], { stderr: "pipe" });
    expect(await new Response(child.stderr).text()).toBe("1 of 2 accepted it\n");
    const { body } = await lab().daemon.api("GET", "/devices");
    expect(body.data.map(({ lease }: { lease: unknown }) => lease)).toEqual([null, null]);
  });

  test.each([
    ["SIGINT", "answers", 130],
    ["SIGHUP", "answers", 129],
    ["SIGINT", "hangs", 130],
  ] as const)(
    "%s ends an installation, at a site that %s, with %i and each result, and frees its leases where that can",
    async (signal, how, status) => {
      const words = ["fleet", "install", `${origin}/held.zip`, "--file", join(folder, "app.zip"), "--site", "lab"];
      const address = ["--json", "--broker", `mqtt://127.0.0.1:${broker.port}`];
      const before = asked;
      const child = Bun.spawn([...zapdWords(), ...words, ...address], { stdout: "pipe", stderr: "ignore" });
      const leased = async () => {
        const { body } = await lab().daemon.api("GET", "/devices");
        return body.data.filter(({ lease }: { lease: unknown }) => lease !== null).length;
      };
      // Each has its lease by then, and knows of it.
      await until("both packages are asked for", () => asked === before + 2);
      expect(await leased()).toBe(2);
      if (how === "hangs") lab().daemon.process.kill("SIGSTOP");
      child.kill(signal);
      expect(await child.exited).toBe(status);
      const { results } = JSON.parse(await new Response(child.stdout).text()).error.details;
      const code = how === "hangs" ? "site_offline" : "device_error";
      expect(results.map((one: { error: { code: string } }) => one.error.code)).toEqual([code, code]);
      if (how === "answers") expect(await leased()).toBe(0);
      lab().daemon.process.kill("SIGCONT");
      for (const id of lab().ids) await lab().daemon.api("DELETE", `/devices/${id}/lease?force=true`);
    },
  );

  test("Home Assistant finds each set, as it changes, and no more once it is turned off", async () => {
    const [id = ""] = bar().ids;
    const topic = discoveryTopic({ id });
    const ears = broker.hear(topic);
    const first = await ears.until(({ text }) => text !== "");
    expect(refusals(first.json)).toEqual([]);
    expect(first.json.device).toMatchObject({ name: "Left", model: "43L520" });
    expect(first.json.components.app.options).toContain("Netflix");
    await bar().daemon.api("PATCH", `/devices/${id}`, { name: "Renamed" });
    await ears.until(({ json }) => json?.device?.name === "Renamed");
    // What Home Assistant sends for its switch, and what comes back.
    const { command_topic, payload_off } = first.json.components.power;
    await broker.say(command_topic, payload_off);
    await until("it is off", () => bar().sets[0]?.state.power !== "on", 20_000);
    await bar().daemon.api("PATCH", "/config", { "mqtt.home_assistant": false });
    await ears.until(({ text }) => text === "");
    await bar().daemon.api("PATCH", "/config", { "mqtt.home_assistant": true });
    await until("it is told anew", () => ears.all.at(-1)?.text !== "", 20_000);
    await bar().daemon.api("DELETE", `/devices/${id}`);
    await until("it is taken away", () => ears.all.at(-1)?.text === "", 20_000);
  }, 60_000);

  test("a site that is gone is reported offline at once, and its sets stay known", async () => {
    lab().daemon.process.kill("SIGKILL");
    await until("its will is there", async () => (await fleet("ls")).stderr.includes("offline: lab"), 20_000);
    const { stdout, stderr, status } = await fleet("key", "home", "--label", "at=lab");
    expect([stdout, status]).toEqual(["", 4]);
    expect(stderr.split("\n").filter((line) => line.includes("lab is offline"))).toHaveLength(2);
  });
});
