/**
 * Whose files zapd works with: its user's and root's, which nobody else may write (SECURITY.md T14, T35). What is found
 * otherwise is refused, with the command that mends it. Windows has other rules, and none of this.
 */
import { chmodSync, lstatSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";

/** What Linux takes for a circle. */
const maxLinks = 40;
const sticky = 0o1000;
const root = 0;
const isWindows = process.platform === "win32";

/** What is at a path, behind its links. */
export interface Followed {
  readonly path: string;
  readonly found: Stats | undefined;
}

/** Follows the links that a path ends in, while each is ours or root's. Fails with `config_invalid`, which names the one that is not. */
export function followLinks(path: string): Followed {
  let at = resolve(path);
  for (let links = 0; links <= maxLinks; links++) {
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (!found?.isSymbolicLink()) return { path: at, found };
    if (isForeign(found)) throw foreignError(at, found, "chown -h");
    checkAbove(at);
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new ZapdError("config_invalid", `${path} is a link that leads in a circle (ELOOP)`, {
    hint: `Remove it: rm ${word(path)}`,
  });
}

/** Whether something is another user's than ours and root's. Where the runtime does not tell who we are, nothing is. */
export function isForeign({ uid }: Stats): boolean {
  const own = ownUid();
  return own !== null && uid !== own && uid !== root;
}

/** Fails with `config_invalid` for a file or folder that is another user's, or that everyone may write. */
export function checkOwned(path: string, found: Stats): void {
  if (isWindows) return;
  if (isForeign(found)) throw foreignError(path, found, "chown");
  if ((found.mode & 0o002) !== 0) throw writableError(path, found, "everyone", "o-w");
}

/** What its group may write: refused where secrets are, which fails with `config_invalid`; otherwise told, as a warning. */
export function checkGroupWritable(path: string, found: Stats, secret: boolean): string[] {
  if (isWindows || (found.mode & 0o020) === 0) return [];
  const problem = writableError(path, found, "its group", "g-w");
  if (secret) throw problem;
  return [`${problem.message}. ${problem.hint}`];
}

/**
 * The folders above a path: one that everyone may write lets anyone put another file in its place, unless it is sticky, as
 * /tmp is. Fails with `config_invalid`.
 */
export function checkAbove(path: string): void {
  if (isWindows) return;
  for (let at = realPathOr(dirname(resolve(path))); ; at = dirname(at)) {
    const found = folderAt(at);
    if (found && (found.mode & 0o002) !== 0 && (found.mode & sticky) === 0)
      throw writableError(at, found, "everyone", "o-w");
    if (dirname(at) === at) return;
  }
}

/** Closes a file that holds secrets to all but its owner, and tells so, or why it could not. */
export function restrictToOwner(path: string, found: Stats): string[] {
  if (isWindows || (found.mode & 0o077) === 0) return [];
  const was = `${path} holds secrets, and others could read it (mode ${octal(found)})`;
  try {
    chmodSync(path, 0o600);
    return [`${was}: it is closed now. Who has read it knows them`];
  } catch (error) {
    return [
      `${was}; it could not be closed (${systemCode(error) || textOf(error)}). Close it: chmod 600 ${word(path)}`,
    ];
  }
}

function ownUid(): number | null {
  if (isWindows) return null;
  try {
    return process.geteuid?.() ?? null;
  } catch {
    // Deno asks for a permission.
    return null;
  }
}

/** The folder without links, or as far as it can be told. */
function realPathOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** `undefined` where there is none, or where the runtime may not look. */
function folderAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function foreignError(path: string, { uid }: Stats, command: string): ZapdError {
  const own = ownUid() ?? root;
  return new ZapdError("config_invalid", `${path} belongs to another user (uid ${uid}), who could change it`, {
    hint: `If it is to be trusted: ${own === root ? "" : "sudo "}${command} ${own} ${word(path)}`,
  });
}

function writableError(path: string, found: Stats, who: string, change: string): ZapdError {
  return new ZapdError("config_invalid", `${path} can be written by ${who} (mode ${octal(found)})`, {
    hint: `Close it: chmod ${change} ${word(path)}`,
  });
}

function octal({ mode }: Stats): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** A path as a shell takes it. */
function word(path: string): string {
  return /^[\w./+@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
