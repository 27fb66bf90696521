/** What a developer reads: where a package is wrong, what it is started with, how large it is. */
import type { Failure } from "../calls.ts";

/** One reason why a package was refused. */
export interface Problem {
  /** The file and the line in it; `null` where the set names none. */
  readonly place: { readonly file: string; readonly line: number } | null;
  readonly text: string;
}

/** Why a set refused a package, reason by reason; `null` for a failure of another kind. Where some name a place, only those. */
export function problemsIn({ code, message }: Failure): { readonly what: string; readonly problems: Problem[] } | null {
  const [, what, all] = /^(.*? package): (.*)$/s.exec(message) ?? [];
  if (code !== "package_rejected" || what === undefined || all === undefined) return null;
  const problems = all.split("; ").map(problemIn);
  const placed = problems.filter(({ place }) => place !== null);
  return { what, problems: placed.length > 0 ? placed : problems };
}

function problemIn(reason: string): Problem {
  const [, text = reason, file, line] = /^(.*?) in (\S+)\((\d+)\)$/.exec(reason) ?? [];
  return { place: file === undefined ? null : { file, line: Number(line) }, text };
}

/** Deep-link parameters as they are typed, `name=value` on a line each. */
export function paramsIn(text: string): { readonly params: Record<string, string>; readonly problem: string | null } {
  const params: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    if (at < 1) return { params: {}, problem: `${line} is no name=value` };
    params[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { params, problem: null };
}

/** `812 bytes`, `14.2 kB`, `3.1 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1 line`, `3 lines`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
