import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ZapdError } from "../../src/api/errors.ts";
import { AnswerReader, bodyText, type Wanted } from "../../src/transport/http-connection.ts";
import { runs, within } from "../support/whole.ts";

interface Asked {
  readonly wanted?: Wanted;
  readonly maxBytes?: number;
  /** The device closes the connection behind the last byte. */
  readonly ends?: boolean;
}

/** What the reader makes of an answer that comes in these pieces, in one comparable value. */
function read(pieces: readonly Uint8Array[], { wanted = "all", maxBytes = 4096, ends }: Asked = {}) {
  const reader = new AnswerReader(wanted, maxBytes);
  try {
    for (const piece of pieces) reader.push(piece);
    if (ends) reader.end();
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    return { error: `${error.code}: ${error.message}` };
  }
  const { answer, reusable } = reader;
  if (!answer) return { begun: reader.begun };
  return { status: answer.status, odd: answer.headers.get("x-odd"), body: bodyText(answer), reusable };
}

const bytes = (text: string) => Buffer.from(text);
const whole = (text: string, asked?: Asked) => read([bytes(text)], asked);
const failure = (text: string, asked?: Asked) => ("error" in whole(text, asked) ? whole(text, asked).error : "none");

const hello = { status: 200, body: "hello", reusable: true };
const answers: readonly [name: string, text: string, asked: Asked, expected: object][] = [
  ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {}, hello],
  ["the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello", {}, hello],
  ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", {}, hello],
  ["no reason phrase", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", {}, hello],
  ["a line that is no header", "HTTP/1.1 200 OK\r\nnonsense\r\n: x\r\nContent-Length: 5\r\n\r\nhello", {}, hello],
  ["a body as it is", "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", {}, hello],
  ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", {}, hello],
  [
    "chunks in capitals, with extensions, trailers and bare line feeds",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0A ;x=y\nhellohello\n0\nExpires: never\n\n",
    {},
    { status: 200, body: "hellohello", reusable: true },
  ],
  [
    "chunks beside a length",
    "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    {},
    hello,
  ],
  ["the end of the connection", "HTTP/1.1 200 OK\r\n\r\nhello", { ends: true }, { ...hello, reusable: false }],
  ["nothing to read in a 204", "HTTP/1.1 204 No Content\r\n\r\n", {}, { status: 204, body: "", reusable: true }],
  ["nothing to read in a 304", "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", {}, { status: 304, body: "" }],
  ["an empty body", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", {}, { status: 404, body: "", reusable: true }],
  [
    "an answer before the answer",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    {},
    hello,
  ],
  [
    "a connection that will close",
    "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 5\r\n\r\nhello",
    {},
    { ...hello, reusable: false },
  ],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", {}, { ...hello, reusable: false }],
  ["HTTP/1.0 that stays", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", {}, hello],
  [
    "header names in any case",
    "HTTP/1.1 200 OK\r\nX-Odd:  A b \r\nx-odd: c\r\nContent-Length: 0\r\n\r\n",
    {},
    { odd: "A b, c" },
  ],
  ["UTF-8 in the body", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\né📺x", {}, { body: "é📺x" }],
  ["a body within the cap", "HTTP/1.1 200 OK\r\n\r\nhello", { ends: true, maxBytes: 5 }, { body: "hello" }],
  ["a status of one's own", "HTTP/1.1 577 Update\r\nContent-Length: 0\r\n\r\n", {}, { status: 577 }],
];

test("T34 an answer cut into letters ends soon", () => {
  const letters = bytes("1\r\nx\r\n".repeat(1_000));
  const cut = (pieces: number) =>
    read([bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), ...Array<Buffer>(pieces).fill(letters)], {
      maxBytes: 16 * 1024 * 1024,
    });
  expect(cut(32)).toEqual({ begun: true });
  expect(cut(33)).toEqual({ error: "device_error: answered with more than 32768 chunks" });
});

describe("an answer", () => {
  for (const [name, text, asked, expected] of answers) {
    test(`framed by ${name} is read`, () => {
      expect(whole(text, asked)).toMatchObject(expected);
    });
  }

  test("reads the same in every split of its bytes", () => {
    for (const [, text, asked] of answers) {
      const all = bytes(text);
      const expected = read([all], asked);
      for (let at = 1; at < all.length; at++)
        expect(read([all.subarray(0, at), all.subarray(at)], asked)).toEqual(expected);
      expect(
        read(
          [...all].map((byte) => Uint8Array.of(byte)),
          asked,
        ),
      ).toEqual(expected);
    }
    const example = fc.constantFrom(...answers);
    fc.assert(
      fc.property(example, fc.array(fc.nat(200), { maxLength: 12 }), ([, text, asked], cuts) => {
        const all = bytes(text);
        const at = [0, ...cuts.map((cut) => cut % all.length).sort((one, other) => one - other), all.length];
        const pieces = at.slice(1).map((end, index) => all.subarray(at[index], end));
        expect(read(pieces, asked)).toEqual(read([all], asked));
      }),
      { numRuns: 2_000 },
    );
  });

  test("that is not all here yet is no answer", () => {
    expect(whole("")).toEqual({ begun: false });
    expect(whole("HTTP/1.1 200 OK\r\nContent-Le")).toEqual({ begun: true });
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell")).toEqual({ begun: true });
    expect(whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")).toEqual({ begun: true });
  });

  test("followed by unrequested bytes leaves a connection that is not used again", () => {
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK")).toMatchObject({
      reusable: false,
    });
  });

  test("of which only the head is wanted is there with its head", () => {
    const head = { wanted: "head" } as const;
    expect(whole("HTTP/1.1 200 OK\r\n\r\n", head)).toMatchObject({ status: 200, reusable: false });
    expect(whole("HTTP/1.1 202 Yes\r\nContent-Length: 9\r\n\r\nhalf", head)).toMatchObject({
      status: 202,
      reusable: false,
    });
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", head)).toMatchObject({ reusable: true });
    expect(whole("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", head)).toMatchObject({ status: 200 });
  });
});

describe("T9 refused", () => {
  const big = "x".repeat(20_000);
  const refusals: readonly [name: string, text: string, message: string, asked?: Asked][] = [
    ["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "not HTTP"],
    ["no HTTP, from its first byte on", "\0\0\0", "not HTTP"],
    ["another version", "HTTP/2 200 OK\r\n\r\n", "not HTTP"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "not HTTP"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "two different lengths"],
    ["a length that is none", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "an invalid length"],
    ["a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", "an invalid length"],
    ["a hexadecimal length", "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n", "an invalid length"],
    ["a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "an invalid length"],
    ["a huge length", `HTTP/1.1 200 OK\r\nContent-Length: ${"9".repeat(40)}\r\n\r\n`, "an invalid length"],
    ["a length over the cap, before its body", "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n", "more than 4 KiB"],
    ["chunks over the cap", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n${big}`, "more than 4 KiB"],
    ["an endless body over the cap", `HTTP/1.1 200 OK\r\n\r\n${big}`, "more than 4 KiB"],
    ["an invalid chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "an invalid chunk"],
    ["a negative chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "an invalid chunk"],
    [
      "a chunk of a size beyond sense",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1ffffffff\r\n",
      "an invalid chunk",
    ],
    ["a chunk size without an end", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${big}`, "an invalid chunk"],
    ["compression", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", "compressed"],
    ["an upgrade", "HTTP/1.1 101 Switching\r\n\r\n", "an upgrade"],
    ["nine answers before the answer", "HTTP/1.1 100 Continue\r\n\r\n".repeat(9), "an upgrade"],
    ["headers over 16 KiB", `HTTP/1.1 200 OK\r\nX: ${big}\r\n\r\n`, "headers over 16 KiB"],
    ["headers over 16 KiB without an end", `HTTP/1.1 200 OK\r\nX: ${big}`, "headers over 16 KiB"],
    [
      "headers over 16 KiB together",
      `HTTP/1.1 200 OK\r\n${`X: ${big.slice(0, 999)}\r\n`.repeat(17)}`,
      "headers over 16 KiB",
    ],
    ["an end in mid-head", "HTTP/1.1 200 OK\r\nX: y", "before its answer was complete", { ends: true }],
    [
      "an end in mid-body",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
      "before its answer was complete",
      { ends: true },
    ],
    [
      "an end in mid-chunk",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
      "before its answer was complete",
      { ends: true },
    ],
    ["an end without a word", "", "without an answer", { ends: true }],
  ];
  for (const [name, text, message, asked] of refusals) {
    test(`${name}, in one piece and byte by byte`, () => {
      expect(failure(text, asked)).toStartWith("device_error: ");
      expect(failure(text, asked)).toContain(message);
      const split = read(
        [...bytes(text)].map((byte) => Uint8Array.of(byte)),
        asked,
      );
      expect("error" in split ? split.error : split).toContain(message);
    });
  }

  test(
    "any bytes are an answer, no answer yet, or a device_error",
    () => {
      const words = fc.constantFrom(
        "HTTP/1.1 200 OK\r\n",
        "\r\n",
        "\n",
        "Content-Length: 3",
        "Transfer-Encoding: chunked",
        "3",
        "0",
        "abc",
        ": ",
        "HTTP/1.1 100\r\n\r\n",
      );
      const noise = fc.uint8Array({ maxLength: 20 }).map((given) => Buffer.from(given).toString("latin1"));
      fc.assert(
        fc.property(
          fc.array(fc.oneof({ weight: 4, arbitrary: words }, noise), { maxLength: 14 }),
          fc.boolean(),
          (parts, ends) => {
            const outcome = read(
              parts.map((part) => Buffer.from(part, "latin1")),
              { ends, maxBytes: 64 },
            );
            if ("error" in outcome) expect(outcome.error).toStartWith("device_error: ");
          },
        ),
        { numRuns: runs(20_000, 100_000) },
      );
    },
    within(),
  );
});
