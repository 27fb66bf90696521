/** The state folder: the checks of its owners and modes, and the files that a killed daemon left in it. */
import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../api/errors.ts";
import { makeFolder, readRegularFile, removeLeftovers, sweepTemporaries } from "./files.ts";
import { isObject } from "./json.ts";
import { checkAbove, checkGroupWritable, checkOwned, followLinks, restrictToOwner } from "./owners.ts";
import { tryOr } from "./try-or.ts";

const secretsFile = "credentials.json";
/** A larger file is not ours, and is not read. */
const maxSecretsBytes = 64 * 1024;
/** The token of `/mcp`. */
export const mcpTokenFile = "mcp.token";
const stateFiles = ["devices.json", "devices.json.bak", "apps.json", "mqtt.json", "leases.json"] as const;
/** Files written through a temporary file; `doctor` is the doctor's test whether the folder is writable. */
const temporaryOf = [...stateFiles, mcpTokenFile, secretsFile, "doctor"] as const;
/** The name of an upload while it is received. */
const uploadForm = /^zapd-upload-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.zip$/;

/**
 * Checks the folder before it is used. Fails with `config_invalid` where others could change the state; restricts secrets
 * that others could read. Gives the warnings.
 */
export function checkStateFolder(folder: string): string[] {
  try {
    const { warnings, credentials } = checkOwners(folder);
    return credentials ? [...warnings, ...restrictToOwner(credentials.path, credentials.found)] : warnings;
  } catch (error) {
    if (error instanceof ZapdError) throw error;
    // A folder that cannot be read cannot be used either; its first use fails with the reason.
    return [];
  }
}

/** The warnings about the folder, and its file with secrets. Changes nothing, and fails as `checkStateFolder` does. */
export function checkOwners(folder: string): { warnings: string[]; credentials: OwnedFile | null } {
  const { path, found } = followLinks(folder);
  checkAbove(path);
  if (!found?.isDirectory()) return { warnings: [], credentials: null };
  checkOwned(path, found);
  const credentials = fileAt(join(path, secretsFile));
  const secret = credentials !== null && holdsSecrets(credentials.path);
  const warnings = checkGroupWritable(path, found, secret);
  for (const file of [...stateFiles.map((name) => fileAt(join(path, name))), credentials]) {
    if (!file) continue;
    checkOwned(file.path, file.found);
    warnings.push(...checkGroupWritable(file.path, file.found, file === credentials && secret));
  }
  for (const inside of [uploadsIn(path), iconsIn(path)]) {
    const stats = lstatSync(inside, { throwIfNoEntry: false });
    if (stats?.isDirectory()) checkOwned(inside, stats);
  }
  return { warnings, credentials };
}

/** Removes what a killed daemon left: only files with its names, since a user may keep other files and links here. */
export function sweepStateFolder(folder: string): void {
  for (const name of temporaryOf) sweepTemporaries(folder, name);
  const leftovers: [string, RegExp][] = [
    [uploadsIn(folder), uploadForm],
    [iconsIn(folder), /^\.[0-9a-f]{32}\.icon\.[\w-]+\.tmp$/],
  ];
  for (const [inside, form] of leftovers)
    if (lstatSync(inside, { throwIfNoEntry: false })?.isDirectory()) removeLeftovers(inside, (name) => form.test(name));
}

/** The folder of the apps' icons. */
export function iconsIn(state: string): string {
  return join(state, "icons");
}

/** The folder of uploads that are being received. */
export function uploadsIn(state: string): string {
  return join(state, "uploads");
}

/** A path for one upload. Makes the folder of uploads. Fails with `storage_error`. */
export function newUpload(folder: string): string {
  makeFolder(folder);
  if (!lstatSync(folder).isDirectory()) {
    throw new ZapdError("storage_error", `${folder} is a link, but zapd keeps packages only in a real folder`, {
      hint: "Move it away, then send the package again",
    });
  }
  return join(folder, `zapd-upload-${crypto.randomUUID()}.zip`);
}

interface OwnedFile {
  readonly path: string;
  readonly found: Stats;
}

/** A regular file; `null` for anything else, which is never opened. */
function fileAt(path: string): OwnedFile | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? { path, found } : null;
}

/** Whether a credentials file contains any; true where it cannot be read. */
function holdsSecrets(path: string): boolean {
  const content = tryOr((): unknown => JSON.parse(readRegularFile(path, maxSecretsBytes) ?? "{}"), null);
  const credentials = isObject(content) ? content["credentials"] : null;
  return !isObject(credentials) || Object.keys(credentials).length > 0;
}
