/**
 * Writes a ZIP (APPNOTE.TXT 4.3), file by file and never a whole file in memory. Sizes stand before the data, not behind it
 * as in streamed ZIPs, which not every set reads; the same files make the same archive, whenever they were touched.
 */
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { Deflate } from "fflate";
import { type PackageFile, packageError } from "./package-files.ts";

/** What the daemon takes. */
export const mostBytes = 100 * 1024 * 1024;
/** Packed already: another pass costs time and saves nothing. */
const packed = /\.(png|jpe?g|gif|webp|mp3|m4a|aac|mp4|m4v|webm|woff2?|gz)$/i;
const utf8Names = 0x0800;
/** 1 January 1980, where the calendar of ZIPs begins. */
const date = 0x0021;

interface Written {
  readonly name: Buffer;
  readonly method: number;
  readonly crc: number;
  readonly compressed: number;
  readonly bytes: number;
  readonly offset: number;
}

/** Writes the archive and gives its size; `onFile` is told how many files and bytes are in it so far. */
export async function writeArchive(
  files: readonly PackageFile[],
  path: string,
  onFile: (count: number, bytes: number) => void,
): Promise<number> {
  const archive = await open(path, "wx", 0o600);
  try {
    const written: Written[] = [];
    let at = 0;
    for (const file of files) {
      const entry = await add(archive, file, at);
      written.push(entry);
      at = entry.offset + headerBytes(entry) + entry.compressed;
      onFile(written.length, at);
    }
    const directory = Buffer.concat(written.map(directoryRecord));
    const end = record(22, [
      ...[u32(0x06054b50), u16(0), u16(0), u16(written.length), u16(written.length)],
      ...[u32(directory.length), u32(at), u16(0)],
    ]);
    await archive.write(Buffer.concat([directory, end]), 0, null, at);
    return at + directory.length + end.length;
  } finally {
    await archive.close();
  }
}

/** The data first, then the header before it: only then are its sizes known. */
async function add(archive: FileHandle, { name, path }: PackageFile, offset: number): Promise<Written> {
  const method = packed.test(name) ? 0 : 8;
  const start = { name: Buffer.from(name), method, offset };
  let crc = 0;
  let bytes = 0;
  let compressed = 0;
  let pieces: Uint8Array[] = [];
  const deflate = new Deflate({ level: 6 }, (piece) => pieces.push(piece));
  const write = async () => {
    for (const piece of pieces) {
      const at = offset + headerBytes(start) + compressed;
      if (at + piece.length > mostBytes) throw packageError("the package is larger than 100 MiB, and none may be");
      await archive.write(piece, 0, piece.length, at);
      compressed += piece.length;
    }
    pieces = [];
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    crc = crc32(chunk, crc);
    bytes += chunk.length;
    if (method === 0) pieces.push(chunk);
    else deflate.push(chunk);
    await write();
  }
  if (method === 8) deflate.push(new Uint8Array(0), true);
  await write();
  const entry: Written = { ...start, crc, compressed, bytes };
  await archive.write(localHeader(entry), 0, null, offset);
  return entry;
}

function headerBytes({ name }: { name: Buffer }): number {
  return 30 + name.length;
}

function localHeader(entry: Written): Buffer {
  return Buffer.concat([record(30, [u32(0x04034b50), ...described(entry), u16(0)]), entry.name]);
}

function directoryRecord(entry: Written): Buffer {
  const head = [u32(0x02014b50), u16(0x0314), ...described(entry)];
  const tail = [u16(0), u16(0), u16(0), u16(0), u32(0o100644 * 0x10000), u32(entry.offset)];
  return Buffer.concat([record(46, [...head, ...tail]), entry.name]);
}

/** What stands in both headers, from the version that is needed to the length of the name. */
function described({ name, method, crc, compressed, bytes }: Written): Buffer[] {
  return [
    u16(20),
    u16(utf8Names),
    u16(method),
    u16(0),
    u16(date),
    u32(crc),
    u32(compressed),
    u32(bytes),
    u16(name.length),
  ];
}

function record(length: number, parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts, length);
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
