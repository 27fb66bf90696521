/** What the README shows of the command line is what a person sees. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exitTable } from "../../src/cli/help.ts";
import { root } from "../support/sources.ts";
import { shows } from "./script.ts";
import { type Stage, setStage } from "./stage.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const section = readme.slice(readme.indexOf("## The command line"), readme.indexOf("## API"));
let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
  await stage.reset();
}, 60_000);
afterAll(() => stage.dispose());

test("its commands answer as they are shown to", async () => {
  const folder = stage.folder({
    "my-app/manifest": "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=7\n",
    "my-app/images/icon.png": "0123456789".repeat(120),
  });
  const shown = [...section.matchAll(/```text\n(.*?)```/gs)].flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1));
  expect(shown.length).toBeGreaterThan(3);
  for (const step of shown) {
    const [command = "", ...answer] = step.trimEnd().split("\n");
    const { stdout } = await stage.run(`exec 2>&1; ${command}`, folder);
    expect([command, shows(answer.join("\n"), stdout.trimEnd()) ? "as shown" : stdout]).toEqual([command, "as shown"]);
  }
});

test("its exit statuses are those of the table", () => {
  const rows = [...section.matchAll(/^\| (\d) \| (.*) \|$/gm)].map(([, status, meaning]) => [Number(status), meaning]);
  expect(rows).toEqual(exitTable.map((row) => [...row]));
});
