/** The tables of the README and of the other pages say what the code says, and the pages lead where something is. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { codes } from "../../src/api/errors.ts";
import { operations } from "../../src/api/operations.ts";
import { commands } from "../../src/cli/commands.ts";
import { keyCommands } from "../../src/cli/key-commands.ts";
import { configOf, restartKeys, settingOf, settings } from "../../src/config/schema.ts";
import { keys } from "../../src/platforms/platform.ts";
import { root } from "../support/sources.ts";
import { pages, pageText, sections, withSection } from "./sections.ts";

function section(page: string, name: string): string {
  return new RegExp(`<!-- ${name} -->(.*)<!-- /${name} -->`, "s").exec(pageText(page))?.[1] ?? "";
}

const calls = Object.values(operations).map(
  ({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`,
);

test("each operation has its row, and each row its operation", () => {
  const rows = [
    ...section("src/api/README.md", "endpoints").matchAll(/^\| (GET|POST|PATCH|DELETE) \| `(.+?)` \|(.*)$/gm),
  ].flatMap(([, method, path = "", rest = ""]) => {
    if (!path.endsWith("…")) return [`${method} ${path}`];
    // One row for all that a group takes as a device does: they stand behind its last colon.
    const listed = [...rest.slice(rest.lastIndexOf(":")).matchAll(/`([^`]+)`/g)];
    return listed.map(([, end]) => `${method} ${path.slice(0, -1)}${end}`);
  });
  expect(rows.toSorted()).toEqual(calls.toSorted());
});

test("the calls that the README shows are endpoints", () => {
  const shown = [...pageText("README.md").matchAll(/`((?:GET|POST|PATCH|DELETE) \/[^`…]+)`/g)].map(([, call]) => call);
  expect(shown.length).toBeGreaterThan(15);
  expect(shown.filter((call = "") => !calls.includes(call))).toEqual([]);
});

test("the codes that the README shows stand beside their status and exit status", () => {
  const rows = [...pageText("README.md").matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (\d{3}) \| (\d) \|/gm)];
  const shown = rows.flatMap(([, names = "", status, exit]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(status), Number(exit)]),
  );
  expect(shown.length).toBeGreaterThan(8);
  const real = Object.entries(codes).map(([code, { status, exit }]) => [code, status, exit]);
  expect(real).toEqual(expect.arrayContaining(shown));
});

test("the keys are those of the contract", () => {
  expect([...section("src/api/README.md", "keys").matchAll(/`([^`]+)`/g)].map(([, key]) => key)).toEqual([...keys]);
});

test("each code stands beside its status", () => {
  const rows = [...section("src/api/README.md", "errors").matchAll(/^\| (\d{3}) \| (.*) \|$/gm)];
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
  const rows = [...section("src/config/README.md", "config").matchAll(/^\| `(.+?)` \| `(.+?)` \| (.*)\|$/gm)];
  const shown = Object.fromEntries(rows.map(([, key, value = ""]) => [key, JSON.parse(value)]));
  expect(shown).toEqual(Object.fromEntries([...settings.keys()].map((key) => [key, settingOf(config, key)])));
  const restarting = rows.filter(([, , , about]) => about?.includes("needs a restart")).map(([, key]) => String(key));
  expect(restarting.toSorted()).toEqual([...restartKeys].toSorted());
});

const platforms = readdirSync(join(root, "src/platforms"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(sections.map(({ page, name, text }) => [page, name, text] as const))(
  "%s has the %s that the code has (else: npm run pages)",
  (page, name, text) => {
    const now = pageText(page);
    expect(now).toBe(withSection(now, name, text()));
  },
);

test("each platform has its page, with its capabilities and keys, and the README leads there", () => {
  for (const name of platforms) {
    const page = `src/platforms/${name}/README.md`;
    expect(sections.filter((one) => one.page === page).map((one) => one.name)).toEqual(["capabilities", "keys"]);
    expect(pageText("README.md")).toContain(`](${page})`);
  }
});

test("every link within the project leads to a file, and to a heading where it names one", () => {
  const slug = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[`*.,:()/'’]/g, "")
      .trim()
      .replaceAll(" ", "-");
  const broken = pages.flatMap((page) =>
    [...pageText(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, to = ""]) => {
      if (/^https?:/.test(to)) return [];
      const [file = "", heading] = to.split("#");
      const target = file === "" ? page : posix.join(dirname(page), file);
      if (!existsSync(join(root, target))) return [`${page}: ${to}`];
      const headings = heading === undefined ? [] : [...pageText(target).matchAll(/^#+ (.*)$/gm)];
      return heading === undefined || headings.some(([, one = ""]) => slug(one) === heading) ? [] : [`${page}: ${to}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("every file that a page names is there", () => {
  const named = pages
    .filter((page) => page !== "CHANGELOG.md")
    .flatMap((page) =>
      [...pageText(page).matchAll(/`((?:src|test)\/[\w./-]+)`/g)].map(([, path = ""]) => ({ page, path })),
    );
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
});

test("every command that a page names is one", () => {
  const { scripts } = JSON.parse(pageText("package.json")) as { scripts: object };
  const known = ["zapd help", ...Object.keys({ ...commands, ...keyCommands }).map((name) => `zapd ${name}`)];
  const all = [...known, ...Object.keys(scripts).map((name) => `npm run ${name}`)];
  const named = pages.flatMap((page) =>
    [...pageText(page).matchAll(/(?:`|\$ |&& )(?:npx )?((?:zapd|npm run) [a-z][\w:-]*)/g)].map(([, words]) => words),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((words = "") => !all.includes(words))).toEqual([]);
});

test("no page mentions what is not in the project", () => {
  for (const page of pages) expect([page, /\.\.\/shared\b|ISSUE\d+/.test(pageText(page))]).toEqual([page, false]);
});

test("the page on embedding names what the package exports, and options that there are", () => {
  const page = pageText("src/server/README.md");
  const rows = [...page.matchAll(/^\| `([\w/]+)` \|/gm)].map(([, name = ""]) => name);
  const { exports } = JSON.parse(pageText("package.json")) as { exports: Record<string, unknown> };
  const exported = Object.keys(exports).map((path) => path.replace(/^\./, "zapd"));
  expect(rows.filter((name) => name.startsWith("zapd")).toSorted()).toEqual(exported.toSorted());
  const options = /export interface ZapdOptions \{(.*?)^\}/ms.exec(pageText("src/zapd.ts"))?.[1] ?? "";
  for (const name of rows.filter((one) => !one.startsWith("zapd")))
    expect([name, new RegExp(`^ {2}readonly ${name}\\??:`, "m").test(options)]).toEqual([name, true]);
});

test("the pictures of the page are there, and small", () => {
  const shown = [...pageText("README.md").matchAll(/\.github\/pictures\/[\w-]+\.png/g)].map(([path]) => path);
  expect(new Set(shown).size).toBe(6);
  for (const path of shown) expect([path, statSync(join(root, path)).size < 200_000]).toEqual([path, true]);
});
