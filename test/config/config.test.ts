/** The config file: loaded, patched and reloaded (DESIGN.md 2.9). A refused patch changes no byte; the comments survive. */
import { beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { ZapdError } from "../../src/api/errors.ts";
import { ConfigFile } from "../../src/config/config.ts";
import { settingOf, settings } from "../../src/config/schema.ts";
import { folderForEach } from "../support/folder.ts";

const folderOf = folderForEach();
let folder = "";
let path = "";
beforeEach(() => {
  folder = folderOf();
  path = join(folder, "config.toml");
});

const canary = "c4nary-pass";
const text = () => readFileSync(path, "utf8");

test("a file is known by its whole path, from wherever it was named", async () => {
  writeFileSync(path, "[daemon]\nhttp_prot = 1\n");
  const file = await ConfigFile.open(relative(process.cwd(), path));
  expect([file.path, file.warnings[0]?.split(":")[0]]).toEqual([path, path]);
});

async function opened(content: string): Promise<ConfigFile> {
  writeFileSync(path, content);
  return ConfigFile.open(path);
}

/** What something fails with. */
const failure = (work: Promise<unknown>): Promise<ZapdError> =>
  work.then(
    () => expect.unreachable(),
    (error) => error,
  );

describe("loading", () => {
  test("no file and an empty file are the defaults, and reading makes no file", async () => {
    const config = await ConfigFile.open(path);
    expect(existsSync(path)).toBe(false);
    for (const [dotted] of settings)
      expect(settingOf(config.running, dotted)).toEqual(settings.get(dotted)?.defaultValue);
    for (const empty of ["", "\n", "# nothing\n", "\ufeff", "[daemon]\n", "\r\n"])
      expect((await opened(empty)).running).toEqual(config.running);
  });

  test("what means nothing is warned of, with what may have been meant", async () => {
    const config = await opened(
      '[daemon]\nhttp_prt = 1\n[deamon]\nx = 1\n[daemon.http_host2]\n[[extra]]\n["__proto__"]\ny = 1\n',
    );
    expect(config.warnings.length).toBe(5);
    expect(config.warnings[0]).toMatch(/daemon\.http_prt is not a setting\. Did you mean daemon\.http_port\?$/);
    expect(config.warnings).toContainEqual(expect.stringMatching(/: deamon is not a setting\. Did you mean daemon\?$/));
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
    ["daemon = 1979-05-27\n", 1],
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
    const error = await failure(opened(content));
    expect(error.code).toBe("config_invalid");
    expect(error.message).toContain(path);
    expect(error.message).toMatch(new RegExp(`line ${line}, column \\d+: `));
    expect(`${error.message} ${error.hint} ${String(error.cause ?? "")}`).not.toContain(canary);
  });

  test("files that are none", async () => {
    for (const content of [Buffer.from([0x23, 0xfc, 0x0a]), Buffer.alloc(256 * 1024 + 1, "#")]) {
      writeFileSync(path, content);
      expect((await failure(ConfigFile.open(path))).code).toBe("config_invalid");
    }
    expect((await failure(ConfigFile.open(folder))).code).toBe("config_invalid");
    expect((await opened(`#${" ".repeat(250 * 1024)}`)).running.daemon.http_port).toBe(7272);
  });

  test("a patch may mend the wrong value that it names", async () => {
    const config = await opened("");
    writeFileSync(path, "[daemon]\nhttp_port = 0\n");
    expect((await failure(config.patch({ "daemon.log_level": "warn" }))).code).toBe("config_invalid");
    await config.patch({ "daemon.http_port": 8080 });
    expect(text()).toBe("[daemon]\nhttp_port = 8080\n");
    writeFileSync(path, "[[daemon]]\n");
    expect((await failure(config.patch({ "daemon.http_port": 80 }))).code).toBe("config_invalid");
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
    config.subscribe(({ daemon }) => heard.push(daemon.log_level));
    await config.patch({ "daemon.log_level": "debug" });
    await config.patch({ "daemon.log_level": "loud" }).catch(() => {});
    expect(heard).toEqual(["info", "debug"]);
  });
});

describe("as a file", () => {
  test("is made with its folders, 0700, when there is none", async () => {
    const deep = join(folder, "a", "b", "config.toml");
    await (await ConfigFile.open(deep)).patch({ "daemon.http_port": 80 });
    expect([statSync(deep).mode & 0o777, statSync(join(folder, "a")).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(join(folder, "a", "b"))).toEqual(["config.toml"]);
  });

  test.each(["absolute", "relative"])("stays a symlink, %s", async (kind) => {
    const target = join(kind === "absolute" ? folder : ".", "real", "zapd.toml");
    mkdirSync(join(folder, "real"));
    writeFileSync(join(folder, "real", "zapd.toml"), "# mine\n");
    symlinkSync(target, path);
    const config = await ConfigFile.open(path);
    await config.patch({ "daemon.http_port": 80 });
    expect([lstatSync(path).isSymbolicLink(), readlinkSync(path)]).toEqual([true, target]);
    expect(lstatSync(join(folder, "real", "zapd.toml")).isFile()).toBe(true);
    expect((await ConfigFile.open(path)).running.daemon.http_port).toBe(80);
  });

  test("is found through a link that starts in a linked folder, as the system finds it", async () => {
    for (const name of ["dotfiles/zapd", "dotfiles/common"]) mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, "dotfiles/common/zapd.toml"), "[daemon]\nhttp_port = 80\n");
    symlinkSync("../common/zapd.toml", join(folder, "dotfiles/zapd/config.toml"));
    symlinkSync("dotfiles/zapd", join(folder, "linked"));
    const config = await ConfigFile.open(join(folder, "linked/config.toml"));
    expect(config.running.daemon.http_port).toBe(80);
    await config.patch({ "daemon.http_port": 81 });
    expect(readFileSync(join(folder, "dotfiles/common/zapd.toml"), "utf8")).toContain("http_port = 81");
  });
});
