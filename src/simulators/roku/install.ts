/** Installing and removing packages. */
import { createHash } from "node:crypto";
import { type UnzipFileInfo, type Unzipped, unzipSync } from "fflate";
import { launch, terminate } from "./apps.ts";
import { type CompileError, printCompileFailed } from "./console.ts";
import type { Message } from "./installer.ts";
import type { Model } from "./model.ts";

/** An uploaded archive; only its manifest and sources are read. */
export interface Package {
  readonly bytes: number;
  readonly md5: string;
  /** False if it is no complete ZIP. */
  readonly sound: boolean;
  /** The entries of the manifest; null if the root of the archive has none. */
  readonly manifest: Readonly<Record<string, string>> | null;
  readonly errors: readonly CompileError[];
}

/** A line with this text in a source file simulates a compile error. */
const COMPILE_ERROR = "#compile-error";
const SAMPLE_LIMIT = 1024 * 1024;

export function readPackage(archive: Uint8Array): Package {
  let entries = 0;
  let sound = true;
  let unpacked: Unzipped = {};
  const isRead = ({ name, originalSize }: UnzipFileInfo) => {
    entries += 1;
    return (name === "manifest" || name.endsWith(".brs")) && originalSize <= SAMPLE_LIMIT;
  };
  try {
    unpacked = unzipSync(archive, { filter: isRead });
  } catch {
    sound = false;
  }
  const texts = Object.entries(unpacked).map(([path, bytes]) => [path, Buffer.from(bytes).toString("utf8")] as const);
  const manifest = texts.find(([path]) => path === "manifest")?.[1];
  return {
    bytes: archive.length,
    md5: createHash("md5").update(archive).digest("hex"),
    sound: sound && entries > 0,
    manifest: manifest === undefined ? null : parseManifest(manifest),
    errors: texts.flatMap(([path, text]) => findErrors(path, text)),
  };
}

/** Smaller archives are refused as corrupt (2.1). */
const SMALLEST_BYTES = 512;

const message = (type: Message["type"], text: string): Message => ({ type, text });

export function installPackage(
  model: Model,
  { content, fileName }: { fileName: string; content: Package },
  fields: Readonly<Record<string, string>>,
): Message[] {
  if (model.sideloaded?.md5 === content.md5 && model.installFault === null) {
    // An identical package does not restart the app.
    return [message("info", "Application Received: Identical to previous version -- not replacing.")];
  }
  const received = message("success", `Application Received: ${content.bytes} bytes stored.`);
  const failure = examine(model, content);
  if (failure !== null) {
    model.emit("install-failed", failure);
    return [received, message("error", failure)];
  }
  const { manifest, md5, bytes } = content;
  const { title = "dev", major_version = "0", minor_version = "0", build_version = "0" } = manifest ?? {};
  const version = `${major_version}.${minor_version}.${build_version}`;
  terminate(model, "dev");
  const instantResume = manifest?.["sdk_instant_resume"] === "1";
  model.sideloaded = { title, version, fileName, instantResume, md5, bytes };
  model.emit("install", `installed "${title}" ${version}`);
  if (fields.dev_autolaunch !== "0") launch(model, "dev", {});
  return [received, message("success", "Install Success.")];
}

/** Why the package is refused, in the words of the set; compile errors go to the console. */
function examine(model: Model, content: Package): string | null {
  const fault = model.installFault;
  if (content.bytes < SMALLEST_BYTES || !content.sound || fault === "bad-zip") {
    return "Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading.";
  }
  if (content.manifest === null) {
    model.console.print("-------> No manifest. Invalid package.");
    return "Install Failure: No manifest. Invalid package.";
  }
  const invented: CompileError[] = fault === "compile" ? [{ path: "source/main.brs", line: 3 }] : [];
  const errors = content.errors.length > 0 ? content.errors : invented;
  if (errors.length === 0) return null;
  printCompileFailed(model, content.manifest.title ?? "dev", errors);
  return "Install Failure: Compilation Failed.";
}

export function deletePackage(model: Model): Message[] {
  const { sideloaded } = model;
  if (sideloaded === null) return [message("error", "Delete Failed: No such file or directory.")];
  terminate(model, "dev");
  model.sideloaded = null;
  model.emit("delete", `deleted "${sideloaded.title}"`);
  return [message("success", "Delete Succeeded."), message("success", "Uninstall Success.")];
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
  if (path === "manifest") return [];
  return text.split("\n").flatMap((line, index) => (line.includes(COMPILE_ERROR) ? [{ path, line: index + 1 }] : []));
}
