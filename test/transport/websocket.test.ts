/** The messages of a WebSocket to a device (RFC 6455), which says what it likes: over TCP and over TLS. */
import { afterEach, describe, expect, test } from "bun:test";
import { until } from "../support/http-device.ts";
import { frame } from "../support/websocket-frames.ts";
import { workshop } from "./websocket-device.ts";

describe.each([
  ["TCP", false],
  ["TLS", true],
])("over %s", (_name, secure) => {
  const { open, stop } = workshop(secure);
  afterEach(stop);

  describe("messages", () => {
    test("a text in pieces, with a ping and a pong between them and a letter cut in two, is one text", async () => {
      const [one = 0, two = 0] = Buffer.from("ü");
      const { texts, ends, peer } = await open((socket) => {
        for (const part of [
          frame(0x01, Buffer.from([0x61, one])),
          frame(0x89, "between"),
          frame(0x8a, "unasked"),
          frame(0x00),
          frame(0x80, Buffer.from([two, 0x62])),
        ])
          socket.write(part);
      });
      await until("it is there", () => texts.length > 0);
      expect([texts, ends]).toEqual([["aüb"], []]);
      await until("the ping is answered", () => peer.frames.length > 0);
      expect(peer.frames).toMatchObject([{ first: 0x8a, masked: true, payload: Buffer.from("between") }]);
    });

    test.each([
      ["a new text in the midst of one", [frame(0x01, "a"), frame(0x81, "b")]],
      ["a piece of nothing", [frame(0x80, "a")]],
      ["a ping in pieces", [frame(0x09, "a")]],
      ["a ping of 126 bytes", [frame(0x89, "a".repeat(126))]],
      ["a frame of an unknown kind", [frame(0x83, "a")]],
      ["an agreed bit that was not", [frame(0xa1, "a")]],
      ["a masked frame", [Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5])]],
      ["half a letter", [frame(0x81, Buffer.from([0xc3]))]],
    ])("%s ends the line, and tells nothing", async (_what, parts) => {
      const { texts, ends, peer, line } = await open((socket) => socket.write(Buffer.concat(parts)));
      await until("it has ended", () => ends.length > 0);
      expect([texts, ends.length, line.open]).toEqual([[], 1, false]);
      expect(ends[0]?.code).toBeNull();
      await until("the device is hung up on", () => peer.gone);
    });

    test("what is binary is passed over", async () => {
      const { texts, ends } = await open((socket) =>
        socket.write(Buffer.concat([frame(0x82, "no"), frame(0x81, "yes")])),
      );
      await until("the text is there", () => texts.length > 0);
      expect([texts, ends]).toEqual([["yes"], []]);
    });

    test("each message is sent with a mask of its own, whatever its length", async () => {
      const { line, peer } = await open();
      const sent = [0, 1, 125, 126, 65_535, 65_536, 200_000].map(
        (length) => "ü".repeat(length / 2) + "x".repeat(length % 2),
      );
      for (const text of sent) line.send(text);
      await until("all is there", () => peer.frames.length === sent.length);
      expect(peer.frames.map(({ payload }) => payload.toString())).toEqual(sent);
      expect(new Set(peer.frames.map(({ first, masked }) => `${first} ${masked}`))).toEqual(new Set(["129 true"]));
      expect(new Set(peer.frames.map(({ mask }) => mask)).size).toBe(sent.length);
    });
  });

  describe("whether it lives", () => {
    test("a ping that is answered behind what was sent says that it was read; silence, that it was not", async () => {
      const { line, peer } = await open();
      peer.socket.on("data", () => {
        const ping = peer.frames.findLast(({ first }) => first === 0x89);
        if (ping && peer.frames.length === 2) peer.socket.write(frame(0x8a, ping.payload));
      });
      line.send("press");
      const before = line.lastReceivedAt;
      expect(await line.isRead(2_000)).toBe(true);
      expect(line.lastReceivedAt).toBeGreaterThan(before);
      expect(peer.frames.map(({ first }) => first)).toEqual([0x81, 0x89]);
      const heard = line.lastReceivedAt;
      expect(await line.isRead(100)).toBe(false);
      // Half-open: the bytes go nowhere, and nothing but the clock tells.
      expect([line.open, line.lastReceivedAt]).toEqual([true, heard]);
    });

    test("a device that closes the connection, or only its sending side, ends it once", async () => {
      for (const end of ["end", "destroy"] as const) {
        const { ends, line, peer } = await open();
        peer.socket[end]();
        await until("it has ended", () => ends.length > 0);
        await until("the socket is gone", () => peer.gone);
        line.send("into the void");
        line.close();
        line.destroy();
        expect([ends.length, ends[0]?.code, line.open]).toEqual([1, null, false]);
      }
    });
  });

  describe("goodbye", () => {
    test("of the device is answered in its own words, and told", async () => {
      for (const [words, code, reason] of [
        [Buffer.concat([Buffer.from([0x03, 0xf0]), Buffer.from("not you")]), 1_008, "not you"],
        [Buffer.alloc(0), null, ""],
      ] as const) {
        const { ends, peer, line } = await open((socket) => socket.write(frame(0x88, words)));
        await until("it has ended", () => ends.length > 0);
        expect([ends, line.open]).toEqual([[{ code, reason }], false]);
        await until("it was answered, and hung up", () => peer.gone);
        expect(peer.frames).toMatchObject([{ first: 0x88, masked: true, payload: words.subarray(0, 2) }]);
      }
    });

    test("is sent once by zapd, and nothing after it; any answer to it ends the connection", async () => {
      for (const answer of [frame(0x88, Buffer.from([0x03, 0xe8])), frame(0x81, "a text that holds a close")]) {
        const { ends, texts, peer, line } = await open();
        peer.socket.on("data", () => peer.socket.write(answer));
        line.close();
        line.close();
        line.send("late");
        expect(line.open).toBe(false);
        await until("it has ended", () => ends.length > 0);
        await until("it is hung up", () => peer.gone);
        expect(peer.frames).toMatchObject([{ first: 0x88, masked: true, payload: Buffer.from([0x03, 0xe8]) }]);
        expect([texts, ends.length]).toEqual([[], 1]);
      }
    });

    test("is no reset, whatever the device goes on sending until it has closed the connection too", async () => {
      const { peer, line } = await open();
      const happened: string[] = [];
      peer.socket.on("error", ({ message }) => happened.push(message));
      peer.socket.once("end", () => happened.push("end"));
      const tell = () => peer.socket.write(frame(0x81, "news"));
      for (let told = 0; told < 50; told++) tell();
      line.destroy();
      expect(line.open).toBe(false);
      for (let told = 0; told < 5; told++, await Bun.sleep(20)) tell();
      expect(happened).toEqual(["end"]);
      peer.socket.end();
      await until("it is hung up", () => peer.gone);
      expect(happened).toEqual(["end"]);
    });

    test("that is not answered closes the connection within two seconds", async () => {
      const { ends, peer, line } = await open();
      const start = performance.now();
      line.close();
      await until("it has ended", () => ends.length > 0);
      expect(performance.now() - start).toBeLessThan(2_500);
      await until("it is hung up", () => peer.gone);
      expect(ends).toEqual([{ code: null, reason: "was disconnected by zapd" }]);
    });
  });
});
