/** What the pages show of the API is what the program does: their commands are run against the demo, in this order. */
import { afterAll, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shows } from "../cli/script.ts";
import { startDemo } from "../support/demo.ts";
import { pageText } from "./sections.ts";

const folder = mkdtempSync(join(tmpdir(), "zapd-readme-"));
const demo = await startDemo();
afterAll(async () => {
  await demo.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Step {
  readonly command: string;
  readonly answer: string;
}

/** Every `$ command` of a console block of a page, with what it is said to print. */
function stepsOf(page: string): Step[] {
  const text = pageText(page);
  const begin = text.indexOf("## A tour with curl");
  const tour = begin < 0 ? text : text.slice(begin, text.indexOf("## The command line"));
  const blocks = [...tour.matchAll(/```console\n(.*?)```/gs)].map(([, block = ""]) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...answer] = step.trim().split("\n");
        return { command, answer: answer.join("\n") };
      }),
  );
}

function run(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      "sh",
      ["-c", command.replaceAll("127.0.0.1:7272", `127.0.0.1:${demo.port}`)],
      { cwd: folder },
      (error, stdout) => (error ? reject(error) : resolve(stdout.trim())),
    );
  });
}

const tools = Bun.which("curl") !== null && Bun.which("zip") !== null;
const title = "every command of the tours answers what the pages say";

const pages = [
  "README.md",
  "src/scenes/README.md",
  ...["kodi", "webos", "samsung", "cast", "dlna", "roku", "androidtv"].map((name) => `src/platforms/${name}/README.md`),
];

test.skipIf(!tools)(
  tools ? title : `${title} (skipped: curl or zip is missing)`,
  async () => {
    const all = pages.flatMap(stepsOf);
    expect(all.length).toBeGreaterThan(15);
    for (const { command, answer } of all) {
      const text = await run(command);
      expect(shows(answer, text) ? "as the page says" : `${command}\n${text}`).toBe("as the page says");
    }
  },
  60_000,
);

test("the demo introduces itself as the README shows", () => {
  const shown = /zapd 0\.1\.0 · demo:.*?API {5}/s.exec(pageText("README.md"))?.[0] ?? "";
  expect(shown).not.toBe("");
  expect(demo.printed().replaceAll(`127.0.0.1:${demo.port}`, "127.0.0.1:7272")).toContain(shown);
});
