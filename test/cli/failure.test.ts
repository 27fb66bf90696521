/** What a failure reads like. */
import { describe, expect, test } from "bun:test";
import { codes, exits } from "../../src/api/errors.ts";
import { failureText } from "../../src/cli/explain.ts";
import { CommandError, failureDocument } from "../../src/cli/failure.ts";
import { exitTable } from "../../src/cli/help.ts";

const of = (message: string, hint?: string, code = "device_error") => CommandError.of({ code, message, hint });

describe("the lines for people", () => {
  test("the message, and below it what to do", () => {
    expect(failureText(of("Bedroom refused", "Settings > System"))).toBe(
      "zapd: Bedroom refused.\n      Settings > System",
    );
  });

  test("a suggestion stands behind the message, and a long list is left out for it", () => {
    expect(failureText(of("no app", "Did you mean Netflix?"))).toBe("zapd: no app. Did you mean Netflix?");
    expect(failureText(of("no key", `Did you mean home? The keys are: ${"home, ".repeat(40)}`))).toBe(
      "zapd: no key. Did you mean home?",
    );
    expect(failureText(of("none", "Did you mean A? Known: A, B"))).toBe(
      "zapd: none. Did you mean A?\n      Known: A, B",
    );
  });

  test("a sentence is begun small, but no name of a device", () => {
    expect(failureText(of("No device is called", undefined, "device_not_found"))).toBe("zapd: no device is called.");
    expect(failureText(of("Den refused", undefined, "device_refused"))).toBe("zapd: Den refused.");
    expect(failureText(of("A device cannot", undefined, "invalid_device_name"))).toBe("zapd: a device cannot.");
  });

  test("lines of a message are kept, controls are not, and a terminal's width is", () => {
    expect(failureText(of("broken:\na(1): x\nb(2): y"))).toBe("zapd: broken:\n      a(1): x\n      b(2): y");
    expect(failureText(of("\x1b[2Jx\u202ey"))).toBe("zapd: [2Jxy.");
    expect(failureText(of("one two three four"), 16)).toBe("zapd: one two\n      three\n      four.");
  });
});

describe("codes", () => {
  test("each exit status is explained, in their order", () => {
    expect(exitTable.map(([status]) => status)).toEqual(Object.values(exits));
  });

  test("each ends with its status, and one that is not known with 1", () => {
    for (const [code, { exit }] of Object.entries(codes)) expect([code, of("", "", code).exit]).toEqual([code, exit]);
    expect(of("", "", "of_tomorrow").exit).toBe(1);
  });

  test("a document has the shape of a response", () => {
    expect(JSON.parse(failureDocument(of("m", "h")))).toEqual({
      ok: false,
      error: { code: "device_error", message: "m", hint: "h" },
    });
    expect(failureDocument({ code: "usage", message: "m" })).not.toContain("hint");
  });
});
