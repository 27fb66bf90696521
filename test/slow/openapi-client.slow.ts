/** A typed client that oazapfts generates from the OpenAPI document compiles in strict mode and drives the demo. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { copyFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zip } from "../blackbox/packages.ts";
import { frozenFile } from "../openapi/document.ts";
import { type Demo, startDemo } from "../support/demo.ts";
import { testFolder } from "../support/folder.ts";
import { root } from "../support/sources.ts";

const folder = testFolder();
const packages = join(root, "node_modules");
let demo: Demo;

beforeAll(async () => {
  demo = await startDemo();
}, 90_000);

afterAll(() => demo.stop());

/** Runs a program to its end; resolves with its stdout, or fails with all its output. */
function run(...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, words, { cwd: folder }, (error, stdout, stderr) =>
      error ? reject(new Error(`${words.join(" ")}:\n${stdout}${stderr}`)) : resolve(stdout),
    );
  });
}

test("generated, compiled, and at the remote", async () => {
  symlinkSync(packages, join(folder, "node_modules"));
  copyFileSync(join(import.meta.dir, "../openapi/drive.ts.txt"), join(folder, "drive.ts"));
  await run(join(packages, "oazapfts/dist/cli.js"), "--useUnknown", frozenFile, "zapd.ts");

  const strict = { strict: true, noUncheckedIndexedAccess: true, noEmit: true };
  const modules = { module: "Preserve", moduleResolution: "bundler", allowImportingTsExtensions: true };
  const compilerOptions = { ...strict, ...modules, target: "ESNext", lib: ["ESNext", "DOM"], types: ["bun-types"] };
  const skipLibCheck = true;
  const config = { compilerOptions: { ...compilerOptions, skipLibCheck }, files: ["drive.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(await run(join(packages, "typescript/bin/tsc"), "--project", "tsconfig.json")).toBe("");

  writeFileSync(join(folder, "hello.zip"), hello());
  const told: unknown = JSON.parse(await run("drive.ts", `http://127.0.0.1:${demo.port}`, "hello.zip"));
  expect(told).toEqual({
    devices: expect.arrayContaining(["Bedroom", "Living Room", "Workbench"]),
    key: "home",
    text: "literal:Amélie",
    sent: 2,
    launched: "netflix",
    shown: "Netflix",
    apps: true,
    refused: ["device_refused", true],
    missing: "app_not_found",
    installed: "Hello",
    logged: true,
    default: "Living Room",
    count: expect.any(Number),
    document: true,
  });
});

function hello(): Uint8Array {
  return zip([
    { name: "manifest", content: "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=1\n" },
    { name: "source/main.brs", content: 'sub main()\n  print "Hello"\nend sub\n' },
    { name: "noise", content: Buffer.from(crypto.getRandomValues(new Uint8Array(700))) },
  ]);
}
