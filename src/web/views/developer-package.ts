/** Makes a package of dropped or chosen files: a ZIP is sent as it is, a folder is zipped here. Read again for each upload. */
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import { compressedFormats, ignoredFiles, maxPackageFiles, packageBytes } from "../../api/limits.ts";

/** A chosen ZIP or folder. */
export interface ChosenPackage {
  readonly name: string;
  /** Reads it as a ZIP. `onProgress` gets the number of files zipped so far. Throws a `PackageError`. */
  read(onProgress: (files: number) => void): Promise<Blob>;
}

/** Why nothing can be sent, as a message for the user. */
export class PackageError extends Error {
  override readonly name = "PackageError";
}

/** A fixed time, so that the same files make the same package. */
const mtime = "1990-01-01T12:00:00";

interface Content {
  /** The path in the package, with slashes. */
  readonly path: string;
  file(): Promise<File>;
}

/** The package in a drop; `null` if it holds no files. Call it within the event: afterwards the browser clears the data. */
export function packageFromDrop(transfer: DataTransfer): ChosenPackage | null {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const [first] = entries;
  if (first === undefined) return null;
  if (entries.length > 1) return folder("the files", () => contentsOf(entries, ""));
  if (first.isDirectory) return folder(first.name, async () => contentsOf(await childrenOf(first), ""));
  return archive(first.name, () => fileOf(first));
}

/** The package from a file dialog: one ZIP, or all files of a folder; `null` if nothing was chosen. */
export function packageFromFiles(files: readonly File[]): ChosenPackage | null {
  const [first] = files;
  if (first === undefined) return null;
  if (first.webkitRelativePath === "") return archive(first.name, () => Promise.resolve(first));
  const [name = ""] = first.webkitRelativePath.split("/");
  const contents = files.flatMap((file): Content[] => {
    const path = file.webkitRelativePath.slice(name.length + 1);
    return path.split("/").some((part) => ignoredFiles.test(part)) ? [] : [{ path, file: () => Promise.resolve(file) }];
  });
  return folder(name, () => Promise.resolve(contents));
}

function archive(name: string, open: () => Promise<File>): ChosenPackage {
  return {
    name,
    async read() {
      const file = await openFile(name, open);
      if (file.size > packageBytes) throw new PackageError(`${name} is larger than 100 MiB, the limit for a package`);
      const start = await file
        .slice(0, 2)
        .text()
        .catch(() => {
          throw unreadable(name);
        });
      if (start !== "PK")
        throw new PackageError(`${name} is ${file.size === 0 ? "empty" : "neither a ZIP nor a folder"}`);
      return file;
    },
  };
}

function folder(name: string, contents: () => Promise<readonly Content[]>): ChosenPackage {
  return {
    name,
    async read(onProgress) {
      const all = [...(await contents())].sort((one, other) => (one.path < other.path ? -1 : 1));
      if (all.length === 0) throw new PackageError(`${name} is empty: there is nothing to install`);
      checkCount(all);
      return zipFiles(name, all, onProgress);
    },
  };
}

/** Zips file by file, so that the page stays responsive and holds one uncompressed file at a time. */
async function zipFiles(
  name: string,
  contents: readonly Content[],
  onProgress: (files: number) => void,
): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const zip = new Zip((error, part) => {
    if (error) throw error;
    parts.push(part as Uint8Array<ArrayBuffer>);
    bytes += part.length;
  });
  for (const [at, { path, file }] of contents.entries()) {
    const content = await openFile(path, file);
    if (content.size > packageBytes)
      throw new PackageError(`${path} alone is larger than 100 MiB, the limit for a package`);
    const read = await content.arrayBuffer().catch(() => {
      throw unreadable(path);
    });
    const entry = compressedFormats.test(path) ? new ZipPassThrough(path) : new ZipDeflate(path, { level: 6 });
    entry.mtime = mtime;
    zip.add(entry);
    entry.push(new Uint8Array(read), true);
    if (bytes > packageBytes) throw new PackageError(`${name} is larger than 100 MiB, the limit for a package`);
    onProgress(at + 1);
  }
  zip.end();
  return new Blob(parts, { type: "application/zip" });
}

function openFile(name: string, open: () => Promise<File>): Promise<File> {
  return open().catch(() => {
    throw unreadable(name);
  });
}

/** Browsers refuse to read a chosen file that has changed since. */
function unreadable(name: string): PackageError {
  return new PackageError(`${name} could not be read: it was changed or removed after you chose it. Choose it again`);
}

async function contentsOf(entries: readonly FileSystemEntry[], prefix: string): Promise<readonly Content[]> {
  const found: Content[] = [];
  for (const entry of entries) {
    if (ignoredFiles.test(entry.name)) continue;
    const path = prefix + entry.name;
    if (entry.isDirectory) found.push(...(await contentsOf(await childrenOf(entry), `${path}/`)));
    else found.push({ path, file: () => fileOf(entry) });
    checkCount(found);
  }
  return found;
}

function checkCount({ length }: readonly Content[]): void {
  if (length > maxPackageFiles) throw new PackageError(`It contains more than ${maxPackageFiles} files`);
}

/** The entries of a folder; `readEntries` gives at most a hundred per call. */
async function childrenOf(entry: FileSystemEntry): Promise<readonly FileSystemEntry[]> {
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject)).catch(
      () => {
        throw unreadable(entry.name);
      },
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}

function fileOf(entry: FileSystemEntry): Promise<File> {
  return new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
}
