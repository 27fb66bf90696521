/**
 * Bad input of every kind that DESIGN.md names, per route: the exact status and code, in the envelope, and nothing has
 * changed afterwards: not the devices, the config or a byte of its file, and the set received nothing.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { Failure, operations } from "../../src/api/operations.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { roomForFile } from "../blackbox/daemon-for-file.ts";
import { callTo } from "../support/raw-http.ts";

const room = await roomForFile();
const second = createRokuSimulator({ name: "Other", ssdp: false });
await second.start();
afterAll(() => second.stop());
await room.daemon.api("POST", "/devices", { host: "127.0.0.1", port: second.port, name: "Küche" });
await room.daemon.api("GET", "/devices/set/apps");

/** Everything that bad input must not change. */
async function everything(): Promise<unknown> {
  const { daemon } = room;
  const [devices, config] = await Promise.all([daemon.api("GET", "/devices"), daemon.api("GET", "/config")]);
  return [
    devices.body,
    config.body,
    await Bun.file(daemon.configFile).text(),
    second.requests.length,
    room.countOf("key"),
  ];
}

/** `{set}` and `{own}` are the ports of the set and of the daemon. */
async function refused(what: string, body: unknown, expected: string, hint?: RegExp): Promise<void> {
  const { daemon, set } = room;
  const [method = "", path = ""] = what.split(" ");
  const json = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const ports = (text: string) => text.replace("{set}", String(set.port)).replace("{own}", String(daemon.port));
  const before = await everything();
  const reached = await room.requestsDuring(async () => {
    const bytes = typeof json === "string" ? ports(json) : json;
    const answer = await callTo(daemon.port, method, `/v1${ports(path)}`, [], bytes);
    const sent = String(json).slice(0, 200);
    const parsed = Failure.safeParse(JSON.parse(answer.body));
    expect([sent, answer.status, parsed.success]).toEqual([sent, Number.parseInt(expected, 10), true]);
    const { error } = Failure.parse(parsed.data);
    expect([sent, error.code]).toEqual([sent, expected.slice(4)]);
    expect(error.message).toMatch(/^.{8,600}$/);
    expect(error.message + (error.hint ?? "")).not.toMatch(/undefined|\[object|at .*\.ts|Zod/);
    if (hint) expect(error.hint).toMatch(hint);
  });
  expect(reached).toBe(0);
  expect(await everything()).toEqual(before);
}

const key = "POST /devices/set/remote/key";
const sequence = "POST /devices/set/remote/sequence";
const launch = "POST /devices/set/apps/launch";
const refresh = "POST /devices/set/apps/refresh";
const add = "POST /devices";
const change = "PATCH /devices/set";
const config = "PATCH /config";
const payload = "400 invalid_payload";

/** A valid body of each route, to which one mistake is added. */
const good: Readonly<Record<string, string>> = {
  [key]: '"key":"info"',
  [sequence]: '"keys":["info"]',
  [launch]: '"app":"netflix"',
  [refresh]: '"clear":false',
  [change]: '"name":"fine"',
  [add]: '"host":"127.0.0.1:{set}"',
  [config]: '"daemon.log_level":"warn"',
};

describe("invalid bodies, on every route that reads one", () => {
  const reading = Object.values(operations).filter((operation) => "body" in operation);
  const routeOf = ({ method, path }: { method: string; path: string }) =>
    `${method.toUpperCase()} ${path.replace(":id", "set")}`;
  const routes = reading.map(routeOf);
  const mayLackOne = new Set(reading.filter((operation) => "optionalBody" in operation).map(routeOf));
  const bodies: readonly unknown[] = [
    "{",
    "}",
    '{"key":"home"',
    '{"key":"home",}',
    "{'key':'home'}",
    '{"key":"home"} x',
    "key=home",
    "NaN",
    "undefined",
    '{"key":"home"}{"key":"home"}',
    '{"key":\u0001}',
    '"\ud800"',
    "\0",
    "// x\n{}",
    Buffer.from('{"key":"h\xffme"}', "latin1"),
    "null",
    "true",
    "1",
    '"home"',
    "[]",
    '[{"key":"home"}]',
    "[null]",
  ];
  test.each(routes)("%s", async (route) => {
    for (const body of bodies) await refused(route, body, payload);
    const unknown = route === config ? "400 unknown_config_key" : payload;
    for (const name of ["unknown", "__proto__", "constructor", "toString", "hasOwnProperty", "", "id"])
      await refused(route, `{${JSON.stringify(name)}:1,${good[route]}}`, unknown);
    const example = route === config ? /^Such as: curl -d '\{"daemon\.log_level":"debug"/ : /curl/;
    if (!mayLackOne.has(route)) for (const empty of ["", " ", "\n\t "]) await refused(route, empty, payload, example);
  });
});

interface Row {
  readonly bad: unknown;
  readonly code?: string;
  readonly hint?: RegExp;
}
const rows = (code: string, ...bad: unknown[]): Row[] => bad.map((one) => ({ bad: one, code }));
const long = (length: number) => "x".repeat(length);
/** The limit of a schema must not come before the code that says more. */
const noKeys = ["", `literal:${long(9_000)}`, long(9_000)];
const wrong = [null, 1, true, [], {}, ["home"]];

const tables: Readonly<Record<string, readonly Row[]>> = {
  [key]: [
    ...rows(payload, {}, ...wrong.map((one) => ({ key: one })), { key: "info", delay_ms: 1 }),
    { bad: { keys: ["info"] }, code: payload, hint: /^Such as: \{"key":"/ },
    { bad: { key: "info", delay: 1 }, code: payload, hint: /^Such as: \{"key":"/ },
    ...rows("400 invalid_key", { key: "HOME" }, { key: " home" }, { key: "home " }, { key: "home\n" }, { key: "Home" }),
    ...rows("400 invalid_key", { key: "__proto__" }, { key: "literal" }, { key: "Literal:a" }),
    ...noKeys.map((bad) => ({ bad: { key: bad }, code: "400 invalid_key" })),
    ...rows("400 invalid_key", { key: "literal:" }, { key: "literal:\u0000" }, { key: `literal:${long(1_025)}` }),
    ...rows("400 invalid_key", '{"key":"literal:\\ud83d"}'),
    { bad: { key: "hoem" }, code: "400 invalid_key", hint: /Did you mean home\?/ },
    { bad: { key: "volume_up" }, code: "400 invalid_key", hint: /Did you mean volume-up\?/ },
    { bad: { key: "play/pause" }, code: "400 invalid_key", hint: /Did you mean play-pause\?/ },
    { bad: { key: "qqqqqqqq" }, code: "400 invalid_key", hint: /^The keys are: home, back,.*literal:<text>/ },
  ],
  [sequence]: [
    ...rows(payload, {}, { key: "info" }, { keys: Array(257).fill("info"), delay_ms: 0 }),
    ...[[], "info", null, [null], [["info"]], { 0: "info" }, Array(257).fill("info")].flatMap((keys) =>
      rows(payload, { keys }),
    ),
    ...[-1, 60_001, 1.5, "1", null, true, [1], {}, 2 ** 31, 2 ** 53].flatMap((delay_ms) =>
      rows(payload, { keys: ["info"], delay_ms }),
    ),
    ...["1e400", "-1e400", "1e-9"].flatMap((delay) => rows(payload, `{"keys":["info"],"delay_ms":${delay}}`)),
    // 12 keys have 11 delays between them: 660 s.
    ...rows(
      payload,
      { keys: Array(12).fill("info"), delay_ms: 60_000 },
      { keys: Array(256).fill("info"), delay_ms: 2_354 },
    ),
    ...["nope", "literal:", "literal:\u0007", "HOME", "power on", ...noKeys].flatMap((one) =>
      rows(
        "400 invalid_key",
        { keys: ["info", one, "info"], delay_ms: 0 },
        { keys: ["info", "info", one] },
        { keys: [one] },
      ),
    ),
    { bad: { keys: ["info", "dwon"] }, code: "400 invalid_key", hint: /Did you mean down\?/ },
  ],
  [launch]: [
    ...rows(payload, {}, ...[...wrong, "", "   ", "\t\n", long(257)].map((app) => ({ app }))),
    ...[null, 1, "a=b", [], [["a", "b"]], { a: 1 }, { a: null }, { a: {} }, { "": "b" }].flatMap((params) =>
      rows(payload, { app: "netflix", params }),
    ),
    // Records of zod drop this name in silence.
    ...rows(payload, '{"app":"netflix","params":{"__proto__":"x"}}'),
    ...rows(payload, ...['{"a":"\\ud800"}', '{"\\udfff":"b"}'].map((params) => `{"app":"netflix","params":${params}}`)),
    ...rows(payload, { app: "netflix", params: { [long(65)]: "b" } }, { app: "netflix", params: { a: long(1_025) } }),
    ...rows(payload, {
      app: "netflix",
      params: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`k${at}`, "v"])),
    }),
  ],
  [refresh]: ["true", 1, null, [], {}].flatMap((clear) => rows(payload, { clear })),
  [change]: [
    ...wrong.flatMap((name) => rows(payload, { name })),
    // What a name may be: test/devices/names.test.ts.
    // A URL drops segments of dots, escaped or not: such a device could not be reached by its name.
    ...["", ".", "..", "a/b", "a\nb", " DEFAULT ", long(129)].flatMap((name) =>
      rows("400 invalid_device_name", { name }),
    ),
    ...rows("400 invalid_device_name", '{"name":"a\\ud800"}', { name: "0f9b4a4e-5b0a-5b0f-9d3c-7a1f2e6b9c55" }),
    ...["Küche", "  KÜCHE  ", "Ku\u0308che"].flatMap((name) => rows("400 device_name_taken", { name })),
    ...[null, 1, [], "8060", { wrong: 8060 }].flatMap((ports) => rows(payload, { ports })),
    ...[0, 65_536, 1.5, "8085", null].flatMap((console) => rows(payload, { ports: { console } })),
    ...rows(payload, '{"ports":{"__proto__":8060}}'),
    ...rows(payload, { name: "fine", ports: { wrong: 1 } }, { name: "fine", host: "127.0.0.1" }),
    ...rows("400 invalid_device_name", { name: "a/b", ports: { console: 8085 } }),
  ],
  [add]: [
    ...rows(payload, {}, { name: "only" }, ...[...wrong, "", "  ", long(254)].map((host) => ({ host }))),
    ...[0, -1, 65_536, 1.5, "8060", null].flatMap((port) => rows(payload, { host: "127.0.0.1", port })),
    ...["nosuch", "", "__proto__", 1, null].flatMap((platform) => rows(payload, { host: "127.0.0.1:{set}", platform })),
    ...["a/b", "a%b", "", "default", long(129), "a\u0000"].flatMap((name) =>
      rows("400 invalid_device_name", { host: "127.0.0.1:{set}", name }),
    ),
    ...[null, 1].flatMap((name) => rows(payload, { host: "127.0.0.1:{set}", name })),
    ...[[], "x", { installer: 0 }, { installer: "80" }].flatMap((ports) =>
      rows(payload, { host: "127.0.0.1:{set}", ports }),
    ),
  ],
  // Every kind of it: test/config/refusals.test.ts.
  [config]: [
    ...rows("400 unsupported_patch_value", { "daemon.log_level": [] }, { "daemon.log_level": "debug", nokey: {} }),
    ...rows("400 unknown_config_key", { nokey: 1 }, { "daemon.log_level": "warn", "daemon.__proto__": null }),
    ...rows("400 invalid_config_value", { "daemon.http_port": "7272" }, { "daemon.log_level": "loud" }),
  ],
};

for (const [route, table] of Object.entries(tables)) {
  test(`${route}: ${table.length} kinds`, async () => {
    for (const { bad, code = payload, hint } of table) await refused(route, bad, code, hint);
  });
}

describe("T7 hosts that no device can have", () => {
  // What an address may be, and how it may be spelled: test/discovery/hosts.test.ts.
  const nobodys = ["0.0.0.0:8060", "[::]", "::ffff:0.0.0.0", "239.255.255.250:1900", "[ff02::1]:8060"];
  const spelled = ["http://127.0.0.1", "user@127.0.0.1", "127.0.0.1:65536", "a\u0000b", "\ud83d\udcfa", ".."];
  const own = ["127.0.0.1:{own}", "localhost:{own}", "[::ffff:127.0.0.1]:{own}", "2130706433:{own}"];
  const all = [...nobodys, ...spelled, ...own];
  test.each(all)("%s", async (host) => {
    await refused(add, { host }, "400 invalid_host");
  });

  test("two different ports, and zapd's own port beside the host", async () => {
    await refused(add, { host: "127.0.0.1:1", port: 2 }, "400 invalid_host");
    await refused(add, '{"host":"127.0.0.1","port":{own}}', "400 invalid_host");
  });
});
