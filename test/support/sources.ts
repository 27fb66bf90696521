/** The source files as text, with what they import: for the rules of architecture. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

export const root = join(import.meta.dir, "..", "..");

export interface Import {
  /** A path from the top of the project, or the name of a package or a `node:` module. */
  readonly from: string;
  /** `import type`. */
  readonly typeOnly: boolean;
  /** `import()`. */
  readonly late: boolean;
}

export interface Source {
  /** From the top of the project: `src/devices/queue.ts`. */
  readonly path: string;
  readonly text: string;
  /** Without comments; strings are left as they are. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly Import[];
}

/** Whether a file is generated (.ci/web.ts). */
export const isMade = (name: string) => /(?:^|[/-])assets\.ts$/.test(name);

/** Every TypeScript file below a folder, sorted, without generated ones. */
export function sourcesIn(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !isMade(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort()
    .map((path) => sourceOf(path, readFileSync(join(root, path), "utf8")));
}

/** Parses one file. */
export function sourceOf(path: string, text: string): Source {
  const code = withoutComments(text);
  return { path, text, code, lines: text.trimEnd().split("\n").length, imports: importsIn(path, code) };
}

function importsIn(path: string, code: string): Import[] {
  const place = (from: string) => (from.startsWith(".") ? posix.normalize(posix.join(dirname(path), from)) : from);
  const fixed = /^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm;
  const late = /(\btypeof\s+)?\bimport\(\s*"([^"]+)"\s*\)/g;
  return [
    ...[...code.matchAll(fixed)].map(([, type, from = ""]) => ({ from: place(from), typeOnly: !!type, late: false })),
    ...[...code.matchAll(late)].map(([, type, from = ""]) => ({ from: place(from), typeOnly: !!type, late: true })),
  ];
}

/** Removes comments, but keeps strings, templates and most regular expressions. */
function withoutComments(text: string): string {
  const string = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/.source;
  const expression = /(?<=[(,=:[!&|?{};\n]\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//.source;
  const comment = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/.source;
  const pattern = new RegExp(`(${string}|${expression})|${comment}`, "g");
  return text.replace(pattern, (whole, kept: string | undefined) => kept ?? whole.replace(/[^\n]/g, ""));
}
