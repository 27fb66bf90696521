/** Each word, file and package has its place (DESIGN.md 4, STYLE.md 3). */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, type Source, sourcesIn } from "./support/sources.ts";

const sources = sourcesIn("src");
const tests = sourcesIn("test");
const platforms = readdirSync(join(root, "src/platforms"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

describe("each word has its place", () => {
  test("only two files say Bun or Deno", () => {
    const said = sources.filter(({ code }) => /\b(Bun|Deno)\b/.test(code)).map(({ path }) => path);
    expect(said).toEqual(["src/runtime/bun.ts", "src/runtime/deno.ts"]);
  });

  test("no platform is named outside its folder, the list and its simulator", () => {
    expect(platforms.length).toBeGreaterThan(0);
    const may = /^src\/(platforms\/index\.ts|simulators\/.*)$/;
    // Words of networks that end as the name of one does; those of a standard that others speak, too; and what examples say.
    const ofOthers = /(broad|multi|uni)cast|DLNA\.ORG|dlnaInfo|forDlna|examples: .*/gi;
    const said = sources.flatMap(({ path, code }) =>
      platforms
        .filter((name) => !may.test(path) && !path.startsWith(`src/platforms/${name}/`))
        .filter((name) => new RegExp(name, "i").test(code.replace(ofOthers, "")))
        .map((name) => `${path} says ${name}`),
    );
    expect(said).toEqual([]);
  });

  test("each platform has a simulator, and its mirror among the tests", () => {
    const contract = (name: string) => `test/platforms/${name}/contract.test.ts`;
    const expected = (name: string) => [`src/simulators/${name}.ts`, `test/simulators/${name}.test.ts`, contract(name)];
    const missing = platforms.flatMap(expected).filter((path) => !existsSync(join(root, path)));
    expect(missing).toEqual([]);
    for (const name of platforms) {
      const code = tests.find(({ path }) => path === contract(name))?.imports.map((one) => one.from) ?? [];
      expect(code).toContain("test/contract/platform.ts");
    }
  });

  test("nothing is of type any, left to be done, or silenced", () => {
    const any = /(?::|\bas|<|\||&|=>)\s*any\b(?!\s*[(.])/;
    const unfinished = new RegExp(
      ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"].map((word) => `\\b${word}\\b`).join("|"),
    );
    const silenced = /biome-ignore|@ts-(ignore|expect-error|nocheck)/;
    for (const { path, code, text } of sources) {
      expect([path, any.exec(code)?.[0], unfinished.exec(text)?.[0], silenced.exec(text)?.[0]]).toEqual([
        path,
        undefined,
        undefined,
        undefined,
      ]);
    }
    for (const { path, text } of tests) expect([path, unfinished.exec(text)?.[0]]).toEqual([path, undefined]);
  });

  test("exports have names", () => {
    // `deno serve` takes a default export and nothing else.
    for (const { path, code } of sources.filter((one) => one.path !== "src/fetch.ts"))
      expect([path, /^export default/m.test(code)]).toEqual([path, false]);
  });
});

describe("packages", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const packageOf = (from: string) =>
    from
      .split("/")
      .slice(0, from.startsWith("@") ? 2 : 1)
      .join("/");
  const imported = (files: readonly Source[]) =>
    new Set(
      files.flatMap(({ imports }) =>
        imports
          .map((one) => one.from)
          .filter((from) => !/^(src|test|node:|bun:|package\.json)/.test(from))
          .map(packageOf),
      ),
    );

  test("what is declared is imported, and what runs is declared", () => {
    const used = imported(sources.filter(({ path }) => !path.startsWith("src/web/")));
    expect([...used].filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
    expect(Object.keys(dependencies).filter((name) => !used.has(name))).toEqual([]);
  });

  test("what the page is made of is taken into it when it is built", () => {
    const used = [...imported(sources.filter(({ path }) => path.startsWith("src/web/")))];
    // What the daemon runs with is there to be taken in, too.
    const declared = { ...dependencies, ...devDependencies };
    expect(used.filter((name) => !name.endsWith(".css") && !Object.hasOwn(declared, name))).toEqual([]);
    expect(used).toContain("preact");
  });

  test("tests use nothing that is not declared", () => {
    // A package may import itself by its name, as those who embed it do.
    const declared = { ...dependencies, ...devDependencies, zapd: "itself" };
    expect([...imported(tests)].filter((name) => !Object.hasOwn(declared, name))).toEqual([]);
  });
});
