/** Parsing and formatting for the developer view. */

/** Parses deep-link parameters, one `name=value` per line. */
export function paramsIn(text: string): { readonly params: Record<string, string>; readonly problem: string | null } {
  const params: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    if (at < 1) return { params: {}, problem: `${line} is not name=value` };
    params[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { params, problem: null };
}

/** `812 bytes`, `14.2 kB`, `3.1 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
