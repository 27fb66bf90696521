/**
 * Cast devices that flood the connection on which they push their state (SECURITY.md T10): each connection ends with a reason,
 * or goes on in bounded memory, and another device is driven meanwhile.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
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
import { pour, repeated } from "../support/pour.ts";
import { isQuick } from "../support/whole.ts";

// Tests run beside each other: what a device is takes zapd a second to find out.
tidy(afterAll);
let other: Awaited<ReturnType<typeof room>>;
beforeAll(async () => {
  other = await room({ name: "Other" });
});
/** The other device is driven. */
async function pressOther(): Promise<void> {
  const before = other.set.commands.length;
  await has(other.connection.keys).press("volume-up", never);
  expect(other.set.commands.length).toBeGreaterThan(before);
}

const certificate = createCertificateFor("rogue");
const prefix = "urn:x-cast:com.google.cast.";
const message = (namespace: string, content: unknown, source = "receiver-0") =>
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

/** A device that answers as a real one does, and floods once its state has been read. */
async function rogue(flood: (socket: net.Socket) => void) {
  const id = newId();
  const sockets: net.Socket[] = [];
  const server = createServer({ ...certificate }, (socket) => {
    sockets.push(socket);
    const read = readMessages(({ namespace, text }) => {
      const { type, requestId, request_id } = JSON.parse(text);
      const answers: Readonly<Record<string, () => Buffer>> = {
        GET_DEVICE_INFO: () =>
          message("receiver.discovery", { type: "DEVICE_INFO", requestId, deviceId: id, friendlyName: "Rogue" }),
        eureka_info: () => message("setup", { type: "eureka_info", request_id, data: {} }),
        GET_STATUS: () =>
          namespace.endsWith("media")
            ? message("media", { type: "MEDIA_STATUS", requestId, status: [] }, "t")
            : message("receiver", status(requestId)),
      };
      const answer = answers[type]?.();
      if (answer) socket.write(answer);
    });
    socket.on("data", (bytes: Buffer) => read(bytes));
  });
  const set = await listening(server);
  const line = await lineTo(cast, set, { lead: { host: "127.0.0.1", port: set.port }, timeout: 3_000 });
  expect(line.sighting.identity).toBe(id);
  await state(line);
  for (const socket of sockets) flood(socket);
  return line;
}

const megabyte = Buffer.alloc(1024 * 1024, "x");
const head = (length: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
};
const send =
  (...bytes: Buffer[]) =>
  (socket: net.Socket) =>
    void socket.write(Buffer.concat(bytes));

type Flood = readonly [what: string, flood: (socket: net.Socket) => void];
const ends: readonly Flood[] = [
  ["a frame that says 4 GB", send(head(0xffff_ffff), megabyte)],
  ["a frame of 64 KiB and one byte", send(head(64 * 1024 + 1))],
  ["a message whose field says 2^63", send(head(12), Buffer.from("080012ffffffffffffffff7f", "hex"))],
  ["a message that is none", send(head(2_000), Buffer.alloc(2_000, 0x0f))],
  ["its own CLOSE", send(message("tp.connection", { type: "CLOSE" }))],
];

const bombs: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["lists in lists, 60 000 deep", message("receiver", "[".repeat(60_000))],
  ["objects in objects", message("media", '{"status":'.repeat(6_000), "t")],
  [
    "three hundred applications",
    message("receiver", { type: "RECEIVER_STATUS", status: { applications: Array(300).fill(youtube) } }),
  ],
  [
    "numbers that are none",
    message("media", '{"type":"MEDIA_STATUS","status":[{"mediaSessionId":1e999,"playerState":"PLAYING"}]}', "t"),
  ],
  [
    "names of everything",
    message(
      "media",
      '{"type":"MEDIA_STATUS","__proto__":{"status":1},"constructor":1,"status":[{"__proto__":{}}]}',
      "t",
    ),
  ],
  ["a title of 60 000 characters", message("media", mediaStatus("x".repeat(60_000)), "t")],
  ["empty messages", repeated(1_000, head(0))],
];

function mediaStatus(title: string): object {
  const media = { contentId: "a", metadata: { title }, duration: 60 };
  return {
    type: "MEDIA_STATUS",
    status: [{ mediaSessionId: 1, playerState: "PLAYING", currentTime: 1, media, supportedMediaCommands: 15 }],
  };
}

/** How often the other device is driven beside a flood. */
const presses = isQuick ? 10 : 50;
const songs = Array.from({ length: 200 }, (_, at) => message("media", mediaStatus(`song ${at}`), "t"));
const endless: readonly Flood[] = [
  ["states without an end", pour(Buffer.concat(songs))],
  ["frames of 64 KiB without an end", pour(message("media", mediaStatus("x".repeat(60_000)), "t"))],
  [
    "pings without an end, whose answers it does not read",
    (socket) => {
      socket.pause();
      pour(repeated(500, message("tp.heartbeat", { type: "PING" })))(socket);
    },
  ],
];

describe.concurrent("T10 a device that floods the connection on which it pushes its state", () => {
  test.each(ends)("T10 %s: the connection is closed, and another device is driven meanwhile", async (_what, flood) => {
    const { told } = await rogue(flood);
    const pressed = pressOther();
    await until("the connection has ended", () => told.ended.length > 0, 15_000);
    await pressed;
  });

  test.each(bombs)("T34 %s: bounded data is kept, and the connection goes on", async (_what, bytes) => {
    const { told } = await rogue(send(bytes, message("media", mediaStatus("afterwards"), "t")));
    await until("what came behind is reported", () => told.states.at(-1)?.playback?.title === "afterwards");
    for (const { playback, app } of told.states) {
      expect((playback?.title ?? "").length).toBeLessThanOrEqual(512);
      expect(app?.platformId ?? "233637DE").toBe("233637DE");
    }
    expect(told.ended).toEqual([]);
  });
});

describe("T34 a device that floods without an end", () => {
  test.each(endless)(
    "T34 %s: read in slices and not kept, and another device is driven meanwhile",
    async (_what, flood) => {
      const flooding = await rogue(flood);
      const heapBytes = () => {
        Bun.gc(true);
        return process.memoryUsage().heapUsed;
      };
      const before = heapBytes();
      const { states, ended } = flooding.told;
      let reported = 0;
      const begun = performance.now();
      for (let press = 1; press <= presses; press++) {
        await pressOther();
        await Bun.sleep(20);
        // The test's own list is no part of what is measured.
        reported += states.splice(0).length;
      }
      const ms = performance.now() - begun;
      // Were the flood read first, each press would wait for all of it that comes between two.
      expect(ms / presses).toBeLessThan(1_000);
      expect(reported).toBeLessThan(1_000 + 2 * ms);
      expect((heapBytes() - before) / 2 ** 20).toBeLessThan(16);
      expect(ended).toEqual([]);
      flooding.connection.close();
      await until("it has hung up", () => flooding.set.open === 0);
    },
  );
});

test("T9 a set that accepts the connection and is silent, or drips bytes, is given up at the deadline", async () => {
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
});
