/**
 * Mutation testing: Stryker changes one expression at a time, and the tests of that file have to notice. `npm run mutations`
 * does it for every file below, `npm run mutations queue zip` for some. The reports are in `dist/mutations`.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./support/sources.ts";

/** Not a dev dependency: its 166 packages are needed by nobody else. */
const stryker = "@stryker-mutator/core@9.6.1";

/** Each file, and the tests that hold it. */
const held: Readonly<Record<string, readonly string[]>> = {
  "src/server/guard.ts": [
    "test/server/guard.test.ts",
    "test/server/guard-cors.test.ts",
    "test/server/guard-properties.test.ts",
    "test/server/guard-requests.test.ts",
    "test/server/paths.test.ts",
    "test/embedding/mounted.test.ts",
  ],
  "src/server/body.ts": ["test/server/limits.test.ts", "test/server/bad-input.test.ts"],
  "src/server/upload.ts": ["test/server/upload.test.ts"],
  "src/platforms/roku/zip.ts": ["test/platforms/roku/zip.test.ts"],
  "src/devices/names.ts": ["test/devices/names.test.ts"],
  "src/devices/queue.ts": ["test/devices/queue.test.ts"],
};

/** The share of the mutants that has to be noticed, in percent. */
const least = 80;

function mutate(file: string, tests: readonly string[]): boolean {
  const name = basename(file, ".ts");
  const config = join("dist/mutations", `${name}.json`);
  const options = {
    testRunner: "command",
    commandRunner: { command: `bun test --bail ${tests.join(" ")}` },
    mutate: [file],
    // Texts are for people: most of their words are held by no test.
    mutator: { excludedMutations: ["StringLiteral"] },
    thresholds: { high: 95, low: least, break: least },
    reporters: ["clear-text", "html"],
    htmlReporter: { fileName: `dist/mutations/${name}.html` },
    clearTextReporter: { logTests: false, allowColor: false },
    // Stryker reads a tsconfig with the API of an older TypeScript; Bun needs none here.
    tsconfigFile: "dist/mutations/none.json",
    tempDirName: `dist/mutations/${name}`,
    ignorePatterns: ["dist", ".git"],
    concurrency: 2,
  };
  mkdirSync(join(root, "dist/mutations"), { recursive: true });
  writeFileSync(join(root, config), JSON.stringify(options));
  const { status } = spawnSync("npx", ["--yes", `--package=${stryker}`, "stryker", "run", config], {
    cwd: root,
    stdio: "inherit",
  });
  // A daemon whose mutant loops for ever outlives the test that started it.
  spawnSync("pkill", ["-9", "-f", join(root, `dist/mutations/${name}/`)]);
  return status === 0;
}

const wanted = process.argv.slice(2);
const chosen = Object.entries(held).filter(([file]) => wanted.length === 0 || wanted.includes(basename(file, ".ts")));
const failed = chosen.filter(([file, tests]) => !mutate(file, tests)).map(([file]) => file);
if (chosen.length === 0)
  process.stderr.write(
    `Name some of these: ${Object.keys(held)
      .map((file) => basename(file, ".ts"))
      .join(", ")}\n`,
  );
if (failed.length > 0) process.stderr.write(`Too many mutants were not noticed: ${failed.join(", ")}\n`);
process.exitCode = failed.length > 0 || chosen.length === 0 ? 1 : 0;
