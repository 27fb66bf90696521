/** `zapd install`: sends a package to the daemon; a folder is zipped first. */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { z } from "zod";
import { systemCode } from "../api/errors.ts";
import type { Device, operations } from "../api/operations.ts";
import { printable } from "../system/log.ts";
import { mostBytes, writeArchive } from "./archive.ts";
import { type Called, type CallOptions, call, devicePath } from "./client.ts";
import type { Context } from "./context.ts";
import { logHint } from "./dev.ts";
import { CommandError, UsageError } from "./failure.ts";
import { stderr } from "./output.ts";
import { packageError, packageFiles } from "./package-files.ts";
import { size } from "./print.ts";
import { bar, type Progress, progressOn } from "./progress.ts";

type Installed = z.infer<(typeof operations)["installPackage"]["data"]>;

/** A package, ready to be sent. */
interface Parcel {
  readonly path: string;
  readonly bytes: number;
}

export async function install(context: Context): Promise<void> {
  const [given] = context.words;
  if (given === undefined || given === "")
    throw new UsageError("which package? Give a ZIP, or the folder it is made from");
  const found = await stat(given).catch((error: unknown) => {
    throw packageError(
      `${given} ${systemCode(error) === "ENOENT" ? "is not there" : `could not be read (${systemCode(error)})`}`,
    );
  });
  const content = found.isDirectory() ? await packageFiles(given) : null;
  if (!content) await checkZip(given, found.size);

  const device = (await call<Device>(context, "GET", devicePath(context.device))).data;
  for (const link of content?.links ?? []) context.say(printable(`left out ${link}: it leads out of ${given}`));
  const progress = progressOn(stderr());
  const folder = content && (await mkdtemp(join(tmpdir(), "zapd-")));
  try {
    const parcel =
      content && folder
        ? await zip(given, content.files, join(folder, "package.zip"), progress)
        : { path: given, bytes: found.size };
    const { data, text } = await deliver(context, device, parcel, progress);
    if (context.json) return context.print(text);
    context.say(
      printable(`${data.package.name} ${data.package.version} is running on ${data.device.name}. ${logHint(context)}`),
    );
  } finally {
    progress.clear();
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}

/** What can be seen before a byte is sent. */
async function checkZip(path: string, bytes: number): Promise<void> {
  if (bytes > mostBytes) throw packageError(`${path} is larger than 100 MiB, and no package may be`);
  const file = await open(path, "r").catch((error: unknown) => {
    throw packageError(`${path} could not be read (${systemCode(error)})`);
  });
  const first = Buffer.alloc(2);
  await file.read(first, 0, 2, 0).finally(() => file.close());
  if (first.toString("latin1") !== "PK") throw packageError(`${path} is ${bytes === 0 ? "empty" : "no ZIP"}`);
}

async function zip(
  folder: string,
  files: Parameters<typeof writeArchive>[0],
  path: string,
  progress: Progress,
): Promise<Parcel> {
  const line = (count: number, sum: number) =>
    printable(`zipping ${basename(resolve(folder))}  ${count} ${count === 1 ? "file" : "files"}, ${size(sum)}`);
  const bytes = await writeArchive(files, path, (count, sum) => progress.show(line(count, sum)));
  progress.keep(line(files.length, bytes));
  return { path, bytes };
}

async function deliver(
  context: Context,
  device: Device,
  parcel: Parcel,
  progress: Progress,
): Promise<Called<Installed>> {
  const line = printable(`sending to ${device.name}`);
  const sent = `${line}  ${bar(1, 1)} ${size(parcel.bytes)}`;
  const start = performance.now();
  // The daemon has it at once; the set takes its time.
  const timer = setInterval(() => {
    const seconds = Math.floor((performance.now() - start) / 1_000);
    if (seconds > 0) progress.show(`${sent}  installing, ${seconds} s`);
  }, 250);
  try {
    const upload = formOf(parcel, (done) => progress.show(`${line}  ${bar(done, parcel.bytes)} ${size(parcel.bytes)}`));
    const called = await call<Installed>(context, "POST", devicePath(context.device, "/dev/install"), {
      quiet: true,
      upload,
    });
    progress.keep(sent);
    return called;
  } catch (error) {
    throw error instanceof CommandError && error.code === "package_rejected" ? rejected(error) : error;
  } finally {
    clearInterval(timer);
  }
}

/** The form with its one file, read as fast as it is taken. */
function formOf({ path, bytes }: Parcel, sent: (bytes: number) => void): NonNullable<CallOptions["upload"]> {
  const boundary = `----zapd${randomUUID()}`;
  const head = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="archive"; filename="package.zip"\r\ncontent-type: application/zip\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let done = 0;
    yield head;
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024, end: bytes - 1 })) {
      yield chunk;
      done += chunk.length;
      sent(done);
    }
    yield tail;
  }
  const parts = chunks();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void parts.return(undefined),
  });
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: head.length + bytes + tail.length, stream };
}

/** Each of the set's reasons on a line of its own; where some name a place, only those, the place first. */
function rejected(error: CommandError): CommandError {
  const [, what, all] = /^(.*? package): (.*)$/s.exec(error.message) ?? [];
  if (what === undefined || all === undefined) return error;
  const reasons = all.split("; ").map((reason) => reason.replace(/^(.*?) in (\S+\(\d+\))$/, placeFirst));
  const placed = reasons.filter((reason) => /^\S+\(\d+\): /.test(reason));
  const lines = [`${what}:`, ...(placed.length > 0 ? placed : reasons)];
  const { code, hint, response } = error;
  return CommandError.of({ code, message: lines.join("\n"), hint }, response);
}

function placeFirst(_all: string, what: string, place: string): string {
  return `${place}: ${what.replace(/\. \(/, " (")}`;
}
