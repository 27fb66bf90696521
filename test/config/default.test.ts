/** `config.toml` at the top of the project is the annotated default that the schema makes (else: npm run pages). */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { ConfigFile } from "../../src/config/config.ts";
import { defaultText, settings } from "../../src/config/schema.ts";

const path = join(import.meta.dir, "../../config.toml");
const text = readFileSync(path, "utf8");

test("it is what the program writes, and what no file at all is, without a warning", async () => {
  expect(text).toBe(defaultText());
  const config = await ConfigFile.open(path);
  const none = await ConfigFile.open(join(path, "..", "no-such-folder", "config.toml"));
  expect(config.running).toEqual(none.running);
  expect(config.warnings).toEqual([]);
  // Another reader takes it for the same.
  expect<unknown>(Bun.TOML.parse(text)).toEqual(parse(text));
});

test("it has each setting, in the order of the schema, with its comment, which says so when it needs a restart", () => {
  const rows = [...text.matchAll(/^# (.{12,})\n(\w+) = /gm)].map(([, comment, key]) => [
    key,
    / \(restart\)$/.test(comment ?? ""),
  ]);
  expect(rows).toEqual([...settings.values()].map(({ key, restart }) => [key, restart]));
  expect(text.match(/^\w+ = /gm)).toHaveLength(settings.size);
});
