/** State on disk: whole or absent. Files 0600 in folders 0700; a bad file is kept aside and never stops the daemon. */
import { mkdirSync } from "node:fs";
import { constants, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemCode, textOf, ZapdError } from "./errors.ts";

/** Makes a folder, 0700, with those above it. Fails with `storage_error`. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new ZapdError(
      "storage_error",
      `The folder ${path} could not be made (${systemCode(cause) || textOf(cause)})`,
      {
        hint: "Check who owns the folder above it, or choose another with $ZAPD_STATE_DIR",
        cause,
      },
    );
  }
}

/**
 * Writes a file whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder. When it returns,
 * the content survives kill -9 and a power cut. Fails with `storage_error`, and then nothing has changed.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}-${crypto.randomUUID().slice(0, 8)}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new ZapdError("storage_error", `${path} could not be written (${systemCode(cause) || textOf(cause)})`, {
      hint: "Nothing was changed. Check that its folder is there, writable, and on a disk that is not full",
      cause,
    });
  }
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders; there a rename is durable by itself.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes temporary files that a killed daemon left: all in a folder of ours, or those of one file that are no longer written. */
export async function sweepTemporaries(folder: string, file = ""): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const path = join(folder, name);
    if (!name.startsWith(`.${file}`) || !/^\..+\.\d+-[0-9a-f]{8}\.tmp$/.test(name)) continue;
    if (file === "" || (await isOld(path))) await rm(path, { force: true }).catch(() => {});
  }
}

/** Whether a temporary file is left from before: another daemon's write takes no minute. */
async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > 60_000;
}

/** Reads a regular file of at most `maxBytes`, following no link; `null` when there is none. Throws what is wrong with it. */
export async function readRegular(path: string, maxBytes: number): Promise<string | null> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    // O_NONBLOCK: a FIFO in its place must not hold the start.
    file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const { size } = await file.stat();
    if (!(await file.stat()).isFile()) throw new Error("it is no regular file");
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

/** Keeps a bad file aside as `<path>.corrupt-<time>`, three at most; gives its new name. */
export async function setAside(path: string): Promise<string> {
  const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  await rename(path, aside);
  const prefix = `${basename(path)}.corrupt-`;
  const kept = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix)).sort();
  for (const name of kept.slice(0, -3)) await rm(join(dirname(path), name), { recursive: true, force: true });
  return aside;
}

/** Removes what a killed daemon left in a folder of ours. */
export async function emptyFolder(path: string): Promise<void> {
  const names = await readdir(path).catch(() => []);
  await Promise.all(names.map((name) => rm(join(path, name), { force: true }).catch(() => {})));
}
