/** What happened in talking to a device is carried as data, from the socket to the core (HOUSE.md 4). */
import { expect, test } from "bun:test";
import net from "node:net";
import { DeviceError, failedBy, wrongDevice, ZapdError } from "../../src/api/errors.ts";
import { createLog, redacted } from "../../src/system/log.ts";
import { HttpConnection } from "../../src/transport/http-connection.ts";
import { openWebSocket } from "../../src/transport/websocket.ts";
import { freePort } from "../support/daemon.ts";

const never = new AbortController().signal;

/** How a call to a device fails that does this with each connection. */
async function failureAt(act: (socket: net.Socket) => void, ms = 1_000): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => act(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  try {
    return await outcome(port, AbortSignal.timeout(ms));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

async function outcome(port: number, signal = never): Promise<string> {
  try {
    const connection = await HttpConnection.open({ host: "127.0.0.1", port }, signal);
    await connection.exchange({ method: "GET", path: "/", wanted: "all", maxBytes: 1_024 }, signal);
    return "answered";
  } catch (error) {
    return error instanceof DeviceError ? `${error.code}: ${error.phase}, ${error.reason}` : String(error);
  }
}

test("each end of a call says how far it had come, and what happened", async () => {
  expect(await outcome(await freePort())).toBe("device_unreachable: connect, refused");
  expect(await failureAt((socket) => socket.destroy())).toBe("device_error: sent, closed");
  expect(await failureAt((socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), 100)).toBe(
    "device_timeout: sent, timeout",
  );
  expect(await failureAt((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"))).toBe(
    "device_error: sent, closed",
  );
  expect(await failureAt((socket) => socket.write("hello\r\n"))).toBe("device_error: answered, protocol");
});

test("a WebSocket that is none, or that is not opened, says so too", async () => {
  const open = (port: number) =>
    openWebSocket(
      {
        address: { host: "127.0.0.1", port },
        path: "/",
        tls: false,
        surroundings: { isOwnListener: () => false },
        onText() {},
        onEnd() {},
      },
      never,
    ).catch((error: unknown) => error);
  expect(failedBy(await open(await freePort()), "refused")).toBe(true);
  const server = net.createServer((socket) => socket.on("error", () => {}).once("data", () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const closed = await open((server.address() as net.AddressInfo).port);
  expect(failedBy(closed, "closed") && closed.phase).toBe("connect");
  server.close();
});

test("other words and hidden secrets leave it as it is", () => {
  const error = wrongDevice("192.0.2.1");
  const log = createLog({ level: "error", format: "text", colour: false, write() {} });
  log.hide("192.0.2.1");
  const told = redacted(error, log).reworded("Kitchen is elsewhere", { named: true });
  expect(told).toBeInstanceOf(DeviceError);
  expect([told.code, told.named, failedBy(told, "wrong_device")]).toEqual(["device_unreachable", true, true]);
  expect(redacted(error, log).message).toContain("[redacted]");
  expect(failedBy(new ZapdError("device_unreachable", "did not answer"), "wrong_device", "closed")).toBe(false);
});
