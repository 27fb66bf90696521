/**
 * What the proofs of SECURITY.md measured. A test that bears the name of a threat or a target (`T1 …`, `R6 …`) notes its
 * figure here; `npm run evidence -- --record` keeps what the last runs noted.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./sources.ts";

/** A threat (T1 to T26) or a target of reliability (R1 to R20). */
export type ProofId = `T${number}` | `R${number}`;

export const notesFile = join(root, "dist", "evidence.jsonl");

/** Notes a figure of a proof, such as `"300 000 hosts, 0 let in wrongly"`. One test may note several; the last of a name counts. */
export function measured(id: ProofId, name: string, figure: string): void {
  mkdirSync(join(root, "dist"), { recursive: true });
  appendFileSync(notesFile, `${JSON.stringify({ id, name, figure })}\n`);
}
