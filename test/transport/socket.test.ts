import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { DeviceError, hasReason, wrongDevice, ZapdError } from "../../src/api/errors.ts";
import { createLog, redacted } from "../../src/system/log.ts";
import { type Exchange, HttpConnection } from "../../src/transport/http-connection.ts";
import { connectSocket, loopHeader } from "../../src/transport/socket.ts";
import { freePort } from "../support/daemon.ts";
import { failureOf } from "../support/failure.ts";
import { answer, type HttpDevice, type Saying, startHttpDevice, until } from "../support/http-device.ts";
import { listening } from "../support/listening.ts";
import { inOwnNetwork } from "../support/own-network.ts";
import { root } from "../support/sources.ts";
import { runs, within } from "../support/whole.ts";

const devices: HttpDevice[] = [];
afterEach(async () => {
  await Promise.all(devices.splice(0).map((device) => device.stop()));
});

const noIpv6 = Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === "::1"))
  ? null
  : "this machine has no ::1";
if (noIpv6 !== null) process.stderr.write(`skipped: a request to an IPv6 address: ${noIpv6}\n`);

const never = new AbortController().signal;
const get = (path: string): Exchange => ({ method: "GET", path, wanted: "all", maxBytes: 1_024 });
const post = (path: string, headers = {}): Exchange => ({
  method: "POST",
  path,
  headers,
  wanted: "all",
  maxBytes: 1_024,
});

async function echo(): Promise<HttpDevice> {
  const device = await startHttpDevice(() => answer(200));
  devices.push(device);
  return device;
}

describe("a request", () => {
  test("is one request line and our own headers, the host an IP literal, marked as ours", async () => {
    const device = await echo();
    const connection = await HttpConnection.open(device.address, never);
    const host = `Host: 127.0.0.1:${device.address.port}`;
    await connection.exchange(get("/query/apps?a=b"), never);
    await connection.exchange(post("/keypress/Home", { "X-Own": "yes" }), never);
    connection.close();
    expect(device.heard.map((one) => one.head.split("\r\n"))).toEqual([
      ["GET /query/apps?a=b HTTP/1.1", host, `${loopHeader}: 1`],
      ["POST /keypress/Home HTTP/1.1", host, `${loopHeader}: 1`, "X-Own: yes", "Content-Length: 0"],
    ]);
  });

  test.skipIf(noIpv6 !== null)("to an IPv6 address puts it in brackets", async () => {
    const heads: string[] = [];
    const server = net.createServer((socket) =>
      socket.on("data", (bytes: Buffer) => {
        heads.push(bytes.toString());
        socket.end(answer(200));
      }),
    );
    const { port, stop } = await listening(server, "::1");
    const connection = await HttpConnection.open({ host: "::1", port }, never);
    await connection.exchange(get("/"), never);
    connection.close();
    await stop();
    expect(heads[0]).toContain(`\r\nHost: [::1]:${port}\r\n`);
  });

  test(
    "T11 with a hostile path or header is either sent as one clean request, or not at all",
    async () => {
      const device = await echo();
      let connection = await HttpConnection.open(device.address, never);
      const nasty = fc.constantFrom(
        "\r\n",
        "\n",
        "\r",
        "\0",
        " ",
        "\t",
        "é",
        "📺",
        "%0d%0a",
        "\u2028",
        "\x7f",
        "HTTP/1.1",
        "a",
        "/",
      );
      const text = fc.oneof(
        fc.array(nasty, { maxLength: 6 }).map((parts) => parts.join("")),
        fc.string({ unit: "binary" }),
      );
      const numRuns = runs(2_000, 100_000);
      let refused = 0;
      await fc.assert(
        fc.asyncProperty(text, text, async (path, value) => {
          if (!connection.usable) connection = await HttpConnection.open(device.address, never);
          const before = device.heard.length;
          const outcome = await Promise.resolve()
            .then(() => connection.exchange(post(`/${path}`, { "X-Own": value }), never))
            .catch((error: ZapdError) => error.code);
          const heard = device.heard.slice(before);
          if (outcome === "internal_error") {
            refused++;
            expect(heard).toEqual([]);
            return;
          }
          expect(heard.map((one) => one.head.split("\r\n"))).toEqual([
            [
              `POST /${path} HTTP/1.1`,
              `Host: 127.0.0.1:${device.address.port}`,
              `${loopHeader}: 1`,
              `X-Own: ${value}`,
              "Content-Length: 0",
            ],
          ]);
          expect(heard[0]?.head).toMatch(/^POST \S+ HTTP\/1\.1\r\n[\x20-\x7e\r\n]*$/);
        }),
        { numRuns },
      );
      connection.close();
      expect(refused).toBeGreaterThan(500);
    },
    within(),
  );

  test("carries its body with its length, as fast as it is taken", async () => {
    const device = await echo();
    const connection = await HttpConnection.open(device.address, never);
    const chunk = Buffer.alloc(100_000, "x");
    const body = { bytes: chunk.length * 30, chunks: () => repeat(chunk, 30) };
    await connection.exchange({ ...post("/upload"), body }, never);
    connection.close();
    expect(device.heard[0]?.head).toContain(`\r\nContent-Length: ${body.bytes}`);
    expect(device.heard[0]?.body.length).toBe(body.bytes);
  });

  test("stops sending its body when the device has answered already", async () => {
    const server = net.createServer((socket) => {
      socket.once("data", () => {
        socket.pause();
        socket.write(answer(401));
      });
    });
    const { port, stop } = await listening(server);
    const connection = await HttpConnection.open({ host: "127.0.0.1", port }, never);
    let sent = 0;
    let released = false;
    const chunks = async function* () {
      try {
        for (const chunk of Array.from({ length: 2_000 }, () => Buffer.alloc(100_000))) {
          sent += chunk.length;
          yield chunk;
        }
      } finally {
        released = true;
      }
    };
    const answered = await connection.exchange({ ...post("/upload"), body: { bytes: 200_000_000, chunks } }, never);
    connection.close();
    await stop();
    expect(answered.status).toBe(401);
    await until("the file is let go", () => released);
    expect(sent).toBeLessThan(100_000_000);
  });

  test("whose body cannot be read fails with that, and closes the connection", async () => {
    const device = await echo();
    const connection = await HttpConnection.open(device.address, never);
    const chunks = async function* () {
      yield Buffer.from("half");
      throw new Error("the disk is gone");
    };
    const outcome = connection.exchange({ ...post("/upload"), body: { bytes: 100, chunks } }, never);
    expect(await outcome.catch((error: Error) => error.message)).toBe("the disk is gone");
    expect(connection.usable).toBe(false);
  });
});

describe("a failure", () => {
  const half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal";
  test.each<[what: string, saying: Saying, told: object]>([
    ["closed", "close", { code: "device_error", phase: "sent", reason: "closed" }],
    ["silent", half, { code: "device_timeout", phase: "sent", reason: "timeout" }],
    ["cut short", { thenClose: half }, { code: "device_error", phase: "sent", reason: "closed" }],
    ["no HTTP", "hello\r\n", { code: "device_error", phase: "answered", reason: "protocol" }],
  ])("of a call that is %s says as data how far it had come, and what happened", async (what, saying, told) => {
    const device = await startHttpDevice(() => saying);
    devices.push(device);
    const connection = await HttpConnection.open(device.address, never);
    const signal = what === "silent" ? AbortSignal.timeout(100) : never;
    expect(await connection.exchange(get("/"), signal).catch((error: unknown) => error)).toMatchObject(told);
  });

  test("to connect says where and why", async () => {
    const port = await freePort();
    const error = await HttpConnection.open({ host: "127.0.0.1", port }, never).catch((thrown: unknown) => thrown);
    const message = `did not answer at 127.0.0.1:${port} (the connection was refused)`;
    expect(error).toMatchObject({ code: "device_unreachable", phase: "connect", reason: "refused", message });
  });

  test("of TLS, where another protocol answers, is no old version of TLS", async () => {
    const server = net.createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const listener = await listening(server);
    const error = await connectSocket({ host: "127.0.0.1", port: listener.port }, {}, never).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "device_error", reason: "protocol", message: "does not answer with TLS" });
    expect(error.hint).toBeUndefined();
    await listener.stop();
  });

  test("of TLS by an alert is an old version of TLS only where the alert says so", async () => {
    for (const [alert, message, hint] of [
      [70, "uses a version of TLS that is not supported here, most likely an old one", "Update its firmware"],
      [80, "broke off the TLS handshake", "unplug it"],
    ] as const) {
      const answer = Uint8Array.of(21, 3, 3, 0, 2, 2, alert);
      const listener = await listening(
        net.createServer((socket) => void socket.on("error", () => {}).once("data", () => socket.end(answer))),
      );
      const error = await connectSocket({ host: "127.0.0.1", port: listener.port }, {}, never).catch(
        (thrown) => thrown,
      );
      expect(error).toMatchObject({ code: "device_error", message, hint: expect.stringContaining(hint) });
      await listener.stop();
    }
  });

  test("of TLS with a damaged key asks for a new pairing", async () => {
    const listener = await listening(net.createServer());
    const address = { host: "127.0.0.1", port: listener.port };
    const error = await connectSocket(address, { key: "x", cert: "x" }, never).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "device_error",
      reason: "protocol",
      hint: "Pair it again: zapd pair {device}",
    });
    await listener.stop();
  });

  test("other words and hidden secrets leave it as it is", () => {
    const error = wrongDevice("192.0.2.1");
    const log = createLog({ level: "error", format: "text", colour: false, write() {} });
    log.hide("192.0.2.1");
    const told = redacted(error, log).reworded("Kitchen is elsewhere", { namesDevice: true });
    expect(told).toBeInstanceOf(DeviceError);
    expect([told.code, told.namesDevice, hasReason(told, "wrong_device")]).toEqual(["device_unreachable", true, true]);
    expect(redacted(error, log).message).toContain("[redacted]");
    expect(hasReason(new ZapdError("device_unreachable", "did not answer"), "wrong_device", "closed")).toBe(false);
  });
});

describe("a connection", () => {
  test("ends with its caller, before and while it is opened", async () => {
    const device = await echo();
    const gone = AbortSignal.abort(new Error("gone"));
    expect(await failureOf(HttpConnection.open(device.address, gone))).toStartWith(
      "device_unreachable: did not answer in time",
    );
    const connection = await HttpConnection.open(device.address, never);
    expect(await failureOf(connection.exchange(get("/"), gone))).toStartWith("device_timeout: did not answer in time");
    expect(device.heard).toEqual([]);
    await until("it is closed", () => device.open === 0);
  });

  test("that brings unrequested data is not used again", async () => {
    const device = await startHttpDevice(() => `${answer(200)}HTTP/1.1 200 OK\r\n\r\n`);
    devices.push(device);
    const connection = await HttpConnection.open(device.address, never);
    expect((await connection.exchange(get("/"), never)).status).toBe(200);
    expect(connection.usable).toBe(false);
    await until("it is closed", () => device.open === 0);
    expect(await failureOf(connection.exchange(get("/"), never))).toStartWith("device_error: closed the connection");
  });

  test("that brings data while it is idle is closed", async () => {
    const sockets: net.Socket[] = [];
    const server = net.createServer((socket) => {
      sockets.push(socket);
      socket.on("data", () => socket.write(answer(200)));
    });
    const { port, stop } = await listening(server);
    const connection = await HttpConnection.open({ host: "127.0.0.1", port }, never);
    await connection.exchange(get("/"), never);
    expect(connection.usable).toBe(true);
    for (const socket of sockets) socket.write("HTTP/1.1 200 OK\r\n\r\n");
    await until("that has been seen", () => !connection.usable);
    await until("it is closed", () => sockets.every((one) => one.destroyed));
    await stop();
  });

  test("that is reset within a body without a length brings no answer", async () => {
    const server = net.createServer((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\nhalf");
        setTimeout(() => socket.resetAndDestroy(), 50);
      }),
    );
    const { port, stop } = await listening(server);
    const connection = await HttpConnection.open({ host: "127.0.0.1", port }, never);
    expect(await failureOf(connection.exchange(get("/"), never))).toStartWith("device_error: broke the connection");
    await stop();
  });

  test("that the device closed while it rested is not usable", async () => {
    const device = await echo();
    const connection = await HttpConnection.open(device.address, never);
    await connection.exchange(get("/"), never);
    device.hangUp();
    await until("that has been seen", () => !connection.usable);
  });
});

async function* repeat(chunk: Uint8Array, times: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < times; count++) yield chunk;
}

// Two ends of a cable, and at an address of its network nobody: the system gives up its search for the hardware soon.
const nobodyThere = `ip link add here type veth peer name there
ip addr add 192.0.2.1/24 dev here && ip link set here up && ip link set there up
echo 1 >/proc/sys/net/ipv4/neigh/here/mcast_solicit && echo 100 >/proc/sys/net/ipv4/neigh/here/retrans_time_ms
exec "$@"`;
const connecting = `import { connectSocket } from "./src/transport/socket.ts";
const at = (host) => connectSocket({ host, port: 9 }, false, new AbortController().signal).catch(({ reason }) => reason);
console.log(await at("192.0.2.9"), await at("192.0.2.1"), await at("198.51.100.1"));`;
const laid = inOwnNetwork && [...inOwnNetwork, "sh", "-ec", nobodyThere, "sh"];
const noCable =
  laid && Bun.spawnSync([...laid, "true"]).success ? null : "no cable can be laid in a network of its own";
if (noCable !== null) process.stderr.write(`skipped: an address where nobody is: ${noCable}\n`);

test.skipIf(noCable !== null)(
  "a machine that is off, or in no network of ours, refuses nothing: there is no route to it",
  () => {
    const { stdout } = Bun.spawnSync([...(laid ?? []), process.execPath, "-e", connecting], { cwd: root });
    expect(stdout.toString()).toBe("no_route refused no_route\n");
  },
);

test("under Deno, a TLS connection that is refused leaves nothing in memory: one that is off is polled for weeks", async () => {
  const deno = join(root, "node_modules/deno/deno");
  const flags = ["--no-prompt", "--v8-flags=--expose-gc", "--allow-net", "--allow-sys=uid", "--allow-env"];
  const words = ["run", ...flags, `--allow-read=${root}`, join(root, "test/transport/refused-program.ts")];
  const { stdout } = Bun.spawn([deno, ...words, String(await freePort())], { stdout: "pipe" });
  expect(await new Response(stdout).text()).toBe("20 made, 0 kept");
}, 30_000);
