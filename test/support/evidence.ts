/** What the proofs of SECURITY.md measure: a test whose title begins with a threat or a target tells its figure here. */

/** A threat (T1 to T35) or a target of reliability (R1 to R20). */
export type ProofId = `T${number}` | `R${number}`;

/** Tells a figure of a proof, such as `"300 000 hosts, 0 let in wrongly"`, to who runs the tests with `ZAPD_FIGURES=1`. */
export function measured(id: ProofId, name: string, figure: string): void {
  if (process.env["ZAPD_FIGURES"]) process.stderr.write(`${id} ${name}: ${figure}\n`);
}
