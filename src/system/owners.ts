/**
 * Checks who owns the files that zapd uses: its user or root, and nobody else may write them (SECURITY.md T14, T35). Other
 * files are refused, with the command that corrects it. Windows has other rules and is not checked.
 */
import { chmodSync, lstatSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { shellQuote } from "./text.ts";
import { tryOr } from "./try-or.ts";

/** After so many links Linux gives up with ELOOP. */
const maxLinks = 40;
const sticky = 0o1000;
const root = 0;
const isWindows = process.platform === "win32";

/** Resolves the links at the end of a path; `found` is what is there. Fails with `config_invalid` for a link of another user. */
export function followLinks(path: string): { path: string; found: Stats | undefined } {
  let at = resolve(path);
  for (let links = 0; links <= maxLinks; links++) {
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (!found?.isSymbolicLink()) return { path: at, found };
    if (isForeign(found)) throw foreignError(at, found, "chown -h");
    checkAbove(at);
    at = resolve(realFolder(at), readlinkSync(at));
  }
  throw new ZapdError("config_invalid", `${path} is a symbolic link that leads in a circle (ELOOP)`, {
    hint: `Remove it: rm ${shellQuote(path)}`,
  });
}

/** Whether a file belongs neither to this user nor to root; false where the runtime does not tell who the user is. */
export function isForeign({ uid }: Stats): boolean {
  const own = ownUid();
  return own !== null && uid !== own && uid !== root;
}

/** Fails with `config_invalid` for a file or folder that another user owns, or that everyone may write. */
export function checkOwned(path: string, found: Stats): void {
  if (isWindows) return;
  if (isForeign(found)) throw foreignError(path, found, "chown");
  if ((found.mode & 0o002) !== 0) throw writableError(path, found, "everyone", "o-w");
}

/** Where the group may write a file: fails with `config_invalid` if it holds a secret, else gives a warning. */
export function checkGroupWritable(path: string, found: Stats, secret: boolean): string[] {
  if (isWindows || (found.mode & 0o020) === 0) return [];
  const problem = writableError(path, found, "its group", "g-w");
  if (secret) throw problem;
  return [`${problem.message}. ${problem.hint}`];
}

/**
 * Fails with `config_invalid` where everyone may write a folder above a path, and so could replace the file; sticky folders,
 * such as /tmp, are allowed.
 */
export function checkAbove(path: string): void {
  if (isWindows) return;
  for (let at = realFolder(path); ; at = dirname(at)) {
    const found = tryOr(() => statSync(at), undefined);
    if (found && (found.mode & 0o002) !== 0 && (found.mode & sticky) === 0)
      throw writableError(at, found, "everyone", "o-w");
    if (dirname(at) === at) return;
  }
}

/** The folder of a path, with the links on the way to it resolved, since `..` in a link starts there. */
function realFolder(path: string): string {
  const folder = dirname(resolve(path));
  return tryOr(() => realpathSync(folder), folder);
}

/** Restricts a file with secrets to its owner. Gives a warning where others could read it, or where this fails. */
export function restrictToOwner(path: string, found: Stats): string[] {
  if (isWindows || (found.mode & 0o077) === 0) return [];
  const was = `${path} contains secrets, and other users could read it (mode ${octal(found)})`;
  try {
    chmodSync(path, 0o600);
    return [`${was}; now only its owner can. Change the secrets if somebody may have read them`];
  } catch (error) {
    return [
      `${was}; its mode could not be changed (${systemCode(error) || textOf(error)}). Change it: chmod 600 ${shellQuote(path)}`,
    ];
  }
}

/** `null` also where Deno lacks the permission. */
function ownUid(): number | null {
  return isWindows ? null : tryOr(() => process.geteuid?.() ?? null, null);
}

function foreignError(path: string, { uid }: Stats, command: string): ZapdError {
  const own = ownUid() ?? root;
  return new ZapdError("config_invalid", `${path} belongs to another user (uid ${uid}), who could change it`, {
    hint: `${own === root ? "Run zapd as that user, not as root; or, if" : "If"} you trust it: ${own === root ? "" : "sudo "}${command} ${own} ${shellQuote(path)}`,
  });
}

function writableError(path: string, found: Stats, who: string, change: string): ZapdError {
  return new ZapdError("config_invalid", `${path} can be written by ${who} (mode ${octal(found)})`, {
    hint: `Change its mode: chmod ${change} ${shellQuote(path)}`,
  });
}

/** The mode of a file: `0644`. */
export function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
