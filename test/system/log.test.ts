import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { createLog, type LogLevel, type LogOptions } from "../../src/system/log.ts";
import { printable } from "../../src/system/printable.ts";

function logTo(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    colour: false,
    write: (line) => lines.push(line),
    ...options,
  });
  return { log, lines };
}

const messageIn = (line = "") => (JSON.parse(line) as { message: string }).message;

test("R9 an error that recurs is told once a minute, each by itself", () => {
  const { log, lines } = logTo();
  let now = 5_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  for (let time = 0; time < 500; time++) for (const disk of ["one", "two"]) log.recurring(`disk ${disk} is full`);
  expect(lines.map(messageIn)).toEqual(["disk one is full", "disk two is full"]);
  now += 60_000;
  log.recurring("disk one is full");
  expect(lines).toHaveLength(3);
  // Only so many are remembered.
  for (let disk = 0; disk < 100; disk++) log.recurring(`disk ${disk} is full`);
  log.recurring("disk one is full");
  expect(lines).toHaveLength(104);
  clock.mockRestore();
});

test("the token of a lease stands in no line, whatever says it", () => {
  const { log, lines } = logTo();
  log.warn("with zapd_lease_ZW_UD-donXdx_O4cHu4wumCpG, and zapd_lease_x, and no more");
  expect(lines.map(messageIn)).toEqual(["with [redacted], and [redacted], and no more"]);
});

describe("a line", () => {
  test("is JSON with its time, level and message, and ends with a line break", () => {
    const { log, lines } = logTo();
    log.warn('It\'s "there" é 📺');
    expect(lines.length).toBe(1);
    expect(lines[0]).toEndWith("}\n");
    const { time, ...rest } = JSON.parse(lines[0] ?? "");
    expect(new Date(time).toISOString()).toBe(time);
    expect(rest).toEqual({ level: "warn", message: 'It\'s "there" é 📺' });
  });

  test("is text on a terminal, coloured where colours are seen", () => {
    const { log, lines } = logTo({ format: "text" });
    for (const level of ["error", "warn", "info", "debug"] as const) log[level]("hello");
    expect(lines).toEqual(["error: hello\n", "warn: hello\n", "hello\n", "debug: hello\n"]);
    const coloured = logTo({ format: "text", colour: true });
    coloured.log.error("hello");
    coloured.log.info("hello");
    expect(coloured.lines).toEqual(["\x1b[31merror: hello\x1b[0m\n", "hello\n"]);
  });

  test("is written at its level and above, and the level can change", () => {
    const { log, lines } = logTo({ level: "warn" });
    const all = () => {
      for (const level of ["error", "warn", "info", "debug"] as const) log[level](level);
    };
    all();
    expect(lines.map(messageIn)).toEqual(["error", "warn"]);
    const wanted: Record<LogLevel, number> = { error: 1, warn: 2, info: 3, debug: 4 };
    for (const [level, count] of Object.entries(wanted)) {
      lines.length = 0;
      log.level = level as LogLevel;
      all();
      expect([level, lines.length]).toEqual([level, count]);
    }
  });

  test("T12 is one line of bounded length, whatever a device calls itself", () => {
    const { log, lines } = logTo();
    const names = [
      '\n{"level":"info","message":"forged"}',
      "\x1b]0;title\x07",
      "\r\nerror: x",
      "\u202egnp.exe",
      "\u2028",
      "\u0085",
      ...["x", "子", '"', "📺"].map((one) => one.repeat(100_000)),
    ];
    for (const name of names) log.info(`found ${name}`);
    expect(lines.length).toBe(names.length);
    for (const line of lines) {
      expect(line.match(/\n/g)?.length).toBe(1);
      expect(messageIn(line)).not.toMatch(/[\p{Cc}\p{Cs}\u202e\u2028]/u);
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8_192);
    }
  });
});

describe("T12 what is printed", () => {
  test("holds no control, no direction mark, no invisible character", () => {
    const marks = "\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u061c\ufeff\u2060";
    const bad = [..."\0\x07\x1b\x7f\u009b", ...marks, "\ud83d"];
    for (const one of bad) expect([pointsOf(one), printable(`a${one}b`)]).toEqual([pointsOf(one), "ab"]);
    for (const one of ["\n", "\r\n", "\t", "\u2028", "\u2029"])
      expect([pointsOf(one), printable(`a${one}b`)]).toEqual([pointsOf(one), "a b"]);
  });

  test("keeps what people write", () => {
    for (const text of ["TCL•Roku TV", "Ciné Écran Œuvres", "子供部屋", "עברית", "العربية", "❤️ 📺", "a  b", ""])
      expect(printable(text)).toBe(text);
  });

  test("of any text is on one line, without anything that a terminal would obey", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("a secret", () => {
  const secrets = [
    "correct horse battery staple",
    "p4ss.*(word)[",
    "$& $1 $$",
    "hunter2",
    "hunter2-and-more",
    "пароль-секрет",
    "päss wörd",
    "\\n\\t\\u0041",
    '"quoted"',
    "aaaa",
    "ab:cd:ef:12:34",
    "📺📺📺📺",
  ];

  test("of twelve never comes out, in no message, at no level, in no format, and not in part", () => {
    for (const format of ["json", "text"] as const) {
      const { log, lines } = logTo({ format });
      for (const secret of secrets) log.hide(secret);
      for (const secret of secrets) {
        log.debug(`Authorization: ${secret}`);
        log.error(`${secret}${secret} and ${secret}.`);
        log.info(`${secrets.join(" ")}`);
        expect(log.redact(`x${secret}y`)).toBe("x[redacted]y");
      }
      const out = lines.join("");
      for (const secret of secrets) {
        expect(out).not.toInclude(secret);
        expect(out).not.toInclude(JSON.stringify(secret).slice(1, -1));
      }
      expect(out).not.toInclude("-and-more");
      expect(out).toInclude("[redacted]");
    }
  });

  test("in an address is replaced, though nobody has named it, and the rest of the address stays", () => {
    const { log, lines } = logTo();
    log.debug("launching smb://nas:p4ss:w.rd@10.0.0.2/film.mkv, then http://tok3n@x/?a=b@c and https://x/@me, me@home");
    expect(messageIn(lines[0])).toBe(
      "launching smb://[redacted]@10.0.0.2/film.mkv, then http://[redacted]@x/?a=b@c and https://x/@me, me@home",
    );
    expect(log.redact("ftp://a:b@c")).toBe("ftp://[redacted]@c");
    const began = performance.now();
    for (const long of ["a.", "a://", "a:"]) log.redact(long.repeat(50_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("T31 stays where the caller sent it, whole and however it is written, and goes wherever else it stands", () => {
    const { log } = logTo();
    for (const secret of ["hunter2", "hunter2-and-more"]) log.hide(secret);
    expect(log.redact('has no app "hunter2"', ["hunter2"])).toBe('has no app "hunter2"');
    expect(log.redact('has no app "xhunter2y"', [" XHunter2Y "])).toBe('has no app "xhunter2y"');
    expect(log.redact('has no app "x", hunter2', ["x"])).toBe('has no app "x", [redacted]');
    // A part of it is not it.
    for (const part of ["unter", "hunter", "2", "", "hunter2-and"])
      expect(log.redact("knows hunter2-and-more", [part])).toBe("knows [redacted]");
    expect(log.redact("hunter2-and-more or hunter2", ["hunter2"])).toBe("[redacted] or hunter2");
  });

  test("that is none, or too short to be told from other words, hides nothing", () => {
    const { log, lines } = logTo();
    log.hide("");
    log.hide("the");
    log.info("the others");
    expect(messageIn(lines[0])).toBe("the others");
  });
});

function pointsOf(text: string): string {
  return [...text].map((one) => `U+${one.codePointAt(0)?.toString(16)}`).join(" ");
}
