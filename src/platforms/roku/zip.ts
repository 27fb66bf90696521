/**
 * Reads the directory of a ZIP on disk and checks it, without extracting anything and without holding the file in
 * memory (SECURITY.md T21). Layout: APPNOTE.TXT 4.3. A single entry is inflated, up to a cap.
 */
import { isUtf8 } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";
import { systemCode, ZapdError } from "../../api/errors.ts";

export interface ZipEntry {
  readonly name: string;
  readonly bytes: number;
  readonly compressed: number;
  readonly method: number;
  readonly offset: number;
}

const madeHint = "Give the folder instead: zapd install ./my-app";
const nameHint =
  "Rename that file: a path within the package, of at most 1,024 characters, without backslashes, control characters, . and ..";
const crowdedHint = "Leave out files that the app does not need";
const sizeHint =
  "Remove large files that are nearly empty: the limits are 1 GiB, and 200 times the size of the archive";

const limits = { entries: 10_000, directory: 4 * 1024 * 1024, total: 1024 ** 3, ratio: 200, name: 1_024 } as const;

export interface Zip {
  readonly entries: readonly ZipEntry[];
  /** The content of an entry; `invalid_archive` when it is larger than `cap` or does not inflate. */
  read(entry: ZipEntry, cap: number): Promise<Uint8Array>;
}

/** Opens and checks a ZIP, and closes it when `use` is done. Fails with `invalid_archive`. */
export async function withZip<T>(path: string, use: (zip: Zip) => Promise<T>): Promise<T> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const end = await findEnd(file, size);
    const entries = readDirectory(await slice(file, end.directoryAt, end.directoryBytes), end.count);
    checkEntries(entries, size);
    await checkPlaces(file, entries, end.directoryAt);
    return await use({ entries, read: (entry, cap) => inflate(file, entry, cap) });
  } finally {
    await file.close();
  }
}

/** Where the directory is, and how many entries it has. */
async function findEnd(file: FileHandle, size: number) {
  const tail = await slice(file, Math.max(0, size - 65_557), Math.min(size, 65_557));
  const view = viewOf(tail);
  for (let at = tail.length - 22; at >= 0; at--) {
    if (view.getUint32(at, true) !== 0x06054b50 || at + 22 + view.getUint16(at + 20, true) !== tail.length) continue;
    const count = view.getUint16(at + 10, true);
    const directoryBytes = view.getUint32(at + 12, true);
    const directoryAt = view.getUint32(at + 16, true);
    const endAt = size - tail.length + at;
    if (view.getUint16(at + 4, true) !== 0 || view.getUint16(at + 8, true) !== count)
      throw invalid("is one part of a split ZIP");
    if (count === 0xffff || directoryAt === 0xffffffff || directoryBytes === 0xffffffff)
      throw invalid("uses ZIP64, which no Roku accepts");
    if (count > limits.entries || directoryBytes > limits.directory)
      throw invalid("contains more than 10,000 files, or more than 4 MiB of their names", crowdedHint);
    if (directoryAt + directoryBytes !== endAt)
      throw invalid("is damaged: its directory is not where its end record says");
    return { count, directoryAt, directoryBytes };
  }
  throw invalid("is not a ZIP, or is incomplete: it has no end of directory");
}

function readDirectory(bytes: Uint8Array, count: number): ZipEntry[] {
  const view = viewOf(bytes);
  const entries: ZipEntry[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw invalid("has a broken directory");
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + 46 + nameBytes + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    const nameAt = bytes.subarray(at + 46, at + 46 + nameBytes);
    const name = (isUtf8(nameAt) ? utf8 : latin1).decode(nameAt);
    if ((view.getUint16(at + 8, true) & 1) !== 0) throw invalid(`contains an encrypted file, "${shown(name)}"`);
    if (((view.getUint32(at + 38, true) >>> 16) & 0xf000) === 0xa000)
      throw invalid(`contains a symbolic link, "${shown(name)}"`);
    entries.push({
      name,
      method: view.getUint16(at + 10, true),
      compressed: view.getUint32(at + 20, true),
      bytes: view.getUint32(at + 24, true),
      offset: view.getUint32(at + 42, true),
    });
    at = next;
  }
  if (at !== bytes.length) throw invalid("has a broken directory");
  return entries;
}

function checkEntries(entries: readonly ZipEntry[], size: number): void {
  const names = new Set<string>();
  let total = 0;
  for (const { name, bytes } of entries) {
    const parts = name.replace(/\/$/, "").split("/");
    if (
      name.length > limits.name ||
      /[\0-\x1f\x7f\\]/.test(name) ||
      /^([a-z]:|\/)/i.test(name) ||
      parts.some((part) => /^(|\.|\.\.)$/.test(part))
    ) {
      throw invalid(`contains a file with a name that is not allowed, "${shown(name)}"`, nameHint);
    }
    if (names.has(name)) throw invalid(`contains "${shown(name)}" twice`);
    names.add(name);
    total += bytes;
  }
  if (total > limits.total || total > Math.max(size * limits.ratio, 1024 * 1024))
    throw invalid("unpacks to more than is allowed", sizeHint);
}

/** Each file must lie before the directory, begin with its own header, and share no byte with another. */
async function checkPlaces(file: FileHandle, entries: readonly ZipEntry[], directoryAt: number): Promise<void> {
  let free = 0;
  for (const entry of [...entries].sort((one, other) => one.offset - other.offset)) {
    const end = (await dataAt(file, entry)) + entry.compressed;
    if (entry.offset < free || end > directoryAt) throw invalid("is damaged: its files overlap or are incomplete");
    free = end;
  }
}

async function dataAt(file: FileHandle, entry: ZipEntry): Promise<number> {
  const header = await slice(file, entry.offset, 30);
  const view = viewOf(header);
  if (header.length < 30 || view.getUint32(0, true) !== 0x04034b50)
    throw invalid(`has no data for "${shown(entry.name)}"`);
  return entry.offset + 30 + view.getUint16(26, true) + view.getUint16(28, true);
}

async function inflate(file: FileHandle, entry: ZipEntry, cap: number): Promise<Uint8Array> {
  // Packed, a file may be larger than it is.
  const mostBytes = entry.method === 0 ? cap : cap * 2;
  if (entry.bytes > cap || entry.compressed > mostBytes) throw tooLarge(entry, cap);
  const data = await slice(file, await dataAt(file, entry), entry.compressed);
  if (entry.method === 0) return data;
  if (entry.method !== 8) throw invalid(`compresses "${shown(entry.name)}" with a method that no Roku supports`);
  try {
    return inflateRawSync(data, { maxOutputLength: cap });
  } catch (cause) {
    if (systemCode(cause) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(entry, cap);
    const problem = `The archive's "${shown(entry.name)}" cannot be unpacked`;
    throw new ZapdError("invalid_archive", problem, { hint: madeHint, cause });
  }
}

function tooLarge({ name }: ZipEntry, cap: number): ZapdError {
  return invalid(`contains a "${shown(name)}" of more than ${cap / 1024} KiB`, "Make that file smaller");
}

const utf8 = new TextDecoder();
/** For names in an old code page (APPNOTE.TXT D.1): a character for each byte, so that two names stay two. */
const latin1 = new TextDecoder("latin1");

async function slice(file: FileHandle, at: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytes.subarray(0, bytesRead);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function shown(name: string): string {
  return name.slice(0, 80).replace(/[\p{C}"]/gu, "?");
}

function invalid(what: string, hint = madeHint): ZapdError {
  return new ZapdError("invalid_archive", `The archive ${what}`, { hint });
}
