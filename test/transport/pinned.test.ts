/** A device that is known by its certificate: one that shows another is told nothing, not even a path. */
import { afterAll, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import { join } from "node:path";
import { DeviceError } from "../../src/api/errors.ts";
import { createCertificateFor } from "../../src/simulators/bench/certificate.ts";
import { DeviceHttp } from "../../src/transport/http.ts";
import { openWebSocket } from "../../src/transport/websocket.ts";
import { listening } from "../support/listening.ts";
import { root } from "../support/sources.ts";

const never = new AbortController().signal;
const certificate = createCertificateFor("One");
const shown = new X509Certificate(certificate.cert).fingerprint256.replaceAll(":", "").toLowerCase();
const other = "00".repeat(32);

const heard: string[] = [];
const server = createServer({ ...certificate }, (request, response) => {
  heard.push(`${request.method} ${request.url}`);
  response.end("yes");
});
server.on("upgrade", (request, socket) => {
  heard.push(`upgrade ${request.url}`);
  socket.destroy();
});
const { port, stop } = await listening(server);
const address = { host: "127.0.0.1", port };
afterAll(stop);

const platformHost = { requestTimeoutMs: () => 2_000, isOwnListener: () => false };

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => (error instanceof DeviceError ? `${error.code} ${error.reason}` : String(error)),
  );
}

test("over HTTP: the one that is meant is asked, and any where none is named; another hears nothing", async () => {
  for (const [wanted, comes] of [
    [shown, "none"],
    [null, "none"],
    [other, "device_unproven wrong_device"],
  ] as const) {
    heard.length = 0;
    const http = new DeviceHttp({ address, platformHost, certificate: wanted });
    expect(await codeOf(http.read("/a?token=1", never))).toBe(comes);
    expect(await codeOf(http.command("/a/1", never, { method: "DELETE" }))).toBe(comes);
    expect(heard).toEqual(comes === "none" ? ["GET /a?token=1", "DELETE /a/1"] : []);
    http.close();
  }
});

test("over a WebSocket: another does not hear the path, which may hold a secret", async () => {
  const open = (wanted: string | null) =>
    openWebSocket(
      { address, path: "/?token=1", tls: true, certificate: wanted, platformHost, onText() {}, onEnd() {} },
      never,
    );
  heard.length = 0;
  expect(await codeOf(open(other))).toBe("device_unproven wrong_device");
  expect(heard).toEqual([]);
  for (const wanted of [shown, null]) expect(await codeOf(open(wanted))).toBe("device_unreachable closed");
  expect(heard).toEqual(["upgrade /?token=1", "upgrade /?token=1"]);
});

test("under Deno too, the certificate is that of the port, although both servers would resume a session of the other", async () => {
  const program = `
    import tls from "node:tls";
    import { connectSocket, fingerprintOf } from ${JSON.stringify(join(root, "src/transport/socket.ts"))};
    const shown = [];
    for (const pair of ${JSON.stringify([certificate, createCertificateFor("Two")])}) {
      const server = tls.createServer(pair, (socket) => socket.on("error", () => {}).write("hello"));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const socket = await connectSocket({ host: "127.0.0.1", port: server.address().port }, {}, AbortSignal.timeout(5_000));
      await new Promise((resolve) => socket.once("data", resolve));
      shown.push(fingerprintOf(socket));
      socket.destroy();
    }
    console.log(new Set(shown).size);
    process.exit();`;
  const deno = Bun.spawn([join(root, "node_modules/.bin/deno"), "eval", program], { stderr: "inherit" });
  expect(await new Response(deno.stdout).text()).toBe("2\n");
});
