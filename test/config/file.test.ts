/** The config file as a file: its mode, its folder, the symlink that it may be. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigFile } from "../../src/config/config.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "zapd-config-"));
  path = join(folder, "config.toml");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("is 0600 after a patch, whatever it was, and the only one in its folder", async () => {
  writeFileSync(path, "", { mode: 0o644 });
  const config = await ConfigFile.open(path);
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
  writeFileSync(join(folder, "real", "zapd.toml"), "# mine\n");
  symlinkSync(target, path);
  const config = await ConfigFile.open(path);
  await config.patch({ "daemon.http_port": 80 });
  expect([lstatSync(path).isSymbolicLink(), readlinkSync(path)]).toEqual([true, target]);
  expect(lstatSync(join(folder, "real", "zapd.toml")).isFile()).toBe(true);
  expect((await ConfigFile.open(path)).running.daemon.http_port).toBe(80);
});
