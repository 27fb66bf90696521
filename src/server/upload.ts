/** Receives a package into a private temporary file: never held in memory, never extracted (SECURITY.md T21, T22). */
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { ZapdError } from "../api/errors.ts";
import { describeIssue } from "../api/issues.ts";
import { packageBytes } from "../api/limits.ts";
import { DeepLinkParams } from "../api/operations.ts";
import type { Archive, DeepLink } from "../platforms/platform.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { newUpload } from "../system/state-folder.ts";
import { tryOr } from "../system/try-or.ts";
import { isJson, readJson } from "../transport/json.ts";
import { checkLength, chunksOf } from "./body.ts";

const archiveMs = 180_000;
/** At least 16 KiB a second: there are two uploads at a time, and a slow one would block its place for all of `archiveMs`. */
const pace = { bytes: 160 * 1024, everyMs: 10_000 } as const;
/** The form around the archive has at most this many bytes. */
const formBytes = 64 * 1024;
const formLimits = {
  fileSize: packageBytes,
  files: 1,
  parts: 8,
  fieldSize: 8 * 1024,
  headerPairs: 32,
  headerSize: 8 * 1024,
} as const;
const field = "archive";
/** Bun frees the chunks of a body late: 100 MB raise its memory by 30 MB, with these collections by 15. One takes some 7 ms. */
const collectEveryBytes = 8 * 1024 * 1024;

/** The texts of the form: a deep link to start the package with, and the developer password of this device. */
export interface FormFields {
  readonly params?: DeepLink | undefined;
  readonly password?: string | undefined;
}

/** Fails with `invalid_payload`. Other texts in the form are ignored. */
function readFields(texts: ReadonlyMap<string, string>): FormFields {
  const [params, password] = [texts.get("params"), texts.get("password")];
  const json = params === undefined ? undefined : readJson(params);
  if (params !== undefined && !isJson(json))
    throw badForm("its field params is not a JSON object of strings", `-F 'params={"contentId":"42"}'`);
  const read = z.object({ params: DeepLinkParams.optional() }).safeParse({ params: json }, { reportInput: true });
  // In the words of every other request: the command line sends this form too.
  if (!read.success)
    throw new ZapdError("invalid_payload", `The request is not valid: ${describeIssue(read.error.issues)}`);
  if (password !== undefined && !/^[^\p{Cc}\p{Cs}]{1,256}$/u.test(password))
    throw badForm(
      "its field password is empty, longer than 256 characters, or contains control characters",
      "-F password=WORD",
    );
  return { params: read.data.params, password };
}

/**
 * Receives the file field `archive`, hands it to `use`, and removes it however that ends. `progress` gets the number of
 * bytes of the form received so far.
 */
export async function withArchive<T>(
  request: Request,
  folder: string,
  use: (archive: Archive, fields: FormFields) => Promise<T>,
  progress: (bytes: number) => void = () => {},
): Promise<T> {
  await checkLength(request, packageBytes + formBytes);
  const type = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new ZapdError("invalid_payload", "The package must be sent as multipart/form-data", {
      hint: `Such as: curl -F ${field}=@my-app.zip`,
    });
  }
  // Where a program sets the type of a form itself, its client does not add one.
  if (!/;\s*boundary=/i.test(type)) throw badForm("its content type has no boundary; let the client set that header");
  const path = newUpload(folder);
  try {
    const { bytes, texts } = await receive(request, type, path, progress);
    return await use({ path, bytes }, readFields(texts));
  } finally {
    // A disk that has become read-only must not hide what came of the package; the next start removes the file.
    await rm(path, { force: true }).catch(() => {});
  }
}

async function receive(
  request: Request,
  type: string,
  path: string,
  progress: (bytes: number) => void,
): Promise<{ bytes: number; texts: ReadonlyMap<string, string> }> {
  const { Busboy } = await import("@fastify/busboy");
  const form = tryOr(() => new Busboy({ headers: { "content-type": type }, limits: formLimits }), null);
  if (!form) throw incompleteForm();
  /** Aborted with the first failure. */
  const failure = new AbortController();
  const fail = (error: ZapdError) => failure.abort(error);
  const texts = new Map<string, string>();
  let saving: Promise<number> | undefined;
  let isTooLarge = false;
  form.on("file", (name, stream) => {
    // A truncated form also emits an error here, after the pipeline has reported it.
    stream.on("error", () => {});
    // The stream of an unwanted file must be drained, or the form never ends.
    if (name !== field) return stream.resume();
    // The rest of the form is read, so that its client sees the answer.
    stream.on("limit", () => {
      isTooLarge = true;
    });
    saving = save(stream, path, failure.signal);
    // Otherwise the form would wait for a full disk.
    saving.catch(fail);
  });
  form.on("field", (name, value, _isNameCut, isCut) => {
    if (name === field) fail(badForm(`its field ${field} is text, not a file`));
    else if (name !== "params" && name !== "password") return;
    else if (isCut) fail(badForm("one of its text fields is longer than 8 KiB"));
    else texts.set(name, value);
  });
  form.on("filesLimit", () => fail(badForm("it has more than one file")));
  form.on("partsLimit", () => fail(badForm("it has too many parts")));
  // The pipeline reports it.
  form.on("error", () => {});
  try {
    const chunks = chunksOf(request, packageBytes + formBytes, archiveMs, pace);
    await pipeline(counted(chunks, progress), form, { signal: failure.signal });
    if (isTooLarge)
      throw new ZapdError("payload_too_large", `The package is larger than ${packageBytes / (1024 * 1024)} MiB`);
    if (!saving) throw badForm(`it has no file field ${field}`);
    return { bytes: await saving, texts };
  } catch (error) {
    if (!failure.signal.aborted) fail(error instanceof ZapdError ? error : incompleteForm());
    // The file must be closed before it is removed.
    await saving?.catch(() => {});
    throw failure.signal.reason;
  }
}

/** The same chunks; reports the number of bytes so far, and frees the memory of those that were stored. */
async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  progress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let collectAt = collectEveryBytes;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    progress(bytes);
    yield chunk;
    if (bytes < collectAt) continue;
    collectAt = bytes + collectEveryBytes;
    currentRuntime().collectGarbage();
  }
}

/** Writes the package to disk; resolves with its size. */
async function save(stream: Readable, path: string, signal: AbortSignal): Promise<number> {
  const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
  try {
    await pipeline(stream, file, { signal });
    return file.bytesWritten;
  } catch (cause) {
    throw new ZapdError("storage_error", "The package could not be stored on disk", {
      hint: "Check that the disk of the state folder is not full",
      cause,
    });
  }
}

function incompleteForm(): ZapdError {
  return badForm("it is incomplete, or not what its content type says");
}

/** `text`: the curl option for the text that is wrong. */
function badForm(reason: string, text?: string): ZapdError {
  const file = `-F ${field}=@my-app.zip`;
  return new ZapdError("invalid_payload", `The form cannot be read: ${reason}`, {
    hint: text ? `Such as: curl ${text} ${file}` : `Send one file field called ${field}, such as: curl ${file}`,
  });
}
