/** A figure that a test has measured, printed where somebody wants to see them: `ZAPD_FIGURES=1`. */
export function figure(text: string): void {
  if (process.env["ZAPD_FIGURES"] !== undefined) process.stdout.write(`  ${text}\n`);
}
