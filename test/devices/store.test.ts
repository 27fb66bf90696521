import { beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Store } from "../../src/devices/store.ts";
import { codeOf } from "../support/failure.ts";
import { folderForEach } from "../support/folder.ts";

interface Numbers {
  readonly numbers: readonly number[];
}
const parse = (content: unknown): Numbers => z.object({ numbers: z.array(z.number()) }).parse(content);

const folderOf = folderForEach();
let folder: string;
let path: string;
let problems: string[];
beforeEach(() => {
  folder = folderOf();
  path = join(folder, "numbers.json");
  problems = [];
});

const options = (maxBytes = 100_000) => ({
  path,
  parse,
  maxBytes,
  empty: { numbers: [] },
  damaged: (problem: string) => problems.push(problem),
});
const open = (maxBytes?: number) => Store.open<Numbers>(options(maxBytes));
const add = (store: Store<Numbers>, number: number) =>
  store.update(({ numbers }) => ({ next: { numbers: [...numbers, number] }, result: number }));
const onDisk = () => JSON.parse(readFileSync(path, "utf8")).numbers as number[];

describe("a change", () => {
  test("is on disk when it is answered, in order, in a file of its own making, 0600, with nothing beside it", async () => {
    const store = await open();
    expect(await Promise.all([1, 2, 3].map((number) => add(store, number)))).toEqual([1, 2, 3]);
    expect(onDisk()).toEqual([1, 2, 3]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["numbers.json"]);
    expect((await open()).value).toEqual({ numbers: [1, 2, 3] });
  });

  test("is not to be seen before it is on disk", async () => {
    const store = await open();
    const adding = add(store, 1);
    expect(store.value.numbers).toEqual([]);
    await adding;
    expect(store.value.numbers).toEqual([1]);
  });

  test("R20 made by a thousand at once, or one by one, is written a few times, and nobody waits in vain", async () => {
    let writes = 0;
    const counted = { toJSON: () => ++writes };
    const store = await open();
    const addCounted = (number: number) =>
      store.update(({ numbers }) => ({ next: { numbers: [...numbers, number], counted } as Numbers, result: number }));
    await Promise.all(Array.from({ length: 1_000 }, (_, number) => addCounted(number)));
    expect(writes).toBeLessThanOrEqual(30);
    expect(onDisk().length).toBe(1_000);
    const start = performance.now();
    const late: Promise<number>[] = [];
    for (let number = 0; number < 200; number++) {
      late.push(addCounted(number));
      if (number % 20 === 0) await Bun.sleep(10);
    }
    await Promise.all(late);
    expect(writes).toBeLessThanOrEqual(5 + Math.ceil((performance.now() - start) / 100));
    expect(onDisk().length).toBe(1_200);
  });

  test("that follows one in the same breath, or a few steps behind it, is written too", async () => {
    const store = await open();
    const after = async (steps: number) => {
      await add(store, steps);
      for (let step = 0; step < steps; step++) await null;
      await add(store, -steps);
    };
    for (let steps = 0; steps < 8; steps++) await after(steps);
    expect(onDisk().length).toBe(16);
  });

  test("that throws is its caller's failure, and no one else's", async () => {
    const store = await open();
    const oops = store.update(() => {
      throw new Error("oops");
    });
    const both = [oops.catch((error: Error) => error.message), add(store, 1)];
    expect(await Promise.all(both)).toEqual(["oops", 1]);
    expect(onDisk()).toEqual([1]);
  });

  test("keeps what a newer zapd has written beside it, also from the backup", async () => {
    const text = '{"version":1,"numbers":[],"newer":{"a":[1]}}';
    for (const name of ["", ".bak"]) {
      writeFileSync(path, "{");
      writeFileSync(`${path}${name}`, text);
      await add(await Store.open<Numbers>({ ...options(), backup: true }), 1);
      expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ version: 1, numbers: [1], newer: { a: [1] } });
    }
  });

  test("that changes nothing writes nothing", async () => {
    const store = await open();
    expect(await store.update((value) => ({ next: value, result: "same" }))).toBe("same");
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("R8 a write that fails", () => {
  test("fails for all that shared it, leaves memory and disk unchanged, and the next one succeeds", async () => {
    const store = await open();
    await add(store, 1);
    renameSync(folder, `${folder}-gone`);
    const failed = [2, 3, 4].map((number) => codeOf(add(store, number)));
    expect(await Promise.all(failed)).toEqual(["storage_error", "storage_error", "storage_error"]);
    expect(store.value).toEqual({ numbers: [1] });
    renameSync(`${folder}-gone`, folder);
    expect(onDisk()).toEqual([1]);
    await add(store, 5);
    expect(onDisk()).toEqual([1, 5]);
  });

  test("because the file would be too large to be read again leaves what is in it", async () => {
    const store = await open(60);
    await add(store, 1);
    expect(await codeOf(Promise.all([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((number) => add(store, number))))).toBe(
      "storage_error",
    );
    expect((await open(60)).value).toEqual({ numbers: [1] });
    expect(problems).toEqual([]);
  });

  test("because a folder stands in the file's place leaves no temporary file", async () => {
    const store = await open();
    mkdirSync(join(path, "inside"), { recursive: true });
    expect(await codeOf(add(store, 1))).toBe("storage_error");
    expect(store.value).toEqual({ numbers: [] });
    expect(readdirSync(folder)).toEqual(["numbers.json"]);
    rmSync(path, { recursive: true });
    await add(store, 2);
    expect(onDisk()).toEqual([2]);
  });
});

describe("R11 a file that is damaged", () => {
  const good = `${JSON.stringify({ version: 1, numbers: [1, 22, 333] }, null, 1)}\n`;
  const kept = () => readdirSync(folder).filter((name) => name.includes(".corrupt-"));

  /** Opens, and says what became of it: loaded whole, or begun anew with the bad file kept and reported. */
  async function opened(): Promise<"loaded" | "anew"> {
    // Bad files are told apart by when they were found, to the millisecond.
    await Bun.sleep(2);
    const before = kept().length;
    const told = problems.length;
    const store = await open();
    if (problems.length === told) return "loaded";
    expect(store.value).toEqual({ numbers: [] });
    expect(kept().length).toBe(Math.min(3, before + 1));
    expect(problems.at(-1)).toContain(path);
    return "anew";
  }

  const bad: Readonly<Record<string, string>> = {
    "of nothing": "",
    "of NULs": "\0".repeat(100),
    "of a newer zapd": '{"version":2,"numbers":[]}',
    "without a version": '{"numbers":[]}',
    "with a version that is a text": '{"version":"1","numbers":[]}',
    "that is a list": "[]",
    "that is null": "null",
    "of another shape": '{"version":1,"numbers":"many"}',
    "with a byte order mark": `\ufeff${good}`,
    "that is nested without end": "[".repeat(90_000),
    "too large": `${good}${" ".repeat(100_001)}`,
  };
  test.each(Object.entries(bad))("%s is kept as it was", async (_what, text) => {
    writeFileSync(path, text);
    expect(await opened()).toBe("anew");
    expect(readFileSync(join(folder, kept()[0] ?? ""), "utf8")).toBe(text);
    await add(await open(), 1);
    expect(onDisk()).toEqual([1]);
  });

  test("leaves three of its kind at most, the newest, and other files alone", async () => {
    writeFileSync(join(folder, "other.json.corrupt-2026"), "x");
    for (let round = 0; round < 6; round++) {
      writeFileSync(path, `broken ${round}`);
      await opened().catch(() => {});
    }
    const ours = kept().filter((name) => name.startsWith("numbers"));
    expect(ours.map((name) => readFileSync(join(folder, name), "utf8")).sort()).toEqual([
      "broken 3",
      "broken 4",
      "broken 5",
    ]);
    expect(readFileSync(join(folder, "other.json.corrupt-2026"), "utf8")).toBe("x");
  });

  test("R11 and cannot be moved aside, is not overwritten by a later change", async () => {
    // A name to which a temporary file can be made, but none that says when it was moved.
    path = join(folder, `${"n".repeat(225)}.json`);
    writeFileSync(path, "damaged");
    writeFileSync(`${path}.bak`, '{"version":1,"numbers":[7]}');
    const store = await Store.open<Numbers>({ ...options(), backup: true });
    expect([store.value.numbers, problems.length]).toEqual([[7], 1]);
    expect(await codeOf(add(store, 1))).toBe("storage_error");
    expect([readFileSync(path, "utf8"), store.value.numbers]).toEqual(["damaged", [7]]);
    rmSync(path);
    await add(store, 1);
    expect(onDisk()).toEqual([7, 1]);
  });

  test("or is no file: a folder, a pipe and a link are moved aside, quickly, and what a link led to is not touched", async () => {
    const start = performance.now();
    mkdirSync(join(path, "inside"), { recursive: true });
    expect(await opened()).toBe("anew");
    execFileSync("mkfifo", [path]);
    expect(await opened()).toBe("anew");
    const elsewhere = join(folder, "elsewhere");
    writeFileSync(elsewhere, good);
    symlinkSync(elsewhere, path);
    expect(await opened()).toBe("anew");
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(readFileSync(elsewhere, "utf8")).toBe(good);
    await add(await open(), 7);
    expect(lstatSync(path).isFile()).toBe(true);
    expect(readFileSync(elsewhere, "utf8")).toBe(good);
  });

  test("is no matter when there is none", async () => {
    expect((await open()).value).toEqual({ numbers: [] });
    expect(problems).toEqual([]);
  });
});
