/** What of a folder belongs into a package. */
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { systemCode } from "../api/errors.ts";
import { CommandError } from "./failure.ts";

export interface PackageFile {
  /** Its name in the package, with slashes. */
  readonly name: string;
  readonly path: string;
}

/** What every package has at its root. */
const manifest = "manifest";
/** What no package needs: it belongs to the tools that were used. */
const leftOut = /^(\..*|node_modules|.*\.zip|__MACOSX|Thumbs\.db)$/i;
const mostFiles = 10_000;

export interface FolderContent {
  readonly files: readonly PackageFile[];
  /** Names of links that lead out of the folder; nothing behind them is taken. */
  readonly links: readonly string[];
}

/** The files of a package in a folder, sorted; fails when it is none. */
export async function packageFiles(folder: string): Promise<FolderContent> {
  const files: PackageFile[] = [];
  const links: string[] = [];
  let root = "";
  // The folders on the way down: a link back to one of them would never end.
  const walk = async (at: string, prefix: string, way: readonly string[]): Promise<void> => {
    for (const entry of (await readdir(at)).sort()) {
      if (leftOut.test(entry)) continue;
      const path = join(at, entry);
      const name = prefix + entry;
      const real = await realpath(path).catch(() => null);
      const isLink = (await lstat(path)).isSymbolicLink();
      if (isLink && (real === null || !isWithin(root, real))) {
        links.push(name);
        continue;
      }
      const found = await stat(path);
      if (found.isDirectory() && real !== null && !way.includes(real)) await walk(path, `${name}/`, [...way, real]);
      if (found.isFile()) files.push({ name, path });
      if (files.length > mostFiles) throw packageError(`${folder} holds more than ${mostFiles} files`);
    }
  };
  try {
    root = await realpath(folder);
    await walk(folder, "", [root]);
  } catch (error) {
    if (error instanceof CommandError || systemCode(error) === "") throw error;
    throw packageError(`${folder} could not be read (${systemCode(error)})`);
  }
  checkManifest(folder, files);
  return { files, links };
}

function checkManifest(folder: string, files: readonly PackageFile[]): void {
  if (files.length === 0) throw packageError(`${folder} is empty: there is nothing to install`);
  if (files.some(({ name }) => name === manifest)) return;
  const nested = files.find(({ name }) => name.endsWith(`/${manifest}`))?.name.slice(0, -manifest.length - 1);
  throw packageError(
    `${folder} is no package: it has no file ${manifest}`,
    nested === undefined
      ? "A package has manifest and source/ at its root"
      : `There is one in ${nested}: zapd install ${join(folder, nested)}`,
  );
}

/** The failure for a package that is not sent at all. */
export function packageError(message: string, hint?: string): CommandError {
  return CommandError.of({ code: "invalid_archive", message, hint });
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
