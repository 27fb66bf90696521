/** Where a log goes on that is given again from its beginning. */

/** So many of the last lines tell it. */
const compared = 20;

/** How many of these lines were seen before: those up to the last ones that were. */
export function overlap(seen: readonly string[], lines: readonly string[]): number {
  const tail = seen.slice(-compared);
  for (let end = lines.length; end > 0 && tail.length > 0; end--) {
    const shared = Math.min(tail.length, end);
    if (tail.slice(-shared).every((line, at) => line === lines[end - shared + at])) return end;
  }
  return 0;
}
