/** The config as a file of its user: it comes with the first change, is nobody else's to read, and the daemon says where it is. */
import { afterEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";

const annotated = readFileSync(join(root, "config.toml"), "utf8");
let daemon: TestDaemon;
afterEach(() => daemon.dispose());

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("where there is no file yet, the first change writes the annotated default with the change in it", async () => {
  daemon = await startTestDaemon();
  rmSync(daemon.configFile);
  const patched = await daemon.api("PATCH", "/config", { "discovery.interval_s": 77, "discovery.hosts": "10.0.0.9" });
  expect(patched.status).toBe(200);
  const wanted = annotated.replace("interval_s = 300", "interval_s = 77").replace("hosts = []", 'hosts = ["10.0.0.9"]');
  expect(readFileSync(daemon.configFile, "utf8")).toBe(wanted);
  expect(modeOf(daemon.configFile)).toBe("600");
  // The next change finds a file, and nothing else in it is touched.
  await daemon.api("PATCH", "/config", { "discovery.interval_s": 78 });
  expect(readFileSync(daemon.configFile, "utf8")).toBe(wanted.replace("interval_s = 77", "interval_s = 78"));
});

test("reading, reloading and a refused change write no file", async () => {
  daemon = await startTestDaemon();
  rmSync(daemon.configFile);
  expect((await daemon.api("GET", "/config")).body.data.discovery.interval_s).toBe(300);
  expect((await daemon.api("POST", "/config/reload")).status).toBe(200);
  expect((await daemon.api("PATCH", "/config", { "discovery.interval_s": -1 })).status).toBe(400);
  expect((await daemon.api("PATCH", "/config", {})).status).toBe(200);
  expect(existsSync(daemon.configFile)).toBe(false);
});

test("an empty file is its user's, and gets no more than the change", async () => {
  daemon = await startTestDaemon();
  writeFileSync(daemon.configFile, "");
  await daemon.api("PATCH", "/config", { "discovery.interval_s": 77 });
  expect(readFileSync(daemon.configFile, "utf8")).toBe("[discovery]\ninterval_s = 77\n");
});

test("a config that comes to hold the password is 0600, whatever it was, and stays it when nothing changes", async () => {
  daemon = await startTestDaemon();
  chmodSync(daemon.configFile, 0o644);
  await daemon.api("PATCH", "/config", { "dev.vendor_password": "c4nary" });
  expect(modeOf(daemon.configFile)).toBe("600");
  chmodSync(daemon.configFile, 0o644);
  await daemon.api("PATCH", "/config", { "dev.vendor_password": "c4nary" });
  expect(modeOf(daemon.configFile)).toBe("600");
});

test("the status says which files it runs on", async () => {
  daemon = await startTestDaemon();
  const { data } = (await daemon.api("GET", "/daemon/status")).body;
  expect([data.config_file, data.state_folder]).toEqual([daemon.configFile, daemon.stateFolder]);
  expect(dirname(data.socket)).toBe(data.state_folder);
});

test("the status names the socket so that whoever is in another folder finds it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "zapd-relative-"));
  daemon = await startTestDaemon({ env: { ZAPD_STATE_DIR: relative(process.cwd(), folder) } });
  const { data } = (await daemon.api("GET", "/daemon/status")).body;
  rmSync(folder, { recursive: true });
  expect([data.state_folder, data.socket]).toEqual([folder, join(folder, "zapd.sock")]);
});

test("a change that would make the file too large to be read again is refused, and leaves it as it was", async () => {
  daemon = await startTestDaemon();
  const text = readFileSync(daemon.configFile, "utf8");
  const full = `${text}#${"x".repeat(256 * 1024 - text.length - 2)}\n`;
  writeFileSync(daemon.configFile, full);
  const { status, body } = await daemon.api("PATCH", "/config", { "daemon.default_device": "Den" });
  expect([status, body.error.code]).toEqual([500, "storage_error"]);
  expect(readFileSync(daemon.configFile, "utf8")).toBe(full);
});
