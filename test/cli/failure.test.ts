/** What a failure ends with; how it reads is in the scripts. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { codes, exits } from "../../src/api/errors.ts";
import type { Context } from "../../src/cli/context.ts";
import { noAnswerError } from "../../src/cli/explain.ts";
import { CommandError } from "../../src/cli/failure.ts";
import { exitTable } from "../../src/cli/help.ts";
import { zapdWords } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { runProgram } from "./program.ts";

const folder = testFolder();

test("each exit status is explained, in their order", () => {
  expect(exitTable.map(([status]) => status)).toEqual(Object.values(exits));
});

test("each code ends with its status, and one that is not known with 1", () => {
  const exitOf = (code: string) => CommandError.of({ code, message: "m" }).exit;
  for (const [code, { exit }] of Object.entries(codes)) expect([code, exitOf(code)]).toEqual([code, exit]);
  expect(exitOf("of_tomorrow")).toBe(1);
});

test("a socket that may not be used is not only another user's", () => {
  const context = { socket: () => "/s/zapd.sock", isFromConfig: () => false } as unknown as Context;
  const { message, hint, exit } = noAnswerError(Object.assign(new Error("no"), { code: "EACCES" }), context);
  expect([message, hint, exit]).toEqual([
    "the daemon's socket belongs to another user: /s/zapd.sock",
    "Or its folder is closed to you: zapd doctor says how to open it",
    exits.refused,
  ]);
});

test("an editor is given a whole config, or none is made", async () => {
  const env = { ...process.env, EDITOR: "true", ZAPD_CONFIG: join(folder, "config.toml"), ZAPD_STATE_DIR: folder };
  const limited = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", ...zapdWords(), "config", "edit"];
  const { status, stderr } = await runProgram(limited, { env });
  expect([status, stderr]).toEqual([exits.failed, expect.stringContaining("config.toml could not be written (EFBIG)")]);
  expect(readdirSync(folder)).toEqual([]);
});
