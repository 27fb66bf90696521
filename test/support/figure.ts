/** Prints a measured figure where `ZAPD_FIGURES` is set. */
export function figure(text: string): void {
  if (process.env["ZAPD_FIGURES"] !== undefined) process.stdout.write(`  ${text}\n`);
}
