/** R9, R10: a disk that is full, out of inodes, or read-only. What needs no disk goes on. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { mcpToken } from "../../src/mcp/token.ts";
import { unfinishedIn } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { type Mounted, noMounts, startMounted } from "../support/mounted.ts";
import { introduce, type Sets, startSets, writers } from "./writers.ts";

let sets: Sets;
let daemon: Mounted | undefined;
beforeAll(async () => {
  sets = await startSets();
});
afterEach(async () => {
  await daemon?.dispose();
  daemon = undefined;
});
afterAll(() => sets.stop());

const skipped = noMounts === null ? "" : ` (skipped: ${noMounts})`;

/** Fills the disk, and gives what empties it again. */
const fillers = {
  "no space": {
    options: "size=256k",
    fill(folder: string): () => void {
      const path = join(folder, "filler");
      const file = openSync(path, "w");
      try {
        for (let block = 0; block < 10_000; block++) writeSync(file, Buffer.alloc(512));
      } catch {
        // It is full.
      }
      closeSync(file);
      return () => rmSync(path);
    },
  },
  "no inodes": {
    options: "size=4m,nr_inodes=60",
    fill(folder: string): () => void {
      const made: string[] = [];
      try {
        for (; made.length < 1_000; made.push(join(folder, `filler-${made.length}`)))
          writeFileSync(join(folder, `filler-${made.length}`), "");
      } catch {
        // There are none left.
      }
      return () => {
        for (const path of made) rmSync(path);
      };
    },
  },
};

/** Every change fails with an error and changes nothing; all else goes on. */
async function showThatNothingIsWritten(on: Mounted, turn: number): Promise<void> {
  // A write that began just before the disk became read-only could be neither finished nor removed.
  const underWay = unfinishedOn(on);
  const files = writers.map((writer) => readFileSync(join(on.disk, writer.path(on).slice(on.disk.length)), "utf8"));
  for (let again = 0; again < 5; again++)
    for (const writer of writers)
      expect([writer.file, await writer.change(on, sets, turn + 1)]).toEqual([writer.file, 500]);
  expect((await on.api("PATCH", "/config", { "dev.vendor_password": "x" })).body.error.code).toBe("storage_error");
  for (const [at, writer] of writers.entries()) {
    expect([writer.file, await writer.read(on)]).toEqual([writer.file, turn]);
    expect(readFileSync(writer.path(on), "utf8")).toBe(files[at] ?? "");
  }
  const unsaved = (await warningsOf(on)).map(
    (one) =>
      /^The last change was not saved: \S+\/(\w+\.json) could not be written \(E[A-Z]+\)\. .*disk/.exec(one)?.[1],
  );
  expect(unsaved.sort()).toEqual(["apps.json", "credentials.json", "devices.json", "leases.json"]);
  sets.roku.forget();
  expect((await on.api("POST", "/devices/roku/remote/key", { key: "up" })).status).toBe(200);
  expect(sets.roku.commands).toEqual(["/keypress/Up"]);
  for (const path of ["/devices", "/health", "/devices/roku/state", "/devices/roku/apps"])
    expect([path, (await on.api("GET", path)).status]).toEqual([path, 200]);
  // One line for each file that cannot be written, one for what devices push and one for their use; not one for each failure.
  const lines = on
    .log()
    .split("\n")
    .filter((line) => /"level":"(error|warn)".*could not be written/.test(line));
  const messages = lines.map((line) => JSON.parse(line).message);
  expect(messages.filter((one, at) => messages.indexOf(one) !== at)).toEqual([]);
  expect(messages.length).toBeWithin(writers.length, writers.length + 3);
  expect(unfinishedOn(on)).toEqual(underWay);
}

const warningsOf = async (on: Mounted): Promise<string[]> => (await on.api("GET", "/health")).body.data.warnings;

function unfinishedOn({ disk, stateFolder }: Mounted): string[] {
  return unfinishedIn(disk, stateFolder);
}

/** Sends what is no package; gives the error's code. */
async function sendPackage({ url }: Mounted): Promise<string> {
  const body = new FormData();
  body.set("archive", new Blob(["none"]), "none.zip");
  const answer = await fetch(`${url}/devices/roku/dev/install`, { method: "POST", body });
  return ((await answer.json()) as { error: { code: string } }).error.code;
}

for (const [what, { options, fill }] of Object.entries(fillers)) {
  test.skipIf(noMounts !== null)(
    `R9 ${what} on the disk: changes are told as failed, the old files stay, keys and reads go on, and one line is logged${skipped}`,
    async () => {
      daemon = await startMounted(options);
      await introduce(daemon, sets, 1);
      for (const writer of writers) await writer.change(daemon, sets, 2);
      const empty = fill(daemon.disk);
      await showThatNothingIsWritten(daemon, 2);
      empty();
      for (const writer of writers) {
        expect([writer.file, await writer.change(daemon, sets, 4)]).toEqual([writer.file, 200]);
        expect(await writer.read(daemon)).toBe(4);
      }
      expect(await warningsOf(daemon)).toEqual([]);
    },
  );
}

test.skipIf(noMounts !== null)(
  `R10 a disk that becomes read-only: the same, until it can be written again${skipped}`,
  async () => {
    daemon = await startMounted("size=4m");
    await introduce(daemon, sets, 1);
    const on = daemon;
    await sendPackage(on);
    await until("nothing is being written", () => unfinishedOn(on).length === 0);
    daemon.remount("ro");
    await showThatNothingIsWritten(daemon, 1);
    expect(await sendPackage(on)).toBe("storage_error");
    await expect(mcpToken(on.stateFolder)).rejects.toMatchObject({ code: "storage_error" });
    daemon.remount("rw");
    for (const writer of writers)
      expect([writer.file, await writer.change(daemon, sets, 2)]).toEqual([writer.file, 200]);
  },
);

for (const [what, prepare] of [
  ["with a state folder", 'mkdir -m 700 state && mount -o remount,ro "$PWD"'],
  ["without a state folder", 'mount -o remount,ro "$PWD"'],
]) {
  test.skipIf(noMounts !== null)(
    `R10 on a read-only disk ${what} it starts, warns, and drives what it finds${skipped}`,
    async () => {
      daemon = await startMounted("size=4m", {}, prepare);
      expect(await warningsOf(daemon)).toEqual([
        expect.stringMatching(/state.*EROFS.*nothing can be saved.*\$ZAPD_STATE_DIR/),
      ]);
      await until("the log says it, too", () => daemon?.log().includes("nothing can be saved") === true);
      const added = await daemon.api("POST", "/devices", { ...sets.roku.address, name: "roku" });
      expect([added.status, added.body.error.code]).toEqual([500, "storage_error"]);
      expect((await daemon.api("GET", "/devices")).body.data).toEqual([]);
      expect(await daemon.stop("SIGTERM")).toBe(0);
    },
  );
}
