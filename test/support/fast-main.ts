/**
 * The program with the clock of tests in it. `npm test` makes one file of it first (`$ZAPD_TEST_PROGRAM`), which starts in a
 * quarter of the time: some four hundred daemons are started.
 */
import "./fast-clock.ts";
import { runCommand } from "../../src/cli/command.ts";

void runCommand(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
