/** The README's tables say what the code says. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codes } from "../../src/api/errors.ts";
import { operations } from "../../src/api/operations.ts";
import { configOf, restartKeys, settingOf, settings } from "../../src/config/schema.ts";
import { keys } from "../../src/platforms/platform.ts";

const readme = readFileSync(join(import.meta.dir, "..", "..", "README.md"), "utf8");

function section(name: string): string {
  return new RegExp(`<!-- ${name} -->(.*)<!-- /${name} -->`, "s").exec(readme)?.[1] ?? "";
}

test("each operation has its row, and each row its operation", () => {
  const rows = [...section("endpoints").matchAll(/^\| (GET|POST|PATCH|DELETE) \| `(.+?)` \|/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  const real = Object.values(operations).map(
    ({ method, path }) => `${method.toUpperCase()} ${path.replace(":id", "{id}")}`,
  );
  expect(rows.toSorted()).toEqual(real.toSorted());
});

test("the keys are those of the contract", () => {
  expect([...section("keys").matchAll(/`([^`]+)`/g)].map(([, key]) => key)).toEqual([...keys]);
});

test("each code stands beside its status", () => {
  const rows = [...section("errors").matchAll(/^\| (\d{3}) \| (.*) \|$/gm)];
  const shown = rows.flatMap(([, status, cells = ""]) =>
    [...cells.matchAll(/`([^`]+)`/g)].map(([, code]) => `${code} ${status}`),
  );
  expect(shown.toSorted()).toEqual(
    Object.entries(codes)
      .map(([code, { status }]) => `${code} ${status}`)
      .toSorted(),
  );
});

test("each setting stands with its default, and those that need a restart say so", () => {
  const config = configOf();
  const rows = [...section("config").matchAll(/^\| `(.+?)` \| `(.+?)` \| (.*)\|$/gm)];
  const shown = Object.fromEntries(rows.map(([, key, value = ""]) => [key, JSON.parse(value)]));
  expect(shown).toEqual(Object.fromEntries([...settings.keys()].map((key) => [key, settingOf(config, key)])));
  const restarting = rows.filter(([, , , about]) => about?.includes("needs a restart")).map(([, key]) => String(key));
  expect(restarting.toSorted()).toEqual([...restartKeys].toSorted());
});
