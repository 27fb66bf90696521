/** The config file: loaded, patched and reloaded (DESIGN.md 2.9). A refused patch changes no byte; the comments survive. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { ConfigFile } from "../../src/config/config.ts";
import { type Config, defaultOf, settingOf, settings } from "../../src/config/schema.ts";
import { ZapdError } from "../../src/errors.ts";

const root = mkdtempSync(join(tmpdir(), "zapd-config-"));
let folder = root;
let path = "";
let number = 0;
beforeEach(() => {
  folder = join(root, String(number++));
  mkdirSync(folder);
  path = join(folder, "config.toml");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const annotated = readFileSync(join(import.meta.dir, "../../config.toml"), "utf8");
const canary = "c4nary-pass";
const text = () => readFileSync(path, "utf8");

async function opened(content: string): Promise<ConfigFile> {
  writeFileSync(path, content);
  return ConfigFile.open(path);
}

/** What something fails with. */
async function failure(run: () => Promise<unknown>): Promise<ZapdError> {
  const error = await run().then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ZapdError) return error;
  throw error;
}

describe("loading", () => {
  test("no file and an empty file are the defaults, and reading makes no file", async () => {
    const config = await ConfigFile.open(path);
    expect(existsSync(path)).toBe(false);
    for (const [dotted] of settings) expect(settingOf(config.running, dotted)).toEqual(defaultOf(dotted));
    for (const empty of ["", "\n", "# nothing\n", "\ufeff", "[daemon]\n", "\r\n"])
      expect((await opened(empty)).running).toEqual(config.running);
  });

  test("what means nothing is warned of, with what may have been meant", async () => {
    const config = await opened(
      '[daemon]\nhttp_prt = 1\n[deamon]\nx = 1\n[daemon.http_host2]\n[[extra]]\n["__proto__"]\ny = 1\n',
    );
    expect(config.warnings.length).toBe(5);
    expect(config.warnings[0]).toMatch(/daemon\.http_prt is not a setting\. Did you mean daemon\.http_port\?$/);
    await config.patch({ "daemon.log_level": "warn" });
    expect(config.warnings.length).toBe(5);
    writeFileSync(path, "");
    await config.reload();
    expect(config.warnings).toEqual([]);
  });

  test.each([
    ["[daemon\n", 1],
    ["\n[daemon]\nhttp_port = \n", 3],
    ["[daemon]\nhttp_port = 1\nhttp_port = 2\n", 3],
    ["[daemon]\n# http_port = 1\nhttp_port = '7272'\n", 3],
    ["[daemon]\nhttp_port = 70000\n", 2],
    ["[daemon]\nhttp_port = 7272.5\n", 2],
    ["[discovery]\ntimeout_ms = 5\n[daemon]\n", 2],
    ["daemon.http_host = '0.0.0.0'\n", 1],
    ["[discovery]\nhosts = [\n  'a',\n  1,\n]\n", 2],
    ["daemon = 1\n", 1],
    ["\n[[daemon]]\n", 2],
    ["[daemon]\ncors_allowed_origins = ['*']\n", 2],
    [`[dev]\nvendor_password = ["${canary}"]\n`, 2],
    [`[dev]\nvendor_password = "${canary}\\q"\n`, 2],
    [`[dev]\nvendor_password = "${canary}\n`, 2],
    [`[dev]\nvendor_password = ${canary}\n`, 2],
    [`[dev]\nvendor_password = "${canary}" "${canary}"\n`, 2],
    [`[dev]\n${canary} = \n`, 2],
    [`[dev]\nvendor_password = "${canary.repeat(40)}"\n`, 2],
  ])("%j is config_invalid, told by line and column and never by what stands there", async (content, line) => {
    const error = await failure(() => opened(content));
    expect(error.code).toBe("config_invalid");
    expect(error.message).toContain(path);
    expect(error.message).toMatch(new RegExp(`line ${line}, column \\d+: `));
    expect(`${error.message} ${error.hint} ${String(error.cause ?? "")}`).not.toContain(canary);
  });

  test("files that are none", async () => {
    for (const content of [Buffer.from([0x23, 0xfc, 0x0a]), Buffer.alloc(256 * 1024 + 1, "#")]) {
      writeFileSync(path, content);
      expect((await failure(() => ConfigFile.open(path))).code).toBe("config_invalid");
    }
    expect((await failure(() => ConfigFile.open(folder))).code).toBe("config_invalid");
    expect((await opened(`#${" ".repeat(250 * 1024)}`)).running.daemon.http_port).toBe(7272);
  });

  test("a broken file is survived, and reported until it is mended", async () => {
    const config = await opened(`[dev]\nvendor_password = "${canary}"\n`);
    const before = config.running;
    writeFileSync(path, `[dev]\nvendor_password = "${canary}\n`);
    for (const run of [
      () => config.reload(),
      () => config.onDisk(),
      () => config.patch({ "daemon.log_level": "debug" }),
      () => config.patch({}),
    ]) {
      expect((await failure(run)).code).toBe("config_invalid");
      expect(config.running).toBe(before);
    }
    expect(text()).toBe(`[dev]\nvendor_password = "${canary}\n`);
    writeFileSync(path, "");
    expect((await config.reload()).config.dev.vendor_password).toBe("");
  });

  test("a patch may mend the wrong value that it names", async () => {
    const config = await opened("");
    writeFileSync(path, "[daemon]\nhttp_port = 0\n");
    expect((await failure(() => config.patch({ "daemon.log_level": "warn" }))).code).toBe("config_invalid");
    await config.patch({ "daemon.http_port": 8080 });
    expect(text()).toBe("[daemon]\nhttp_port = 8080\n");
  });
});

describe("patching", () => {
  test("null puts the default back, and leaves every comment where it is", async () => {
    const config = await opened(
      '# top\n[daemon]\n# why\nhttp_port = 80 # x\ncors_allowed_origins = ["http://a.test"] # y\n[dev]\nvendor_password = "pw" # z\n',
    );
    await config.patch({
      "daemon.http_port": null,
      "daemon.cors_allowed_origins": null,
      "dev.vendor_password": null,
      "daemon.socket": null,
      "discovery.hosts": null,
    });
    expect(text()).toBe(
      '# top\n[daemon]\n# why\nhttp_port = 7272 # x\ncors_allowed_origins = [] # y\n[dev]\nvendor_password = "" # z\n',
    );
    expect(config.running.daemon.http_port).toBe(80);
    expect(config.running.dev.vendor_password).toBe("");
  });

  test("null of what is not there writes nothing, nor does an empty patch, nor the same value", async () => {
    const config = await ConfigFile.open(path);
    await config.patch(Object.fromEntries([...settings.keys()].map((key) => [key, null])));
    await config.patch({});
    expect(existsSync(path)).toBe(false);
    await config.patch({ "daemon.http_port": 80 });
    const { ino } = statSync(path);
    await config.patch({ "daemon.http_port": 80, "daemon.socket": null });
    expect(statSync(path).ino).toBe(ino);
  });

  test("a list is one text with commas, stored as an array", async () => {
    const config = await opened("");
    const origins = async (value: string) =>
      (await config.patch({ "daemon.cors_allowed_origins": value })).config.daemon.cors_allowed_origins;
    expect(await origins(" http://a.test , https://b.test:8443,,")).toEqual(["http://a.test", "https://b.test:8443"]);
    expect(text()).toBe('[daemon]\ncors_allowed_origins = ["http://a.test", "https://b.test:8443"]\n');
    for (const none of ["", " ", ",", " , ,"]) expect(await origins(none)).toEqual([]);
    const { config: after } = await config.patch({
      "discovery.hosts": "192.168.1.40,tv.local:8060,[fe80::1]",
      "discovery.interfaces": "lo,eth0",
    });
    expect(after.discovery.hosts).toEqual(["192.168.1.40", "tv.local:8060", "[fe80::1]"]);
    expect(after.discovery.interfaces).toEqual(["lo", "eth0"]);
  });

  test("what needs a restart is told until the file says again what runs", async () => {
    const config = await opened("[daemon]\nhttp_port = 8080\n");
    const after = async (changes: Record<string, unknown>) => (await config.patch(changes)).restart_required.toSorted();
    expect(await after({ "daemon.log_level": "debug", "discovery.timeout_ms": 500 })).toEqual([]);
    expect(config.running.daemon.log_level).toBe("debug");
    expect(await after({ "daemon.http_port": 9090 })).toEqual(["daemon.http_port"]);
    expect(await after({ "daemon.http_host": "::1", "daemon.http_enabled": false, "daemon.socket": "/tmp/x" })).toEqual(
      ["daemon.http_enabled", "daemon.http_host", "daemon.http_port", "daemon.socket"],
    );
    expect(config.running.daemon).toMatchObject({
      http_port: 8080,
      http_host: "127.0.0.1",
      http_enabled: true,
      socket: "",
    });
    expect(await after({ "daemon.http_port": 8080, "daemon.http_host": null, "daemon.http_enabled": true })).toEqual([
      "daemon.socket",
    ]);
    writeFileSync(path, "[daemon]\nhttp_port = 8080\n");
    expect((await config.reload()).restart_required).toEqual([]);
  });

  test("listeners hear of what has changed, and of nothing that was refused", async () => {
    const config = await opened("");
    const heard: string[] = [];
    config.follow(({ daemon }) => heard.push(daemon.log_level));
    await config.patch({ "daemon.log_level": "debug" });
    await config.patch({ "daemon.log_level": "loud" }).catch(() => {});
    expect(heard).toEqual(["info", "debug"]);
  });

  test("twenty at once all land, among reloads", async () => {
    const config = await opened(annotated);
    const ports = Array.from({ length: 20 }, (_, at) => 9_000 + at);
    const all = await Promise.all(
      ports.flatMap((port) => [
        config.patch({ "daemon.http_port": port, [`discovery.${port % 2 ? "timeout_ms" : "interval_s"}`]: port }),
        config.reload(),
      ]),
    );
    expect(all.filter((_, at) => at % 2 === 0).map((result) => result.config.daemon.http_port)).toEqual(ports);
    const { daemon, discovery } = await config.onDisk();
    expect([daemon.http_port, discovery.timeout_ms, discovery.interval_s]).toEqual([9_019, 9_019, 9_018]);
    expect(config.running.discovery).toEqual(discovery);
    expect(commentsIn(text())).toEqual(commentsIn(annotated));
  });
});

describe("the file itself", () => {
  test("is 0600 after a patch, whatever it was, and the only one in its folder", async () => {
    const config = await opened("");
    await config.patch({ "daemon.http_port": 80 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(Array.from(new Bun.Glob("**").scanSync({ cwd: folder, dot: true }))).toEqual(["config.toml"]);
  });

  test("is made with its folders, 0700, when there is none", async () => {
    const deep = join(folder, "a", "b", "config.toml");
    await (await ConfigFile.open(deep)).patch({ "daemon.http_port": 80 });
    expect([statSync(deep).mode & 0o777, statSync(join(folder, "a")).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test.each(["absolute", "relative"])("stays a symlink, %s", async (kind) => {
    const target = join(kind === "absolute" ? folder : ".", "real", "zapd.toml");
    mkdirSync(join(folder, "real"));
    writeFileSync(join(folder, "real", "zapd.toml"), annotated);
    symlinkSync(target, path);
    const config = await ConfigFile.open(path);
    await config.patch({ "daemon.http_port": 80 });
    expect([lstatSync(path).isSymbolicLink(), readlinkSync(path)]).toEqual([true, target]);
    expect(lstatSync(join(folder, "real", "zapd.toml")).isFile()).toBe(true);
    expect((await ConfigFile.open(path)).running.daemon.http_port).toBe(80);
  });
});

describe("over generated patches", () => {
  const seed = Number(process.env["FC_SEED"] ?? Date.now());
  const origins = fc.subarray([
    "http://a.test",
    "http://localhost:3000",
    "https://b.test:8443",
    "chrome-extension://abc",
  ]);
  const plain = fc.string({ unit: "binary", maxLength: 40 }).filter((value) => !/[\p{Cc}\p{Cs}]/u.test(value));
  const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    "daemon.http_port": fc.integer({ min: 1, max: 65_535 }),
    "daemon.http_host": fc.constantFrom("127.0.0.1", "::1", "localhost", "127.9.9.9"),
    "daemon.cors_enabled": fc.boolean(),
    "daemon.cors_allowed_origins": origins,
    "daemon.default_device": plain.filter((value) => !/[/%]/.test(value)),
    "daemon.log_level": fc.constantFrom("error", "warn", "info", "debug"),
    "discovery.interval_s": fc.integer({ min: 0, max: 86_400 }),
    "discovery.hosts": fc.subarray(["192.168.1.40", "tv.local:8060", "[fe80::1]"]),
    "dev.vendor_password": plain.filter((value) => value !== "[redacted]"),
  };
  const patch = fc.record(
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, fc.option(value, { freq: 4 })])),
    { requiredKeys: [] },
  );
  const files = [
    annotated,
    annotated.replaceAll("\n", "\r\n"),
    "",
    annotated.replace(/^[a-z]\w* =.*$/gm, ""),
    annotated.trimEnd(),
  ];

  test(`the comments stay, other lines stay, and what was given is read again (seed ${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(patch, { minLength: 1, maxLength: 3 }),
        async (content, patches) => {
          const config = await opened(content);
          const expected = new Map<string, unknown>(
            [...settings.keys()].map((key) => [key, settingOf(config.running, key)]),
          );
          let last: Config = config.running;
          for (const one of patches) {
            for (const [key, value] of Object.entries(one)) expected.set(key, value ?? defaultOf(key));
            const given = Object.fromEntries(
              Object.entries(one).map(([key, value]) => [key, Array.isArray(value) ? value.join(",") : value]),
            );
            last = (await config.patch(given)).config;
          }
          const again = (await ConfigFile.open(path)).running;
          expect(again).toEqual(last);
          for (const [key, value] of expected) expect([key, settingOf(again, key)]).toEqual([key, value]);
          expect(commentsIn(text())).toEqual(commentsIn(content));
          const touched = new Set(patches.flatMap((one) => Object.keys(one)));
          const lines = text().split("\n");
          for (const line of content.split("\n")) {
            const name = /^(\w+) =/.exec(line)?.[1];
            if (name && ![...touched].some((key) => key.endsWith(`.${name}`))) expect(lines).toContain(line);
          }
        },
      ),
      { numRuns: 150, seed },
    );
  }, 20_000);

  test(`a damaged file is taken or refused by its place, and never quoted (seed ${seed})`, async () => {
    const sound = annotated.replace('vendor_password = ""', `vendor_password = "${canary}"`);
    const damage = fc.array(
      fc.tuple(
        fc.nat(sound.length),
        fc.nat(4),
        fc.constantFrom('"', "[", "]", "=", "\n", "{", "'", ",", "\\", "\0", "x", "#", ".", "é"),
      ),
      { minLength: 1, maxLength: 3 },
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(damage, async (cuts) => {
        const damaged = cuts.reduce(
          (rest, [at, length, put]) => rest.slice(0, at) + put + rest.slice(at + length),
          sound,
        );
        writeFileSync(path, damaged);
        const outcome = await ConfigFile.open(path).catch((error: unknown) => error);
        if (outcome instanceof ConfigFile) return void expect(outcome.warnings.join()).not.toContain(canary);
        refused++;
        expect(outcome).toBeInstanceOf(ZapdError);
        const { code, message, hint, cause } = outcome as ZapdError;
        expect([code, message]).toEqual(["config_invalid", expect.stringMatching(/line \d+, column \d+: /)]);
        expect(`${message}${hint}${String(cause)}`).not.toContain(canary);
      }),
      { numRuns: 3_000, seed },
    );
    expect(refused).toBeGreaterThan(500);
  }, 20_000);
});

/** Lines that are comments, and comments behind values. */
function commentsIn(toml: string): string[] {
  return toml.split(/\r?\n/).filter((line) => /^\s*#/.test(line));
}
