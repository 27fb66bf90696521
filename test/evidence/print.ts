/**
 * `npm run evidence`: every promise with its proofs and what they last measured. `-- --record` keeps what the last runs noted
 * and writes the README's copy anew. Fails when a promise has no proof.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { notesFile } from "../support/evidence.ts";
import { root, sourcesIn } from "../support/sources.ts";
import { ids, promises } from "./promises.ts";
import { figuresFile, proofsIn, readFigures, withNotes } from "./proofs.ts";
import { tableOf, withEvidence } from "./table.ts";

const words = process.argv.slice(2);
const unknown = words.find((word) => word !== "--record");
if (unknown !== undefined) throw new Error(`${unknown} is not an option: npm run evidence -- [--record]`);

const proofs = proofsIn(sourcesIn("test"));
let figures = readFigures();
if (words.includes("--record")) {
  if (existsSync(notesFile)) {
    figures = withNotes(figures, readFileSync(notesFile, "utf8"), new Date().toISOString().slice(0, 10));
    writeFileSync(figuresFile, `${JSON.stringify(figures, null, 2)}\n`);
    rmSync(notesFile);
  }
  const readme = join(root, "README.md");
  writeFileSync(readme, withEvidence(readFileSync(readme, "utf8"), tableOf(promises, proofs, figures)));
}

for (const id of ids) {
  process.stdout.write(`${id.padEnd(4)}${promises[id]}\n`);
  for (const proof of proofs.filter((one) => one.id === id))
    process.stdout.write(`      ${proof.file}: ${proof.title}\n`);
  for (const [name, { figure, date }] of Object.entries(figures[id] ?? {}))
    process.stdout.write(`      = ${name}: ${figure} (${date})\n`);
}
const missing = ids.filter((id) => !proofs.some((proof) => proof.id === id));
if (missing.length > 0) {
  process.stderr.write(`no proof: ${missing.join(", ")}\n`);
  process.exitCode = 1;
}
