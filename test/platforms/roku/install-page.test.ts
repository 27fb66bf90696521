import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Outcome, readInstallPage } from "../../../src/platforms/roku/install-page.ts";

interface Said {
  readonly text: string;
  readonly type: string;
}

/** The script of the page as sets write it: JSON in a JavaScript string in single quotes. */
function script(messages: readonly Said[] | null): string {
  const params = { messages, metadata: { dev_id: "x", dev_key: true, voice_sdk: false }, packages: [] };
  const literal = JSON.stringify(params).replace(/[\\']/g, (character) => `\\${character}`);
  return `<html><script>var x = JSON.parse('[1,2]'); var params = JSON.parse('${literal}'); var n = JSON.parse('7');</script></html>`;
}

const shell = (type: string, text: string) =>
  `<script>Shell.create('Roku.Message').trigger('Set message type', '${type}').trigger('Set message content', '${text}').trigger('Render', node);</script>`;
const font = (text: string) => `<div style="display:none"><font color="red">${text}</font></div>`;
const success = (text: string): Said => ({ text, type: "success" });
const error = (text: string): Said => ({ text, type: "error" });
const received = success("Application Received: 4242 bytes stored.");

/** What sets say (protocols/roku.md 2.1), and what it means. */
const known: readonly [text: string, type: string, outcome: Outcome][] = [
  ["Install Success.", "success", "installed"],
  ["Application Received: Identical to previous version -- not replacing.", "info", "identical"],
  ["Identical to previous version -- not replacing.", "success", "identical"],
  ["Install Failure: Compilation Failed.", "error", "rejected"],
  ["Install Failure: Error parsing XML component Home.xml", "error", "rejected"],
  ["Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading.", "error", "rejected"],
  ["Install Failure: No manifest. Invalid package.", "error", "rejected"],
  ['Failure: Form Error: "archive" Field Not Found', "error", "rejected"],
  ["Delete Succeeded.", "success", "installed"],
  ["Uninstall Success.", "success", "installed"],
  ["Delete Failed: No such file or directory.", "error", "rejected"],
];

describe("what sets are known to say", () => {
  for (const [text, type, outcome] of known) {
    test(`${outcome}: ${text}`, () => {
      const clean = text.replace(/\s+/g, " ");
      expect(readInstallPage(script([received, { text, type }]))).toEqual({
        outcome,
        messages: [received.text, clean],
      });
      expect(readInstallPage(shell(type, text))).toEqual({ outcome, messages: [clean] });
      expect(readInstallPage(font(text)).outcome).toBe(outcome);
      if (/install |delete/i.test(text)) expect(readInstallPage(`<p>${text}</p>`).outcome).toBe(outcome);
    });
  }

  test("a page that asks for a software update, wherever it says so", () => {
    expect(readInstallPage("<html><h1>Failed to check for software update</h1></html>").outcome).toBe(
      "update-required",
    );
    expect(readInstallPage(script([error("Failed to check for software update")])).outcome).toBe("update-required");
  });
});

describe("a page", () => {
  test("that says nothing, or nothing that is understood, is no success", () => {
    for (const page of ["", "<html></html>", script(null), script([]), script([{ text: "", type: "success" }])])
      expect(readInstallPage(page)).toEqual({ outcome: "unknown", messages: [] });
    expect(readInstallPage(script([{ text: "Something new", type: "info" }])).outcome).toBe("unknown");
    expect(readInstallPage("JSON.parse('{\"messages\": [')").outcome).toBe("unknown");
    expect(readInstallPage('JSON.parse(\'{"messages": "Install Success."}\')').outcome).toBe("unknown");
  });

  test("whose only good word is that the bytes have come is no success", () => {
    expect(readInstallPage(script([received])).outcome).not.toBe("installed");
  });

  test("that calls something new a success is one", () => {
    expect(readInstallPage(script([received, success("All is well.")])).outcome).toBe("installed");
  });

  test("with one failure is a failure, whatever else it says", () => {
    expect(readInstallPage(script([received, success("Install Success."), error("Oops")])).outcome).toBe("rejected");
    expect(
      readInstallPage(`${script([success("Install Success.")])}${font("Install Failure: Compilation Failed.")}`)
        .outcome,
    ).toBe("rejected");
  });

  test("says each thing once, though it stands in three places", () => {
    const text = "Install Failure: Compilation Failed.";
    expect(readInstallPage(script([error(text)]) + shell("error", text) + font(text)).messages).toEqual([text]);
  });

  test("gives its texts in plain words: escapes undone, tags and controls away, none endless", () => {
    const odd = `It's "q" \\ back\n\ttab <b>bold</b> \u0007é•®`;
    expect(readInstallPage(script([error(odd)])).messages).toEqual([`It's "q" \\ back tab bold é•®`]);
    expect(readInstallPage(shell("error", "It\\'s \\u00e9 \\x41 \\n b")).messages).toEqual(["It's é A b"]);
    expect(readInstallPage(script([error("x".repeat(5_000))])).messages[0]?.length).toBeLessThanOrEqual(1_000);
  });

  test("with messages of odd shapes is read as far as it goes", () => {
    const literal = JSON.stringify({
      messages: [null, 7, "text", {}, { text: 5 }, { text: "Install Success.", type: 3 }],
    });
    expect(readInstallPage(`JSON.parse('${literal}')`)).toEqual({
      outcome: "installed",
      messages: ["5", "Install Success."],
    });
  });

  test("of any text at all is read in time, and any text that a set sends comes back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
        const plain = text
          .replace(/<[^>]*>/g, " ")
          .replace(/[\p{Cc}\s]+/gu, " ")
          .trim();
        expect(readInstallPage(script([error(text)])).messages).toEqual(plain === "" ? [] : [plain]);
        readInstallPage(text);
      }),
      { numRuns: 3_000 },
    );
  });

  test("of a hostile set, as long as a page may be, is read in time", () => {
    const parts = [
      "JSON.parse('",
      "'Set message type', 'a')",
      '<font color="red">',
      "\\'",
      "<",
      "JSON.parse('\\",
      "x",
      " ",
    ];
    const pages = parts.map((part) => part.repeat(Math.floor((1024 * 1024) / part.length)));
    for (const text of ["<", "&", "\\", "<font>"]) pages.push(script([error(text.repeat(100_000))]));
    for (const page of pages) {
      // The processor's time, as other tests run meanwhile.
      const start = process.cpuUsage();
      readInstallPage(page);
      const { user, system } = process.cpuUsage(start);
      expect((user + system) / 1_000).toBeLessThan(5_000);
    }
  });
});
