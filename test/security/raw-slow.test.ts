/**
 * Callers who are slow, silent or many (SECURITY.md T19): each is ended by the listener or by the handler, and others are
 * answered meanwhile.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import net from "node:net";
import { daemonForFile } from "../blackbox/daemon-for-file.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { isWhole, slowTest } from "../support/whole.ts";

/** A connection is its server's, which sets it no limit: what a handler reads has one everywhere. */
const deno = process.env["ZAPD_TEST_RUNTIME"] === "deno";
const noLimit = deno ? " (skipped: Deno's server sets a connection no limit)" : "";
/** Limits are 10 s of the daemon's clock; Bun looks every four, and the handler's own may follow the runtime's. */
const most = 25_000;

const { daemon } = await daemonForFile();

const host = () => `Host: 127.0.0.1:${daemon.port}\r\n`;
const path = "/v1/config";

/** What is sent at once, and what every half second after it. */
interface Caller {
  readonly what: string;
  first(): string;
  readonly every?: string;
}

/** Bun gives a head ten seconds of its own, which no test can hurry. */
const inHead: readonly Caller[] = [
  { what: "silent from the start", first: () => "" },
  { what: "half a head, then silent", first: () => `GET ${path} HTTP/1.1\r\n${host()}` },
  {
    what: "a head that drips by lines",
    first: () => `GET ${path} HTTP/1.1\r\n${host()}`,
    every: "X: y\r\n",
  },
  {
    what: "a head that drips by bytes",
    first: () => `GET ${path} HTTP/1.1\r\n${host()}X: `,
    every: "y",
  },
];
const inBody: readonly Caller[] = [
  {
    what: "a body that drips",
    first: () => `PATCH ${path} HTTP/1.1\r\n${host()}Content-Length: 1000\r\n\r\n`,
    every: " ",
  },
  {
    what: "a body that never comes",
    first: () => `PATCH ${path} HTTP/1.1\r\n${host()}Content-Length: 1000\r\n\r\n`,
  },
  {
    what: "half a chunk",
    first: () => `PATCH ${path} HTTP/1.1\r\n${host()}Transfer-Encoding: chunked\r\n\r\n9\r\n{"`,
  },
];
const served = () => `GET /v1/health HTTP/1.1\r\n${host()}\r\n`;
/** src/runtime/bun.ts lifts the limit of a connection for a request, and sets it again. */
const afterRequest: readonly Caller[] = [
  { what: "served, then silent", first: served },
  { what: "served, then half a head", first: () => `${served()}GET /v1/he` },
  {
    what: "answered before its body was there, then silent",
    first: () => `POST /v1/devices/discover HTTP/1.1\r\n${host()}Content-Length: 9\r\n\r\n{`,
  },
];
const callers = deno ? inBody : [...inBody, ...afterRequest, ...(isWhole ? inHead : [])];

/** Milliseconds until the connection is closed, or answered with a failure; `null` when neither comes. */
function ended(caller: Caller): Promise<number | null> {
  return new Promise((resolve) => {
    const start = performance.now();
    const socket = net.connect(daemon.port, "127.0.0.1");
    const dripping = caller.every === undefined ? undefined : setInterval(() => socket.write(caller.every ?? ""), 500);
    const end = (took: number | null) => {
      clearInterval(dripping);
      clearTimeout(timer);
      socket.destroy();
      resolve(took);
    };
    const timer = setTimeout(() => end(null), most);
    socket.on("connect", () => socket.write(caller.first()));
    socket.on("data", (bytes) => / 400 /.test(bytes.toString()) && end(performance.now() - start));
    socket.on("error", () => end(performance.now() - start));
    socket.on("close", () => end(performance.now() - start));
  });
}

describe("T19 a thousand idle callers, and each kind of slow one", () => {
  let slow: Promise<(number | null)[]>;
  const idle: net.Socket[] = [];
  let [connected, open] = [0, 0];
  let answers: number[];

  beforeAll(async () => {
    for (let at = 0; at < 1_000; at++) {
      const socket = net.connect(daemon.port, "127.0.0.1");
      socket.on("connect", () => {
        connected++;
        open++;
      });
      socket.on("error", () => {});
      socket.on("close", () => open--);
      idle.push(socket);
    }
    await until("all are connected", () => connected === idle.length);
    slow = Promise.all(callers.map(ended));
    answers = [];
    for (let times = 0; times < 50; times++) {
      const start = performance.now();
      const { status } = await daemon.api("GET", "/health");
      answers.push(status === 200 ? performance.now() - start : Number.POSITIVE_INFINITY);
      await Bun.sleep(20);
    }
  });
  afterAll(() => {
    for (const socket of idle) socket.destroy();
  });

  test("T19 others are answered while a thousand connections are open", () => {
    expect(Math.max(...answers)).toBeLessThan(3_000);
  });

  test("T19 each slow caller is ended", async () => {
    const took = await slow;
    expect(took.filter((ms) => ms === null)).toEqual([]);
    // None at once: a caller has its time.
    expect(Math.min(...took.map((ms) => ms ?? 0))).toBeGreaterThan(1_000);
  });

  (deno ? test.skip : slowTest)(`T19 callers who have sent no whole request are ended${noLimit}`, async () => {
    await until("all are ended", () => open === 0, 30_000);
  });
});

describe("T19 more callers than descriptors", () => {
  const skipped = Bun.which("prlimit") === null ? "there is no prlimit" : null;
  test.skipIf(skipped !== null)(
    `T19 1 500 idle, dripping and half-sent ones with 256 descriptors: well again when they go${skipped ? ` (skipped: ${skipped})` : ""}`,
    async () => {
      const small = await startTestDaemon();
      const sockets: net.Socket[] = [];
      try {
        execFileSync("prlimit", ["--pid", String(small.process.pid), "--nofile=256:256"]);
        const said = [
          "",
          `GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:${small.port}\r\nX: `,
          `PATCH ${path} HTTP/1.1\r\nHost: 127.0.0.1:${small.port}\r\nContent-Length: 100\r\n\r\n{`,
        ];
        for (let at = 0; at < 1_500; at++) {
          const socket = net.connect(small.port, "127.0.0.1", () => socket.write(said[at % 3] ?? ""));
          socket.on("error", () => {});
          sockets.push(socket);
          if (at % 100 === 0) await Bun.sleep(10);
        }
        await Bun.sleep(1_500);
        expect(small.process.exitCode).toBeNull();
        for (const socket of sockets) socket.destroy();
        const isWell = () =>
          fetch(`${small.url}/health`, { signal: AbortSignal.timeout(1_000) }).then(
            ({ ok }) => ok,
            () => false,
          );
        await until("it is well again", isWell, 14_000, 200);
      } finally {
        for (const socket of sockets) socket.destroy();
        await small.dispose();
      }
    },
  );
});
