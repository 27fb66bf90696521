/** Files that zapd makes are private by their own mode and by the umask: either would do, and neither may be missing. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withArchive } from "../../src/server/upload.ts";
import { makeFolder, writeAtomically } from "../../src/system/files.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { validPackage } from "../support/daemon-with-roku.ts";

let folder = "";
let before = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "zapd-modes-"));
  before = process.umask(0);
});
afterEach(() => {
  process.umask(before);
  rmSync(folder, { recursive: true, force: true });
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("T14 files, backups, folders and uploads are created 0600 and 0700 even under umask 000", async () => {
  makeFolder(join(folder, "deep", "state"));
  expect([modeOf(join(folder, "deep")), modeOf(join(folder, "deep", "state"))]).toEqual(["700", "700"]);
  const path = join(folder, "file.json");
  for (const text of ["one", "two"]) await writeAtomically(path, text, { backup: true });
  expect([modeOf(path), modeOf(`${path}.bak`)]).toEqual(["600", "600"]);
  const form = new FormData();
  form.set("archive", new File([validPackage], "a.zip"));
  const request = new Request("http://zapd.test/", { method: "POST", body: form });
  const uploads = join(folder, "uploads");
  expect(await withArchive(request, uploads, async (archive) => modeOf(archive.path))).toBe("600");
  expect(modeOf(uploads)).toBe("700");
});

test.skipIf(process.platform !== "linux")(
  "T14 T15 the daemon sets umask 077, so that no file is readable by others while it is created",
  async () => {
    const daemon = await startTestDaemon();
    try {
      const status = readFileSync(`/proc/${daemon.process.pid}/status`, "utf8");
      expect(/^Umask:\s+(\d+)$/m.exec(status)?.[1]).toBe("0077");
    } finally {
      await daemon.dispose();
    }
  },
);
