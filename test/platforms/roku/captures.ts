/** Captures of a TCL set, read in place and never copied. Where they are not there, what needs them is skipped, and says so. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dir, "..", "..", "..", "..", "shared", "fixtures", "roku");

/** Why there are no captures, or `null` when there are. */
export const noCaptures: string | null = existsSync(folder) ? null : `the captures are not at ${folder}`;
if (noCaptures !== null) process.stderr.write(`skipped: reading captures: ${noCaptures}\n`);

/** One document, as the set said it. */
export function capture(name: string): string {
  return readFileSync(join(folder, `${name}.xml`), "utf8");
}
