/** Random bodies on every route that reads one: never an internal error, always a valid envelope. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { Failure, operations, success } from "../../src/api/operations.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { createZapd, type Zapd } from "../../src/zapd.ts";
import { isQuick, runs, seed, within } from "../support/whole.ts";

const folder = mkdtempSync(join(tmpdir(), "zapd-bodies-"));
const set = createRokuSimulator({ name: "Set", ssdp: false, launchMs: 0 });
let zapd: Zapd;
let lease = "";
beforeAll(async () => {
  await set.start();
  const config = join(folder, "config.toml");
  writeFileSync(config, '[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["none"]\n');
  mkdirSync(join(folder, "scenes"));
  writeFileSync(join(folder, "scenes", "still.toml"), "[[steps]]\nwait_ms = 0\n");
  zapd = await createZapd({ config, state: join(folder, "state") });
  expect((await ask("POST", "/devices", JSON.stringify({ host: "127.0.0.1", port: set.port }))).status).toBe(200);
  // All that follows is asked by its holder: what a lease is renewed with is a body, too.
  const taken = await ask("POST", "/devices/default/lease", '{"owner":"tests","ttl_s":3600}');
  lease = ((await taken.json()) as { data: { token: string } }).data.token;
});
afterAll(async () => {
  await zapd.stop();
  await set.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(method: string, path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  return zapd.fetch(
    new Request(`http://127.0.0.1:7272/v1${path}`, {
      method,
      body,
      headers: { host: "127.0.0.1:7272", "zapd-lease": lease },
    }),
  );
}

/** Values near the valid ones, and far from them. Only keys that need no waking and no long wait. */
const words = [
  "info",
  "home",
  "literal:é",
  "literal:",
  "volume-up",
  "netflix",
  "12",
  "Set",
  "default",
  "a/b",
  "__proto__",
  "",
  " ",
  "\ud800",
  "*",
  "null",
];
const hosts = ["127.0.0.1:1", "0.0.0.0", "::", "a b", "127.0.0.1:99999", "http://127.0.0.1", "[", "%"];
const numbers = fc.oneof(fc.constantFrom(0, -1, 1.5, 65_535, 65_536, 1e308, -0, 2 ** 31, 2 ** 53), fc.integer());
const scalar = fc.oneof(
  fc.constantFrom(...words),
  fc.string({ unit: "binary", maxLength: 12 }),
  numbers,
  fc.boolean(),
  fc.constant(null),
);
const wild = fc.jsonValue({ maxDepth: 4, noUnicodeString: false }).map((value) => JSON.stringify(value));
const bytes = fc.uint8Array({ maxLength: 64 }).map((value) => new Uint8Array(value));
const record = fc.dictionary(
  fc.oneof(fc.constantFrom("a", "installer", "__proto__"), fc.string({ maxLength: 5 })),
  scalar,
  { maxKeys: 4 },
);
const settings = [
  "daemon.log_level",
  "daemon.default_device",
  "discovery.timeout_ms",
  "daemon.cors_allowed_origins",
  "dev.vendor_password",
];

/** Steps that are mostly invalid; none of them waits. */
const wildSteps = fc.record(
  { key: scalar, keys: scalar, device: scalar, if: scalar, wait_for: scalar, parallel: scalar, unknown: scalar },
  { requiredKeys: [] },
);

/** Fields by name; each may be left out, right, or of another kind. */
const fields: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  host: fc.constantFrom(...hosts, 1, null),
  port: numbers,
  platform: fc.constantFrom("roku", "nosuch", "", null),
  name: scalar,
  ports: record,
  app: fc.oneof(fc.constantFrom("netflix", "Netflix"), scalar),
  params: record,
  clear: scalar,
  key: scalar,
  keys: fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.constantFrom("info", "home", "literal:é"), { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(scalar, { maxLength: 4 }) },
    { weight: 1, arbitrary: scalar },
  ),
  delay_ms: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 1, 2) },
    { weight: 1, arbitrary: fc.constantFrom("1", null, 1.5, 60_001, -1) },
  ),
  ...Object.fromEntries(settings.map((name) => [name, scalar])),
  "daemon.log_level": fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom("warn", "error") },
    { weight: 1, arbitrary: scalar },
  ),
  "discovery.timeout_ms": fc.oneof(fc.constantFrom(100, 3_000), scalar),
  "daemon.cors_allowed_origins": fc.oneof(fc.constant([]), scalar),
  labels: fc.oneof(fc.array(fc.constantFrom("bar", "no good", "")), scalar),
  level: numbers,
  step: fc.constantFrom(1, -1, 0, 101, "1"),
  muted: fc.oneof(fc.boolean(), scalar),
  // What is taken waits for its effect, seconds each: these are refused.
  do: fc.oneof(fc.constantFrom("seek", "dance"), scalar),
  channel: fc.constantFrom("no such", 1, null, ""),
  position_ms: numbers,
  url: fc.oneof(fc.constantFrom("http://127.0.0.1/a.mp4", "file:///etc/passwd", "javascript:1"), scalar),
  mime: fc.oneof(fc.constant("video/mp4"), scalar),
  input: fc.constantFrom("no such", 1, null, ""),
  owner: fc.oneof(fc.constantFrom("me", "a\u0000b", "x".repeat(129)), scalar),
  ttl_s: fc.constantFrom(3_600, 3_600, 0, 3_601, 1.5, "60", null),
  note: fc.oneof(fc.constant("nightly"), scalar),
  steps: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom([{ key: "info" }], [{ wait_ms: 0 }, { key: "hoem" }], [{ parallel: [{}] }]),
    },
    { weight: 1, arbitrary: fc.array(wildSteps, { maxLength: 4 }) },
    { weight: 1, arbitrary: scalar },
  ),
  device: fc.oneof(fc.constantFrom("default", "all", "label:none"), scalar),
  on_error: fc.oneof(fc.constantFrom("stop", "continue"), scalar),
  toml: fc.constantFrom("[[steps]]\nwait_ms = 0", "[[steps", "steps = 1", "a = [".repeat(99), 1, null),
  dry_run: fc.oneof(fc.boolean(), fc.boolean(), scalar),
  unknown: scalar,
};

const alsoNeeded: ReadonlySet<string> = new Set(["delay_ms", "ttl_s"]);

function near(names: readonly string[]): fc.Arbitrary<string> {
  const some = Object.fromEntries(names.map((name) => [name, fields[name] ?? scalar]));
  const one = fc.record({ ...some, unknown: scalar }, { requiredKeys: ["unknown"] });
  // Without its delay, a sequence takes 200 ms a key.
  const sound = fc.record(some, { requiredKeys: names.filter((name, at) => at === 0 || alsoNeeded.has(name)) });
  return fc.oneof({ weight: 1, arbitrary: one }, { weight: 3, arbitrary: sound }).map((value) => JSON.stringify(value));
}

const taken: Readonly<Record<string, readonly string[]>> = {
  addDevice: ["host", "port", "platform", "name", "ports"],
  changeDevice: ["name", "ports", "labels"],
  pairDevice: ["pin", "user", "password"],
  takeLease: ["owner", "ttl_s", "note"],
  launchApp: ["app", "params"],
  refreshApps: ["clear"],
  pressKey: ["key"],
  pressKeys: ["keys", "delay_ms"],
  joinDevice: ["with"],
  splitDevice: ["platform"],
  setVolume: ["level", "step", "muted"],
  controlPlayback: ["do", "position_ms"],
  playMedia: ["url", "mime", "title", "image"],
  selectInput: ["input"],
  selectChannel: ["channel"],
  notify: ["message"],
  patchConfig: settings,
  runScene: ["device", "dry_run"],
  runSteps: ["steps", "device", "on_error", "dry_run", "toml"],
};

/** Operations that the set of this test seldom accepts, or never, whatever the body. */
const declined: ReadonlySet<string> = new Set([
  "addDevice",
  "pairDevice",
  "joinDevice",
  "splitDevice",
  "reloadPackage",
  "setVolume",
  "controlPlayback",
  "playMedia",
  "selectInput",
  "selectChannel",
  "notify",
  "runScene",
  "runSteps",
]);

/** A write to disk takes a tenth of a second, and the queue of a set can be full. A level is reached in up to 2 s, and none waits longer than 5 s. */
const atOnce: Readonly<Record<string, number>> = {
  changeDevice: 100,
  takeLease: 100,
  refreshApps: 100,
  launchApp: 30,
  setVolume: 1,
};

/** Operations that often accept a body, and then take long. */
const busy: ReadonlySet<string> = new Set(["launchApp", "pressKeys"]);

const readers = Object.entries(operations).filter(([, operation]) => "body" in operation);
test.each(readers.map(([name, operation]) => ({ name, operation })))(
  `T20 $name (seed ${seed})`,
  async ({ name, operation }) => {
    const path = operation.path.replace(":id", "default").replace(":group", "all").replace(":scene", "still");
    const answers = new Map<number, number>();
    // A group takes what a device does.
    const own = name.replace(/OfGroup$/, "");
    const body = fc.oneof(
      { weight: 6, arbitrary: near(taken[own] ?? []) },
      { weight: 2, arbitrary: wild },
      { weight: 1, arbitrary: bytes },
    );
    const check = async (sent: string | Uint8Array<ArrayBuffer>) => {
      const answer = await ask(operation.method.toUpperCase(), path, sent);
      answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
      const parsed: unknown = await answer.json();
      expect(answer.headers.get("content-type")).toBe("application/json");
      if (answer.status === 200) return void success(operation.data).parse(parsed);
      const { code, message } = Failure.parse(parsed).error;
      // A host where nothing answers is a failure of the network, not of ours.
      if (code !== "device_unreachable")
        expect([sent, message, answer.status]).toEqual([sent, message, code.endsWith("_found") ? 404 : 400]);
    };
    // What looks at the set before it declines may look once for many.
    const length = atOnce[own] ?? (declined.has(own) ? 30 : 1);
    const few = declined.has(own) ? 90 : isQuick && busy.has(own) ? 150 : 500;
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: length, maxLength: length }), async (all) => {
        await Promise.all(all.map(check));
      }),
      { numRuns: Math.ceil(runs(few, 10_000) / length), seed },
    );
    // Both sides have been seen: bodies that are taken, but for hosts, where there is nobody, and bodies that are not.
    expect(answers.get(400)).toBeGreaterThan(20);
    // The set of this test needs no pairing, and says so; it is one device over one platform, and it has not all there is.
    if (!declined.has(own)) expect(answers.get(200)).toBeGreaterThan(0);
  },
  within(),
);
