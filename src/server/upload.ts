/** Receiving a package: streamed to a private temporary file, never held in memory, never extracted (SECURITY.md T21, T22). */
import { open, rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { textOf, ZapdError } from "../api/errors.ts";
import type { Archive } from "../platforms/platform.ts";
import { newUpload } from "../system/state-folder.ts";
import { checkLength, chunksOf } from "./body.ts";

const archiveBytes = 100 * 1024 * 1024;
const archiveMs = 180_000;
/** Two uploads are taken at a time, and one that drips would hold its place for all of these minutes: 16 KiB a second, at least. */
const pace = { bytes: 160 * 1024, everyMs: 10_000 } as const;
/** What the form around the archive may take. */
const formBytes = 64 * 1024;
const field = "archive";

/** Receives the file field `archive`, hands it to `use`, and removes it however that ends. */
export async function withArchive<T>(
  request: Request,
  folder: string,
  use: (archive: Archive) => Promise<T>,
): Promise<T> {
  checkLength(request, archiveBytes + formBytes);
  const type = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data\s*;/i.test(type)) {
    throw new ZapdError("invalid_payload", "The package must be sent as multipart/form-data", {
      hint: `Such as: curl -F ${field}=@my-app.zip`,
    });
  }
  const path = newUpload(folder);
  try {
    const bytes = await receive(request, type, path);
    return await use({ path, bytes });
  } finally {
    await rm(path, { force: true });
  }
}

async function receive(request: Request, type: string, path: string): Promise<number> {
  const { Busboy } = await import("@fastify/busboy");
  const form = openForm(Busboy, type);
  let problem: ZapdError | undefined;
  let saving: Saving | undefined;
  let files = 0;
  const fail = (error: ZapdError) => {
    problem ??= error;
  };
  form.on("file", (name, stream) => {
    if (++files > 1) fail(badForm("it holds more than one file"));
    // A form that is cut short says so here once more, when nobody reads this any longer.
    stream.on("error", () => {});
    // A stream whose file is not wanted must flow, or the form never ends.
    if (name !== field || saving) return stream.resume();
    stream.on("limit", () =>
      fail(new ZapdError("payload_too_large", `The package is larger than ${archiveBytes / (1024 * 1024)} MiB`)),
    );
    saving = save(stream, path);
    // A disk that is full takes no more, and the form would wait for it.
    saving.bytes.catch(fail);
  });
  form.on("field", (name) => {
    if (name === field) fail(badForm(`its field ${field} is a text, not a file`));
  });
  for (const limit of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
    form.on(limit, () => fail(badForm("it holds too many parts")));
  const ended = new Promise<void>((resolve) => {
    form.on("finish", resolve);
    form.on("error", (error: unknown) => {
      fail(badForm(textOf(error)));
      resolve();
    });
  });
  try {
    for await (const chunk of chunksOf(request, archiveBytes + formBytes, archiveMs, pace)) {
      if (problem) break;
      const taken = form.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      if (!taken) await drained(form, () => problem !== undefined);
    }
    if (!problem) form.end();
    if (!problem) await ended;
    if (problem) throw problem;
    if (!saving) throw badForm(`it has no file field ${field}`);
    return await saving.bytes;
  } finally {
    form.destroy();
    await saving?.end();
  }
}

function openForm(Busboy: typeof import("@fastify/busboy").Busboy, type: string): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { "content-type": type },
      limits: {
        fileSize: archiveBytes,
        files: 2,
        fields: 8,
        parts: 8,
        fieldSize: 8 * 1024,
        headerPairs: 32,
        headerSize: 8 * 1024,
      },
    });
  } catch (error) {
    throw badForm(textOf(error));
  }
}

interface Saving {
  /** How many there are, once all are on disk. */
  readonly bytes: Promise<number>;
  /** Closes the file, whole or not. */
  end(): Promise<void>;
}

function save(stream: Readable, path: string): Saving {
  const bytes = write(stream, path).catch((cause) => {
    throw new ZapdError("storage_error", "The package could not be kept on disk while it is sent", {
      hint: "Check that the disk of the state folder is not full",
      cause,
    });
  });
  // A form that failed first has told why.
  const ended = bytes.then(
    () => {},
    () => {},
  );
  return {
    bytes,
    end() {
      stream.destroy();
      return ended;
    },
  };
}

/** Writes piece by piece, so that none waits in memory for the disk. */
async function write(stream: Readable, path: string): Promise<number> {
  const file = await open(path, "wx", 0o600);
  let size = 0;
  try {
    for await (const piece of stream as AsyncIterable<Uint8Array>) {
      // A disk may take less than it was given.
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
      size += piece.length;
    }
    return size;
  } finally {
    await file.close();
  }
}

/** Waits until the form takes more, or has failed in the meantime. */
function drained(form: NodeJS.WritableStream, failed: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearInterval(watch);
      form.removeListener("drain", done);
      resolve();
    };
    const watch = setInterval(() => failed() && done(), 100);
    form.once("drain", done);
  });
}

function badForm(reason: string): ZapdError {
  return new ZapdError("invalid_payload", `The form cannot be read: ${reason}`, {
    hint: `Send one file field called ${field}, such as: curl -F ${field}=@my-app.zip`,
  });
}
