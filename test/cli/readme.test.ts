/** What the README and the pages beside it show of the command line is what a person sees. */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../support/sources.ts";
import { shows } from "./script.ts";
import { stageForFile } from "./stage.ts";

const stage = await stageForFile();

const pages = ["README.md", "src/cli/README.md", "src/scenes/README.md", "src/mcp/README.md"] as const;

test.each(pages)("the commands of %s answer as they are shown to", async (page) => {
  const text = readFileSync(join(root, page), "utf8");
  await stage.reset();
  const folder = stage.folder({
    "my-app/manifest": "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=7\n",
    "my-app/images/icon.png": "0123456789".repeat(120),
  });
  // Files that the page shows by their names, which stand beside the config.
  for (const [, name = "", file = ""] of text.matchAll(/```toml\n# (scenes\/[\w-]+\.toml)\n(.*?)```/gs)) {
    const path = join(dirname(stage.daemon.configFile), name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file);
  }
  const shown = [...text.matchAll(/```text\n(.*?)```/gs)].flatMap(([, block = ""]) => block.split(/^\$ /m).slice(1));
  expect(shown.length).toBeGreaterThan(0);
  for (const step of shown) {
    const [command = "", ...answer] = step.trimEnd().split("\n");
    const { stdout } = await stage.run(`exec 2>&1; ${command}`, folder);
    expect([command, shows(answer.join("\n"), stdout.trimEnd()) ? "as shown" : stdout]).toEqual([command, "as shown"]);
  }
});
