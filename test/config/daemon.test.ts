/** The config of a daemon that runs: broken under its feet, patched by many at once, killed in the midst of it. */
import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import { startTestDaemon, type TestDaemon, usualRuntime } from "../support/daemon.ts";
import { type DaemonWithRoku, startDaemonWithRoku } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";

const open: { dispose(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.dispose()));
});
const kept = <T extends { dispose(): Promise<void> }>(one: T): T => {
  open.push(one);
  return one;
};
const text = (daemon: TestDaemon) => readFileSync(daemon.configFile, "utf8");

describe("a file that breaks while the daemon runs", () => {
  const breaks: readonly [what: string, text: string, place: RegExp][] = [
    ["no TOML", "[daemon]\nhttp_port = \n", /line 2, column \d+/],
    ["a wrong value", "[daemon]\nlog_level = 'debug'\nhttp_port = 0\n", /line 3, column 13/],
    ["no UTF-8", "# \xfc", /not UTF-8/],
  ];

  test("is told with its place; the daemon goes on with what it had", async () => {
    const room: DaemonWithRoku = kept(
      await startDaemonWithRoku({
        config: { daemon: { cors_enabled: true, cors_allowed_origins: ["http://app.test"] } },
      }),
    );
    const { daemon } = room;
    const whole = text(daemon);
    for (const [what, broken, place] of breaks) {
      writeFileSync(daemon.configFile, broken, "latin1");
      const before = readFileSync(daemon.configFile);
      const calls = [
        ["GET", "/config"],
        ["POST", "/config/reload"],
        ["PATCH", "/config", { "daemon.log_level": "warn" }],
        ["PATCH", "/config", {}],
      ] as const;
      for (const [method, path, body] of calls) {
        const answer = await daemon.api(method, path, body);
        expect([what, method, answer.status, answer.body.error.code]).toEqual([what, method, 500, "config_invalid"]);
        expect(answer.body.error.message).toMatch(place);
        expect(answer.body.error.message).toContain(daemon.configFile);
        expect(answer.body.error.hint).toStartWith("Correct the file");
      }
      expect(readFileSync(daemon.configFile)).toEqual(before);
      const headers = { origin: "http://app.test", "content-type": "application/json" };
      const pressed = await daemon.api("POST", "/devices/set/remote/key", { key: "info" }, headers);
      expect(pressed.status).toBe(200);
      expect((await daemon.api("GET", "/health")).status).toBe(200);
    }
    writeFileSync(daemon.configFile, whole);
    expect((await daemon.api("POST", "/config/reload")).status).toBe(200);
  });

  test("what means nothing in it is a warning of its health", async () => {
    const daemon = kept(await startTestDaemon({ config: { daemon: { http_prot: 1 }, deamon: { x: 1 } } }));
    const { warnings } = (await daemon.api("GET", "/health")).body.data;
    expect(warnings.join("\n")).toMatch(/daemon\.http_prot is not a setting\. Did you mean daemon\.http_port\?/);
    expect(warnings.join("\n")).toMatch(/deamon is not a setting/);
    await until("it is logged", () => daemon.log().includes("http_prot"));
    expect(daemon.log()).toContain("daemon.http_prot is not a setting");
    writeFileSync(daemon.configFile, text(daemon).replace("http_prot = 1\n", "").replace("[deamon]\nx = 1\n", ""));
    await daemon.api("POST", "/config/reload");
    expect((await daemon.api("GET", "/health")).body.data.warnings).toEqual([]);
  });
});

test("twenty patches at once all land, each its own, among reloads", async () => {
  const daemon = kept(await startTestDaemon());
  writeFileSync(daemon.configFile, `# mine\n${text(daemon)}# end\n`);
  const settings: Record<string, unknown> = {
    "daemon.cors_enabled": true,
    "daemon.cors_allowed_origins": "http://a.test,http://b.test",
    "daemon.default_device": "Wohnzimmer 📺",
    "daemon.log_level": "warn",
    "discovery.interval_s": 7,
    "discovery.timeout_ms": 777,
    "discovery.hosts": "192.168.1.40",
    "devices.request_timeout_ms": 1234,
    "dev.vendor_password": "a # 'b' \"c\"",
    "daemon.socket": "/tmp/zapd-other.sock",
  };
  const patches = Object.entries(settings).map(([key, value]) => ({ [key]: value }));
  const answers = await Promise.all(
    [...patches, ...patches].flatMap((patch) => [
      daemon.api("PATCH", "/config", patch),
      daemon.api("POST", "/config/reload"),
    ]),
  );
  expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(200));
  const { data } = (await daemon.api("GET", "/config")).body;
  expect(data).toMatchObject({
    daemon: {
      cors_enabled: true,
      cors_allowed_origins: ["http://a.test", "http://b.test"],
      default_device: "Wohnzimmer 📺",
      log_level: "warn",
    },
    discovery: { interval_s: 7, timeout_ms: 777, hosts: ["192.168.1.40"] },
    devices: { request_timeout_ms: 1234 },
    dev: { vendor_password: "[redacted]" },
  });
  expect(parse(text(daemon))["dev"]).toEqual({ vendor_password: "a # 'b' \"c\"" });
  expect(text(daemon)).toMatch(/^# mine\n[\s\S]*# end\n/);
  expect(statSync(daemon.configFile).mode & 0o777).toBe(0o600);
});

test("a default device that cannot be saved changes nothing, neither the file nor what is in use", async () => {
  const daemon = kept(await startTestDaemon());
  const before = text(daemon);
  const away = `${daemon.stateFolder}-away`;
  renameSync(daemon.stateFolder, away);
  // The daemon would make the folder again for its socket.
  writeFileSync(daemon.stateFolder, "");
  const { status, body } = await daemon.api("PATCH", "/config", { "daemon.default_device": "TV" });
  rmSync(daemon.stateFolder, { recursive: true, force: true });
  renameSync(away, daemon.stateFolder);
  expect([status, body.error.code]).toEqual([500, "storage_error"]);
  expect(text(daemon)).toBe(before);
  expect((await daemon.api("GET", "/config")).body.data.daemon.default_device).toBe("");
});

test("a default device that is refused changes nothing, even where the file has an old name of the one in use", async () => {
  const { daemon } = kept(await startDaemonWithRoku());
  const inUse = async () => (await daemon.api("GET", "/daemon/status")).body.data.default_device;
  await daemon.api("PATCH", "/config", { "daemon.default_device": "set" });
  const before = text(daemon);
  writeFileSync(daemon.configFile, "[daemon");
  expect((await daemon.api("PATCH", "/devices/set", { name: "Den" })).status).toBe(200);
  const broken = await daemon.api("PATCH", "/config", { "daemon.default_device": "Den" });
  expect([broken.body.error.code, await inUse()]).toEqual(["config_invalid", "Den"]);
  writeFileSync(daemon.configFile, before);
  expect(await inUse()).toBe("Den");
  const { status, body } = await daemon.api("PATCH", "/config", { "daemon.default_device": "a/b" });
  expect([status, body.error.code]).toEqual([400, "invalid_config_value"]);
  expect(await inUse()).toBe("Den");
});

test("what kills left beside the file goes at a later start, and what is another's stays", async () => {
  const { folder, stop } = await startTestDaemon();
  await stop("SIGKILL");
  const left = ".config.toml.4242-0123abcd.tmp";
  const fresh = `.config.toml.${process.pid}-4567abcd.tmp`;
  // No process has this number.
  const ofKilled = ".config.toml.4194305-4567abcd.tmp";
  const foreign = ".other.toml.4242-0123abcd.tmp";
  for (const name of [left, fresh, ofKilled, foreign]) writeFileSync(join(folder, name), "x");
  const past = new Date(Date.now() - 120_000);
  for (const name of [left, foreign]) utimesSync(join(folder, name), past, past);
  const last = kept(await startTestDaemon({ folder }));
  // Deno may not ask whether a process runs.
  const mayStay = usualRuntime === "deno" ? [ofKilled] : [];
  const stay = () => [left, ofKilled, fresh, foreign].filter((name) => existsSync(join(folder, name)));
  await until("what was left is removed", () => stay().length === mayStay.length + 2);
  expect(stay()).toEqual([...mayStay, fresh, foreign]);
  expect(readdirSync(dirname(last.configFile))).toContain("config.toml");
}, 60_000);
