#!/usr/bin/env bun
/** The program. What a command needs is loaded when it is asked for: a key press must not wait for the daemon's modules. */
import { runCommand } from "./cli/command.ts";

if (import.meta.main) {
  void runCommand(process.argv.slice(2)).then((status) => {
    process.exitCode = status;
  });
}
