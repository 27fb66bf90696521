/** How many of the last lines are compared. */
export const comparedLines = 20;

/** How many of the lines of a log, read again from its beginning, were seen before: those up to where the last seen lines match. */
export function overlap(seen: readonly string[], lines: readonly string[]): number {
  const tail = seen.slice(-comparedLines);
  for (let end = lines.length; end > 0 && tail.length > 0; end--) {
    const shared = Math.min(tail.length, end);
    if (tail.slice(-shared).every((line, at) => line === lines[end - shared + at])) return end;
  }
  return 0;
}
