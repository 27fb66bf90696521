/** A Roku package: a ZIP with a `manifest` of `key=value` lines at its root (protocols/roku.md 2.1). */
import { ZapdError } from "../../api/errors.ts";
import type { Archive, InstallResult } from "../platform.ts";
import { withZip } from "./zip.ts";

const manifestBytes = 64 * 1024;

/** Checks a package before the set sees it; fails with `invalid_archive`. */
export function readPackage(archive: Archive): Promise<InstallResult["package"]> {
  return withZip(archive.path, async (zip) => {
    const manifest = zip.entries.find((entry) => entry.name === "manifest");
    if (!manifest) {
      const nested = zip.entries.find((entry) => /(^|\/)manifest$/.test(entry.name));
      throw new ZapdError("invalid_archive", "The archive has no file `manifest` at its root", {
        hint: nested
          ? `There is one at ${nested.name}: zip what is in that folder, not the folder itself`
          : "A Roku package is a ZIP with `manifest` and `source/` at its root",
      });
    }
    const values = readManifest(new TextDecoder().decode(await zip.read(manifest, manifestBytes)));
    const version = ["major_version", "minor_version", "build_version"].map((name) => values.get(name) ?? "0");
    return {
      name: values.get("title") ?? "untitled",
      version: version.join("."),
      bytes: archive.bytes,
      files: zip.entries.filter((entry) => !entry.name.endsWith("/")).length,
    };
  });
}

function readManifest(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    const at = line.indexOf("=");
    if (at < 1 || line.trimStart().startsWith("#")) continue;
    values.set(
      line.slice(0, at).trim(),
      line
        .slice(at + 1)
        .trim()
        .slice(0, 256),
    );
  }
  return values;
}
