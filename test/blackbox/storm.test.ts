/** A host that answers a search thousands of times does not keep a set from being found. */
import { expect, test } from "bun:test";
import dgram from "node:dgram";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import net from "node:net";
import { announce } from "../support/announce.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { listening } from "../support/listening.ts";
import { residentMiB } from "../support/resident.ts";
import { WiredRoku } from "../support/wired-roku.ts";
import { succeed } from "./checked.ts";

const dead = 1_500;
const hanging = 24;

test("R16 a storm from one address: the real set is found, memory and latency stay where they were", async () => {
  // Shorter than the silence of a port that hangs.
  const timeoutMs = 3_000;
  const daemon = await startTestDaemon({
    config: { discovery: { timeout_ms: timeoutMs }, devices: { request_timeout_ms: 5_000 } },
  });
  const set = await WiredRoku.start();
  const host = freeHost();
  const deaf = await Promise.all(Array.from({ length: hanging }, () => listenInSilence(host)));
  const [ear, mouth] = [dgram.createSocket({ type: "udp4", reuseAddr: true }), dgram.createSocket("udp4")];
  await new Promise<void>((resolve) => ear.bind(1900, "0.0.0.0", resolve));
  await new Promise<void>((resolve) => mouth.bind(0, host, resolve));
  ear.addMembership("239.255.255.250", "127.0.0.1");
  const ports = [...deaf.map((one) => one.port), ...Array.from({ length: dead }, (_, index) => 1 + index)];
  ear.on("message", (bytes, from) => {
    // Other tests search on this interface, too.
    if (!bytes.toString().includes("roku:ecp") || !udpPortsOf(daemon.process.pid ?? 0).has(from.port)) return;
    for (const [index, port] of ports.entries()) {
      const usn = `USN: uuid:roku:ecp:STORM${index}\r\nLOCATION: http://${host}:${port}/`;
      mouth.send(`HTTP/1.1 200 OK\r\nST: roku:ecp\r\n${usn}\r\n\r\n`, from.port, from.address);
    }
  });
  // The real set answers last, when all probes are busy.
  const ssdp = await announce(set, { delayMs: 250 });
  try {
    const before = residentMiB(daemon.process);
    const state = { over: false, slowest: 0 };
    const scanning = succeed(daemon, "discoverDevices").finally(() => {
      state.over = true;
    });
    while (!state.over) {
      const started = performance.now();
      await succeed(daemon, "health");
      state.slowest = Math.max(state.slowest, performance.now() - started);
      await Bun.sleep(10);
    }
    expect((await scanning).devices.map((device) => device.serial)).toContain(set.serial);
    expect(deaf.reduce((sum, one) => sum + one.taken(), 0)).toBeLessThanOrEqual(16);
    const grown = residentMiB(daemon.process) - before;
    expect(grown).toBeLessThan(32);
    expect(state.slowest).toBeLessThan(3_000);
  } finally {
    await daemon.dispose();
    for (const one of deaf) await one.stop();
    for (const socket of [ear, mouth]) socket.close();
    await Promise.all([ssdp.stop(), set.stop()]);
  }
});

/** The UDP ports that a process has open (proc(5)). */
function udpPortsOf(pid: number): Set<number> {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }),
  );
  const [, ...lines] = readFileSync("/proc/net/udp", "utf8").trim().split("\n");
  const open = lines.map((line) => line.trim().split(/\s+/));
  return new Set(
    open
      .filter((columns) => own.has(columns[9]))
      .map((columns) => Number.parseInt(columns[1]?.split(":")[1] ?? "", 16)),
  );
}

/** A port that accepts connections and never answers. */
async function listenInSilence(host: string) {
  let taken = 0;
  const { port, stop } = await listening(
    net.createServer(() => taken++),
    host,
  );
  return { port, stop, taken: () => taken };
}
