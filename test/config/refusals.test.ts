/** What a patch must not hold: each with its code, and not a byte of the file nor anything that runs is different afterwards. */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ErrorCode, ZapdError } from "../../src/api/errors.ts";
import { ConfigFile } from "../../src/config/config.ts";
import { settings } from "../../src/config/schema.ts";
import { testFolder } from "../support/folder.ts";

const path = join(testFolder(), "config.toml");
const canary = "c4nary-pass";
let config: ConfigFile;
beforeAll(async () => {
  writeFileSync(path, `# mine\n[daemon]\nlog_level = "info" # loud enough\n[dev]\nvendor_password = "${canary}"\n`);
  config = await ConfigFile.open(path);
});

async function refused(changes: Readonly<Record<string, unknown>>, code: ErrorCode): Promise<ZapdError> {
  const before = [readFileSync(path, "utf8"), statSync(path).ino, statSync(path).mtimeMs, config.running];
  const error: unknown = await config.patch(changes).catch((thrown: unknown) => thrown);
  if (!(error instanceof ZapdError)) throw error;
  const given = JSON.stringify(changes).slice(0, 200);
  const { message, hint = "" } = error;
  expect([given, error.code]).toEqual([given, code]);
  expect(message + hint).not.toContain(canary);
  expect(message.length).toBeLessThan(400);
  expect([readFileSync(path, "utf8"), statSync(path).ino, statSync(path).mtimeMs, config.running]).toEqual(before);
  return error;
}

const own = (json: string): Record<string, unknown> => JSON.parse(json);

describe("arrays and objects, judged before all else", () => {
  test.each([[[]], [["a"]], [{}], [{ a: 1 }], [[[]]]])("%j", async (value) => {
    await refused({ "daemon.log_level": "nonsense", nokey: 1, "discovery.hosts": value }, "unsupported_patch_value");
    await refused({ nokey: value }, "unsupported_patch_value");
    const error = await refused({ "daemon.cors_allowed_origins": value }, "unsupported_patch_value");
    expect(error.hint).toContain("comma");
  });
});

test("an entry of hosts and one of interfaces are told what each may be", async () => {
  const told = async (key: string) => (await refused({ [key]: "a b" }, "invalid_config_value")).message;
  expect(await told("discovery.hosts")).toEndWith("each must be an address or a host name, with or without a port");
  expect(await told("discovery.interfaces")).toEndWith("each must be the name or an address of an interface");
});

describe("T23 keys that there are none of", () => {
  const inherited = "__proto__ constructor prototype toString hasOwnProperty";
  const nearly = ". daemon daemon. .http_port http_port daemon.http_port. daemon..http_port DAEMON.http_port";
  const others =
    "daemon.__proto__ daemon.constructor __proto__.daemon daemon.extra dev.password devices.request_timeout";
  test.each([
    ...`${inherited} ${nearly} ${others}`.split(" "),
    "",
    "daemon.http_port ",
    "dev.vendor_password\u0000",
    "x".repeat(5_000),
    "daemon\u2024http_port",
  ])("%s", async (key) => {
    await refused(own(`{${JSON.stringify(key)}:1}`), "unknown_config_key");
    await refused(own(`{"daemon.log_level":"debug",${JSON.stringify(key)}:null}`), "unknown_config_key");
    await refused(own(`{${JSON.stringify(key)}:null,"daemon.log_level":"nonsense"}`), "unknown_config_key");
  });

  test("what was meant is told", async () => {
    expect((await refused({ "daemon.http_prot": 1 }, "unknown_config_key")).hint).toBe(
      "Did you mean daemon.http_port?",
    );
    expect((await refused({ zzzzzzzzzzzz: 1 }, "unknown_config_key")).hint).toMatch(
      /^The settings are: daemon\.http_enabled, /,
    );
  });

  test("more than 64 at once", async () => {
    await refused(Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, 1])), "invalid_payload");
    await refused(Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, 1])), "unknown_config_key");
  });
});

const texts = ["", "x", "true", "1"];
const wrongBooleans = [...texts, 0, 1];
const wrongNumbers = [...texts, "7272", true, false, 1.5, -1, 1e21, Number.MAX_SAFE_INTEGER + 1];
const wrongLists = [0, 1, true, false];
const controls = ["\u0000", "a\nb", "\u007f", "\u0085", "\u001b[31m", "\ud800", "a\udc00"];

/** What is no loopback address, and no origin as a browser writes it. */
const hosts =
  "0.0.0.0 :: 192.168.1.2 127.0.0.1:80 [::1] localhost. LOCALHOST example.com 127.1 2130706433 127.0.0.256 ::ffff:127.0.0.1 0:0:0:0:0:0:0:1 ::1%lo 169.254.1.1 localhost.evil.test 127.0.0.1.evil.test";
const origins =
  "* null http://* http://*.app.test app.test //app.test http:// http: file:// file:/// http://app.test/ http://app.test/x http://app.test?x http://app.test#x http://u@app.test http://u:p@app.test http://app.test:80 https://app.test:443 http://APP.test HTTP://app.test Http://app.test http://app.test: http://app.test:99999 http://[::1 http://app.test\\ http://127.1 http://0x7f.1 http://2130706433 http://bücher.test http://app.test:03000 app://App javascript:alert(1) http://app.test,* http://app.test,null";
const many = (count: number) => Array.from({ length: count }, (_, at) => `http://a${at}.test`).join(",");
const paths = `relative.sock ./x ~/x @abstract /${"x".repeat(107)} /${"é".repeat(54)}`;

const values: Readonly<Record<string, readonly unknown[]>> = {
  "daemon.http_enabled": wrongBooleans,
  "daemon.page": wrongBooleans,
  "daemon.http_host": [1, true, "", "127.0.0.1 ", "127.0.0.1\n", ...hosts.split(" ")],
  "daemon.http_port": [...wrongNumbers, 0, 65_536],
  "daemon.socket": [1, true, ...paths.split(" "), ...controls.map((one) => `/tmp/${one}`)],
  "daemon.cors_enabled": wrongBooleans,
  "daemon.cors_allowed_origins": [
    ...wrongLists,
    ...origins.split(" "),
    "http://app .test",
    many(65),
    `http://${"a".repeat(300)}.test`,
    "http://app.test\u0000",
    "app://a\u0001",
    "app://\ud800",
  ],
  "daemon.default_device": [1, true, "a/b", "100%", "x".repeat(129), ...controls],
  "daemon.log_level": [1, true, "", "INFO", "trace", "info ", "warning"],
  "discovery.on_start": wrongBooleans,
  "discovery.interval_s": [...wrongNumbers, 86_401],
  "discovery.timeout_ms": [...wrongNumbers, 0, 99, 30_001],
  "discovery.interfaces": [...wrongLists, "a b", "a/b", "x".repeat(254), "eth0,\u0000", "é", "eth0,".repeat(65)],
  "discovery.hosts": [
    ...wrongLists,
    "a b",
    "t\nv",
    "x".repeat(254),
    "tv,".repeat(257),
    ..."http://tv tv/x tv@x tv?x".split(" "),
  ],
  "devices.request_timeout_ms": [...wrongNumbers, 0, 99, 30_001],
  "dev.vendor_password": [1, true, "[redacted]", "x".repeat(257), ...controls],
  "mcp.http": wrongBooleans,
  "mqtt.url": [
    1,
    true,
    "broker.lan",
    "http://broker.lan",
    "mqtt://",
    "mqtt://a b",
    "mqtt://broker.lan:99999",
    "mqtt://user:secret@broker.lan",
    "mqtt://user@broker.lan",
    "mqtt://broker.lan/path",
    "mqtt://broker.lan?x=1",
    "MQTT://broker.lan",
    "wss://broker.lan",
    `mqtt://${"a".repeat(300)}`,
    ...controls,
  ],
  "mqtt.site": [1, true, "a/b", "a+b", "#", "a b", "é", "x".repeat(65), ...controls],
  "mqtt.site_labels": [...wrongLists, "A", "a b", "a/b", "x".repeat(65), "a,".repeat(33)],
  "mqtt.username": [1, true, "x".repeat(257), ...controls],
  "mqtt.password_file": [1, true, "secret", "./secret", "~/secret", ...controls.map((one) => `/tmp/${one}`)],
  "mqtt.ca": [1, true, "ca.pem", `/${"x".repeat(4_096)}`],
  "mqtt.cert": [1, true, "cert.pem"],
  "mqtt.key": [1, true, "key.pem"],
  "mqtt.prefix": [1, true, "", "/zapd", "zapd/", "a//b", "a+", "#", "$SYS", "x".repeat(65), ...controls],
  "mqtt.commands": [1, true, "", "all", "Control"],
  "mqtt.home_assistant": wrongBooleans,
  "fleet.artifact_origins": [
    ...wrongLists,
    "http://ci.example.org",
    "https://ci.example.org/",
    "https://ci.example.org/a",
    "https://*",
    "*",
    "https://user@ci.example.org",
    "https://ci.example.org:443",
    "ci.example.org",
    "https://CI.example.org",
  ],
};

describe("T23 values of another type, or out of range", () => {
  test("every setting is here", () => expect(Object.keys(values).toSorted()).toEqual([...settings.keys()].toSorted()));

  test.each(Object.entries(values))("%s", async (key, all) => {
    for (const value of all) {
      const error = await refused({ [key]: value }, "invalid_config_value");
      expect(error.message).toContain(key);
      await refused({ "daemon.log_level": "debug", "discovery.timeout_ms": 500, [key]: value }, "invalid_config_value");
    }
  });
});

test("what is not refused: origins as browsers write them, loopback in its forms, the ends of ranges", async () => {
  const right =
    "http://app.test http://app.test:3000 https://app.test http://localhost http://127.0.0.1:8080 http://[::1]:3000 https://xn--bcher-kva.test chrome-extension://abcdef";
  const good: Readonly<Record<string, readonly unknown[]>> = {
    "daemon.cors_allowed_origins": [...right.split(" "), right.replaceAll(" ", ","), many(64)],
    "daemon.http_host": ["127.0.0.1", "127.255.255.254", "::1", "localhost"],
    "daemon.http_port": [1, 65_535],
    "daemon.socket": ["", "/tmp/x.sock", `/${"x".repeat(106)}`],
    "discovery.interval_s": [0, 86_400],
    "discovery.timeout_ms": [100, 30_000],
    "devices.request_timeout_ms": [100, 30_000],
    "dev.vendor_password": ["", "x".repeat(256), `"'\\#é📺 `, "[redacted", "null"],
  };
  for (const [key, all] of Object.entries(good))
    for (const value of all) {
      const { config: after } = await config.patch({ [key]: value });
      const [section = "", name = ""] = key.split(".");
      const read: unknown = Object.entries(after).find(([one]) => one === section)?.[1][name as never];
      expect([key, read]).toEqual([key, Array.isArray(read) ? String(value).split(",") : value]);
    }
});
