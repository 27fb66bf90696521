/** A package out of what was dropped or chosen: a ZIP as it is, a folder zipped here. Read anew each time that it is sent. */
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";

/** What was chosen, to be read when it is sent. */
export interface Chosen {
  readonly name: string;
  /** The ZIP. Fails with a `PackageError`; `told` is given how many files are in it so far. */
  read(told: (files: number) => void): Promise<Blob>;
}

/** Why nothing can be sent, in words for who chose it. */
export class PackageError extends Error {
  override readonly name = "PackageError";
}

/** What the daemon takes. */
const mostBytes = 100 * 1024 * 1024;
const mostFiles = 10_000;
/** What no package needs: it belongs to the tools that were used. */
const leftOut = /^(\..*|node_modules|.*\.zip|__MACOSX|Thumbs\.db)$/i;
/** Packed already: another pass costs time and saves nothing. */
const packed = /\.(png|jpe?g|gif|webp|mp3|m4a|aac|mp4|m4v|webm|woff2?|gz)$/i;
/** One and the same for all, so that the same files are the same package. */
const mtime = "1990-01-01T12:00:00";

interface Content {
  /** Its name in the package, with slashes. */
  readonly path: string;
  file(): Promise<File>;
}

/** What was dropped; to be called within the event, after which the browser forgets it. `null`: it was nothing of the kind. */
export function droppedIn(transfer: DataTransfer): Chosen | null {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const [first] = entries;
  if (first === undefined) return null;
  if (entries.length > 1) return folder("the files", () => contentsOf(entries, ""));
  if (first.isDirectory) return folder(first.name, async () => contentsOf(await childrenOf(first), ""));
  return archive(first.name, () => fileOf(first));
}

/** What a file dialog gave: one ZIP, or all files of a folder. `null`: it was left without a choice. */
export function chosenIn(files: readonly File[]): Chosen | null {
  const [first] = files;
  if (first === undefined) return null;
  if (first.webkitRelativePath === "") return archive(first.name, () => Promise.resolve(first));
  const [name = ""] = first.webkitRelativePath.split("/");
  const contents = files.flatMap((file): Content[] => {
    const path = file.webkitRelativePath.slice(name.length + 1);
    return path.split("/").some((part) => leftOut.test(part)) ? [] : [{ path, file: () => Promise.resolve(file) }];
  });
  return folder(name, () => Promise.resolve(contents));
}

function archive(name: string, open: () => Promise<File>): Chosen {
  return {
    name,
    async read() {
      const file = await opened(name, open);
      if (file.size > mostBytes) throw new PackageError(`${name} is larger than 100 MiB, and no package may be`);
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

function folder(name: string, contents: () => Promise<readonly Content[]>): Chosen {
  return {
    name,
    async read(told) {
      const all = [...(await contents())].sort((one, other) => (one.path < other.path ? -1 : 1));
      if (all.length === 0) throw new PackageError(`${name} is empty: there is nothing to install`);
      return zipped(name, all, told);
    },
  };
}

/** File by file, so that the page goes on answering, and no more than one of them is held unpacked. */
async function zipped(name: string, contents: readonly Content[], told: (files: number) => void): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const zip = new Zip((error, part) => {
    if (error) throw error;
    parts.push(part as Uint8Array<ArrayBuffer>);
    bytes += part.length;
  });
  for (const [at, { path, file }] of contents.entries()) {
    const content = await opened(path, file);
    if (content.size > mostBytes) throw new PackageError(`${path} alone is larger than 100 MiB, and no package may be`);
    const read = await content.arrayBuffer().catch(() => {
      throw unreadable(path);
    });
    const entry = packed.test(path) ? new ZipPassThrough(path) : new ZipDeflate(path, { level: 6 });
    entry.mtime = mtime;
    zip.add(entry);
    entry.push(new Uint8Array(read), true);
    if (bytes > mostBytes) throw new PackageError(`${name} is larger than 100 MiB, and no package may be`);
    told(at + 1);
  }
  zip.end();
  return new Blob(parts, { type: "application/zip" });
}

function opened(name: string, open: () => Promise<File>): Promise<File> {
  return open().catch(() => {
    throw unreadable(name);
  });
}

/** Browsers read a file that was chosen in a dialog only as long as it stays as it was. */
function unreadable(name: string): PackageError {
  return new PackageError(
    `${name} could not be read: it has changed since it was chosen, or is gone. Choose it once more`,
  );
}

async function contentsOf(entries: readonly FileSystemEntry[], prefix: string): Promise<readonly Content[]> {
  const found: Content[] = [];
  for (const entry of entries) {
    if (leftOut.test(entry.name)) continue;
    const path = prefix + entry.name;
    if (entry.isDirectory) found.push(...(await contentsOf(await childrenOf(entry), `${path}/`)));
    else found.push({ path, file: () => fileOf(entry) });
    if (found.length > mostFiles) throw new PackageError(`There are more than ${mostFiles} files in it`);
  }
  return found;
}

/** What is in a folder: browsers tell of it a hundred at a time. */
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
