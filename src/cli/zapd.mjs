#!/usr/bin/env node
/**
 * `zapd` in a clone, where Node is all that need be installed: runs src/main.ts with the Bun that `npm install` brought,
 * or with one on the path. Its words, its streams, its signals and its end are passed on as they are. As in the compiled
 * binary, no `bunfig.toml` and no `.env` of the folder in which it is started may change what it does.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, devNull } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const main = join(dirname(fileURLToPath(import.meta.url)), "..", "main.ts");

/** The runtime that npm installed; its package says where the program is. */
function bundled() {
  try {
    const path = createRequire(import.meta.url).resolve("bun/package.json");
    const program = join(dirname(path), "bin", "bun.exe");
    return existsSync(program) ? program : null;
  } catch {
    return null;
  }
}

function fail(message) {
  process.stderr.write(`zapd: ${message}\n`);
  process.exitCode = 1;
}

function run(program) {
  const child = spawn(program, [`--config=${devNull}`, "--no-env-file", main, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  const signals = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on("error", (error) =>
    fail(
      error.code === "ENOENT"
        ? "there is no Bun to run it. Run npm install in the folder of zapd"
        : `Bun could not be started (${error.code})`,
    ),
  );
  child.on("exit", (status, signal) => {
    if (signal === null) {
      process.exitCode = status ?? 1;
      return;
    }
    // The process that started this sees the same end.
    for (const one of signals) process.removeAllListeners(one);
    process.kill(process.pid, signal);
    // A signal that does not end this process, in a container's first one, is told as shells tell it.
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 100);
  });
}

if (existsSync(main)) run(bundled() ?? "bun");
else fail("this package is the library alone. The program is made in a clone of zapd, with npm run build");
