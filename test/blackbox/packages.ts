/** Packages of a Roku, sound and broken, and their upload. */
import { randomBytes } from "node:crypto";
import type { Answered, TestDaemon } from "../support/daemon.ts";
import { writeZip, type ZipFile } from "../support/zip.ts";

export const manifest: ZipFile = {
  name: "manifest",
  content: "title=Fjord\nmajor_version=2\nminor_version=1\nbuild_version=9\nmm_icon_focus_hd=pkg:/images/icon.png\n",
};
export const source: ZipFile = { name: "source/main.brs", content: `sub main()\n${"  print 1\n".repeat(40)}end sub\n` };

export const zip = (files: readonly ZipFile[]): Buffer => Buffer.from(writeZip(files));
export const packageOf = (...more: readonly ZipFile[]): Buffer => zip([manifest, source, ...more]);
/** A sound package; `salt` makes it differ from others. */
export const packageWith = (salt: string): Buffer =>
  packageOf({ name: "images/icon.png", content: randomBytes(700) }, { name: "salt.txt", content: salt });

/** Sends a package as curl would: `curl -F archive=@package.zip`, with further fields behind it. */
export async function install(
  daemon: TestDaemon,
  id: string,
  archive: Uint8Array,
  fields: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const form = new FormData();
  form.append("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "../../my package.zip");
  for (const [field, text] of Object.entries(fields)) form.append(field, text);
  const url = `${daemon.url}/devices/${encodeURIComponent(id)}/dev/install`;
  // A kept connection may just have been let go.
  const response = await fetch(url, { method: "POST", body: form, keepalive: false });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
