/** Pictures of devices: told by their bytes and nothing else, and those of apps kept on disk for a while. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ZapdError } from "../api/errors.ts";
import { pictureBytes } from "../platforms/platform.ts";
import { makeFolder, writeAtomically } from "../system/files.ts";

export interface CheckedPicture {
  readonly bytes: Uint8Array;
  readonly type: "image/png" | "image/jpeg" | "image/webp";
}

/** What is kept on disk at most, and for how long. */
const kept = { files: 500, bytes: 32 * 1024 * 1024, ms: 7 * 24 * 60 * 60_000 } as const;

/**
 * A picture by its first bytes, and by its end where a format has one: a web page, a drawing that may hold a script, and half
 * a picture are none. Fails with `picture_not_found`.
 */
export function checkPicture(bytes: Uint8Array | null, mostBytes: number, what: string): CheckedPicture {
  if (bytes === null || bytes.length === 0) throw new ZapdError("picture_not_found", `has no ${what}`);
  if (bytes.length > mostBytes)
    throw new ZapdError("picture_not_found", `gave a picture of more than ${mostBytes / 1024 / 1024} MiB`);
  const type = typeOf(bytes);
  if (type !== null) return { bytes, type };
  throw new ZapdError(
    "picture_not_found",
    `gave something that is no PNG, JPEG or WebP, or only a part of one, as ${what}`,
  );
}

function typeOf(bytes: Uint8Array): CheckedPicture["type"] | null {
  const hex = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString("hex");
  // PNG: its signature, and the chunk IEND as the last twelve bytes (ISO/IEC 15948, 5.2 and 11.2.5).
  if (hex(0, 8) === "89504e470d0a1a0a")
    return hex(bytes.length - 8, bytes.length) === "49454e44ae426082" ? "image/png" : null;
  // JPEG: SOI, and EOI somewhere in the last bytes, since some sets fill up with zeros (ISO/IEC 10918-1, B.1.1).
  if (hex(0, 3) === "ffd8ff")
    return hex(Math.max(0, bytes.length - 512), bytes.length).includes("ffd9") ? "image/jpeg" : null;
  // WebP: RIFF with the length of what follows (RFC 9649, 2.4).
  if (hex(0, 4) === "52494646" && hex(8, 12) === "57454250") {
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(4, true) + 8;
    return length === bytes.length || length + 1 === bytes.length ? "image/webp" : null;
  }
  return null;
}

/** The icons of apps on disk, each in a file that is named by what it is of. One that cannot be kept is fetched again. */
export class IconCache {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The picture that is kept by these words, if it is not old. */
  get(...words: readonly string[]): CheckedPicture | null {
    const path = this.#pathOf(words);
    try {
      const found = lstatSync(path);
      if (!found.isFile() || found.size > pictureBytes.icon || Date.now() - found.mtimeMs > kept.ms) return null;
      return checkPicture(readFileSync(path), pictureBytes.icon, "icon");
    } catch {
      return null;
    }
  }

  /** Keeps a picture; what was kept first goes where there are too many. */
  async put(picture: CheckedPicture, ...words: readonly string[]): Promise<void> {
    makeFolder(this.#folder);
    if (!lstatSync(this.#folder).isDirectory()) return;
    await writeAtomically(this.#pathOf(words), picture.bytes);
    this.#prune();
  }

  #pathOf(words: readonly string[]): string {
    return join(this.#folder, `${createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 32)}.icon`);
  }

  #prune(): void {
    const files = readdirSync(this.#folder)
      .filter((name) => /^[0-9a-f]{32}\.icon$/.test(name))
      .map((name) => ({ path: join(this.#folder, name), found: lstatSync(join(this.#folder, name)) }))
      .filter(({ found }) => found.isFile())
      .sort((one, other) => other.found.mtimeMs - one.found.mtimeMs);
    let bytes = 0;
    for (const [at, { path, found }] of files.entries()) {
      bytes += found.size;
      if (at >= kept.files || bytes > kept.bytes) rmSync(path, { force: true });
    }
  }
}
