import { afterAll, describe, expect, test } from "bun:test";
import { strToU8, zipSync } from "fflate";
import { compileErrorsIn, problemIn, readPackage } from "../../../src/platforms/roku/developer.ts";
import { codeOf } from "../../support/failure.ts";
import { scratchFolder } from "../../support/zip.ts";

const folder = scratchFolder();
afterAll(() => folder.remove());

function read(files: Readonly<Record<string, string>>) {
  const bytes = zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])));
  return readPackage({ path: folder.put(bytes), bytes: bytes.length });
}

describe("a package", () => {
  test("is what its manifest says, with the files it holds", async () => {
    const manifest = "title=My App\nmajor_version=1\nminor_version=22\nbuild_version=00003\n";
    const read1 = await read({ manifest, "source/main.brs": "sub Main()", "images/": "" });
    expect(read1).toMatchObject({ name: "My App", version: "1.22.00003", files: 2 });
    expect(read1.bytes).toBeGreaterThan(100);
  });

  test("has a manifest as editors leave it: a byte order mark, CRLF, comments, spaces, equals signs", async () => {
    const manifest =
      "\ufeff# made by hand\r\n\r\n  title = A = B & é 📺 \r\n#major_version=9\r\nmajor_version= 2 \r\nno value\r\n=none\r\n";
    expect(await read({ manifest })).toMatchObject({ name: "A = B & é 📺", version: "2.0.0", files: 1 });
  });

  test("without a title or versions is untitled, 0.0.0", async () => {
    expect(await read({ manifest: "" })).toMatchObject({ name: "untitled", version: "0.0.0" });
  });

  test("without a manifest at its root is refused, and one that was zipped with its folder is told so", async () => {
    expect(await codeOf(read({ "source/main.brs": "x" }))).toBe("invalid_archive");
    const nested = read({ "my-app/manifest": "title=x", "my-app/source/main.brs": "x" });
    await expect(nested).rejects.toMatchObject({
      code: "invalid_archive",
      hint: expect.stringContaining("my-app/manifest"),
    });
    await expect(read({ MANIFEST: "title=x" })).rejects.toMatchObject({
      code: "invalid_archive",
      hint: "It has MANIFEST: the name must be exactly manifest",
    });
    expect(await codeOf(read({}))).toBe("invalid_archive");
  });

  test("that is no sound ZIP is refused with a way to make one", async () => {
    const hint = expect.stringMatching(/zapd install .\/my-app$/);
    const cut = folder.put(zipSync({ manifest: strToU8("title=x") }).subarray(0, -9));
    await expect(readPackage({ path: cut, bytes: 1 })).rejects.toMatchObject({ code: "invalid_archive", hint });
  });

  test("with a manifest over 64 KiB is refused", async () => {
    const noise = Array.from({ length: 9_000 }, (_, at) => `k${at}=${Math.imul(at, 2_654_435_761) >>> 0}`).join("\n");
    expect(await codeOf(read({ manifest: noise }))).toBe("invalid_archive");
  });
});

describe("the console of a compilation", () => {
  // As real sets print it (tests of roku-debug; jellyrock#689): XML files are parsed before `------ Compiling`.
  const run = (...errors: readonly string[]) => [
    "03-26 22:21:46.571 [scrpt.cmpl] Compiling 'Demo', id 'dev'",
    "",
    ...errors,
    "03-26 22:21:46.702 [scrpt.parse.mkup.time] Parsed markup dev 'Demo' in 103 milliseconds",
    "------ Compiling dev 'Demo' ------",
    "An error occurred while attempting to compile the application's components:",
  ];

  test("tells what is wrong in which line of an XML file, and nothing of the run before", () => {
    const before = [...run(), "--- Syntax Error. (compile error &h02) in pkg:/source/old.brs(1)"];
    const errors = run(
      "Found 2 parse errors in XML file Chooser.xml",
      "--- Line 2: XML syntax error found ---> not well-formed (invalid token)",
      '--- Line 9: Unknown attribute "focusable" specified for <component> element',
      "=================",
      "Error in XML component Round defined in file pkg:/components/Round.xml",
      '-- Extends type does not exist: "Square"',
    );
    expect(compileErrorsIn([...before, ...errors]).map(problemIn)).toEqual([
      { text: "XML syntax error found ---> not well-formed (invalid token)", file: "Chooser.xml", line: 2 },
      { text: 'Unknown attribute "focusable" specified for <component> element', file: "Chooser.xml", line: 9 },
      { text: 'Extends type does not exist: "Square"', file: "pkg:/components/Round.xml", line: null },
    ]);
  });

  test("is read without the first marker too, and names the file where it has no line, or a name after it", () => {
    const lines = [
      "--- Syntax Error. (compile error &h02) in pkg:/source/old.brs(1)",
      "------ Compiling dev 'Demo' ------",
      "--- Error loading file. (compile error &hb9) in pkg:/source/api.brs",
      "--- Invalid #If/#ElseIf expression (<CONST-NAME> not defined) (compile error &h92) in Parsers.brs(19) 'BAD'",
      "--- Line 4: print of the app",
    ];
    expect(compileErrorsIn(lines).map(problemIn)).toEqual([
      { text: "Error loading file (compile error &hb9)", file: "pkg:/source/api.brs", line: null },
      {
        text: "Invalid #If/#ElseIf expression (<CONST-NAME> not defined) (compile error &h92) 'BAD'",
        file: "Parsers.brs",
        line: 19,
      },
    ]);
  });
});
