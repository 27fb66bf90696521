/** Lines of frames, each with its length before it: whatever the pieces are that it comes in, and whoever is at the other end. */
import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import { createServer } from "node:tls";
import fc from "fast-check";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { FrameSplitter, openFramed } from "../../src/transport/framed.ts";
import { disconnected, SlicedConnection } from "../../src/transport/sliced-connection.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";

/** One byte of length. */
const readHead = (bytes: Buffer) => (bytes.length < 1 ? null : { head: 1, body: bytes[0] ?? 0 });
const short = { readHead, headBytes: 1, maxBytes: 64 };
const frame = (text: string) => Buffer.from([text.length, ...Buffer.from(text)]);

describe("frames", () => {
  test("come out whole, in whatever pieces they come in", () => {
    const texts = fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), { maxLength: 8 });
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (words, sizes) => {
        const bytes = Buffer.concat(words.map(frame));
        const splitter = new FrameSplitter(short);
        const out: string[] = [];
        for (let at = 0, round = 0; at < bytes.length; round++) {
          const size = sizes[round % sizes.length] ?? 1;
          for (const body of splitter.push(bytes.subarray(at, at + size))) out.push(body.toString());
          at += size;
        }
        expect(out).toEqual(words);
      }),
    );
  });

  test("that are too long, or whose length has no end, are refused at once", () => {
    const push = (splitter: FrameSplitter, ...bytes: number[]) => [...splitter.push(Buffer.from(bytes))];
    expect(() => push(new FrameSplitter(short), 65)).toThrow("too long");
    const endless = new FrameSplitter({ readHead: () => null, headBytes: 3, maxBytes: 64 });
    expect(push(endless, 1, 2)).toEqual([]);
    expect(() => push(endless, 3)).toThrow("an invalid length");
  });
});

describe("a line of frames", () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });
  const certificate = createCertificateFor("device");

  async function opened(serve: (socket: net.Socket) => void) {
    const { port, stop } = await listening(createServer({ ...certificate }, serve));
    cleanups.push(stop);
    const heard: string[] = [];
    const ended: string[] = [];
    const line = await openFramed(
      {
        ...short,
        address: { host: "127.0.0.1", port },
        platformHost: { isOwnListener: () => false },
        onFrame: (body) => {
          if (body.toString() === "bad") throw new Error("is bad");
          // As on a busy machine; the pause that follows is as long.
          if (body.toString() === "slow") for (const until = performance.now() + 800; performance.now() < until; );
          heard.push(body.toString());
        },
        onEnd: ({ reason }) => ended.push(reason),
      },
      AbortSignal.timeout(5_000),
    );
    cleanups.push(() => line.destroy());
    return { line, heard, ended };
  }

  test("carries frames both ways, shows the certificate, and ends once", async () => {
    const { line, heard, ended } = await opened((socket) => {
      socket.on("data", (bytes: Buffer) => socket.write(bytes));
    });
    expect(line.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    line.send(frame("one"));
    line.send(frame("two"));
    await until("both have come back", () => heard.length === 2);
    line.close();
    line.destroy();
    expect([line.open, heard, ended]).toEqual([false, ["one", "two"], ["was disconnected by zapd"]]);
    // Nobody hears it any more, and nothing fails.
    line.send(frame("three"));
  });

  test("ends with its reason: a closed connection, an invalid frame, an answer that is not read", async () => {
    const hung = await opened((socket) => void socket.end(frame("bye")));
    await until("it has ended", () => hung.ended.length > 0);
    expect([hung.heard, hung.ended]).toEqual([["bye"], ["closed the connection"]]);
    const bad = await opened(
      (socket) => void socket.write(Buffer.concat([frame("good"), frame("bad"), frame("late")])),
    );
    await until("it has ended", () => bad.ended.length > 0);
    expect([bad.heard, bad.ended, bad.line.open]).toEqual([["good"], ["is bad"], false]);
    const deaf = await opened((socket) => void socket.pause());
    const block = Buffer.alloc(256 * 1024);
    await until("it has ended", () => {
      deaf.line.send(block);
      return deaf.ended.length > 0;
    });
    expect(deaf.ended).toEqual(["does not read what zapd sends"]);
  });

  test("has ended when the device closes it, even in the pause after a slow frame, if no frame waits", async () => {
    const { line, heard } = await opened((socket) => {
      socket.write(frame("slow"));
      setTimeout(() => socket.end(), 50);
    });
    await until("the frame was taken", () => heard.length > 0);
    // Beats, not milliseconds: while the process does not run, there are none.
    let beats = 0;
    const beat = setInterval(() => beats++, 20);
    await until("it has ended", () => !line.open);
    clearInterval(beat);
    expect(beats).toBeLessThan(30);
  });
});

test("what comes over a connection that is already closed is not kept", async () => {
  const connection = new SlicedConnection<Buffer>(new net.Socket(), {
    slice: { ms: 100, frames: 100 },
    split: (piece) => [piece].values(),
    bytesOf: (piece) => piece.length,
    take() {},
    onEnd() {},
  });
  connection.end(disconnected);
  const pieces = Array.from({ length: 100 }, () => {
    const piece = Buffer.alloc(1_024);
    connection.receive(piece);
    return new WeakRef(piece);
  });
  const kept = () => pieces.filter((piece) => piece.deref() !== undefined).length;
  // A reference that was looked at lives until the turn is over.
  for (let round = 0; round < 10 && kept() > 0; round++) {
    await Bun.sleep(20);
    Bun.gc(true);
  }
  expect(kept()).toBeLessThan(10);
  expect(connection.isOpen).toBe(false);
});
