/** R11: no damage to a file stops the daemon, and the devices before the last change are restored from the backup. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Catalog } from "../../src/devices/catalog.ts";
import { Credentials } from "../../src/devices/credentials.ts";
import { Leases } from "../../src/devices/leases.ts";
import { Registry } from "../../src/devices/registry.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { root } from "../support/sources.ts";
import { tracedTest } from "../support/strace.ts";
import { sampleOf } from "../support/whole.ts";
import { damage, damages } from "./damage.ts";
import { introduce, type Sets, startSets, writers } from "./writers.ts";

const names = ["devices.json", "credentials.json", "apps.json", "leases.json"];
let sets: Sets;
/** A folder with sound files of turn 2, and backups of turn 1; each test gets a copy. */
let sound: string;
let folder: string;
/** Where those are. */
const copies = mkdtempSync(join(tmpdir(), "zapd-damage-"));
let daemon: TestDaemon | undefined;

beforeAll(async () => {
  sets = await startSets();
  daemon = await startTestDaemon();
  sound = daemon.folder;
  await introduce(daemon, sets);
  for (const turn of [1, 2]) for (const writer of writers) await writer.change(daemon, sets, turn);
  await daemon.stop("SIGKILL");
  for (const name of ["zapd.sock", "zapd.sock.at"]) rmSync(join(sound, "state", name));
});
afterAll(async () => {
  await daemon?.dispose();
  for (const left of [sound, copies]) rmSync(left, { recursive: true, force: true });
  await sets.stop();
});
beforeEach(async () => {
  if (daemon && daemon.folder !== sound) await daemon.dispose();
  folder = mkdtempSync(join(copies, "copy-"));
  cpSync(sound, folder, { recursive: true });
});

const fileOf = (name: string) => join(folder, "state", name);
const turnOf = async (file: string): Promise<unknown> =>
  daemon && writers.find((writer) => writer.file === file)?.read(daemon);

/** Processor seconds that a daemon has used (proc(5)). */
function workOf({ process: { pid } }: TestDaemon): number {
  const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
    .slice(11)
    .map(Number);
  return (user + system) / 100;
}

describe("R11 a daemon starts within 2 s, keeps the bad files, and goes on with the backup of the devices, when they are", () => {
  for (const how of sampleOf(Object.keys(damages), 6)) {
    test(how.replace(/^(cut|with)/, "files $1"), async () => {
      for (const name of names) damage(fileOf(name), how, readFileSync(join(sound, "state", name)));
      daemon = await startTestDaemon({ folder });
      // Processor time: a busy machine delays it.
      expect(workOf(daemon)).toBeLessThan(2);
      const { warnings } = (await daemon.api("GET", "/health")).body.data;
      for (const name of names) {
        expect(warnings.join("\n")).toContain(name);
        expect(readdirSync(join(folder, "state")).filter((one) => one.startsWith(`${name}.corrupt-`)).length).toBe(1);
      }
      expect(await turnOf("devices.json")).toBe(1);
      // Credentials have no backup: the user pairs again.
      expect(existsSync(fileOf("credentials.json"))).toBe(false);
      // The cache is filled from the device, and all files can be written again.
      expect(await turnOf("apps.json")).toBe(Number(sets.roku.apps[0]?.version));
      for (const writer of writers) expect(await writer.change(daemon, sets, 3)).toBe(200);
      await daemon.stop("SIGKILL");
      daemon = await startTestDaemon({ folder });
      for (const { file } of writers) expect([file, await turnOf(file)]).toEqual([file, 3]);
    });
  }

  test("damaged with that backup: it goes on without it", async () => {
    for (const name of readdirSync(join(folder, "state"))) writeFileSync(fileOf(name), "{");
    daemon = await startTestDaemon({ folder });
    expect((await daemon.api("GET", "/devices")).body.data).toEqual([]);
    expect((await daemon.api("GET", "/health")).body.data.warnings.length).toBe(names.length);
    await introduce(daemon, sets, 5);
    expect(await turnOf("devices.json")).toBe(5);
  });
});

tracedTest("R6 R11 killed while damaged devices are restored, a daemon has them all at the next start", async () => {
  const path = fileOf("devices.json");
  const good = readFileSync(path, "utf8");
  const registry = JSON.stringify(new URL("../../src/devices/registry.ts", import.meta.url).pathname);
  const opening = `(await import(${registry})).Registry.open({ path: ${JSON.stringify(path)}, damaged() {} })`;
  for (const bad of [good.slice(1), good.replace(/"port": \d+/, '"port": 0')]) {
    writeFileSync(path, bad);
    // The first sync is that of the new file, before it is in its place.
    const words = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:signal=SIGKILL:when=1"];
    expect(spawnSync("strace", [...words, process.execPath, "-e", opening]).signal).toBe("SIGKILL");
    expect((await Registry.open({ path, damaged() {} })).records.length).toBe(3);
    expect(readdirSync(join(folder, "state")).some((name) => name.startsWith("devices.json.corrupt-"))).toBe(true);
  }
});

/** The words of strace for a program in which a call on a file fails: `openat:error=EIO`. */
function failing(path: string, inject: string): string[] {
  const [call] = inject.split(":");
  return ["-f", "-qq", "-o", "/dev/null", "-P", path, "-e", `trace=${call}`, "-e", `inject=${inject}`];
}

tracedTest("a file that the system cannot read at the start stays in its place, since it may be valid", async () => {
  const path = fileOf("credentials.json");
  const good = readFileSync(path, "utf8");
  const store = JSON.stringify(new URL("../../src/devices/credentials.ts", import.meta.url).pathname);
  const opening = `await (await import(${store})).Credentials.open({ path: ${JSON.stringify(path)}, damaged() {}, hide() {} })`;
  for (const inject of ["openat:error=EMFILE", "openat:error=EIO", "read:error=EIO", "statx:error=ENOMEM"]) {
    const code = `${opening}.catch((error) => console.log(error.code, error.message))`;
    const { stdout } = spawnSync("strace", [...failing(path, inject), process.execPath, "-e", code]);
    expect([inject, String(stdout)]).toEqual([
      inject,
      expect.stringMatching(/^storage_error .*credentials\.json could/),
    ]);
    expect(readFileSync(path, "utf8")).toBe(good);
    expect(readdirSync(join(folder, "state")).filter((name) => name.includes("corrupt"))).toEqual([]);
  }
});

tracedTest("nor is a damaged file given up while its backup cannot be read", async () => {
  const path = fileOf("devices.json");
  writeFileSync(path, "{");
  const registry = JSON.stringify(new URL("../../src/devices/registry.ts", import.meta.url).pathname);
  const opening = `await (await import(${registry})).Registry.open({ path: ${JSON.stringify(path)}, damaged() {} })`;
  const code = `${opening}.catch((error) => console.log(error.code, error.message))`;
  const { stdout } = spawnSync("strace", [
    ...failing(`${path}.bak`, "openat:error=EMFILE"),
    process.execPath,
    "-e",
    code,
  ]);
  expect(String(stdout)).toMatch(/^storage_error .*devices\.json\.bak could not be read \(EMFILE\)/);
  expect(readFileSync(path, "utf8")).toBe("{");
});

tracedTest(
  "a config that the system cannot read now ends a start as a failure, which a service manager tries again",
  async () => {
    const path = join(folder, "config.toml");
    const env = { ...process.env, ZAPD_STATE_DIR: join(folder, "state") };
    const program = [process.execPath, join(root, "src/main.ts"), "serve", "--config", path];
    const start = (code: string) => {
      const traced = [...failing(path, `openat:error=${code}`), ...program];
      const { status, stderr } = spawnSync("strace", traced, { env, encoding: "utf8" });
      return [status, stderr];
    };
    expect(start("EMFILE")).toEqual([1, expect.stringMatching(/config\.toml could not be read \(EMFILE\).*ulimit -n/)]);
    // What is not to be read by this user is not mended by correcting its text.
    expect(start("EACCES")).toEqual([
      78,
      expect.stringMatching(/config\.toml could not be read \(EACCES\)\. Check its mode and its owner, or/),
    ]);
  },
);

describe("R11 at every length and with every byte changed, what is opened is the file, its backup, or nothing", () => {
  const damaged = () => {};
  /** Opens a file as the daemon does; resolves with the number of its records. */
  const kinds: Readonly<Record<string, { readonly holds: readonly number[]; open(path: string): Promise<number> }>> = {
    "devices.json": { holds: [3], open: async (path) => (await Registry.open({ path, damaged })).records.length },
    "credentials.json": {
      holds: [0, 1],
      async open(path) {
        const hidden: string[] = [];
        await Credentials.open({ path, damaged, hide: (secret) => hidden.push(secret) });
        // A changed byte in a name makes its value a secret.
        return Math.min(hidden.length, 1);
      },
    },
    "apps.json": {
      holds: [0, 1],
      async open(path) {
        const [id = ""] = JSON.parse(readFileSync(join(sound, "state", "devices.json"), "utf8")).devices.map(
          (device: { id: string }) => device.id,
        );
        return (await Catalog.open({ path, damaged })).apps(id)?.length ?? 0;
      },
    },
    "leases.json": {
      holds: [0, 1],
      async open(path) {
        const leases = await Leases.open({ path, damaged, failed: damaged });
        leases.close();
        return leases.isEmpty ? 0 : 1;
      },
    },
  };
  for (const [name, { holds, open }] of Object.entries(kinds)) {
    test(name, async () => {
      // In memory where possible: this is not about the disk.
      const fast = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "zapd-damage-"));
      try {
        const path = join(fast, name);
        const good = readFileSync(join(sound, "state", name));
        if (name === "devices.json") cpSync(join(sound, "state", `${name}.bak`), `${path}.bak`);
        const versions = [
          ...Array.from({ length: good.length }, (_, length) => good.subarray(0, length)),
          ...Array.from({ length: good.length }, (_, at) => {
            const bytes = Buffer.from(good);
            bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
            return bytes;
          }),
        ];
        for (const [at, bytes] of versions.entries()) {
          writeFileSync(path, bytes);
          expect(holds, `version ${at}`).toContain(await open(path));
          expect(readdirSync(fast).filter((one) => /corrupt/.test(one)).length).toBeLessThanOrEqual(3);
        }
      } finally {
        rmSync(fast, { recursive: true, force: true });
      }
    });
  }
});
