/** Each threat and each target of reliability of SECURITY.md stands at the head of a test's title. */
import { expect, test } from "bun:test";
import { sourcesIn } from "../support/sources.ts";

const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, at) => `${letter}${at + 1}`);
const promised = [...numbered("T", 26), "T31", "T35", ...numbered("R", 20)];

test("each threat and each target has a test that names it", () => {
  const named = new Set(
    sourcesIn("test")
      .filter(({ path }) => /\.(test|long)\.ts$/.test(path))
      .flatMap(({ code }) => [...code.matchAll(/["`]((?:[TR]\d{1,2} )+)/g)])
      .flatMap(([, ids = ""]) => ids.trim().split(" ")),
  );
  expect(promised.filter((id) => !named.has(id))).toEqual([]);
});
