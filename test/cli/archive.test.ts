/** A folder becomes a package: which files, and a ZIP that every reader takes. */
import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { CommandError } from "../../src/cli/failure.ts";
import { packageFiles, writeArchive } from "../../src/cli/install.ts";
import { withZip } from "../../src/platforms/roku/zip.ts";
import { testFolder } from "../support/folder.ts";
import { root } from "../support/sources.ts";

const folder = testFolder();
let count = 0;

function place(files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = join(folder, `app-${++count}`);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  }
  return path;
}

const namesIn = async (path: string) => (await packageFiles(path)).files.map(({ name }) => name);

async function zip(path: string): Promise<{ path: string; bytes: number; told: number[] }> {
  const { files } = await packageFiles(path);
  const archive = join(folder, `archive-${++count}.zip`);
  const told: number[] = [];
  const bytes = await writeArchive(files, archive, (done) => told.push(done));
  return { path: archive, bytes, told };
}

describe("what belongs into a package", () => {
  test("everything, sorted, but what tools leave behind", async () => {
    const path = place({
      manifest: "title=A",
      "source/b.brs": "",
      "source/a.brs": "",
      "images/i.PNG": "",
      "fonts/ä b.ttf": "",
      ".git/config": "",
      ".DS_Store": "",
      "source/.a.swp": "",
      "node_modules/x/y.js": "",
      "out/old.zip": "",
      "__MACOSX/x": "",
      "images/Thumbs.db": "",
      "source/node_modules/z": "",
    });
    expect(await namesIn(path)).toEqual(["fonts/ä b.ttf", "images/i.PNG", "manifest", "source/a.brs", "source/b.brs"]);
  });

  test("links within the folder are followed once, links out of it are named and left out", async () => {
    const path = place({ manifest: "title=A", "source/a.brs": "x", "source/deep/b.brs": "y" });
    const outside = place({ secret: "s" });
    symlinkSync("a.brs", join(path, "source/same.brs"));
    symlinkSync("source", join(path, "lib"));
    symlinkSync(".", join(path, "source/self"));
    symlinkSync("../..", join(path, "source/up"));
    symlinkSync(outside, join(path, "other"));
    symlinkSync(join(outside, "secret"), join(path, "source/secret"));
    symlinkSync("nowhere", join(path, "dangling"));
    const { files, links } = await packageFiles(path);
    expect(links).toEqual(["dangling", "lib/secret", "lib/up", "other", "source/secret", "source/up"]);
    expect(files.map(({ name }) => name)).toEqual([
      "lib/a.brs",
      "lib/deep/b.brs",
      "lib/same.brs",
      "manifest",
      "source/a.brs",
      "source/deep/b.brs",
      "source/same.brs",
    ]);
  });

  test("what is deleted while it is packed is left out, as if it had never been there", async () => {
    const path = place({ manifest: "title=A", "z.tmp": "", "zz/deep.tmp": "", "source/b.brs": "" });
    for (let at = 0; at < 2_000; at++) writeFileSync(join(path, `source/a${at}`), "");
    const walk = packageFiles(path);
    // Read after the walk has read it, and long before it comes to the last of what it found.
    for (let at = 0; at < 5; at++) await readdir(path);
    for (const name of ["z.tmp", "zz"]) rmSync(join(path, name), { recursive: true });
    const { files } = await walk;
    expect(files.filter(({ name }) => !name.startsWith("source/")).map(({ name }) => name)).toEqual(["manifest"]);
    rmSync(join(path, "source/b.brs"));
    const archive = join(folder, `archive-${++count}.zip`);
    await writeArchive(files, archive, () => {});
    expect(Object.keys(unzipSync(readFileSync(archive)))).toHaveLength(2_001);
  });

  test("what is no package says so", async () => {
    const message = (path: string) => packageFiles(path).then(String, (error: Error) => error.message);
    expect(await message(place({ ".hidden": "" }))).toMatch(/ is empty/);
    const renamed: unknown = await packageFiles(place({ Manifest: "", "source/a": "" })).catch((error) => error);
    expect(renamed).toMatchObject({ hint: "It has Manifest: the name must be exactly manifest" });
    expect(await message(join(folder, "nowhere"))).toMatch(/could not be read \(ENOENT\)/);
    // Each link to a folder within the package counts its files again.
    const crowded = place({ manifest: "" });
    mkdirSync(join(crowded, "source"));
    for (let at = 0; at < 100; at++) writeFileSync(join(crowded, "source", `${at}`), "");
    for (let at = 0; at < 100; at++) symlinkSync("source", join(crowded, `link-${at}`));
    expect(await message(crowded)).toMatch(/contains more than 10000 files/);
    const closed = place({ manifest: "", "source/a": "" });
    chmodSync(join(closed, "source"), 0);
    if (process.getuid?.() !== 0) expect(await message(closed)).toMatch(/could not be read \(EACCES\)/);
    chmodSync(join(closed, "source"), 0o700);
    // A name that is not UTF-8, which only Linux allows: what is at fault is named, not the whole folder.
    if (process.platform !== "linux") return;
    writeFileSync(Buffer.from(`${closed}/lat\xff.png`, "latin1"), "");
    expect(await message(closed)).toMatch(/lat.\.png could not be read \(ENOENT\)/);
  });
});

test("a disk that takes only a part of the archive, or none, is told, and nothing is left on it", async () => {
  const path = place({ manifest: "title=x\n", "a.png": new Uint8Array(28_500) });
  const script = `
    import { packageAt } from "./src/cli/install.ts";
    await packageAt(${JSON.stringify(path)}).catch((error) => console.log(error.constructor.name, error.message));`;
  const said = (limit: string, TMPDIR: string) =>
    execFileSync("sh", ["-c", `${limit}; exec "$@"`, "sh", process.execPath, "-e", script], {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, TMPDIR },
    });
  const temporary = join(folder, "temporary");
  mkdirSync(temporary);
  // 28 KiB end within the last record, 8 KiB within the data of a file.
  for (const blocks of [56, 16])
    expect(said(`ulimit -f ${blocks}`, temporary)).toMatch(
      /^CommandError .*could not be packed in .*temporary \(EFBIG\)/,
    );
  expect(readdirSync(temporary)).toEqual([]);
  expect(said("true", join(folder, "nowhere"))).toMatch(/^CommandError .*could not be packed in .*nowhere \(ENOENT\)/);
});

describe("the archive", () => {
  const text = "sub main()\n  print 1\nend sub\n".repeat(5_000);
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  const files = {
    manifest: "title=Ä\n",
    "source/main.brs": text,
    "images/a.png": noise,
    "ünï/côdé.txt": "ü",
    empty: "",
  };

  test("unpacks to what was packed", async () => {
    const { path, bytes, told } = await zip(place(files));
    const content = unzipSync(readFileSync(path));
    expect(
      Object.fromEntries(Object.entries(content).map(([name, one]) => [name, Buffer.from(one).toString("latin1")])),
    ).toEqual(
      Object.fromEntries(Object.entries(files).map(([name, one]) => [name, Buffer.from(one).toString("latin1")])),
    );
    expect(bytes).toBe(readFileSync(path).length);
    expect(bytes).toBeLessThan(70_000);
    expect(told).toEqual([1, 2, 3, 4, 5]);
  });

  test("is sound to the daemon, and holds no descriptor behind its data", async () => {
    const { path } = await zip(place(files));
    const entries = await withZip(path, async ({ entries, read }) => {
      for (const entry of entries) await read(entry, 1024 * 1024);
      return entries;
    });
    expect(entries.map(({ name, bytes, method }) => [name, bytes, method])).toEqual([
      ["empty", 0, 8],
      ["images/a.png", noise.length, 0],
      ["manifest", 9, 8],
      ["source/main.brs", text.length, 8],
      ["ünï/côdé.txt", 2, 8],
    ]);
    // General purpose flags of the first entry: UTF-8 names, and not bit 3.
    expect(readFileSync(path).readUInt16LE(6)).toBe(0x0800);
  });

  test("is the same whenever its files were touched", async () => {
    const path = place(files);
    const first = readFileSync((await zip(path)).path);
    utimesSync(join(path, "manifest"), 1, 1);
    expect(readFileSync((await zip(path)).path).equals(first)).toBe(true);
  });

  const python = Bun.which("python3");
  test.skipIf(!python)(`is sound to another reader${python ? "" : " (skipped: no python3)"}`, async () => {
    const { path } = await zip(place(files));
    const check = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), len(z.namelist()))";
    expect(execFileSync("python3", ["-c", check, path], { encoding: "utf8" })).toBe("None 5\n");
  });

  test("a package too large to be taken is not written to its end", async () => {
    const path = place({ manifest: "title=A", "big.mp4": "" });
    truncateSync(join(path, "big.mp4"), 101 * 1024 * 1024);
    await expect(zip(path)).rejects.toThrow("larger than 100 MiB");
  });

  test("a file that cannot be read is named, and is no bug of ours", async () => {
    const path = place({ manifest: "title=A", "source/a.brs": "" });
    const { files } = await packageFiles(path);
    rmSync(join(path, "source/a.brs"));
    mkdirSync(join(path, "source/a.brs"));
    const failure = await writeArchive(files, join(folder, "none.zip"), () => {}).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CommandError);
    expect(failure).toMatchObject({
      code: "invalid_archive",
      message: `${join(path, "source/a.brs")} could not be packed (EISDIR)`,
    });
  });

  test("takes little memory, however large its files are", async () => {
    const path = place({ manifest: "title=A", "film.mp4": "", "text.txt": "" });
    for (const name of ["film.mp4", "text.txt"]) truncateSync(join(path, name), 90 * 1024 * 1024);
    // Not resourceUsage: its peak is that of whoever started the process, when that was larger.
    const program = [
      `const peak = () => /VmHWM:\\s+(\\d+)/.exec(require("fs").readFileSync("/proc/self/status", "utf8"))[1];`,
      `const { packageFiles, writeArchive } = await import(${JSON.stringify(join(root, "src/cli/install.ts"))});`,
      `const { files } = await packageFiles(${JSON.stringify(path)});`,
      `console.log(await writeArchive(files, ${JSON.stringify(join(folder, "large.zip"))}, () => {}), peak());`,
    ].join("\n");
    const [bytes, kib] = execFileSync(process.execPath, ["-e", program], { encoding: "utf8" }).split(" ").map(Number);
    expect(bytes).toBeGreaterThan(90 * 1024 * 1024);
    expect((kib ?? 0) / 1024).toBeLessThan(150);
  }, 60_000);
});
