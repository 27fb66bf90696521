/** What a failure ends with; how it reads is in the scripts. */
import { describe, expect, test } from "bun:test";
import { codes, exits } from "../../src/api/errors.ts";
import { CommandError, failureDocument } from "../../src/cli/failure.ts";
import { exitTable } from "../../src/cli/help.ts";

describe("codes", () => {
  const of = (code: string) => CommandError.of({ code, message: "m", hint: "h" });

  test("each exit status is explained, in their order", () => {
    expect(exitTable.map(([status]) => status)).toEqual(Object.values(exits));
  });

  test("each ends with its status, and one that is not known with 1", () => {
    for (const [code, { exit }] of Object.entries(codes)) expect([code, of(code).exit]).toEqual([code, exit]);
    expect(of("of_tomorrow").exit).toBe(1);
  });

  test("a document has the shape of a response", () => {
    expect(JSON.parse(failureDocument(of("device_error")))).toEqual({
      ok: false,
      error: { code: "device_error", message: "m", hint: "h" },
    });
    expect(failureDocument({ code: "usage", message: "m" })).not.toContain("hint");
  });
});
