/**
 * The program with the clock of the tests. `npm test` first compiles it into one file (`$ZAPD_TEST_PROGRAM`), which starts
 * four times as fast as the source; the tests start some hundred daemons.
 */
import "./fast-clock.ts";
import { runCommand } from "../../src/cli/command.ts";

void runCommand(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
