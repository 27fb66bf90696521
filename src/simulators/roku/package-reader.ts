import { createHash } from "node:crypto";
import { Inflate, Unzip, type UnzipDecoder } from "fflate";
import type { CompileError } from "./console.ts";

export interface Package {
  readonly bytes: number;
  readonly md5: string;
  /** False when it is no zip from end to end. */
  readonly sound: boolean;
  /** The words of the manifest, or null when the root of the archive has none. */
  readonly manifest: Readonly<Record<string, string>> | null;
  readonly errors: readonly CompileError[];
}

export interface PackageReader {
  push(chunk: Uint8Array): void;
  end(): Package;
}

/** A line of a source file that stands for a mistake in it. */
const COMPILE_ERROR = "#compile-error";
const SAMPLE_LIMIT = 1024 * 1024;
const END_OF_DIRECTORY = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
/** An end record is 22 bytes and a comment. */
const TAIL_BYTES = 22 + 65_535;

const isRead = (path: string) => path === "manifest" || path.endsWith(".brs");

/** Reads a package as it arrives: only the manifest and the sources are unpacked, nothing is kept. */
export function createPackageReader(): PackageReader {
  const hash = createHash("md5");
  const errors: CompileError[] = [];
  let manifest: Record<string, string> | null = null;
  let bytes = 0;
  let files = 0;
  let sound = true;
  let tail = Buffer.alloc(0);

  const unzip = new Unzip((file) => {
    files += 1;
    const pieces: Uint8Array[] = [];
    file.ondata = (error, chunk, final) => {
      if (error !== null && error !== undefined) sound = false;
      else pieces.push(chunk);
      if (!final || !isRead(file.name)) return;
      const text = Buffer.concat(pieces).toString("utf8");
      if (file.name === "manifest") manifest = parseManifest(text);
      else errors.push(...findErrors(file.name, text));
    };
    file.start();
  });
  unzip.register(Deflated);
  unzip.register(Stored);

  return {
    push(chunk) {
      hash.update(chunk);
      bytes += chunk.length;
      tail = Buffer.concat([tail.length > 2 * TAIL_BYTES ? tail.subarray(-TAIL_BYTES) : tail, chunk]);
      try {
        if (sound) unzip.push(chunk);
      } catch {
        sound = false;
      }
    },
    end: () => ({
      bytes,
      md5: hash.digest("hex"),
      sound: sound && files > 0 && tail.subarray(-TAIL_BYTES).includes(END_OF_DIRECTORY),
      manifest,
      errors,
    }),
  };
}

/** Passes on the first part of a file worth reading and lets everything else go. */
abstract class Sample implements UnzipDecoder {
  ondata: UnzipDecoder["ondata"] = () => {};
  #left: number;

  constructor(path: string) {
    this.#left = isRead(path) ? SAMPLE_LIMIT : 0;
  }

  push(chunk: Uint8Array, final: boolean): void {
    try {
      if (this.#left > 0) this.unpack(chunk, final);
    } catch {
      this.ondata(Object.assign(new Error("corrupt"), { code: 0 }), new Uint8Array(0), final);
      return;
    }
    if (final) this.ondata(null, new Uint8Array(0), true);
  }

  protected pass(chunk: Uint8Array): void {
    const mine = new Uint8Array(chunk.subarray(0, this.#left));
    this.#left -= mine.length;
    if (mine.length > 0) this.ondata(null, mine, false);
  }

  protected abstract unpack(chunk: Uint8Array, final: boolean): void;
}

class Stored extends Sample {
  static compression = 0;
  protected unpack(chunk: Uint8Array): void {
    this.pass(chunk);
  }
}

class Deflated extends Sample {
  static compression = 8;
  readonly #inflate = new Inflate((chunk) => this.pass(chunk));
  protected unpack(chunk: Uint8Array, final: boolean): void {
    this.#inflate.push(new Uint8Array(chunk), final);
  }
}

function parseManifest(text: string): Record<string, string> {
  const words: Record<string, string> = Object.create(null);
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const [, name, value] = /^\s*([^#=][^=]*?)\s*=(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) words[name] = value.trim();
  }
  return words;
}

function findErrors(path: string, text: string): CompileError[] {
  return text.split("\n").flatMap((line, index) => (line.includes(COMPILE_ERROR) ? [{ path, line: index + 1 }] : []));
}
