/** The proofs that stand in the tree, found by the ids at the head of their titles, and what they last measured. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, type Source } from "../support/sources.ts";

export interface Proof {
  readonly id: string;
  /** From the top of the project. */
  readonly file: string;
  /** Without its ids; what is filled in at run time is left out. */
  readonly title: string;
}

/** Figures by id, then by name. */
export type Figures = Readonly<Record<string, Readonly<Record<string, Figure>>>>;
export interface Figure {
  readonly figure: string;
  /** The day it was measured: `2026-11-21`. */
  readonly date: string;
}

export const figuresFile = join(root, "test/evidence/figures.json");

/** Every title among the files that begins with ids. */
export function proofsIn(sources: readonly Source[]): Proof[] {
  return (
    sources
      // What stands in this folder is about titles.
      .filter(({ path }) => /\.(test|long)\.ts$/.test(path) && !path.startsWith("test/evidence/"))
      .flatMap(({ path, code }) =>
        [...code.matchAll(/(["`])((?:[TR]\d{1,2} )+)([^\n]*?)\1/g)].flatMap(([, , ids = "", rest = ""]) =>
          ids
            .trim()
            .split(" ")
            .map((id) => ({ id, file: path, title: (rest.split(/\s*\(?\$\{/)[0] ?? "").trim() })),
        ),
      )
  );
}

export function readFigures(file = figuresFile): Figures {
  return JSON.parse(readFileSync(file, "utf8")) as Figures;
}

/** What was recorded, with what the last runs noted over it: a line each, the last of a name counts. */
export function withNotes(before: Figures, notes: string, date: string): Figures {
  const merged = new Map(Object.entries(before).map(([id, named]) => [id, new Map(Object.entries(named))]));
  for (const line of notes.split("\n").filter((one) => one !== "")) {
    const { id, name, figure } = JSON.parse(line) as { id: string; name: string; figure: string };
    merged.set(id, (merged.get(id) ?? new Map()).set(name, { figure, date }));
  }
  const number = (id: string) => (id.startsWith("T") ? 0 : 100) + Number(id.slice(1));
  const sorted = [...merged].toSorted(([one], [other]) => number(one) - number(other));
  return Object.fromEntries(
    sorted.map(([id, named]) => [
      id,
      Object.fromEntries([...named].toSorted(([one], [other]) => (one < other ? -1 : 1))),
    ]),
  );
}
