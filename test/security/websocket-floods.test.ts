/** Devices that flood a WebSocket (SECURITY.md T10): each line ends with a reason, soon, and little is kept of what came. */

import { heapStats } from "bun:jsc";
import { afterEach, describe, expect, test } from "bun:test";
import type net from "node:net";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { ZapdError } from "../../src/api/errors.ts";
import { readJson } from "../../src/transport/json.ts";
import { openWebSocket } from "../../src/transport/websocket.ts";
import { FrameReader } from "../../src/transport/websocket-frames.ts";
import { until } from "../support/http-device.ts";
import { runs, seed, within } from "../support/whole.ts";
import { frame, opened, workshop } from "../transport/websocket-device.ts";

const { device, stop } = workshop(false);
afterEach(stop);

/** A device that opens the WebSocket, and then says what it is told to; gives its port. */
async function flooding(say: (socket: net.Socket) => void, but?: Parameters<typeof opened>[1]): Promise<number> {
  const { port } = await device((socket, head) => {
    socket.write(opened(head, but));
    say(socket);
  });
  return port;
}

/** How the line ended, what it took, and how many texts came through. */
async function drive(port: number): Promise<{ reason: string; ms: number; texts: number }> {
  const start = performance.now();
  let texts = 0;
  const ended = Promise.withResolvers<string>();
  const platformHost = { isOwnListener: () => false };
  const address = { host: "127.0.0.1", port };
  const line = await openWebSocket(
    {
      address,
      path: "/",
      tls: false,
      platformHost,
      onText: () => texts++,
      onEnd: ({ reason }) => ended.resolve(reason),
    },
    AbortSignal.timeout(15_000),
  );
  const timer = setTimeout(() => ended.resolve("nothing ended it"), 15_000);
  const reason = await ended.promise;
  clearTimeout(timer);
  line.destroy();
  return { reason, ms: performance.now() - start, texts };
}

/** Writes one block again and again, as fast as it is taken, at most so many times. */
function pour(block: Uint8Array, times: number): (socket: net.Socket) => void {
  return (socket) => {
    let left = times;
    const more = () => {
      while (left-- > 0 && !socket.destroyed) if (!socket.write(block)) return void socket.once("drain", more);
    };
    more();
  };
}

const megabyte = Buffer.alloc(1024 * 1024, "x");
const empty = Buffer.from([0x00, 0x00]);
const floods: readonly { what: string; say(socket: net.Socket): void; reason: RegExp }[] = [
  {
    what: "a frame that says 512 MB",
    say: (socket) => {
      socket.write(frame(0x81, megabyte, 512 * 1024 * 1024));
      pour(megabyte, 512)(socket);
    },
    reason: /more than 8388608 bytes/,
  },
  {
    what: "two thousand fragments of 1 MB",
    say: (socket) => {
      socket.write(frame(0x01, megabyte));
      pour(frame(0x00, megabyte), 2_000)(socket);
    },
    reason: /more than 8388608 bytes/,
  },
  {
    what: "a million empty fragments",
    say: (socket) => {
      socket.write(Buffer.from([0x01, 0x00]));
      pour(Buffer.concat(Array<Buffer>(10_000).fill(empty)), 100)(socket);
    },
    reason: /more than 1024 pieces/,
  },
  {
    what: "a compressed bomb",
    say: (socket) => void socket.write(frame(0xc1, deflateRawSync(Buffer.alloc(64 * 1024 * 1024)))),
    reason: /bits that nobody has agreed on/,
  },
  { what: "a length of 2^63", say: (socket) => void socket.write(frame(0x81, empty, 2 ** 53)), reason: /more than/ },
  { what: "a ping of a megabyte", say: (socket) => void socket.write(frame(0x89, megabyte)), reason: /control frame/ },
];

describe("T10 a device that floods", () => {
  test.each(floods)("T10 $what ends the line", async ({ say, reason }) => {
    const before = process.memoryUsage.rss();
    const ended = await drive(await flooding(say));
    const took = (process.memoryUsage.rss() - before) / 2 ** 20;
    expect(ended.reason).toMatch(reason);
    expect([ended.texts, ended.ms < 5_000]).toEqual([0, true]);
    // The device is of this process too: what it pours is among the figure.
    expect(took).toBeLessThan(96);
  });

  test("T10 an endless line of pings is answered, and keeps nothing", async () => {
    const pings = Buffer.concat(Array<Buffer>(1_000).fill(Buffer.from([0x89, 0x00])));
    const port = await flooding((socket) => {
      pour(pings, 100)(socket);
      setTimeout(() => socket.end(), 1_000);
      socket.resume();
    });
    expect(await drive(port)).toMatchObject({ reason: expect.stringMatching(/hung up|broke/), texts: 0 });
  });
});

describe("T10 T34 a device that floods with small frames", () => {
  const repeated = (bytes: Uint8Array) => Buffer.concat(Array<Uint8Array>(10_000).fill(bytes));

  test.each([
    ["texts", frame(0x81, "a"), 1],
    [
      "texts behind ten pongs, binary messages or fragments",
      Buffer.concat([
        ...Array<Buffer>(4).fill(frame(0x8a)),
        ...Array<Buffer>(4).fill(frame(0x82)),
        frame(0x02),
        frame(0x80),
        frame(0x81, "a"),
      ]),
      11,
    ],
  ])("T10 T34 %s: they are read by the slice, and the others have their turn", async (_what, bytes, frames) => {
    const port = await flooding(pour(repeated(bytes), 100));
    const stamps: number[] = [];
    const platformHost = { isOwnListener: () => false };
    const address = { host: "127.0.0.1", port };
    const onText = () => stamps.push(performance.now());
    const line = await openWebSocket(
      { address, path: "/", tls: false, platformHost, onText, onEnd() {} },
      AbortSignal.timeout(15_000),
    );
    // Two slices of 400 may lie side by side, and not a third within 15 ms.
    const third = Math.ceil(800 / frames);
    await until("twenty slices are read", () => stamps.length > 10 * third);
    line.destroy();
    expect(Math.min(...stamps.slice(third + 1).map((stamp, at) => stamp - (stamps[at] ?? 0)))).toBeGreaterThan(15);
  });

  test("T10 pings, and reads none of the answers: it is hung up on", async () => {
    const port = await flooding((socket) => {
      socket.pause();
      pour(repeated(frame(0x89, Buffer.alloc(125))), 1_000)(socket);
    });
    expect((await drive(port)).reason).toBe("does not read what it is sent");
  });

  test("T34 values without end are counted before they are parsed, and long lists are read", () => {
    const list = (value: string, count: number) => `[${Array<string>(count).fill(value).join()}]`;
    expect(readJson(list('{"channelId":"7_41_0_0_1307_12265_1","channelNumber":"1"}', 80_000))).toHaveLength(80_000);
    expect(readJson(list("{}", 2_700_000))).toBeUndefined();
  });

  test("T34 a message that comes letter by letter takes no more than it says", () => {
    const reader = new FrameReader({ maxBytes: 8 * 1024 * 1024, maxFragments: 1_024 });
    expect([...reader.push(frame(0x81, "", 8_000_000))]).toEqual([]);
    Bun.gc(true);
    const before = heapStats().objectTypeCounts["Uint8Array"] ?? 0;
    for (let at = 0; at < 100_000; at++) expect(reader.push(Buffer.from("a")).next().done).toBe(true);
    Bun.gc(true);
    expect((heapStats().objectTypeCounts["Uint8Array"] ?? 0) - before).toBeLessThan(100);
  });
});

describe("T10 an upgrade", () => {
  test.each([
    ["with an extension that nobody asked for", { "Sec-WebSocket-Extensions": "permessage-deflate" }],
    ["with a head of a megabyte", { X: "y".repeat(1024 * 1024) }],
  ])("T10 %s is refused", async (_what, but) => {
    expect(await drive(await flooding(() => {}, but)).catch((error: ZapdError) => error.code)).toBe("device_error");
  });
});

test(
  `T10 any frames, in any split, give frames or a device_error, the same ones (seed ${seed})`,
  () => {
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc
        .tuple(fc.constantFrom(0x81, 0x01, 0x00, 0x80, 0x82, 0x88, 0x89, 0x8a, 0xc1), fc.uint8Array({ maxLength: 40 }))
        .map(([first, payload]) => Uint8Array.of(first, payload.length, ...payload)),
    );
    const outcome = (pieces: readonly Uint8Array[]): unknown[] => {
      const reader = new FrameReader({ maxBytes: 64, maxFragments: 3 });
      const frames: unknown[] = [];
      try {
        for (const piece of pieces) for (const one of reader.push(piece)) frames.push(one);
      } catch (error) {
        if (!(error instanceof ZapdError) || error.code !== "device_error") throw error;
        frames.push("refused");
      }
      return frames;
    };
    let refused = 0;
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const whole = Uint8Array.from(parts.flatMap((one) => [...one]));
        const read = outcome([whole]);
        if (read.includes("refused")) refused++;
        expect(outcome([...whole].map((byte) => Uint8Array.of(byte)))).toEqual(read);
      }),
      { numRuns: runs(5_000, 100_000), seed },
    );
    expect(refused).toBeGreaterThan(500);
    expect(refused).toBeLessThan(runs(5_000, 100_000));
  },
  within(),
);
