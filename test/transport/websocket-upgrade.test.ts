/** Opening a WebSocket to a device (RFC 6455 4), which answers what it likes, or nothing: over TCP and over TLS. */
import { afterEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { ZapdError } from "../../src/api/errors.ts";
import { until } from "../support/http-device.ts";
import { opened } from "../support/websocket-frames.ts";
import { slowTest } from "../support/whole.ts";
import { certificate, failure, openLine, startDevice, workshop } from "./websocket-device.ts";

describe.each([
  ["TCP", false],
  ["TLS", true],
])("an upgrade over %s", (_name, secure) => {
  const { device, open, stop } = workshop(secure);
  afterEach(stop);

  test("says what it must, once, and that it is zapd", async () => {
    const { peer, line } = await open();
    const [first, ...lines] = peer.head.trimEnd().split("\r\n");
    expect(first).toBe("GET /a?b=c HTTP/1.1");
    const names = lines.map((one) => one.split(": ")[0]?.toLowerCase());
    expect(names.toSorted()).toEqual(
      ["connection", "host", "sec-websocket-key", "sec-websocket-version", "upgrade", "zapd-call"].toSorted(),
    );
    expect(Buffer.from(/Sec-WebSocket-Key: (.+)/.exec(peer.head)?.[1] ?? "", "base64").length).toBe(16);
    const shown = new X509Certificate(certificate.cert).fingerprint256.replaceAll(":", "").toLowerCase();
    expect(line.fingerprint).toBe(secure ? shown : null);
  });

  const answers: readonly (readonly [string, (head: string) => string, string])[] = [
    ["a refusal with a body", () => "HTTP/1.1 401 No\r\nContent-Length: 6\r\n\r\nsecret", "answered 401"],
    ["200, and a page", () => "HTTP/1.1 200 OK\r\n\r\n<html>", "answered 200"],
    [
      "another Accept",
      (head) => opened(head, { "Sec-WebSocket-Accept": "AAAAAAAAAAAAAAAAAAAAAAAAAAA=" }),
      "did not request",
    ],
    ["no Accept", (head) => opened(head, { "Sec-WebSocket-Accept": null }), "did not request"],
    ["another Upgrade", (head) => opened(head, { Upgrade: "h2c" }), "did not request"],
    ["no Upgrade", (head) => opened(head, { Upgrade: null }), "did not request"],
    ["HTTP/1.0", (head) => opened(head).replace("1.1", "1.0"), "not HTTP"],
    ["another protocol", () => "SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"],
  ];
  test.each(answers)("answered with %s fails, and the body is not shown", async (_what, answer, reason) => {
    const one = await device((socket, head) => socket.write(answer(head)));
    const { code, message } = await failure(openLine(secure, one.port));
    expect([code, message]).toEqual(["device_error", expect.stringContaining(reason)]);
    expect(message).not.toContain("secret");
    await until("it is hung up on", async () => (await one.peer).gone);
  });

  test("answered after messages of the bare protocol at the same port succeeds, and they are dropped", async () => {
    const before = '{"method":"Player.OnPlay"}{\n  "method": "HTTP/1.1 200"\n}\n';
    const one = await device((socket, head) => socket.write(before + opened(head)));
    const { line, texts } = await openLine(secure, one.port);
    expect([line.open, texts]).toEqual([true, []]);
    line.destroy();
  });

  test.each([301, 302, 303, 307, 308])("answered with a redirect (%p) leads nowhere", async (status) => {
    const other = await device();
    const place = `${secure ? "wss" : "ws"}://127.0.0.1:${other.port}/`;
    const one = await device((socket) => socket.write(`HTTP/1.1 ${status} Go\r\nLocation: ${place}\r\n\r\n`));
    expect((await failure(openLine(secure, one.port))).code).toBe("device_error");
    await Bun.sleep(50);
    expect([one.connections, other.connections]).toEqual([1, 0]);
  });

  test("that the device disconnects fails as an unreachable device", async () => {
    for (const end of ["end", "destroy"] as const) {
      const one = await device((socket) => socket[end]());
      const told = { code: "device_unreachable", phase: "connect", reason: "closed" };
      expect(await failure(openLine(secure, one.port))).toMatchObject(told);
    }
  });

  test("given up by the caller ends at once, before the answer and before the connection", async () => {
    const one = await device();
    const caller = new AbortController();
    const opening = openLine(secure, one.port, { signal: caller.signal }).catch((error: unknown) => error);
    const peer = await one.peer;
    const why = new ZapdError("device_error", "was given up");
    caller.abort(why);
    expect(await opening).toBe(why);
    await until("it is hung up on", () => peer.gone);
    const broken: Error[] = [];
    peer.socket.on("error", (error) => broken.push(error));
    for (let told = 0; told < 3; told++, await Bun.sleep(20)) peer.socket.write("too late");
    expect(broken).toEqual([]);
    expect(await openLine(secure, one.port, { signal: caller.signal }).catch((error: unknown) => error)).toBe(why);
    expect(one.connections).toBeLessThanOrEqual(2);
  });

  test("is never made to zapd itself, nor of a path that is more than one", async () => {
    const one = await device((socket, head) => socket.write(opened(head)));
    expect((await failure(openLine(secure, one.port, { own: true }))).code).toBe("device_error");
    for (const path of ["/a b", "/a\r\nX: y", "/ü", "/a\0"])
      expect((await failure(openLine(secure, one.port, { path }))).code).toBe("device_error");
    // Nothing of it was sent.
    expect(await Promise.race([one.peer, Bun.sleep(50)])).toBeUndefined();
  });
});

slowTest(
  "an answer that drips is given up after ten seconds",
  async () => {
    const took = await Promise.all(
      [false, true].map(async (secure) => {
        const one = await startDevice(secure, (socket) => {
          const timer = setInterval(() => socket.write("H"), 200);
          socket.on("close", () => clearInterval(timer));
        });
        const start = performance.now();
        expect((await failure(openLine(secure, one.port))).code).toBe("device_unreachable");
        await until("it is hung up on", async () => (await one.peer).gone);
        one.stop();
        return performance.now() - start;
      }),
    );
    expect(Math.min(...took)).toBeGreaterThan(8_000);
    expect(Math.max(...took)).toBeLessThan(14_000);
  },
  60_000,
);
