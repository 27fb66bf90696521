import { afterAll, describe, expect, test } from "bun:test";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { strToU8, zipSync } from "fflate";
import { ZapdError } from "../../../src/api/errors.ts";
import { withZip, type ZipEntry } from "../../../src/platforms/roku/zip.ts";
import { runs, within } from "../../support/whole.ts";
import { scratchFolder, writeZip, type ZipFile, type ZipShape } from "../../support/zip.ts";

const folder = scratchFolder();
afterAll(() => folder.remove());

const read = (bytes: Uint8Array) => withZip(folder.put(bytes), async (zip) => zip.entries);
const names = (entries: readonly ZipEntry[]) => entries.map((entry) => entry.name);

/** What reading these bytes fails with; a test fails when it does not, or with something that is no answer to a caller. */
async function refusal(bytes: Uint8Array): Promise<string> {
  const outcome = await read(bytes).then(
    (entries) => `accepted: ${names(entries).slice(0, 5).join(", ")}`,
    (error: unknown) => (error instanceof ZapdError ? `${error.code}: ${error.message}` : error),
  );
  if (typeof outcome !== "string") throw outcome;
  return outcome;
}

const good = { manifest: strToU8("title=Hello\n"), "source/main.brs": strToU8("sub Main()\nend sub\n".repeat(40)) };

describe("a ZIP that is in order", () => {
  test("is listed with its names, sizes and methods, and each file reads back", async () => {
    await withZip(folder.put(zipSync(good)), async (zip) => {
      expect(names(zip.entries)).toEqual(["manifest", "source/main.brs"]);
      for (const entry of zip.entries) {
        const content = good[entry.name as keyof typeof good];
        expect(entry.bytes).toBe(content.length);
        expect(Buffer.from(await zip.read(entry, 64 * 1024))).toEqual(Buffer.from(content));
      }
    });
  });

  test("may be stored, hold folders, carry a comment, and have its files in any order", async () => {
    const files: ZipFile[] = [
      { name: "source/", mode: 0o040755 },
      { name: "b", content: "second" },
      { name: "manifest", content: "title=x" },
    ];
    expect(names(await read(writeZip(files, { comment: Buffer.from("made by hand") })))).toEqual([
      "source/",
      "b",
      "manifest",
    ]);
    expect(names(await read(zipSync(good, { level: 0 })))).toEqual(["manifest", "source/main.brs"]);
    // Its last 22 bytes would be an end record but for the signature.
    expect(names(await read(writeZip([{ name: "a" }], { comment: Buffer.alloc(30) })))).toEqual(["a"]);
    const backwards = writeZip([
      { name: "b", offset: 31 },
      { name: "a", offset: 0 },
    ]);
    expect(names(await read(backwards))).toEqual(["b", "a"]);
    expect(await read(zipSync({}))).toEqual([]);
  });

  test("may have names in an old code page, which stay as many as they are", async () => {
    const files = [0x84, 0x94].map((letter) => ({ name: Buffer.from([letter, ...Buffer.from(".png")]) }));
    expect(new Set(names(await read(writeZip(files)))).size).toBe(2);
  });

  test("any set of files that fflate packs is listed and read back", async () => {
    const name = fc.stringMatching(/^[a-z0-9_é]{1,8}(\/[a-z0-9_é]{1,8}){0,3}$/);
    const files = fc.dictionary(name, fc.uint8Array({ maxLength: 400 }), { maxKeys: 6, noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(files, fc.constantFrom(0, 6), async (content, level) => {
        await withZip(folder.put(zipSync(content, { level: level as 0 | 6 })), async (zip) => {
          expect(new Set(names(zip.entries))).toEqual(new Set(Object.keys(content)));
          for (const entry of zip.entries)
            expect(Buffer.from(await zip.read(entry, 1024))).toEqual(Buffer.from(content[entry.name] ?? []));
        });
      }),
      { numRuns: 60 },
    );
  });

  test("10,000 files are taken, 10,001 are not", async () => {
    const files = Array.from({ length: 10_001 }, (_, at) => ({ name: `f${at}` }));
    expect((await read(writeZip(files.slice(0, 10_000)))).length).toBe(10_000);
    expect(await refusal(writeZip(files))).toContain("more than 10,000 files");
    await expect(read(writeZip(files))).rejects.toMatchObject({ hint: "Leave out files that the app does not need" });
    const named = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `${at}`.padEnd(1_000, "x") }));
    expect((await read(writeZip(named(4_000)))).length).toBe(4_000);
    expect(await refusal(writeZip(named(4_100)))).toContain("more than 4 MiB of their names");
  });
});

describe("T21 names that could reach outside, or are two things at once", () => {
  const bad = [
    "../evil",
    "a/../../evil",
    "..",
    "a/..",
    "/etc/passwd",
    "C:evil",
    "c:\\evil",
    "a\\b",
    "..\\evil",
    "\\\\host\\x",
    "a//b",
    "./a",
    "a/./b",
    "",
    "/",
    "//",
    "a\0b",
    "a\nb",
    "\x7f",
    "a/\x1b[2J",
    "x".repeat(1_025),
  ];
  for (const name of bad) {
    test(`${JSON.stringify(name.slice(0, 20))} is refused`, async () => {
      expect(await refusal(writeZip([{ name: "manifest" }, { name }]))).toMatch(
        /^invalid_archive: .*a name that is not allowed/,
      );
    });
  }

  test("harmless neighbours of them are taken", async () => {
    const fine = ["..a", "a..", "...", "a.b/c..d", ".hidden", "a/", "ünïcödé/名前", "x".repeat(1_024)];
    expect(names(await read(writeZip(fine.map((name) => ({ name })))))).toEqual(fine);
  });

  test("a name that comes twice is refused", async () => {
    expect(await refusal(writeZip([{ name: "manifest" }, { name: "manifest" }]))).toContain(
      'contains "manifest" twice',
    );
  });

  test("a symbolic link is refused, by its mode", async () => {
    const link = { name: "source", content: "/etc", mode: 0o120777 };
    expect(await refusal(writeZip([{ name: "manifest" }, link]))).toContain("symbolic link");
  });

  test("what a message shows of a name holds no control character", async () => {
    const message = await refusal(writeZip([{ name: `\x1b]0;x\x07\u202e"${"y".repeat(300)}` }]));
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(message.length).toBeLessThan(200);
  });
});

describe("T21 a structure that lies", () => {
  const one: ZipFile[] = [{ name: "manifest", content: "title=x" }];
  const elsewhere = "its directory is not where its end record says";
  const overlap = "its files overlap or are incomplete";
  const lies: readonly [lie: string, reason: string, files: ZipFile[], shape?: ZipShape][] = [
    ["prefix data", elsewhere, one, { prefix: Buffer.from("#!/bin/sh\n") }],
    ["more files than there are", "a broken directory", one, { count: 2 }],
    ["fewer files than there are", "a broken directory", [...one, { name: "b" }], { count: 1 }],
    ["several disks", "one part of a split ZIP", one, { disk: 1 }],
    ["ZIP64 in its count", "ZIP64", one, { count: 0xffff }],
    ["ZIP64 in its offset", "ZIP64", one, { directoryAt: 0xffffffff }],
    ["ZIP64 in its size", "ZIP64", one, { directoryBytes: 0xffffffff }],
    ["ZIP64 in an entry", "unpacks to more", [{ name: "manifest", bytes: 0xffffffff, compressed: 0xffffffff }]],
    ["a directory that begins elsewhere", elsewhere, one, { directoryAt: 3 }],
    ["a directory of another length", elsewhere, one, { directoryBytes: 10 }],
    ["an encrypted file", "an encrypted file", [{ name: "manifest", flags: 1 }]],
    ["an entry without data", "no data", [...one, { name: "b", absent: true, offset: 0xfff0 }]],
    [
      "an entry inside another",
      "no data",
      [
        { name: "a", content: "x".repeat(50) },
        { name: "b", offset: 20 },
      ],
    ],
    ["two entries on one file", overlap, [...one, { name: "b", content: "title=x", offset: 0, absent: true }]],
    ["a file that runs into the next", overlap, [{ name: "a", content: "ab", compressed: 200 }, { name: "b" }]],
    ["a file that runs into the directory", overlap, [{ name: "a", content: "ab", compressed: 3 }]],
  ];
  for (const [lie, reason, files, shape] of lies) {
    test(`${lie}: refused`, async () => {
      const said = await refusal(writeZip(files, shape));
      expect(said).toStartWith("invalid_archive: ");
      expect(said).toContain(reason);
    });
  }

  test("cut short at every length: refused", async () => {
    const whole = zipSync({ manifest: strToU8("title=x"), a: strToU8("b") });
    for (let length = 0; length < whole.length; length++)
      expect(await refusal(whole.subarray(0, length))).toStartWith("invalid_archive: ");
  });

  test("something behind its end: refused", async () => {
    expect(await refusal(Buffer.concat([zipSync(good), Buffer.from("x")]))).toStartWith("invalid_archive: ");
  });

  test(
    "any bytes, and any changed byte of a good one, are accepted or refused, and never anything else",
    async () => {
      const whole = zipSync(good);
      const flipped = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }));
      await fc.assert(
        fc.asyncProperty(fc.array(flipped, { minLength: 1, maxLength: 4 }), async (flips) => {
          const bytes = Uint8Array.from(whole);
          for (const [at, by] of flips) bytes[at] = (bytes[at] ?? 0) ^ by;
          const outcome = await withZip(folder.put(bytes), async (zip) => {
            for (const entry of zip.entries) await zip.read(entry, 64 * 1024);
          }).catch((error: unknown) => error);
          if (outcome !== undefined) expect((outcome as ZapdError).code).toBe("invalid_archive");
        }),
        { numRuns: runs(400, 4_000) },
      );
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
          expect(await refusal(bytes)).toStartWith("invalid_archive: ");
        }),
        { numRuns: runs(100, 1_000) },
      );
    },
    within(),
  );
});

describe("T21 bombs", () => {
  const zeros = new Uint8Array(32 * 1024 * 1024);

  test("a ratio over 200 is refused by its own declaration", async () => {
    const most = "unpacks to more than is allowed";
    expect(await refusal(zipSync({ manifest: zeros }))).toContain(most);
    const listed = (content: Uint8Array, bytes: number) => refusal(writeZip([{ name: "manifest", content, bytes }]));
    // Less than 1 MiB never is too much.
    expect(await listed(Buffer.alloc(1), 1024 ** 2)).toBe("accepted: manifest");
    expect(await listed(Buffer.alloc(1), 1024 ** 2 + 1)).toContain(most);
    const content = Buffer.alloc(10_000);
    const size = writeZip([{ name: "manifest", content }]).length;
    expect(await listed(content, 200 * size)).toBe("accepted: manifest");
    expect(await listed(content, 200 * size + 1)).toContain(most);
  });

  test("a declared total over 1 GiB is refused, whatever the size of the archive", async () => {
    const half = 600 * 1024 * 1024;
    const huge = [
      { name: "a", bytes: half, content: Buffer.alloc(4 * 1024 * 1024) },
      { name: "b", bytes: half, content: Buffer.alloc(4 * 1024 * 1024) },
    ];
    expect(await refusal(writeZip(huge))).toContain("unpacks to more than is allowed");
  });

  test("a file that says it is small and is not stops at the cap", async () => {
    const packed = deflateRawSync(zeros);
    const path = folder.put(writeZip([{ name: "manifest", method: 8, content: packed, bytes: 100 }]));
    const before = process.memoryUsage().rss;
    await expect(withZip(path, (zip) => readFirst(zip, 64 * 1024))).rejects.toThrow("more than 64 KiB");
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  const large = Buffer.alloc(70_000, "x");
  test.each<[what: string, reason: string, file: Omit<ZipFile, "name">]>([
    ["declares more than the cap", "more than 64 KiB", { content: large }],
    ["has more than the cap, and says less", "more than 64 KiB", { content: large, bytes: 100 }],
    ["is packed into more than twice the cap", "more than 64 KiB", { method: 8, content: zeros, bytes: 100 }],
    ["is packed by a strange method", "a method that no Roku supports", { method: 12, content: "bz" }],
    ["is broken", "cannot be unpacked", { method: 8, content: "\xff\xff\xff" }],
  ])("a file that %s is not read", async (_, reason, file) => {
    const path = folder.put(writeZip([{ name: "manifest", ...file }]));
    const error = await withZip(path, (zip) => readFirst(zip, 64 * 1024)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_archive", message: expect.stringContaining(reason) });
  });
});

function readFirst(zip: Parameters<Parameters<typeof withZip>[1]>[0], cap: number): Promise<Uint8Array> {
  const [entry] = zip.entries;
  if (!entry) throw new Error("the archive of this test is empty");
  return zip.read(entry, cap);
}
