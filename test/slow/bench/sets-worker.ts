/** The simulated sets, a process of their own: they answer as fast as they can, and note what reaches them. */
import { connect, createServer } from "node:net";
import { createKodiSimulator } from "../../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../../src/simulators/webos.ts";
import { listening } from "../../support/listening.ts";
import { obey, Worker } from "./worker.ts";

/** A set that runs. */
export interface SetPlace {
  /** What the other orders call it by. */
  readonly set: number;
  readonly host: string;
  readonly port: number;
  readonly serial: string;
  /** Of the developer installer; `null` without developer mode. */
  readonly installer: number | null;
}

interface Running {
  readonly simulator: RokuSimulator;
  /** When each key was taken, on this process's monotonic clock, in milliseconds. */
  readonly keys_at: number[];
}

const running: Running[] = [];

const orders = {
  start,
  startOther,
  /** When the keys since the last time came, in milliseconds on one clock. */
  keys: ({ set }: { readonly set: number }) => running[set]?.keys_at.splice(0) ?? [],
  /** The requests that the set has taken so far (at most its last thousand), and the bytes of their bodies. */
  requests: ({ set, path = "" }: { readonly set: number; readonly path?: string }) => {
    const all = running[set]?.simulator.requests.filter((one) => one.path.startsWith(path)) ?? [];
    return { count: all.length, body_bytes: all.reduce((sum, one) => sum + one.bytes, 0) };
  },
  /** The text that each set has taken. */
  typed: (_: object) => running.map(({ simulator }) => simulator.text),
  hang,
  link,
  stop: ({ set }: { readonly set: number }) => running[set]?.simulator.stop(),
};
export type SetsOrders = typeof orders;

export function startSets(): Worker<SetsOrders> {
  return new Worker<SetsOrders>(import.meta.path);
}

async function start({ sets }: { readonly sets: readonly RokuSimulatorOptions[] }): Promise<SetPlace[]> {
  return Promise.all(
    sets.map(async (options) => {
      const keys_at: number[] = [];
      const simulator = createRokuSimulator({
        ssdp: false,
        launchMs: 0,
        ...options,
        // A million keys are not worth keeping: who wants them asks in time.
        onEvent: ({ type }) => void (type === "key" && keys_at.length < 100_000 && keys_at.push(performance.now())),
      });
      await simulator.start();
      const set = running.push({ simulator, keys_at }) - 1;
      const { host, port, serial, ports } = simulator;
      return { set, host, port, serial, installer: ports.installer };
    }),
  );
}

/** Starts a set of another platform: a Kodi with its web server, an LG set with its port without TLS. */
async function startOther({ platform, host }: { readonly platform: "kodi" | "webos"; readonly host: string }) {
  if (platform === "kodi") {
    const set = createKodiSimulator({ name: "Bench", host, port: 0, tcpPort: 0, mdns: false });
    await set.start();
    return { host, port: set.port };
  }
  const set = createWebosSimulator({ name: "Bench", host, plainPort: 0, securePort: null, ssdp: false, promptMs: 0 });
  await set.start();
  return { host, port: set.ports.plain ?? 0 };
}

/** From now on connections to the set are taken, and nothing is ever answered. */
async function hang({ set }: { readonly set: number }): Promise<void> {
  await running[set]?.simulator.fault("hang");
}

/** A link of so many bytes a second before a port of a set: what is sent to it comes through at that rate. Answers with its port. */
async function link({
  host,
  port,
  bytes_per_s,
}: {
  readonly host: string;
  readonly port: number;
  readonly bytes_per_s: number;
}) {
  const server = createServer((near) => {
    const far = connect({ host, port, noDelay: true });
    let free = performance.now();
    near.on("data", (bytes) => {
      far.write(bytes);
      // On an absolute schedule, so that late timers do not slow the link.
      free = Math.max(free, performance.now() - 20) + (bytes.length / bytes_per_s) * 1_000;
      near.pause();
      setTimeout(() => near.resume(), Math.max(0, free - performance.now()));
    });
    far.pipe(near);
    near.on("end", () => far.end());
    for (const socket of [near, far]) {
      socket.on("error", () => {});
      socket.on("close", () => [near, far].map((one) => one.destroy()));
    }
  });
  const { port: at } = await listening(server, host);
  return { port: at };
}

if (import.meta.main) obey(orders);
