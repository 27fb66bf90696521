/** `zapd install`: uploads a package to the daemon; a folder is zipped first. */
import { createReadStream, existsSync, mkdtempSync, rmSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve, sep } from "node:path";
import { crc32 } from "node:zlib";
import { Deflate } from "fflate";
import type { Upload } from "../api/client.ts";
import { systemCode } from "../api/errors.ts";
import { compressedFormats, ignoredFiles, maxPackageFiles, packageBytes } from "../api/limits.ts";
import type { Device } from "../api/schemas.ts";
import { streamFile } from "../system/files.ts";
import { printable } from "../system/printable.ts";
import { pluralize, shellQuote } from "../system/text.ts";
import { deepLinkOf } from "./apps.ts";
import { asksForPassword, readHidden } from "./ask.ts";
import { type Called, call } from "./client.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { logHint } from "./logs.ts";
import { size, unreadable } from "./print.ts";
import { bar, type Progress, progressOn } from "./progress.ts";
import { cleanUpAtSignal } from "./signals.ts";

/** A package to upload; `dispose` removes its temporary ZIP, where it has one. */
interface Prepared {
  readonly archive: Upload["archive"];
  dispose(): Promise<void>;
}

export async function install(context: Context): Promise<void> {
  const [given, ...pairs] = context.words;
  if (given === undefined || given === "") throw new UsageError("which package? Give a ZIP file or a folder");
  const params = deepLinkOf(pairs);
  const isAsked = asksForPassword(context);
  const inspected = await inspectPackage(given);
  const { content } = inspected;

  const device = (await call(context, "getDevice", { id: context.device })).data;
  const password = isAsked ? await readHidden(printable(`developer password of ${device.name}`)) : undefined;
  if (password === "") throw new UsageError("the password is empty");
  for (const link of content?.links ?? []) {
    const where = existsSync(join(given, link)) ? `out of ${given}` : "to nothing";
    context.say(printable(`left out ${link}: it points ${where}`));
  }
  const progress = progressOn(stderr());
  const zipping = (count: number, bytes: number) =>
    printable(`zipping ${basename(resolve(given))}  ${pluralize(count, "file")}, ${size(bytes)}`);
  let prepared: Prepared | undefined;
  try {
    prepared = await prepare(given, inspected, (count, bytes) => progress.show(zipping(count, bytes)));
    const { archive } = prepared;
    if (content) progress.keep(zipping(content.files.length, archive.size));
    const called = await upload(context, device, { archive, params, password }, progress);
    const { name, version } = called.data.package;
    context.reportDone(called, `${name} ${version} is running on ${called.data.device.name}. ${logHint(context)}`);
  } finally {
    progress.clear();
    await prepared?.dispose();
  }
}

/** A path for a temporary ZIP. It is removed by `remove`, or when a signal ends the process. */
function temporaryArchive(): { readonly path: string; remove(): Promise<void> } {
  let folder = "";
  const stopListening = cleanUpAtSignal(() => {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  });
  folder = mkdtempSync(join(tmpdir(), "zapd-"));
  return {
    path: join(folder, "package.zip"),
    async remove() {
      stopListening();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What is at the path of a package: its stats, and for a folder its files. */
interface Inspected {
  readonly found: Stats;
  readonly content: FolderContent | null;
}

/** Checks that a path can be a package. Fails with CommandError. */
async function inspectPackage(given: string): Promise<Inspected> {
  const found = await stat(given).catch((error: unknown) => {
    throw packageError(`${given} ${unreadable(error)}`);
  });
  const content = found.isDirectory() ? await packageFiles(given) : null;
  // Opening a pipe or a device may block.
  if (!content && !found.isFile()) throw packageError(`${given} is neither a file nor a folder`);
  if (!content) await checkZip(given, found.size);
  return { found, content };
}

/** A package to upload: a ZIP unchanged, or a folder zipped. Fails with CommandError. */
export async function packageAt(given: string): Promise<Prepared> {
  return prepare(given, await inspectPackage(given), () => {});
}

/** Zips a folder into a temporary file; a ZIP stays as it is. */
async function prepare(given: string, { found, content }: Inspected, onFile: OnFile): Promise<Prepared> {
  let temporary: ReturnType<typeof temporaryArchive> | null = null;
  const dispose = async () => temporary?.remove();
  try {
    temporary = content && temporaryArchive();
    const path = temporary?.path ?? given;
    const bytes = content ? await writeArchive(content.files, path, onFile) : found.size;
    return { archive: { size: bytes, stream: () => streamFile(path, bytes) }, dispose };
  } catch (error) {
    await dispose();
    throw failureFor(error, `${given} could not be packed in ${tmpdir()}`);
  }
}

/** Checks what can be checked before the upload. */
async function checkZip(path: string, bytes: number): Promise<void> {
  if (bytes > packageBytes) throw packageError(`${path} is larger than 100 MiB, the limit for a package`);
  const file = await open(path, "r").catch((error: unknown) => {
    throw failureFor(error, `${path} could not be read`);
  });
  const first = Buffer.alloc(2);
  await file.read(first, 0, 2, 0).finally(() => file.close());
  if (first.toString("latin1") !== "PK") throw packageError(`${path} is ${bytes === 0 ? "empty" : "not a ZIP file"}`);
}

async function upload(
  context: Context,
  device: Device,
  fields: Pick<Upload, "archive" | "params" | "password">,
  progress: Progress,
): Promise<Called<"installPackage">> {
  const total = fields.archive.size;
  const line = (done: number) => `${printable(`sending to ${device.name}`)}  ${bar(done, total)} ${size(total)}`;
  const sent = line(total);
  const start = performance.now();
  // The upload to the daemon is quick, but the device takes long to install the package.
  const timer = setInterval(() => {
    const seconds = Math.floor((performance.now() - start) / 1_000);
    if (seconds > 0) progress.show(`${sent}  installing, ${seconds} s`);
  }, 250);
  try {
    // By its id: the user may have typed for long, and another device may have the name or be the default by now.
    const given = { id: device.id, ...fields, progress: (done: number) => progress.show(line(done)) };
    const called = await call(context, "installPackage", given, { quiet: true });
    progress.keep(sent);
    return called;
  } catch (error) {
    throw error instanceof CommandError && error.code === "package_rejected" ? rejection(error, device) : error;
  } finally {
    clearInterval(timer);
  }
}

/** The failure with each reason of the device on its own line; only those with a place in a file, where there are any. */
export function rejection(error: CommandError, device: Pick<Device, "name">): CommandError {
  const { code, hint, details, response } = error;
  const problems = details?.problems ?? [];
  if (problems.length === 0) return error;
  const placed = problems.filter(({ file }) => file !== null);
  const lines =
    placed.length > 0
      ? [
          `${device.name} could not compile the package:`,
          ...placed.map(({ file, line, text }) => `${file}${line === null ? "" : `(${line})`}: ${text}`),
        ]
      : [`${device.name} refused the package:`, ...problems.map(({ text }) => text)];
  return CommandError.of({ code, message: lines.join("\n"), hint }, response);
}

interface PackageFile {
  /** Its name in the package, with slashes. */
  readonly name: string;
  readonly path: string;
}

/** The file at the root of every package. */
const manifest = "manifest";

interface FolderContent {
  readonly files: readonly PackageFile[];
  /** Links that lead out of the folder or to nothing: left out, with what is behind them. */
  readonly links: readonly string[];
}

/** The files of the package in a folder, sorted. Fails with CommandError where the folder is no package. */
export async function packageFiles(folder: string): Promise<FolderContent> {
  const files: PackageFile[] = [];
  const links: string[] = [];
  let root = "";
  // `way`: the folders on the way down. A link back to one of them would loop for ever.
  const walk = async (at: string, prefix: string, way: readonly string[]): Promise<void> => {
    for (const entry of (await readdir(at)).sort()) {
      if (ignoredFiles.test(entry)) continue;
      await visit(join(at, entry), prefix + entry, way).catch(async (error: unknown) => {
        // Deleted meanwhile, as an editor's temporary file is. Where it is still there, its name is not UTF-8.
        if (systemCode(error) !== "ENOENT" || (await readdir(at)).includes(entry)) throw error;
      });
    }
  };
  const visit = async (path: string, name: string, way: readonly string[]): Promise<void> => {
    const real = await realpath(path).catch(() => null);
    const isLink = (await lstat(path)).isSymbolicLink();
    if (isLink && (real === null || !isWithin(root, real))) {
      links.push(name);
      return;
    }
    const found = await stat(path);
    if (found.isDirectory() && real !== null && !way.includes(real)) await walk(path, `${name}/`, [...way, real]);
    if (found.isFile()) files.push({ name, path });
    if (files.length > maxPackageFiles) throw packageError(`${folder} contains more than ${maxPackageFiles} files`);
  };
  try {
    root = await realpath(folder);
    await walk(folder, "", [root]);
  } catch (error) {
    const { path = folder } = error as { readonly path?: string };
    throw failureFor(error, `${path} could not be read`);
  }
  checkManifest(folder, files);
  return { files, links };
}

function checkManifest(folder: string, files: readonly PackageFile[]): void {
  if (files.length === 0) throw packageError(`${folder} is empty: there is nothing to install`);
  if (files.some(({ name }) => name === manifest)) return;
  const nested = files.find(({ name }) => name.endsWith(`/${manifest}`))?.name.slice(0, -manifest.length - 1);
  const near = files.find(({ name }) => /^manifest(\.txt)?$/i.test(name));
  const usual = near
    ? `It has ${near.name}: the name must be exactly ${manifest}`
    : "A package has manifest and source/ at its root";
  throw packageError(
    `${folder} is not a package: it has no file ${manifest}`,
    nested === undefined ? usual : `There is one in ${nested}: zapd install ${shellQuote(join(folder, nested))}`,
  );
}

/** The failure for a package that is not uploaded. */
function packageError(message: string, hint?: string): CommandError {
  return CommandError.of({ code: "invalid_archive", message, hint });
}

/** The failure for an error of the system; any other error as it is. */
function failureFor(error: unknown, message: string): unknown {
  const code = systemCode(error);
  return error instanceof CommandError || code === "" ? error : packageError(`${message} (${code})`);
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

const utf8NamesFlag = 0x0800;
/** 1 January 1980, the first date of the ZIP format; the same for all, so that the same files give the same ZIP. */
const dosEpoch = 0x0021;

interface ZipEntry {
  readonly name: Buffer;
  readonly method: number;
  readonly crc: number;
  readonly compressed: number;
  readonly bytes: number;
  readonly offset: number;
}

/** Called after each file with the files and bytes that are in the ZIP so far. */
type OnFile = (count: number, bytes: number) => void;

/** Writes a ZIP and gives its size in bytes. */
export async function writeArchive(files: readonly PackageFile[], path: string, onFile: OnFile): Promise<number> {
  const archive = await open(path, "wx", 0o600);
  try {
    const written: ZipEntry[] = [];
    let at = 0;
    for (const file of files) {
      const entry = await add(archive, file, at).catch((error: unknown) => {
        if (systemCode(error) === "ENOENT") return null; // Deleted since it was listed.
        // Not the file is at fault, but the disk on which the archive is.
        if ((error as NodeJS.ErrnoException).syscall === "write") throw error;
        throw failureFor(error, `${file.path} could not be packed`);
      });
      if (!entry) continue;
      written.push(entry);
      at = entry.offset + headerBytes(entry) + entry.compressed;
      onFile(written.length, at);
    }
    const directory = Buffer.concat(written.map(directoryRecord));
    const count = written.length;
    const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, directory.length], [4, at], [2, 0]);
    await writeAll(archive, Buffer.concat([directory, end]), at);
    return at + directory.length + end.length;
  } finally {
    await archive.close();
  }
}

/** Writes the data, then the header before it, when the sizes are known: so no data descriptor follows the data. */
async function add(archive: FileHandle, { name, path }: PackageFile, offset: number): Promise<ZipEntry> {
  const method = compressedFormats.test(name) ? 0 : 8;
  const start = { name: Buffer.from(name), method, offset };
  let crc = 0;
  let bytes = 0;
  let compressed = 0;
  let pieces: Uint8Array[] = [];
  const deflate = new Deflate({ level: 6 }, (piece) => pieces.push(piece));
  const write = async () => {
    for (const piece of pieces) {
      const at = offset + headerBytes(start) + compressed;
      if (at + piece.length > packageBytes)
        throw packageError("the package is larger than 100 MiB, the limit for a package");
      await writeAll(archive, piece, at);
      compressed += piece.length;
    }
    pieces = [];
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    crc = crc32(chunk, crc);
    bytes += chunk.length;
    if (method === 0) pieces.push(chunk);
    else deflate.push(chunk);
    await write();
  }
  if (method === 8) deflate.push(new Uint8Array(0), true);
  await write();
  const entry: ZipEntry = { ...start, crc, compressed, bytes };
  await writeAll(archive, localHeader(entry), offset);
  return entry;
}

/** A disk that is almost full takes a part of the bytes, without an error. */
async function writeAll(archive: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await archive.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

function headerBytes({ name }: { name: Buffer }): number {
  return 30 + name.length;
}

function localHeader(entry: ZipEntry): Buffer {
  return Buffer.concat([record([4, 0x04034b50], ...sharedFields(entry), [2, 0]), entry.name]);
}

function directoryRecord(entry: ZipEntry): Buffer {
  const empty: Field[] = [2, 2, 2, 2].map((bytes) => [bytes, 0]);
  const tail: Field[] = [...empty, [4, 0o100644 * 0x10000], [4, entry.offset]];
  return Buffer.concat([record([4, 0x02014b50], [2, 0x0314], ...sharedFields(entry), ...tail), entry.name]);
}

/** The fields that both headers share, from the needed version to the length of the name. */
function sharedFields({ name, method, crc, compressed, bytes }: ZipEntry): Field[] {
  const start: Field[] = [20, utf8NamesFlag, method, 0, dosEpoch].map((value) => [2, value]);
  return [...start, [4, crc], [4, compressed], [4, bytes], [2, name.length]];
}

/** A number and its length in bytes. */
type Field = readonly [bytes: number, value: number];

function record(...fields: readonly Field[]): Buffer {
  const all = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields) at = all.writeUIntLE(value, at, bytes);
  return all;
}
