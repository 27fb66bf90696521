/** The folder of the state as it is found: whose it is, who may write it, and what a killed daemon has left in it. */
import { lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../api/errors.ts";
import { makeFolder, readRegularFile, removeLeftovers, sweepTemporaries } from "./files.ts";
import { isObject } from "./json.ts";
import { checkAbove, checkGroupWritable, checkOwned, followLinks, restrictToOwner } from "./owners.ts";

const secretsFile = "credentials.json";
/** What is larger is no file of ours, and is not read to know. */
const maxSecretsBytes = 64 * 1024;
const stateFiles = ["devices.json", "devices.json.bak", "apps.json", "mqtt.json", "leases.json"] as const;
/** What is written by way of a temporary file; the last is how the doctor tries whether it can write. */
const temporaryOf = [
  "devices.json",
  "apps.json",
  "mqtt.json",
  "leases.json",
  "mcp.token",
  secretsFile,
  "doctor",
] as const;
/** An upload while it is received: nobody else names a file so. */
const uploadForm = /^zapd-upload-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.zip$/;

/**
 * Looks at the folder before anything is done there. Fails with `config_invalid` where others could change what zapd
 * remembers; closes secrets that others could read. Gives what a person should know of.
 */
export function checkStateFolder(folder: string): string[] {
  try {
    return checkOwners(folder);
  } catch (error) {
    if (error instanceof ZapdError) throw error;
    // What cannot be looked at cannot be used either: who tries to says why.
    return [];
  }
}

function checkOwners(folder: string): string[] {
  const { path, found } = followLinks(folder);
  checkAbove(path);
  if (!found?.isDirectory()) return [];
  checkOwned(path, found);
  const kept = fileAt(join(path, secretsFile));
  const secret = kept !== null && holdsSecrets(kept.path);
  const told = checkGroupWritable(path, found, secret);
  for (const file of [...stateFiles.map((name) => fileAt(join(path, name))), kept]) {
    if (!file) continue;
    checkOwned(file.path, file.found);
    told.push(...checkGroupWritable(file.path, file.found, file === kept && secret));
  }
  return kept ? [...told, ...restrictToOwner(kept.path, kept.found)] : told;
}

/** Removes what a killed daemon left. Only what is plainly its own: a user may keep files here, and links to others. */
export function sweepStateFolder(folder: string): void {
  for (const name of temporaryOf) sweepTemporaries(folder, name);
  const uploads = uploadsIn(folder);
  if (lstatSync(uploads, { throwIfNoEntry: false })?.isDirectory())
    removeLeftovers(uploads, (name) => uploadForm.test(name));
  const icons = iconsIn(folder);
  if (lstatSync(icons, { throwIfNoEntry: false })?.isDirectory())
    removeLeftovers(icons, (name) => /^\.[0-9a-f]{32}\.icon\.[\w-]+\.tmp$/.test(name));
}

/** Where the pictures of apps are kept. */
export function iconsIn(state: string): string {
  return join(state, "icons");
}

/** Where uploads wait while they are received. */
export function uploadsIn(state: string): string {
  return join(state, "uploads");
}

/** A path for one upload, in the folder of uploads, which is made. Fails with `storage_error`. */
export function newUpload(folder: string): string {
  makeFolder(folder);
  if (!lstatSync(folder).isDirectory()) {
    throw new ZapdError("storage_error", `${folder} is a link, and packages are kept in a folder of zapd's own`, {
      hint: "Move it away, and send the package again",
    });
  }
  return join(folder, `zapd-upload-${crypto.randomUUID()}.zip`);
}

/** A regular file; `null` for all else, which is never opened. */
function fileAt(path: string): { path: string; found: Stats } | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? { path, found } : null;
}

/** Whether a file of credentials keeps any. What cannot be read may. */
function holdsSecrets(path: string): boolean {
  try {
    const content: unknown = JSON.parse(readRegularFile(path, maxSecretsBytes) ?? "{}");
    const kept = isObject(content) ? content["credentials"] : null;
    return !isObject(kept) || Object.keys(kept).length > 0;
  } catch {
    return true;
  }
}
