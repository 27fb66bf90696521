/** Temporary folders for tests. */
import { afterAll, beforeEach } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for the tests of a file, or of a `describe`, which is removed after them. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "zapd-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An empty folder for each test: returns that of the current one. */
export function folderForEach(): () => string {
  const folder = testFolder();
  let count = 0;
  beforeEach(() => mkdirSync(join(folder, String(++count))));
  return () => join(folder, String(count));
}

/** The temporary files of writes that are under way, or were never finished. */
export function unfinishedIn(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) => readdirSync(folder)).filter((name) => name.endsWith(".tmp"));
}
