/** ZIP archives made by hand, so that every field of them can lie. */
import { randomBytes } from "node:crypto";
import { crc32, deflateRawSync } from "node:zlib";
import type { Answered, TestDaemon } from "../support/daemon.ts";

export interface Entry {
  readonly name: string;
  readonly bytes: string | Buffer;
  /** Unix mode, as of a symlink. */
  readonly mode?: number;
  readonly packed?: boolean;
}

export const manifest: Entry = {
  name: "manifest",
  bytes: "title=Fjord\nmajor_version=2\nminor_version=1\nbuild_version=9\nmm_icon_focus_hd=pkg:/images/icon.png\n",
  packed: true,
};
const source: Entry = { name: "source/main.brs", bytes: `sub main()\n${"  print 1\n".repeat(40)}end sub\n` };

/** A sound package; `salt` makes it differ from the one before. */
export const sound = (salt: string): Buffer =>
  zip([manifest, source, { name: "images/icon.png", bytes: randomBytes(700) }, { name: "salt.txt", bytes: salt }]);

export const withEntry = (...entries: Entry[]): Buffer => zip([manifest, source, ...entries]);
export const withoutManifest = (): Buffer =>
  zip([{ ...manifest, name: "app/manifest" }, source, { name: "x", bytes: randomBytes(600) }]);
/** About 20 MB that no compression makes smaller. */
export const large = (): Buffer => withEntry({ name: "assets/film.bin", bytes: randomBytes(20_000_000) });

export function zip(entries: readonly Entry[]): Buffer {
  const files: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const plain = Buffer.from(entry.bytes);
    const packed = entry.packed ? deflateRawSync(plain) : plain;
    const name = Buffer.from(entry.name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(entry.packed ? 8 : 0, 4);
    common.writeUInt16LE(0x5b21, 8);
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(plain.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.from([0x14, 0x03]), common, tail, name]));
    files.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, directory, end]);
}

/** Sends a package as curl would: `curl -F archive=@package.zip`. */
export async function install(daemon: TestDaemon, id: string, archive: Buffer, field = "archive"): Promise<Answered> {
  const form = new FormData();
  form.append(field, new Blob([new Uint8Array(archive)], { type: "application/zip" }), "../../my package.zip");
  const url = `${daemon.url}/devices/${encodeURIComponent(id)}/dev/install`;
  // A kept connection may just have been let go.
  const response = await fetch(url, { method: "POST", body: form, keepalive: false });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
