/** Every promise has its proof, and the README's table says what the tree says. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, sourceOf, sourcesIn } from "../support/sources.ts";
import { ids, promises } from "./promises.ts";
import { proofsIn, readFigures, withNotes } from "./proofs.ts";
import { tableOf, withEvidence } from "./table.ts";

const proofs = proofsIn(sourcesIn("test"));
const readme = readFileSync(join(root, "README.md"), "utf8");

test("titles that begin with ids are found, whatever calls them", () => {
  const some = [
    'test("T1 T2 one", () => {});',
    "describe.skipIf(no)(`R3 two $" + "{why}`, () => {});",
    'test.each(x)("T4 %s: three", () => {});',
    'measured("T5", "no title", "1");',
    '// test("T6 in a comment")',
  ];
  const found = proofsIn([
    sourceOf("test/x.test.ts", some.join("\n")),
    sourceOf("test/y.ts", 'test("T7 no test file")'),
  ]);
  expect(found.map(({ id, title }) => `${id} ${title}`)).toEqual(["T1 one", "T2 one", "R3 two", "T4 %s: three"]);
});

test("each promise has a proof, and each proof a promise", () => {
  expect(ids.filter((id) => !proofs.some((proof) => proof.id === id))).toEqual([]);
  expect([...new Set(proofs.map(({ id }) => id))].filter((id) => !Object.hasOwn(promises, id))).toEqual([]);
  expect(ids).toHaveLength(46);
});

test("the last note of a name counts, and figures stand in order", () => {
  const before = { R1: { reads: { figure: "1", date: "2026-01-01" } } };
  const notes = ["T2 a 1", "R1 reads 2", "T2 a 3"].map((line) => {
    const [id, name, figure] = line.split(" ");
    return JSON.stringify({ id, name, figure });
  });
  const merged = withNotes(before, notes.join("\n"), "2026-01-02");
  expect(JSON.stringify(merged)).toBe(
    JSON.stringify({
      T2: { a: { figure: "3", date: "2026-01-02" } },
      R1: { reads: { figure: "2", date: "2026-01-02" } },
    }),
  );
});

test("each promise has a figure, and figures are of proofs that stand", () => {
  const figures = readFigures();
  expect(ids.filter((id) => Object.keys(figures[id] ?? {}).length === 0)).toEqual([]);
  expect(Object.keys(figures).filter((id) => !proofs.some((proof) => proof.id === id))).toEqual([]);
});

test("the README's table is current: npm run evidence -- --record writes it", () => {
  expect(withEvidence(readme, tableOf(promises, proofs, readFigures()))).toBe(readme);
  expect(() => withEvidence("a", "b")).toThrow("evidence");
});
