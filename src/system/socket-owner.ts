/** Who owns the control socket that the config names. Loaded only where `daemon.socket` is set. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { followLinks, isForeign } from "./owners.ts";
import { tryOr } from "./try-or.ts";

/**
 * Fails with EACCES where the socket, or a folder or link on its path, is another user's, who could answer in place of the
 * daemon: every caller of the API can change `daemon.socket`, and what is sent may be a password (SECURITY.md T17).
 */
export function checkSocketOwner(socket: string): void {
  // Also before its links are resolved, since a link of another user may lead elsewhere by the time of the call.
  checkPath(socket);
  const { path } = followLinks(socket);
  checkPath(path);
  checkPath(join(realpathSync(dirname(path)), basename(path)));
}

function checkPath(path: string, found: Stats | null = lstatSync(path)): void {
  if (found && isForeign(found)) throw Object.assign(new Error(`${path} is another user's`), { code: "EACCES" });
  const above = dirname(path);
  // Deno may not look at every folder.
  if (above !== path)
    checkPath(
      above,
      tryOr(() => lstatSync(above), null),
    );
}
