import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { child, childrenOf, childText, readXml } from "../../src/transport/xml.ts";
import { outcomeOf } from "../support/failure.ts";
import { runs, within } from "../support/whole.ts";

/** The code of the failure, or what was read. */
const outcome = (text: string): unknown => outcomeOf(() => readXml(text));

/** Runs within a time that no bomb would leave it, and gives what came of it. */
function quickly(text: string, ms = 5_000): unknown {
  const start = performance.now();
  const result = outcome(text);
  expect(performance.now() - start).toBeLessThan(ms);
  return result;
}

describe("a document", () => {
  test("gives names, attributes, children and trimmed text", () => {
    const root = readXml(
      '<?xml version="1.0"?>\n<apps>\n <app id="12" type="appl">\n Netflix </app><app id="13"/>\n</apps>\n',
    );
    expect(root.name).toBe("apps");
    expect(childrenOf(root, "app").map((one) => [one.attributes, one.text])).toEqual([
      [{ id: "12", type: "appl" }, "Netflix"],
      [{ id: "13" }, ""],
    ]);
    expect(childText(root, "app")).toBe("Netflix");
    expect(childText(root, "none")).toBeNull();
    expect(childText(child(root, "none"), "app")).toBeNull();
    expect(childrenOf(undefined, "app")).toEqual([]);
  });

  test("decodes the five entities and character references, once, in texts and attributes", () => {
    const text = "Tubi &amp; TV&#x2122; &#174; &lt;b&gt; &quot;&apos; &amp;lt; &amp;amp; &#128250;";
    const root = readXml(`<a name="${text}">${text}</a>`);
    expect(root.text).toBe(`Tubi & TV™ ® <b> "' &lt; &amp; 📺`);
    expect(root.attributes["name"]).toBe(root.text);
  });

  test("keeps unknown entities, and drops invalid characters", () => {
    expect(readXml("<a>&nbsp;&unknown; &#0;&#xD800;&#x110000;&#9999999;.</a>").text).toBe("&nbsp;&unknown; .");
  });

  test("is taken with a byte order mark, comments, CDATA, instructions, and namespaces", () => {
    const root = readXml(
      '\ufeff<?xml version="1.0" encoding="UTF-8" ?><!-- x --><a xmlns="urn:x"><?do it?><b:c>1</b:c><![CDATA[<x&y>]]></a>',
    );
    expect(root.name).toBe("a");
    expect(childText(root, "b:c")).toBe("1");
    expect(readXml("<a> Tom <![CDATA[&]]> Jerry<!-- x --> Max\n</a>").text).toBe("Tom & Jerry Max");
  });

  test("with a prefix at its root is that without one; what has another keeps it", () => {
    const root = readXml("<ns0:root xmlns:ns0='urn:x'><ns0:a><d:a>1</d:a><ns0:b>2</ns0:b></ns0:a></ns0:root>", "root");
    expect(root.children.map(({ name }) => name)).toEqual(["a"]);
    expect(root.children[0]?.children.map(({ name, text }) => [name, text])).toEqual([
      ["d:a", "1"],
      ["b", "2"],
    ]);
  });

  test("keeps numbers and booleans as the texts they are", () => {
    const root = readXml('<a n="007"><b>3.0</b><c>true</c><d>1e5</d><e>0x10</e></a>');
    expect([root.attributes["n"], ...root.children.map((one) => one.text)]).toEqual([
      "007",
      "3.0",
      "true",
      "1e5",
      "0x10",
    ]);
  });

  test("with words of JavaScript for names is read or refused, and changes no object but its own", () => {
    for (const name of ["toString", "text", "children", "length", "constructor", "hasOwnProperty", "__proto__"]) {
      const read = outcome(`<a ${name}="1"><${name}><polluted>2</polluted></${name}></a>`);
      expect(["device_error", "a"]).toContain(String(nameOf(read)));
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      expect({}.toString).toBe(Object.prototype.toString);
    }
    expect(childText(readXml("<a><length>2</length></a>"), "length")).toBe("2");
  });

  test("that is malformed fails with device_error", () => {
    for (const text of ["", " ", "hello", "{}", "<?xml version='1.0'?>", "<!-- -->", "\0\0", "<", "&amp;", "]]>"])
      expect(outcome(text)).toBe("device_error");
  });
});

describe("T8 a hostile document", () => {
  test("with a document type or an entity of its own is refused unread, in any case and place", () => {
    const laughs = `<!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from({ length: 9 }, (_, at) => `<!ENTITY lol${at + 1} "${`&lol${at || ""};`.repeat(10)}">`).join("")}]><lolz>&lol9;</lolz>`;
    for (const text of [
      laughs,
      '<!doctype a SYSTEM "file:///etc/passwd"><a>&x;</a>',
      "<a><!DocType b></a>",
      '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/">%x;]><a/>',
      '<!ENTITY a "b"><a>&a;</a>',
    ])
      expect(quickly(text)).toBe("device_error");
  });

  test("nested deeper than 64 is refused, 100,000 deep as quickly as any", () => {
    const nested = (depth: number) => "<a>".repeat(depth) + "</a>".repeat(depth);
    expect(outcome(nested(64))).toMatchObject({ name: "a" });
    expect(outcome(nested(70))).toBe("device_error");
    expect(quickly(nested(100_000), 3_000)).toBe("device_error");
    expect(quickly("<a>".repeat(300_000), 3_000)).toBe("device_error");
  });

  test("of more than 20,000 elements is refused", () => {
    expect(outcome(`<r>${"<e/>".repeat(19_999)}</r>`)).toMatchObject({ name: "r" });
    expect(outcome(`<r>${"<e/>".repeat(20_001)}</r>`)).toBe("device_error");
  });

  test("that is cut short is refused, for what is missing would be taken for gone", () => {
    const whole = '<?xml version="1.0"?>\n<apps><app id="1" x=">">One</app><app id="2">Two</app></apps>';
    expect(outcome(whole)).toMatchObject({ name: "apps" });
    for (let length = 0; length < whole.length; length++) expect(outcome(whole.slice(0, length))).toBe("device_error");
  });

  test("in UTF-16, with NULs, cut short anywhere, or with tags that never end, is read or refused", () => {
    const good = '<?xml version="1.0"?><a b="c"><d>e &amp; f</d><![CDATA[g]]><!-- h --></a>';
    for (let length = 0; length <= good.length; length++) quickly(good.slice(0, length));
    quickly(Buffer.from(good, "utf16le").toString("utf8"));
    quickly(good.replaceAll("", "\0"));
    for (const start of ["<", "<!--", "<![CDATA[", "<?", "</", '<a b="', "<a b='"])
      quickly(`${start}${"x ".repeat(100_000)}`, 3_000);
    for (const part of ["<!--", "<![CDATA[", "<?", "<a b='", "]]>", "-->", "&#"]) quickly(part.repeat(30_000), 3_000);
  });

  test(
    "of any text at all is read, or fails as the device's error",
    () => {
      const part = fc.constantFrom(
        "<a",
        ">",
        "</a>",
        "/>",
        ' b="',
        '"',
        "'",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x",
        "?>",
        "&amp;",
        "&#",
        ";",
        "x",
        " ",
        "\0",
        "é",
      );
      const numRuns = runs(10_000, 100_000);
      fc.assert(
        fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
          const result = outcome(parts.join(""));
          if (typeof result !== "string") return;
          expect(result).toBe("device_error");
        }),
        { numRuns },
      );
    },
    within(),
  );

  test("no text of any device is decoded twice, or lost on its way", () => {
    const written = (text: string) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
    const text = fc.string({
      unit: fc.constantFrom("&", "<", ">", '"', "'", "#", ";", "a", "l", "t", "é", "📺", "•", "®"),
    });
    fc.assert(
      fc.property(text, (given) => {
        const root = readXml(`<a b="${written(given)}"><c>${written(given)}</c></a>`);
        expect(root.attributes["b"]).toBe(given);
        expect(childText(root, "c") ?? "").toBe(given);
      }),
      { numRuns: 3_000 },
    );
  });
});

function nameOf(result: unknown): unknown {
  return typeof result === "object" && result !== null && "name" in result ? result.name : result;
}
