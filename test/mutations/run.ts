/**
 * `npm run mutations -- [words …]`: weakens a copy of the tree in one place at a time, and asks the tests named whether they
 * notice. Words choose mutations by their names or files; without any, all are tried. Fails when one goes unnoticed.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measured } from "../support/evidence.ts";
import { root } from "../support/sources.ts";
import { mutated, type Outcome, outcomeOf, tables } from "./tables.ts";

/** A test that waits for ever has noticed something, but nobody wants to wait for it. */
const longestRun = 120_000;

const words = process.argv.slice(2);
const chosen = Object.entries(tables).flatMap(([table, mutations]) =>
  mutations
    .filter(({ name, file }) => words.length === 0 || words.some((word) => `${table}: ${name} ${file}`.includes(word)))
    .map((mutation) => ({ table, ...mutation })),
);
if (chosen.length === 0) throw new Error(`no mutation is called ${words.join(" or ")}`);

const copy = mkdtempSync(join(tmpdir(), "zapd-mutations-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
const elsewhere = ["node_modules", ".git", "dist"];
for (const name of readdirSync(root))
  if (!elsewhere.includes(name)) cpSync(join(root, name), join(copy, name), { recursive: true });
symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));

/** The tests that fail on a sound tree, and so notice nothing; tried twice, for the machine may be busy. */
const unsound = new Map<string, boolean>();
const missed: string[] = [];
for (const { table, name, file, tests, ...change } of chosen) {
  for (const one of tests)
    if (!unsound.has(one)) unsound.set(one, (await run([one])) !== "passed" && (await run([one])) !== "passed");
  const failing = tests.filter((one) => unsound.get(one));
  if (failing.length > 0) {
    missed.push(name);
    process.stdout.write(`FAILS  without it     ${table}: ${name}: ${failing.join(", ")}\n`);
    continue;
  }
  const path = join(copy, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, mutated(text, change));
  const began = performance.now();
  const outcome = await run(tests);
  writeFileSync(path, text);
  const caught = outcome === "failed" || outcome === "hung";
  if (!caught) missed.push(name);
  const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(6);
  process.stdout.write(
    `${caught ? "caught" : "MISSED"} ${seconds} s  ${table}: ${name}${caught ? "" : ` (${outcome})`}\n`,
  );
}
process.stdout.write(`${chosen.length - missed.length} of ${chosen.length} caught\n`);
if (missed.length > 0) process.exitCode = 1;
else if (words.length === 0) measured("T26", "mutations of the sources", `${chosen.length} tried, each caught`);

/** Runs tests of the copy. */
function run(tests: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const words = ["test", "--timeout", "60000", ...tests.map((one) => `./${one}`)];
    const child = spawn(process.execPath, words, { cwd: copy, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let said = "";
    let hung = false;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        said += bytes.toString();
      });
    const end = () => {
      try {
        // With whatever daemons it has started.
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // Nobody is left.
      }
    };
    const timer = setTimeout(() => {
      hung = true;
      end();
    }, longestRun);
    child.on("close", (status) => {
      clearTimeout(timer);
      end();
      resolve(hung ? "hung" : outcomeOf(status, said));
    });
  });
}
