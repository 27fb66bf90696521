/** The config file: written by the first change, readable by its user alone, and named by the status. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { startTestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";
import { daemonForFile } from "./daemon-for-file.ts";

const annotated = readFileSync(join(root, "config.toml"), "utf8");
const { daemon } = await daemonForFile();
const patch = (values: object) => daemon.api("PATCH", "/config", values);

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("without a file the first change writes the annotated default with the change in it", async () => {
  rmSync(daemon.configFile);
  const patched = await patch({ "discovery.interval_s": 77, "discovery.hosts": "10.0.0.9" });
  expect(patched.status).toBe(200);
  const wanted = annotated.replace("interval_s = 300", "interval_s = 77").replace("hosts = []", 'hosts = ["10.0.0.9"]');
  expect(readFileSync(daemon.configFile, "utf8")).toBe(wanted);
  expect(modeOf(daemon.configFile)).toBe("600");
  // The next change finds a file, and nothing else in it is touched.
  await patch({ "discovery.interval_s": 78 });
  expect(readFileSync(daemon.configFile, "utf8")).toBe(wanted.replace("interval_s = 77", "interval_s = 78"));
});

test("reading, reloading and a refused change write no file", async () => {
  rmSync(daemon.configFile);
  expect((await daemon.api("GET", "/config")).body.data.discovery.interval_s).toBe(300);
  expect((await daemon.api("POST", "/config/reload")).status).toBe(200);
  expect((await patch({ "discovery.interval_s": -1 })).status).toBe(400);
  expect((await patch({})).status).toBe(200);
  expect(existsSync(daemon.configFile)).toBe(false);
});

test("a file with the password is 0600 after each change, even one that changes nothing", async () => {
  writeFileSync(daemon.configFile, "");
  chmodSync(daemon.configFile, 0o644);
  await patch({ "dev.vendor_password": "c4nary" });
  expect(modeOf(daemon.configFile)).toBe("600");
  chmodSync(daemon.configFile, 0o644);
  await patch({ "dev.vendor_password": "c4nary" });
  expect(modeOf(daemon.configFile)).toBe("600");
});

test("the status names the files, and the socket by its whole path", async () => {
  const { data } = (await daemon.api("GET", "/daemon/status")).body;
  expect([data.config_file, data.state_folder]).toEqual([daemon.configFile, daemon.stateFolder]);
  expect(dirname(data.socket)).toBe(data.state_folder);
  const folder = mkdtempSync(join(tmpdir(), "zapd-relative-"));
  const elsewhere = await startTestDaemon({ env: { ZAPD_STATE_DIR: relative(process.cwd(), folder) } });
  const status = (await elsewhere.api("GET", "/daemon/status")).body.data;
  await elsewhere.dispose();
  rmSync(folder, { recursive: true });
  expect([status.state_folder, status.socket]).toEqual([folder, join(folder, "zapd.sock")]);
});

test("a change that would make the file too large to be read is refused, and the file stays as it was", async () => {
  const text = "[discovery]\ninterval_s = 77\n";
  const full = `${text}#${"x".repeat(256 * 1024 - text.length - 2)}\n`;
  writeFileSync(daemon.configFile, full);
  const { status, body } = await patch({ "daemon.default_device": "Den" });
  expect([status, body.error.code]).toEqual([500, "storage_error"]);
  expect(readFileSync(daemon.configFile, "utf8")).toBe(full);
});
