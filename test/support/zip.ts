/** Writes valid and broken ZIPs, field by field (APPNOTE.TXT 4.3). Content is stored, or compressed already. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";

export interface ZipFile {
  readonly name: string | Uint8Array;
  /** The content in the archive, compressed where `method` says so. */
  readonly content?: Uint8Array | string;
  readonly method?: number;
  /** Wrong values in the directory. */
  readonly bytes?: number;
  readonly compressed?: number;
  readonly offset?: number;
  readonly flags?: number;
  /** Unix mode, type bits included. */
  readonly mode?: number;
  /** Only in the directory, not in the data. */
  readonly absent?: boolean;
}

export interface ZipShape {
  /** Bytes before the first file; the offsets stay what they were. */
  readonly prefix?: Uint8Array;
  readonly comment?: Uint8Array;
  /** Wrong values in the end record. */
  readonly count?: number;
  readonly disk?: number;
  readonly directoryAt?: number;
  readonly directoryBytes?: number;
}

export function writeZip(files: readonly ZipFile[], shape: ZipShape = {}): Uint8Array {
  const data: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const file of files) {
    const name = typeof file.name === "string" ? Buffer.from(file.name) : Buffer.from(file.name);
    const content = Buffer.from(file.content ?? "");
    const bytes = file.bytes ?? content.length;
    const compressed = file.compressed ?? content.length;
    const common = Buffer.concat([
      u16(20),
      u16(file.flags ?? 0),
      u16(file.method ?? 0),
      u16(0),
      u16(0x58cf),
      u32(crc32(content)),
      u32(compressed),
      u32(bytes),
      u16(name.length),
      u16(0),
    ]);
    const offset = file.offset ?? at;
    directory.push(
      Buffer.concat([
        u32(0x02014b50),
        u16(0x0314),
        common,
        u16(0),
        u16(0),
        u16(0),
        u32(((file.mode ?? 0o100644) << 16) >>> 0),
        u32(offset),
        name,
      ]),
    );
    if (file.absent) continue;
    const local = Buffer.concat([u32(0x04034b50), common, name, content]);
    data.push(local);
    at += local.length;
  }
  const entries = Buffer.concat(directory);
  const comment = shape.comment ?? new Uint8Array(0);
  const count = shape.count ?? files.length;
  const end = Buffer.concat([
    u32(0x06054b50),
    u16(shape.disk ?? 0),
    u16(0),
    u16(count),
    u16(count),
    u32(shape.directoryBytes ?? entries.length),
    u32(shape.directoryAt ?? at),
    u16(comment.length),
    comment,
  ]);
  return Buffer.concat([shape.prefix ?? new Uint8Array(0), ...data, entries, end]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A folder for one test file; `put` writes a file there, and returns its path. */
export function scratchFolder(): { readonly path: string; put(bytes: Uint8Array): string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "zapd-files-"));
  let count = 0;
  return {
    path,
    put(bytes) {
      const file = join(path, `file-${++count}`);
      writeFileSync(file, bytes);
      return file;
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
