/** One local file served over HTTP, whole or by a range of bytes (RFC 9110, 14), to a device that plays it. */
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { mediaTypeOf } from "../system/media-types.ts";
import type { PeerAnswer, PeerRequest } from "../transport/peer-listener.ts";
import { CommandError } from "./failure.ts";
import { unreadable } from "./print.ts";

/** Bytes read at a time. */
const pieceBytes = 256 * 1024;

/** The first and the last byte of a range, both included. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export class ServedFile {
  readonly name: string;
  /** Its media type; `null` where it was not given and the extension is unknown. */
  readonly type: string | null;
  /** How many bytes were sent, counted again where a part is requested again. */
  bytesSent = 0;
  /** When it was last requested, or a piece sent (`performance.now()`); `null` until then. */
  lastUsedAt: number | null = null;
  /** Why the last read failed; `null` if none has. */
  failure: string | null = null;
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle, name: string, type: string | null) {
    this.#handle = handle;
    this.name = name;
    this.type = type;
  }

  /** Opens the file and keeps it open, so that another file under the same name does not change what plays. Fails with CommandError. */
  static async open(path: string, type: string | null): Promise<ServedFile> {
    const refuse = (why: string) =>
      new CommandError(`${path} ${why}`, exits.failed, undefined, { code: "file_unreadable" });
    const refuseFor = (error: unknown) => refuse(reasonOf(error));
    const found = await stat(path).catch((error: unknown) => {
      throw refuseFor(error);
    });
    // Opening a pipe or a device may block.
    if (found.isDirectory()) throw refuse("is a folder: give a file in it");
    if (!found.isFile()) throw refuse("is not a regular file, so it cannot be played");
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
      throw refuseFor(error);
    });
    const { size } = await handle.stat();
    if (size > 0) return new ServedFile(handle, basename(resolve(path)), type ?? mediaTypeOf(path));
    await handle.close();
    throw refuse("is empty");
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  /** Answers with the file, or with the requested range. Several ranges are answered with the whole file, as RFC 9110 allows. */
  async answer({ method, headers }: Pick<PeerRequest, "method" | "headers">): Promise<PeerAnswer> {
    const { size, mtime } = await this.#handle.stat();
    this.lastUsedAt = performance.now();
    const modified = mtime.toUTCString();
    const tag = `"${size.toString(16)}-${mtime.getTime().toString(16)}"`;
    const common = {
      "content-type": this.type ?? "application/octet-stream",
      "accept-ranges": "bytes",
      "last-modified": modified,
      etag: tag,
      ...forDlna(headers),
    };
    const condition = headers["if-range"];
    const isSame = condition === undefined || condition === tag || condition === modified;
    const range = isSame ? headers["range"] : undefined;
    const span = method === "GET" && range !== undefined ? spanOf(range, size) : "whole";
    if (span === null)
      return { status: 416, headers: { ...common, "content-length": "0", "content-range": `bytes */${size}` } };
    if (span === "whole")
      return {
        status: 200,
        headers: { ...common, "content-length": String(size) },
        body: this.#read({ start: 0, end: size - 1 }),
      };
    const { start, end } = span;
    const place = { "content-length": String(end - start + 1), "content-range": `bytes ${start}-${end}/${size}` };
    return { status: 206, headers: { ...common, ...place }, body: this.#read(span) };
  }

  async *#read({ start, end }: Span): AsyncGenerator<Uint8Array> {
    for (let at = start; at <= end; ) {
      const piece = new Uint8Array(Math.min(pieceBytes, end - at + 1));
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, at).catch((error: unknown) => {
        this.failure = reasonOf(error);
        throw error;
      });
      if (bytesRead === 0) {
        this.failure = "became shorter while it was read";
        throw new Error(`${this.name} ${this.failure}`);
      }
      yield piece.subarray(0, bytesRead);
      at += bytesRead;
      this.bytesSent += bytesRead;
      this.lastUsedAt = performance.now();
    }
  }
}

/** Headers that DLNA players ask for: any range can be read (OP=01), streaming, and the transfer may stall (guidelines, 7.4). */
function forDlna(headers: PeerRequest["headers"]): Record<string, string> {
  const mode = headers["transfermode.dlna.org"];
  const asks = headers["getcontentfeatures.dlna.org"] === "1";
  return {
    ...(asks && {
      "contentFeatures.dlna.org": `DLNA.ORG_OP=01;DLNA.ORG_CI=0;DLNA.ORG_FLAGS=01700000${"0".repeat(24)}`,
    }),
    ...(mode !== undefined && /^(Streaming|Interactive|Background)$/.test(mode) && { "transferMode.dlna.org": mode }),
  };
}

function reasonOf(error: unknown): string {
  const code = systemCode(error);
  if (code === "ENOTDIR") return "does not exist";
  if (code === "EACCES" || code === "EPERM") return "cannot be read: you lack the permission";
  return unreadable(error);
}

/** The requested range within the file; `whole` for a range that is not understood, `null` for one beyond the end. */
function spanOf(range: string, size: number): Span | "whole" | null {
  const [, from = "", to = ""] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (from === "" && to === "") return "whole";
  if (size === 0) return null;
  if (from === "") return Number(to) === 0 ? null : { start: Math.max(0, size - Number(to)), end: size - 1 };
  const start = Number(from);
  if (to !== "" && Number(to) < start) return "whole";
  if (start >= size) return null;
  return { start, end: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}
