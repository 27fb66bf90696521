/**
 * Cuts JSON objects and arrays that come back to back, without a delimiter (players.md 7.1). What stands between them is
 * ignored, and one that is not there whole is kept (Kodi 20.1, ran).
 */
export function splitObjects(text: string): { bodies: string[]; rest: string } {
  const bodies: string[] = [];
  let depth = 0;
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === "\\") at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = depth > 0;
    else if (character === "{" || character === "[") {
      if (depth === 0) start = at;
      depth += 1;
    } else if ((character === "}" || character === "]") && depth > 0) {
      depth -= 1;
      if (depth === 0) bodies.push(text.slice(start, at + 1));
    }
  }
  return { bodies, rest: depth > 0 ? text.slice(start) : "" };
}
