/** `npm run build`: one program, and the line that puts it on the path. */
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../support/folder.ts";
import { root } from "../support/sources.ts";
import { runProgram } from "./program.ts";

const folder = join(testFolder(), "a build's");
mkdirSync(folder);

async function run(command: readonly string[], cwd: string): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  const { status, stdout, stderr } = await runProgram(command, { cwd, env });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

test("its last line, typed as it is, makes zapd a command", async () => {
  const said = await run([process.execPath, join(root, ".ci/build.ts"), "--into", folder], root);
  const last = said.trimEnd().split("\n").at(-1) ?? "";
  expect(await run(["sh", "-c", `${last}\nzapd version`], "/")).toMatch(/^zapd \d+\.\d+\.\d+\n$/);
}, 180_000);
