/** What is true of the project as it lies there and as it loads. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, sourcesIn } from "./support/sources.ts";

const shared = join(root, "..", "shared");
const noShared = existsSync(shared) ? null : `there is no ${shared}`;
if (noShared !== null) process.stderr.write(`skipped: that nothing shared was copied: ${noShared}\n`);

test("nothing starts on import: a process that imports every file ends by itself, in silence, and leaves nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "zapd-imports-"));
  try {
    // What is written for a browser runs in none here: it has `document` only.
    const here = sourcesIn("src").filter(({ path }) => !path.startsWith("src/web/"));
    const imports = here.map(({ path }) => `await import(${JSON.stringify(join(root, path))});`);
    const child = spawn(process.execPath, ["-e", imports.join("\n")], {
      cwd: folder,
      env: { PATH: process.env["PATH"], HOME: folder, ZAPD_STATE_DIR: join(folder, "state"), TMPDIR: folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        said += bytes.toString();
      });
    const timer = setTimeout(() => child.kill("SIGKILL"), 50_000);
    const status = await new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
    clearTimeout(timer);
    // The runtime keeps a cache of its own in the home folder.
    const left = (await readdir(folder)).filter((name) => name !== ".bun");
    expect({ status, said, left }).toEqual({ status: 0, said: "", left: [] });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 60_000);

test.skipIf(noShared !== null)(
  `nothing of the shared folder was copied, captures least of all${noShared === null ? "" : ` (skipped: ${noShared})`}`,
  () => {
    const print = (text: string) => createHash("sha256").update(text.replace(/\s+/g, " ").trim()).digest("hex");
    const theirs = new Set(filesIn(shared).map((path) => print(readFileSync(path, "latin1"))));
    const ours = ["test", "src"].flatMap((folder) => filesIn(join(root, folder)));
    expect(ours.filter((path) => theirs.has(print(readFileSync(path, "latin1"))))).toEqual([]);
    // Nor pasted into a test: a capture names a set that nobody here owns.
    const marks = ["28002000-0000-1000-8000-020000000025", "E0MU00000025"];
    expect(
      ours.filter(
        (path) =>
          !path.endsWith("hygiene.test.ts") && marks.some((mark) => readFileSync(path, "latin1").includes(mark)),
      ),
    ).toEqual([]);
  },
);

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
