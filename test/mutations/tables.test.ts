/** The tables of mutations fit the sources as they are; `npm run mutations` tries them. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/sources.ts";
import { mutated, outcomeOf, tables } from "./tables.ts";

describe.each(Object.entries(tables))("%s", (_table, mutations) => {
  test("each finds its place, exactly once, and changes it", () => {
    for (const { name, file, find, replace } of mutations) {
      expect([name, replace]).not.toEqual([name, find]);
      const text = readFileSync(join(root, file), "utf8");
      expect([name, file, text.split(find).length - 1]).toEqual([name, file, 1]);
    }
  });

  test("each has a name of its own, and tests that are there", () => {
    expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
    const tests = new Set(mutations.flatMap((mutation) => mutation.tests));
    expect([...tests].filter((path) => !path.endsWith(".test.ts") || !existsSync(join(root, path)))).toEqual([]);
    expect(mutations.filter((mutation) => mutation.tests.length === 0)).toEqual([]);
  });
});

test("a place that is gone or doubled is said, and what is put there is taken as it is", () => {
  expect(() => mutated("a b", { find: "c", replace: "" })).toThrow("0 times");
  expect(() => mutated("b a b", { find: "b", replace: "" })).toThrow("2 times");
  expect(mutated("a b", { find: "b", replace: "$&$1" })).toBe("a $&$1");
});

test("only a test that ran and failed has caught anything", () => {
  expect(outcomeOf(0, " 3 pass\n 0 fail\n")).toBe("passed");
  expect(outcomeOf(0, " 0 pass\n 3 skip\n 0 fail\n")).toBe("broken");
  expect(outcomeOf(1, "(fail) x\n 2 pass\n 1 fail\n")).toBe("failed");
  expect(outcomeOf(1, "error: Unexpected }\n 0 pass\n 1 fail\n 1 error\n")).toBe("broken");
  expect(outcomeOf(1, 'error: no tests match "x"\n')).toBe("broken");
});
