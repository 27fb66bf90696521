/** Each threat and each target of reliability of SECURITY.md stands at the head of a test's title. */
import { expect, test } from "bun:test";
import { promised, proofs, targets, threats } from "./promises.ts";

const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, at) => `${letter}${at + 1}`);

test("each threat and each target has a test that names it", () => {
  expect(Object.keys(threats)).toEqual(numbered("T", 36));
  expect(Object.keys(targets)).toEqual(numbered("R", 20));
  const named = proofs();
  expect(promised.filter((id) => !named.has(id))).toEqual([]);
  expect([...named.keys()].filter((id) => !Object.hasOwn({ ...threats, ...targets }, id))).toEqual([]);
});
