/** `config.toml` at the top of the project is the annotated default, and is held against the schema. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { ConfigFile } from "../../src/config/config.ts";
import { defaultText, restartKeys, settings } from "../../src/config/schema.ts";

const path = join(import.meta.dir, "../../config.toml");
const text = readFileSync(path, "utf8");
const tables = parse(text) as Record<string, Record<string, unknown>>;
const written = Object.entries(tables).flatMap(([section, table]) =>
  Object.keys(table).map((key) => `${section}.${key}`),
);

test("it holds every setting there is, in the order of the schema, and nothing else", () => {
  expect(written).toEqual([...settings.keys()]);
});

test.each([...settings.keys()])("%s is there with exactly its default", (dotted) => {
  const [section = "", key = ""] = dotted.split(".");
  expect(tables[section]?.[key]).toEqual(settings.get(dotted)?.usual);
});

test("the program holds the same text", () => {
  expect(defaultText()).toBe(text);
});

test("it is what no file at all is, without a warning", async () => {
  const config = await ConfigFile.open(path);
  const none = await ConfigFile.open(join(path, "..", "no-such-folder", "config.toml"));
  expect(config.running).toEqual(none.running);
  expect(config.warnings).toEqual([]);
  // Another reader takes it for the same.
  expect<unknown>(Bun.TOML.parse(text)).toEqual(parse(text));
});

test("each setting has its comment, which says so when it needs a restart", () => {
  const lines = text.split("\n");
  for (const dotted of written) {
    const key = dotted.split(".")[1] ?? "";
    const at = lines.findIndex((line) => line.startsWith(`${key} =`));
    expect([dotted, lines[at - 1]]).toEqual([dotted, expect.stringMatching(/^# .{12,}/)]);
    expect([dotted, /\(restart\)/.test(lines[at - 1] ?? "")]).toEqual([
      dotted,
      restartKeys.some((one) => one === dotted),
    ]);
  }
  expect(text).toEndWith("\n");
  expect(text).not.toMatch(/[ \t]$/m);
});
