/**
 * State on disk: whole or absent. Files are 0600 in folders 0700; a bad file is kept aside and never stops the daemon. Work
 * at the start is synchronous, because waking a thread for it takes longer than the work.
 */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { isForeign } from "./owners.ts";
import { tryOr } from "./try-or.ts";

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
export const longestSocketPath = 107;

/**
 * Makes a folder, 0700, with its parents. Fails with `storage_error`, whose hint names the setting or variable `by` that
 * chooses the folder; `null` where there is none.
 */
export function makeFolder(path: string, by: string | null = "$ZAPD_STATE_DIR"): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const code = systemCode(cause);
    const message = `The folder ${path} could not be created (${code || textOf(cause)})`;
    const advice =
      code === "EEXIST" || code === "ENOTDIR"
        ? "Move away the file that is in its place"
        : code === "EROFS"
          ? "Make its disk writable"
          : "Check who owns the folder above it";
    const hint = by === null ? advice : `${advice}, or choose another with ${by}`;
    throw new ZapdError("storage_error", message, { hint, cause });
  }
}

/** What to do where the system has no file, socket or memory left; `undefined` for another failure. */
export function scarcityHint(code: string): string | undefined {
  if (!["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"].includes(code)) return undefined;
  return "Try again; if that does not help, raise the limit of open files (ulimit -n), or free memory";
}

/**
 * Writes a file whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder. Once it returns, the
 * content survives kill -9 and a power cut. Fails with `storage_error`; then nothing has changed. `backup` keeps the replaced
 * content as `<path>.bak`.
 */
export async function writeAtomically(
  path: string,
  content: string | Uint8Array,
  { backup = false }: { readonly backup?: boolean } = {},
): Promise<void> {
  const folder = dirname(path);
  const temporary = temporaryFor(path);
  const before = temporaryFor(path);
  let undo = async () => {};
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    const linked = await linkAs(before, path);
    await rename(temporary, path);
    // Until the folder is synced, a power cut may restore either content; a write that is reported as failed must be undone.
    if (linked === "kept") undo = () => rename(before, path);
    if (linked === "absent") undo = () => rm(path, { force: true });
    await syncFolder(folder);
    if (linked === "kept" && backup) await rename(before, `${path}.bak`).catch(() => {});
    // The link is still there where the backup could not be replaced, as when the user has a folder in its place.
    await rm(before, { force: true }).catch(() => {});
  } catch (cause) {
    await undo().catch(() => {});
    for (const left of [temporary, before]) await rm(left, { force: true }).catch(() => {});
    const code = systemCode(cause);
    const mend = scarcityHint(code) ?? "Check that its folder exists, is writable, and is on a disk that is not full";
    throw new ZapdError("storage_error", `${path} could not be written (${code || textOf(cause)})`, {
      hint: `Nothing was changed. ${mend}`,
      cause,
    });
  }
}

/** A new name beside a file, as `sweepTemporaries` knows it. */
export function temporaryFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}-${crypto.randomUUID().slice(0, 8)}.tmp`);
}

/** Hard-links a file, so that it outlives its replacement. Some file systems have no hard links (`unkept`). */
async function linkAs(name: string, path: string): Promise<"kept" | "absent" | "unkept"> {
  return link(path, name).then(
    () => "kept",
    (error: unknown) => (systemCode(error) === "ENOENT" ? "absent" : "unkept"),
  );
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders; its renames are durable.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes the temporary files that a killed daemon left of one file. `shared`: another daemon that runs may be writing one now. */
export function sweepTemporaries(folder: string, file: string, shared = false): void {
  const ours = (name: string) =>
    name.startsWith(`.${file}.`) && /^\d+-[0-9a-f]{8}\.tmp$/.test(name.slice(file.length + 2));
  const isLeft = (name: string) =>
    !isAlive(Number.parseInt(name.slice(file.length + 2), 10)) || isOld(join(folder, name));
  removeLeftovers(folder, (name) => ours(name) && (!shared || isLeft(name)));
}

/** Removes the regular files of this user in a folder whose names `isOurs`. Links, folders and other users' files stay. */
export function removeLeftovers(folder: string, isOurs: (name: string) => boolean): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (isOurs(name) && isOwnFile(path)) tryRemove(path);
  }
}

/** Whether a path is a regular file of this user or of root. */
export function isOwnFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && !isForeign(found);
}

/** The names in a folder; none where it cannot be read. */
export function namesIn(folder: string): string[] {
  return tryOr(() => readdirSync(folder), []);
}

/** Removes a file, if it can: one that stays does no harm. */
export function tryRemove(path: string): void {
  tryOr(() => rmSync(path, { force: true }), undefined);
}

/** Whether a process of this machine runs; true too where the runtime does not tell. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== "ESRCH";
  }
}

/** Whether a temporary file is left over: no write takes a minute. */
function isOld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > 60_000;
}

/** Reads a regular file of at most `maxBytes`, following no link; `null` where there is none. Throws for any other file. */
export function readRegularFile(path: string, maxBytes: number): string | null {
  return read(path, maxBytes, (file) => readFileSync(file, "utf8"));
}

/**
 * Reads a regular UTF-8 file of at most `maxBytes`, following no link; `null` where there is none. Throws for any other file,
 * and what `check` throws for its owner or mode.
 */
export function readUtf8(path: string, maxBytes: number, check: (found: Stats) => void): string | null {
  const bytes = read(path, maxBytes, (file) => {
    check(fstatSync(file));
    return readFileSync(file);
  });
  return bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

function read<T>(path: string, maxBytes: number, take: (file: number) => T): T | null {
  let file: number;
  try {
    // O_NONBLOCK: a FIFO in its place must not block the start. Windows has neither flag.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a regular file");
    // Checked before reading: a sparse file takes no disk, but all of the memory.
    if (found.size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return take(file);
  } finally {
    closeSync(file);
  }
}

/** A stream of a file, or of its first `bytes`, read as fast as it is consumed. */
export function streamFile(path: string, bytes?: number): ReadableStream<Uint8Array> {
  const end = bytes === undefined ? {} : { end: bytes - 1 };
  // The types of node:stream/web do not know the type of the chunks.
  return Readable.toWeb(createReadStream(path, { highWaterMark: 256 * 1024, ...end })) as unknown as ReadableStream;
}

/** The time in the name of a file that was kept aside. */
const asideSuffix = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

/**
 * Renames a bad file to `<path>.corrupt-<time>`, keeps three of those at most, and gives the new path. One that is to be replaced
 * at once also stays in its place until then: a daemon that is killed in between finds it again at its next start.
 */
export async function keepAside(path: string, isReplaced: boolean): Promise<string> {
  const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  const isLinked = isReplaced && isOwnFile(path) && (await linkAs(aside, path)) === "kept";
  if (!isLinked) await rename(path, aside);
  const folder = dirname(path);
  const prefix = `${basename(path)}.corrupt-`;
  const ours = (name: string) => name.startsWith(prefix) && asideSuffix.test(name.slice(prefix.length));
  // A folder or a link in the place of a file belongs to the user, and is never removed.
  const kept = namesIn(folder)
    .filter((name) => ours(name) && isOwnFile(join(folder, name)))
    .sort();
  for (const name of kept.slice(0, -3)) tryRemove(join(folder, name));
  return aside;
}
