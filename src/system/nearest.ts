/** A name for a comparison that disregards case, and how its letters are composed. */
export function caseFolded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** The word of a list that was most likely meant, for "did you mean"; `null` where none is similar. */
export function nearest(given: string, words: readonly string[]): string | null {
  const ranked = words
    .map((word) => ({ word, away: distance(given.toLowerCase(), word.toLowerCase()) }))
    .sort((one, other) => one.away - other.away);
  const best = ranked[0];
  // A word with no letter in common was not meant.
  return best && best.away < best.word.length && best.away <= Math.max(1, Math.floor(best.word.length / 3))
    ? best.word
    : null;
}

/** Insertions, deletions, replacements and swaps of neighbours between two texts (optimal string alignment). */
function distance(from: string, to: string): number {
  if (from.length > 128) return Number.POSITIVE_INFINITY;
  let twoAgo: number[] = [];
  let before = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min(
        (before[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (before[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        least = Math.min(least, (twoAgo[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    twoAgo = before;
    before = current;
  }
  return before[to.length] ?? 0;
}
