/** LG sets over TLS, which depends on the runtime: its versions, certificates, pushes, and magic packets. */
import { expect, test } from "bun:test";
import net from "node:net";
import tls from "node:tls";
import { createCertificate, createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import type { TestDaemon } from "../support/daemon.ts";
import { until } from "../support/http-device.ts";
import { joined } from "../support/joined.ts";
import { freeHost } from "../support/lane.ts";
import { listening } from "../support/listening.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";

/** Deno speaks TLS from 1.2 on only: src/runtime/README.md says so. */
const speaksOld = process.env["ZAPD_TEST_RUNTIME"] !== "deno";
const { daemon, atEnd, startSimulator } = await daemonForFile({ config: { devices: { request_timeout_ms: 4_000 } } });

function plugIn(options: object): Promise<WebosSimulator> {
  const quick = { promptMs: 50, bootMs: 300, socketsCloseMs: 300, portsCloseMs: 100 };
  const plain = { name: "LG", securePort: 0, plainPort: null, ssdp: false, tuner: false };
  return startSimulator(createWebosSimulator({ ...plain, ...quick, ...options }));
}

const add = async (set: WebosSimulator, ports: Record<string, number>, port = set.ports.secure ?? 0) =>
  (await succeed(daemon, "addDevice", { body: { host: set.host, port, platform: "webos", ports } })).id;
const state = async (id: string) => (await succeed(daemon, "getState", { id })).state;

test("changes at the set are pushed over TLS, and are not asked for once the set has pushed", async () => {
  const set = await plugIn({ name: "Pusher", host: freeHost() });
  const id = await add(set, {});
  await succeed(daemon, "pairDevice", { id });
  await state(id);
  let level = 30;
  await until("it was pushed, and nobody asked", async () => {
    set.setVolume(++level);
    set.open(level % 2 === 0 ? "netflix" : "amazon");
    const asked = set.received.requests.length;
    const { volume, app } = await state(id);
    const questions = set.received.requests.slice(asked).map(({ uri }) => uri);
    const isAsked = questions.some((uri) => /\/getVolume$|applicationManager\/getForegroundAppInfo$/.test(uri));
    return !isAsked && volume?.level === level && app?.id === (level % 2 === 0 ? "netflix" : "prime-video");
  });
});

test("a set that is off is woken by a magic packet, and must show the certificate of its pairing", async () => {
  const host = freeHost();
  const set = await plugIn({ name: "Pinned", host });
  const { secure, wake } = set.ports;
  const id = await add(set, { wake });
  await succeed(daemon, "pairDevice", { id });
  await state(id);
  await succeed(daemon, "pressKey", { id, body: { key: "power-off" } });
  await until("it is off", () => set.state.power === "standby");
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
  expect(set.state.power).toBe("on");
  const [[key = ""] = []] = [...set.clientKeys];
  expect(key.length).toBeGreaterThan(8);
  await set.stop();
  const other = await plugIn({ name: "Pinned", host, securePort: secure, certificate: createCertificate() });
  const { message } = await refuse(daemon, "pressKey", { id, body: { key: "home" } }, "device_unproven");
  expect(message).toContain("a different certificate");
  expect(JSON.stringify(other.received)).not.toContain(key);
});

test("a set from before 2018: TLS 1.0 where the runtime has it, or else clear text", async () => {
  const set = await plugIn({ name: "Ancient", firmware: "2015", host: freeHost(), securePort: null, plainPort: 0 });
  const old = { ...createCertificate(), minVersion: "TLSv1", maxVersion: "TLSv1" } as const;
  let upgrades = 0;
  const ancient = tls.createServer(old, (socket) => {
    // It hangs up: the port without TLS is tried next.
    socket.once("data", () => {
      upgrades++;
      socket.destroy();
    });
  });
  const inside = await listen(ancient, set.host);
  // One port for both: a TLS handshake leads to the old server.
  const door = net.createServer((client) => {
    client.once("data", (first) => {
      const secure = first[0] === 0x16;
      const behind = net.connect(secure ? inside : (set.ports.plain ?? 0), set.host);
      behind.write(first);
      joined(client, behind);
    });
  });
  const port = await listen(door, set.host);
  const id = await add(set, {}, port);
  await succeed(daemon, "pairDevice", { id });
  expect((await state(id)).power).toBe("on");
  expect(upgrades > 0).toBe(speaksOld);
  await set.stop();
  const { code, message } = await failed(daemon.api("POST", "/devices", { host: set.host, port, platform: "webos" }));
  if (speaksOld) expect(code).toBe("device_unreachable");
  else
    expect([code, message]).toEqual([
      "device_error",
      expect.stringContaining("a version of TLS that is not supported here"),
    ]);
});

async function listen(server: net.Server, host: string): Promise<number> {
  const { port, stop } = await listening(server, host);
  atEnd(stop);
  return port;
}

async function failed(answered: ReturnType<TestDaemon["api"]>): Promise<{ code: string; message: string }> {
  const { status, body } = await answered;
  expect(status).toBe(500);
  return body.error;
}
