/** What is said beside a package: what it is started with, and a password of that set alone. */

import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../../src/cli/failure.ts";
import { rejection } from "../../src/cli/install.ts";
import { until } from "../support/http-device.ts";
import { password, stageForFile } from "./stage.ts";

const stage = await stageForFile();
await stage.daemon.api("PATCH", "/config", { "daemon.default_device": "Workbench" });
const folder = stage.folder({
  "my-app/manifest": "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=7\n",
  // Sets take none of under 512 bytes.
  "my-app/source/main.brs": `sub main()\nend sub\n' ${randomBytes(600).toString("base64")}\n`,
});

const launched = () => stage.sets["Workbench"]?.state.lastLaunch;

test("a deep link goes with the package, and with its start anew", async () => {
  const installed = await stage.run('zapd install my-app content_id=42 "title=Ein Film & = ü"', folder);
  expect([installed.status, installed.stdout]).toEqual([0, ""]);
  expect(launched()).toMatchObject({ id: "dev", params: { contentId: "42", title: "Ein Film & = ü" } });
  const reloaded = await stage.run("zapd reload content_id=7 --json", folder);
  expect([reloaded.status, JSON.parse(reloaded.stdout).data.action]).toEqual([0, "reload"]);
  expect(launched()).toMatchObject({ id: "dev", params: { contentId: "7" } });
});

test("a password is of that set alone, and kept once the set has accepted it", async () => {
  await stage.daemon.api("PATCH", "/config", { "dev.vendor_password": "that of another set" });
  const without = await stage.run("zapd install my-app", folder);
  expect([without.status, without.stderr]).toEqual([5, expect.stringContaining("refused the developer password")]);
  const wrong = await stage.run("printf 'wröng' | zapd install my-app --password -", folder);
  expect([wrong.status, wrong.stderr]).toEqual([5, expect.stringContaining("refused the developer password")]);
  const right = await stage.run(`printf '%s\\n' ${password} | zapd install my-app --password - --json`, folder);
  expect([right.status, JSON.parse(right.stdout).data.package.name]).toEqual([0, "Hello"]);
  const kept = await stage.run("zapd install my-app", folder);
  expect([kept.status, kept.stderr]).toEqual([0, expect.stringContaining("Hello 1.0.7 is running on Workbench")]);
  expect(JSON.stringify((await stage.daemon.api("GET", "/config")).body)).not.toContain(password);
});

test("where it is wrong is said without a line too, as a set tells none of a file that it cannot load", () => {
  const problems = [
    { text: "Error loading file", file: "pkg:/source/api.brs", line: null },
    { text: "Syntax Error", file: "pkg:/source/main.brs", line: 3 },
  ];
  const error = CommandError.of({ code: "package_rejected", message: "…", details: { problems } });
  expect(rejection(error, { name: "Workbench" }).message.split("\n").slice(1)).toEqual([
    "pkg:/source/api.brs: Error loading file",
    "pkg:/source/main.brs(3): Syntax Error",
  ]);
});

test("one that is ended by a signal leaves nothing of what it has packed", async () => {
  const large = stage.folder({
    "my-app/manifest": "title=Large\n",
    "my-app/data.bin": randomBytes(20_000_000).toString("base64"),
  });
  const temporary = join(large, "tmp");
  mkdirSync(temporary);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const child = spawn("zapd", ["install", "my-app"], {
      cwd: large,
      env: { ...stage.environment(large), TMPDIR: temporary },
    });
    const ended = new Promise((resolve) => child.on("exit", (_status, by) => resolve(by)));
    await until("it packs", () => readdirSync(temporary).length > 0, 20_000);
    child.kill(signal);
    expect([await ended, readdirSync(temporary)]).toEqual([signal, []]);
  }
}, 60_000);
