/** What a failure ends with; how it reads is in the scripts. */
import { expect, test } from "bun:test";
import { codes, exits } from "../../src/api/errors.ts";
import { CommandError } from "../../src/cli/failure.ts";
import { exitTable } from "../../src/cli/help.ts";

test("each exit status is explained, in their order", () => {
  expect(exitTable.map(([status]) => status)).toEqual(Object.values(exits));
});

test("each code ends with its status, and one that is not known with 1", () => {
  const exitOf = (code: string) => CommandError.of({ code, message: "m" }).exit;
  for (const [code, { exit }] of Object.entries(codes)) expect([code, exitOf(code)]).toEqual([code, exit]);
  expect(exitOf("of_tomorrow")).toBe(1);
});
