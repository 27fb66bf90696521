/**
 * Sets that flood a line of frames (SECURITY.md T10), on which what is cast is told: each line ends with a reason or goes on
 * in bounded memory, and another set is driven meanwhile.
 */
import { describe, expect, test } from "bun:test";
import type net from "node:net";
import { createServer } from "node:tls";
import { cast } from "../../src/platforms/cast/adapter.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { readMessages, writeMessage } from "../../src/simulators/cast/messages.ts";
import { has } from "../contract/bench.ts";
import { newId, room } from "../platforms/cast/harness.ts";
import { lineTo, never, state, tidy } from "../platforms/harness.ts";
import { until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { platformHostOf } from "../support/platform-host.ts";

tidy();

const certificate = createCertificateFor("rogue");
const prefix = "urn:x-cast:com.google.cast.";
const said = (namespace: string, content: unknown, source = "receiver-0") =>
  writeMessage({
    source,
    destination: "*",
    namespace: prefix + namespace,
    text: typeof content === "string" ? content : JSON.stringify(content),
  });

const youtube = {
  appId: "233637DE",
  displayName: "YouTube",
  sessionId: "t",
  transportId: "t",
  namespaces: [{ name: `${prefix}media` }],
};
const status = (requestId: unknown) => ({
  type: "RECEIVER_STATUS",
  requestId,
  status: { applications: [youtube], volume: { level: 0.5, muted: false } },
});

/** A set that is one until it has told how it is, and then does as it is told. */
async function rogue(flood: (socket: net.Socket) => void) {
  const id = newId();
  const sockets: net.Socket[] = [];
  const server = createServer({ ...certificate }, (socket) => {
    sockets.push(socket);
    const read = readMessages(({ namespace, text }) => {
      const { type, requestId } = JSON.parse(text) as { type: string; requestId: number };
      if (type === "GET_DEVICE_INFO")
        socket.write(
          said("receiver.discovery", { type: "DEVICE_INFO", requestId, deviceId: id, friendlyName: "Rogue" }),
        );
      if (type !== "GET_STATUS") return;
      const isMedia = namespace.endsWith("media");
      const media = { type: "MEDIA_STATUS", requestId, status: [] };
      socket.write(isMedia ? said("media", media, "t") : said("receiver", status(requestId)));
    });
    socket.on("data", (bytes: Buffer) => read(bytes));
  });
  const set = await listening(server);
  const { port } = set;
  const line = await lineTo(cast, set, { lead: { host: "127.0.0.1", port }, timeout: 3_000 });
  expect(line.sighting.identity).toBe(id);
  await state(line);
  for (const socket of sockets) flood(socket);
  return { ...line, port };
}

/** Writes a block again and again as fast as it is taken, for so long. */
function pour(block: Uint8Array, ms: number): (socket: net.Socket) => void {
  return (socket) => {
    const end = performance.now() + ms;
    const more = () => {
      for (let round = 0; round < 8; round++) {
        if (socket.destroyed || performance.now() > end) return;
        if (!socket.write(block)) return void socket.once("drain", more);
      }
      setImmediate(more);
    };
    more();
  };
}

const megabyte = Buffer.alloc(1024 * 1024, "x");
const times = (count: number, bytes: Buffer) => Buffer.concat(Array<Buffer>(count).fill(bytes));
const head = (length: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
};

const ends: readonly (readonly [what: string, flood: (socket: net.Socket) => void])[] = [
  ["a frame that says 4 GB", (socket) => void socket.write(Buffer.concat([head(0xffff_ffff), megabyte]))],
  ["a frame of 64 KiB and one byte", (socket) => void socket.write(head(64 * 1024 + 1))],
  [
    "a message whose field says 2^63",
    (socket) => void socket.write(Buffer.concat([head(12), Buffer.from("080012ffffffffffffffff7f", "hex")])),
  ],
  ["a message that is none", (socket) => void socket.write(Buffer.concat([head(2_000), Buffer.alloc(2_000, 0x0f)]))],
  ["its own goodbye", (socket) => void socket.write(said("tp.connection", { type: "CLOSE" }))],
];

const bombs: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["lists in lists, 60 000 deep", said("receiver", "[".repeat(60_000))],
  ["objects in objects", said("media", '{"status":'.repeat(6_000), "t")],
  [
    "three hundred applications",
    said("receiver", { type: "RECEIVER_STATUS", status: { applications: Array(300).fill(youtube) } }),
  ],
  [
    "numbers that are none",
    said("media", '{"type":"MEDIA_STATUS","status":[{"mediaSessionId":1e999,"playerState":"PLAYING"}]}', "t"),
  ],
  [
    "names of everything",
    said("media", '{"type":"MEDIA_STATUS","__proto__":{"status":1},"constructor":1,"status":[{"__proto__":{}}]}', "t"),
  ],
  ["a title of 60 000 characters", said("media", mediaStatus("x".repeat(60_000)), "t")],
  ["empty messages", times(1_000, head(0))],
];

function mediaStatus(title: string): object {
  const media = { contentId: "a", metadata: { title }, duration: 60 };
  return {
    type: "MEDIA_STATUS",
    status: [{ mediaSessionId: 1, playerState: "PLAYING", currentTime: 1, media, supportedMediaCommands: 15 }],
  };
}

const pouredFor = 30_000;
const songs = Array.from({ length: 200 }, (_, at) => said("media", mediaStatus(`song ${at}`), "t"));
const endless: readonly (readonly [what: string, flood: (socket: net.Socket) => void])[] = [
  ["states without an end", pour(Buffer.concat(songs), pouredFor)],
  ["frames of 64 KiB without an end", pour(said("media", mediaStatus("x".repeat(60_000)), "t"), pouredFor)],
  [
    "pings without an end, whose answers it does not read",
    (socket) => {
      socket.pause();
      pour(times(500, said("tp.heartbeat", { type: "PING" })), pouredFor)(socket);
    },
  ],
];

describe("T10 a set that floods what it tells by itself", () => {
  test.each(ends)(
    "T10 %s: it is hung up on, and another set is driven meanwhile",
    async (_what, flood) => {
      const { set: other, connection: bystander } = await room({ name: "Other" });
      const { told, connection } = await rogue(flood);
      const begun = performance.now();
      const pressed = has(bystander.keys).press("volume-up", never);
      await until("the line has ended", () => told.ended.length > 0, 15_000);
      expect(performance.now() - begun).toBeLessThan(15_000);
      await pressed;
      expect(other.commands.length).toBe(1);
      connection.close();
    },
    60_000,
  );

  test.each(bombs)(
    "T34 %s: little is kept of it, and the line goes on",
    async (_what, bytes) => {
      const { told, connection } = await rogue((socket) => {
        socket.write(bytes);
        socket.write(said("media", mediaStatus("afterwards"), "t"));
      });
      await until("what came behind is told", () => told.states.at(-1)?.playback?.title === "afterwards");
      for (const { playback, app } of told.states) {
        expect((playback?.title ?? "").length).toBeLessThanOrEqual(512);
        expect(app?.platformId ?? "233637DE").toBe("233637DE");
      }
      expect(told.ended).toEqual([]);
      connection.close();
    },
    60_000,
  );

  test.each(endless)(
    "T34 %s: read at its own pace and not kept, and another set is driven meanwhile",
    async (_what, flood) => {
      const { set, connection } = await room({ name: "Other" });
      const flooding = await rogue(flood);
      const kept = () => {
        Bun.gc(true);
        return process.memoryUsage().heapUsed;
      };
      const before = kept();
      const { states, ended } = flooding.told;
      let told = 0;
      // The test's own list is no part of what is measured.
      const measuring = setInterval(() => {
        told += states.splice(0).length;
      }, 50);
      const begun = performance.now();
      for (let press = 1; press <= 50; press++) {
        await has(connection.keys).press("volume-up", never);
        expect(set.commands.length).toBe(press);
        await Bun.sleep(20);
      }
      // Were they in the way, each press would wait for as many of them as fit between two.
      const ms = performance.now() - begun;
      expect(ms).toBeLessThan(pouredFor / 2);
      clearInterval(measuring);
      expect(told).toBeLessThan(1_000 + 2 * ms);
      expect((kept() - before) / 2 ** 20).toBeLessThan(16);
      expect(ended).toEqual([]);
      flooding.connection.close();
      await until("it has hung up", () => flooding.set.open === 0);
    },
    60_000,
  );
});

test("T9 a set that takes the line and says nothing, or drips, is over at the deadline", async () => {
  for (const drip of [null, Buffer.from([0])]) {
    const server = createServer({ ...certificate }, (socket) => {
      const timer = setInterval(() => drip && socket.write(drip), 20);
      socket.on("close", () => clearInterval(timer));
      socket.resume();
    });
    const set = await listening(server);
    const { port } = set;
    const begun = performance.now();
    const identified = cast.identify({ host: "127.0.0.1", port }, platformHostOf({ timeout: 500 }), never);
    expect((await identified.catch((error: { code: string }) => error)) as { code: string }).toMatchObject({
      code: expect.stringMatching(/device_(timeout|unreachable|error)/),
    });
    expect(performance.now() - begun).toBeLessThan(3_000);
    await until("nothing is left open", () => set.open === 0);
    await set.stop();
  }
}, 60_000);
