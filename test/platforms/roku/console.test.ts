import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import net from "node:net";
import type { ZapdError } from "../../../src/api/errors.ts";
import { RokuConsole } from "../../../src/platforms/roku/console.ts";
import { overlap } from "../../../src/system/overlap.ts";
import { freePort } from "../../support/daemon.ts";
import { codeOf } from "../../support/failure.ts";
import { until } from "../../support/http-device.ts";
import { listening } from "../../support/listening.ts";

const never = new AbortController().signal;
const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Bench {
  readonly port: number;
  readonly console: RokuConsole;
  readonly clients: net.Socket[];
  /** Says these pieces, each as a packet of its own. */
  say(...pieces: (string | Uint8Array)[]): Promise<void>;
}

/** A console server that replays to each client what it has said, these pieces first. */
async function bench(...greeting: (string | Uint8Array)[]): Promise<Bench> {
  const clients: net.Socket[] = [];
  const said: (string | Uint8Array)[] = [];
  const write = async (client: net.Socket, pieces: readonly (string | Uint8Array)[]) => {
    for (const piece of pieces) {
      await new Promise<void>((resolve) => client.write(piece, () => resolve()));
      await Bun.sleep(3);
    }
  };
  const server = net.createServer({ noDelay: true }, (client) => {
    clients.push(client);
    client.resume();
    void write(client, [...greeting, ...said]);
  });
  const { port, stop } = await listening(server);
  const console = new RokuConsole({ host: "127.0.0.1", port });
  cleanups.push(() => {
    console.close();
    return stop();
  });
  return {
    port,
    console,
    clients,
    say: async (...pieces) => {
      said.push(...pieces);
      for (const client of clients) await write(client, pieces);
      await Bun.sleep(10);
    },
  };
}

/** The lines after a cursor, once the last of them has come: a busy machine receives them later than they were sent. */
async function linesUpTo(last: string, console: RokuConsole, cursor: string): Promise<readonly string[]> {
  let lines: readonly string[] = [];
  await until(`${last} has come`, async () => {
    ({ lines } = await console.read(cursor, never));
    return lines.at(-1) === last;
  });
  return lines;
}

describe.concurrent("lines", () => {
  test("come whole, however their bytes are cut, with the ends that sets write", async () => {
    const bytes = Buffer.from("one\r\ntwo é📺\r\n\r\nfour\n");
    const { console } = await bench(...[...bytes].map((byte) => Uint8Array.of(byte)));
    expect((await console.read(null, never)).lines).toEqual(["one", "two é📺", "", "four"]);
  });

  test("come without telnet commands, NUL, colours and controls, split or not", async () => {
    const telnet = [Uint8Array.of(0xff), Uint8Array.of(0xfb), Uint8Array.of(0x01)];
    const { console } = await bench(
      "a\0b",
      ...telnet,
      "c\r\n",
      "\x1b[31mred\x1b[0m\tx\x07\r\n",
      "caf",
      Uint8Array.of(0xc3),
      Uint8Array.of(0xa9),
      "\r\n",
    );
    expect((await console.read(null, never)).lines).toEqual(["abc", "red\tx", "café"]);
    const other = await bench("\x1b]0;a title\x07b\x1b[?25l\x1b[38;5;1mc\x1b]8;;x\x1b\\d\x1b]\r\n");
    expect((await other.console.read(null, never)).lines).toEqual(["bcd]"]);
  });

  test("that are too long are cut to whole characters", async () => {
    const { console } = await bench(`${"x".repeat(8_191)}📺\r\n`);
    const [line = ""] = (await console.read(null, never)).lines;
    expect([line.length, line.isWellFormed()]).toEqual([8_192, true]);
  });

  test("that have no end yet wait for it; of one without end only so much is kept", async () => {
    const { console, say } = await bench("done\r\nhalf");
    const first = await console.read(null, never);
    expect(first.lines).toEqual(["done"]);
    await say(" a line\r\n", `${"x".repeat(100_000)}\r\n`);
    let lines: readonly string[] = [];
    await until("both have come", async () => {
      ({ lines } = await console.read(first.cursor, never));
      return lines.length === 2;
    });
    expect(lines[0]).toBe("half a line");
    expect(lines[1]?.length).toBeLessThanOrEqual(8_192);
  });

  test("are kept, 5,000 at most, the newest, and a cursor from before them gives all that are left", async () => {
    const { console, say } = await bench("first\r\n");
    const { cursor } = await console.read(null, never);
    for (let round = 0; round < 6; round++)
      await say(Array.from({ length: 1_000 }, (_, at) => `line ${round * 1_000 + at}\r\n`).join(""));
    const lines = await linesUpTo("line 5999", console, cursor);
    expect(lines.length).toBe(5_000);
    expect(lines[0]).toBe("line 1000");
  });

  test("of which the beginning is no longer kept are not given", async () => {
    const { console, say } = await bench("first\r\n");
    const { cursor } = await console.read(null, never);
    // Colours, which are not given, fill what is kept.
    const colours = "\x1b[31m".repeat(400);
    await say(Array.from({ length: 1_000 }, (_, at) => `${colours}line ${1_000 + at}\n`).join(""));
    const lines = await linesUpTo("line 1999", console, cursor);
    expect(lines).toEqual(Array.from(lines, (_, at) => `line ${2_000 - lines.length + at}`));
  });

  test("are all given to a cursor that is none, and none is said to be missing", async () => {
    const { console } = await bench("one\r\ntwo\r\n");
    const { cursor } = await console.read(null, never);
    const all = { lines: ["one", "two"], cursor, dropped: 0 };
    for (const at of ["-5", "x", "", "1e9"]) expect(await console.read(cursor.replace(/\d+$/, at), never)).toEqual(all);
  });
});

test("a set that has hundreds of thousands of lines to replay is heard to its end, and the newest are kept", async () => {
  const { console } = await bench(Array.from({ length: 300_000 }, (_, at) => `line ${at}\r\n`).join(""));
  const before = process.memoryUsage().rss;
  const { lines } = await console.read(null, never);
  expect([lines.length, lines.at(-1)]).toEqual([5_000, "line 299999"]);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
});

describe.concurrent("the connection", () => {
  test("that breaks is made again, and what the set replays is not told twice", async () => {
    const { console, clients, say } = await bench("one\r\ntwo\r\n");
    const first = await console.read(null, never);
    await say("three\r\n");
    clients[0]?.destroy();
    let second = first;
    await until("it is made again", async () => {
      second = await console.read(first.cursor, never);
      return clients.length === 2;
    });
    expect(second.lines).toEqual(["three"]);
  });

  test("that breaks within a line, as after a prompt, does not have all told twice when it is made again", async () => {
    const { console, clients, say } = await bench("one\r\ntwo\r\n");
    await console.read(null, never);
    await say("Brightscript Debugger> ");
    await Bun.sleep(50);
    clients[0]?.destroy();
    let { lines } = await console.read(null, never);
    await until("it is made again", async () => {
      ({ lines } = await console.read(null, never));
      return clients.length === 2;
    });
    expect(lines).toEqual(["one", "two", "Brightscript Debugger> "]);
  });

  test.skipIf(process.platform !== "linux")(
    "is looked after while it is silent: a set may have lost its power",
    async () => {
      const { console, clients } = await bench("one\r\n");
      await console.read(null, never);
      const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, "0");
      const ends = new RegExp(
        `:${hex(clients[0]?.remotePort)} 0100007F:${hex(clients[0]?.localPort)} 01 \\S+ (\\d\\d):`,
      );
      // The kernel's own word: 02 is the timer that asks a silent peer (net/ipv4/tcp_ipv4.c, get_tcp4_sock).
      expect(ends.exec(readFileSync("/proc/net/tcp", "utf8"))?.[1]).toBe("02");
    },
  );

  test("is closed when it is let go, also while it is being made", async () => {
    const { console, clients, port } = await bench("one\r\n");
    await console.read(null, never);
    console.close();
    await until("it is closed", () => clients[0]?.readyState === "closed");
    const reading = console.read(null, never).catch(() => null);
    await until("it is being made", () => clients.length === 2);
    console.close();
    await reading;
    await until("that one is closed, too", () => clients[1]?.readyState === "closed");
    expect((await console.read(null, never)).lines).toEqual(["one"]);
    expect(clients.length).toBe(3);
    const proving: RokuConsole = new RokuConsole({ host: "127.0.0.1", port }, async () => proving.close());
    // Not device_unreachable: the set would be taken for off. Nor is anything wrong with it.
    const error = await proving.read(null, never).catch((one: ZapdError) => one);
    expect(error).toMatchObject({ code: "device_refused", message: expect.stringContaining("was let go") });
    expect(clients.length).toBe(3);
  });

  test("that serves another is console_in_use, and is not held", async () => {
    const { console, clients } = await bench("Console connection is already in use.\r\n");
    expect(await codeOf(console.read(null, never))).toBe("console_in_use");
    await until("it is let go", () => clients[0]?.readyState !== "open");
  });

  test("that takes too long fails as a timeout, and is not held; the next one is told all", async () => {
    const { port, clients } = await bench("one\r\n");
    // Who it is takes nearly all of the time: the end of the replay comes too late.
    let provingMs = 7_750;
    const console = new RokuConsole({ host: "127.0.0.1", port }, () => Bun.sleep(provingMs));
    cleanups.push(() => console.close());
    expect(await codeOf(console.read(null, never))).toBe("device_timeout");
    await until("it is let go", () => clients.every(({ readyState }) => readyState !== "open"));
    provingMs = 0;
    expect((await console.read(null, never)).lines).toEqual(["one"]);
  }, 60_000);

  test("that is refused says what to turn on", async () => {
    const console = new RokuConsole({ host: "127.0.0.1", port: await freePort() });
    const error = await console.read(null, never).catch((one: ZapdError) => one);
    expect(error).toMatchObject({ code: "device_refused", hint: expect.stringContaining("developer mode") });
  });
});

describe("what a replay repeats", () => {
  const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `line ${from + at}`);

  test("ends where the last lines that were kept stand in it", () => {
    expect(overlap([], numbered(0, 5))).toBe(0);
    expect(overlap(numbered(0, 5), [])).toBe(0);
    expect(overlap(numbered(0, 5), numbered(0, 8))).toBe(5);
    expect(overlap(numbered(0, 100), numbered(50, 130))).toBe(50);
    expect(overlap(numbered(0, 100), numbered(0, 100))).toBe(100);
    expect(overlap(numbered(0, 100), numbered(200, 230))).toBe(0);
    expect(overlap(["x", "b"], ["a", "b", "c"])).toBe(0);
  });

  test("is not mistaken for new when a run says the same again", () => {
    const run = ["------ Running dev 'X' main ------", "hello", "hello"];
    expect(overlap(run, [...run, ...run])).toBe(6);
    expect(overlap([...run, ...run], [...run, ...run, "new"])).toBe(6);
  });
});

test("a console that broke is opened again in peace, though the time of an earlier read ends meanwhile", async () => {
  const { port, clients } = await bench("one\r\n");
  const later = globalThis.setTimeout;
  const shortened = (work: () => void, ms?: number) => later(work, ms === 60_000 ? 1_000 : ms);
  const timers = spyOn(globalThis, "setTimeout").mockImplementation(shortened as typeof setTimeout);
  cleanups.push(() => timers.mockRestore());
  let provingMs = 0;
  const console = new RokuConsole({ host: "127.0.0.1", port }, () => Bun.sleep(provingMs));
  cleanups.push(() => console.close());
  const { cursor } = await console.read(null, never);
  for (const client of clients) client.destroy();
  provingMs = 1_500;
  await until("it is opened again", async () => {
    expect((await console.read(cursor, never)).lines).toEqual([]);
    return clients.length === 2;
  });
  timers.mockRestore();
});
