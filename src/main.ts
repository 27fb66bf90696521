#!/usr/bin/env bun
/** The program. Each command loads its own modules, so that a key press does not wait for those of the daemon. */
import { runCommand } from "./cli/command.ts";

if (import.meta.main) {
  void runCommand(process.argv.slice(2)).then((status) => {
    process.exitCode = status;
  });
}
