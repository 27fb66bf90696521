/** Pictures of devices: icons, artwork and screenshots; their format by their bytes alone, and a cache of icons on disk. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../api/errors.ts";
import { type Connection, pictureBytes } from "../platforms/platform.ts";
import { makeFolder, writeAtomically } from "../system/files.ts";
import { tryOr } from "../system/try-or.ts";
import { appNotFound, findApp } from "./catalog.ts";
import { listApps } from "./commands.ts";
import type { Device } from "./device.ts";
import { requireCapability, withDeviceName } from "./failures.ts";

export interface CheckedPicture {
  readonly bytes: Uint8Array;
  readonly type: "image/png" | "image/jpeg" | "image/webp";
}

const timeoutMs = 15_000;
/** The limits of the cache on disk. */
const limits = { files: 500, bytes: 32 * 1024 * 1024, ms: 7 * 24 * 60 * 60_000 } as const;

/** The icon of an app that the device lists, by id, platform id or name; from `cache`, a folder, if it is there. */
export async function appIcon(
  device: Device,
  app: string,
  cache: string,
  signal: AbortSignal,
): Promise<CheckedPicture> {
  const { id } = device.preferredEndpoint("icons");
  const { apps } = await listApps(device, signal);
  // Only listed apps count: a word that looks like a platform id is no app here.
  const known = findApp(app, apps, { isAppId: () => false });
  if (!known) throw withDeviceName(appNotFound(app, apps), device.record);
  const key = JSON.stringify([id, known.platform_id, known.version ?? ""]);
  const path = join(cache, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.icon`);
  const kept = cachedIcon(path);
  if (kept) return kept;
  const work = checked("icon for that app", ({ icon }, within) =>
    requireCapability(icon, "icons")(known.platform_id, within),
  );
  const picture = await device.read(`icon ${known.platform_id}`, signal, {
    activity: "reading an icon",
    timeoutMs,
    needs: "icons",
    work,
  });
  // An icon that cannot be cached is read again the next time.
  await cacheIcon(cache, path, picture).catch(() => {});
  return picture;
}

export function artwork(device: Device, signal: AbortSignal): Promise<CheckedPicture> {
  // Of the endpoint whose playback is shown, where that has pictures.
  const endpoint = device.lastState.reporterOf("playback");
  return device.read("artwork", signal, {
    activity: "reading its artwork",
    timeoutMs,
    needs: "artwork",
    ...(endpoint?.has("artwork") && { route: { endpoint } }),
    work: checked("picture of what is playing", (one, within) => requireCapability(one.artwork, "artwork")(within)),
  });
}

export function screenshot(device: Device, signal: AbortSignal): Promise<CheckedPicture> {
  const password = () => device.developerPassword("Taking a picture of the screen of");
  const work = checked(
    "picture of its screen",
    (one, within) => requireCapability(one.screenshot, "screenshot")(within, password),
    pictureBytes.screenshot,
  );
  return device.read("screenshot", signal, {
    activity: "taking a picture of its screen",
    timeoutMs,
    needs: "screenshot",
    work,
  });
}

/** Reads a picture and checks its format; `what` is the word for it in errors. */
function checked(
  what: string,
  read: (connection: Connection, signal: AbortSignal) => Promise<Uint8Array | null>,
  mostBytes: number = pictureBytes.icon,
): (connection: Connection, signal: AbortSignal) => Promise<CheckedPicture> {
  return async (connection, within) => checkPicture(await read(connection, within), mostBytes, what);
}

/**
 * Recognizes a picture by its first bytes, and by its end where the format has one: a web page, an SVG that may hold a script,
 * or half a picture fail with `picture_not_found`.
 */
function checkPicture(bytes: Uint8Array | null, mostBytes: number, what: string): CheckedPicture {
  if (bytes === null || bytes.length === 0) throw new ZapdError("picture_not_found", `has no ${what}`);
  if (bytes.length > mostBytes)
    throw new ZapdError("picture_not_found", `sent a picture larger than ${mostBytes / 1024 / 1024} MiB`);
  const type = typeOf(bytes);
  if (type !== null) return { bytes, type };
  throw new ZapdError("picture_not_found", `did not send a complete PNG, JPEG or WebP as the ${what}`);
}

function typeOf(bytes: Uint8Array): CheckedPicture["type"] | null {
  const hex = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString("hex");
  // PNG: its signature, and the chunk IEND as the last twelve bytes (ISO/IEC 15948, 5.2 and 11.2.5).
  if (hex(0, 8) === "89504e470d0a1a0a")
    return hex(bytes.length - 8, bytes.length) === "49454e44ae426082" ? "image/png" : null;
  // JPEG: SOI, and EOI somewhere in the last bytes, since some devices pad with zeros (ISO/IEC 10918-1, B.1.1).
  if (hex(0, 3) === "ffd8ff")
    return Buffer.from(bytes.subarray(-512)).includes("\xff\xd9", 0, "latin1") ? "image/jpeg" : null;
  // WebP: RIFF with the length of the rest (RFC 9649, 2.4).
  if (hex(0, 4) === "52494646" && hex(8, 12) === "57454250") {
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(4, true) + 8;
    return length === bytes.length || length + 1 === bytes.length ? "image/webp" : null;
  }
  return null;
}

/** A cached icon, unless it is old. */
function cachedIcon(path: string): CheckedPicture | null {
  return tryOr(() => {
    const found = lstatSync(path);
    if (!found.isFile() || found.size > pictureBytes.icon || Date.now() - found.mtimeMs > limits.ms) return null;
    return checkPicture(readFileSync(path), pictureBytes.icon, "icon");
  }, null);
}

/** Caches an icon, and deletes the oldest ones beyond the limits. */
async function cacheIcon(folder: string, path: string, { bytes }: CheckedPicture): Promise<void> {
  makeFolder(folder);
  if (!lstatSync(folder).isDirectory()) return;
  await writeAtomically(path, bytes);
  const files = readdirSync(folder)
    .filter((name) => /^[0-9a-f]{32}\.icon$/.test(name))
    .map((name) => ({ path: join(folder, name), found: lstatSync(join(folder, name)) }))
    .filter(({ found }) => found.isFile())
    .sort((one, other) => other.found.mtimeMs - one.found.mtimeMs);
  let total = 0;
  for (const [at, { path: file, found }] of files.entries()) {
    total += found.size;
    if (at >= limits.files || total > limits.bytes) rmSync(file, { force: true });
  }
}
