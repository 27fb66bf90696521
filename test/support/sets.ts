/** Simulated sets for one test: quick, not announced, and stopped after the test. */
import { afterEach } from "bun:test";
import { createHash, randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { strToU8, zipSync } from "fflate";
import {
  type AndroidTvSimulator,
  type AndroidTvSimulatorOptions,
  createAndroidTvSimulator,
} from "../../src/simulators/androidtv.ts";
import { type CastSimulator, type CastSimulatorOptions, createCastSimulator } from "../../src/simulators/cast.ts";
import { createKodiSimulator, type KodiSimulator, type KodiSimulatorOptions } from "../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../../src/simulators/roku.ts";
import {
  createSamsungSimulator,
  type SamsungSimulator,
  type SamsungSimulatorOptions,
} from "../../src/simulators/samsung.ts";
import { createWebosSimulator, type WebosSimulator, type WebosSimulatorOptions } from "../../src/simulators/webos.ts";

const running: { stop(): Promise<void> }[] = [];
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(running.splice(0).map((set) => set.stop()));
});

async function started<T extends { start(): Promise<void>; stop(): Promise<void> }>(set: T): Promise<T> {
  running.push(set);
  await set.start();
  return set;
}

/** With a unique serial: searches reach the sets of other test runs, too. */
export function plugInRoku(options: Partial<RokuSimulatorOptions> = {}): Promise<RokuSimulator> {
  const serial = `X0${randomUUID().replaceAll("-", "").slice(0, 10).toUpperCase()}`;
  return started(createRokuSimulator({ name: "Test Room", serial, ssdp: false, launchMs: 0, ...options }));
}

export function plugInKodi(options: Partial<KodiSimulatorOptions> = {}): Promise<KodiSimulator> {
  return started(createKodiSimulator({ name: "Test Room", uuid: randomUUID(), mdns: false, startMs: 0, ...options }));
}

export function plugInWebos(options: Partial<WebosSimulatorOptions> = {}): Promise<WebosSimulator> {
  const quick = { promptMs: 5, socketsCloseMs: 60, portsCloseMs: 60, bootMs: 20, channelMs: 0 };
  const quiet = { securePort: 0, plainPort: 0, ssdp: false };
  return started(createWebosSimulator({ name: "Test Room", uuid: randomUUID(), ...quick, ...quiet, ...options }));
}

export function plugInSamsung(options: Partial<SamsungSimulatorOptions> = {}): Promise<SamsungSimulator> {
  const quick = { promptMs: 5, bootMs: 20 };
  const quiet = { securePort: 0, plainPort: 0, rendererPort: 0, ssdp: false };
  return started(createSamsungSimulator({ name: "Test Room", duid: randomUUID(), ...quick, ...quiet, ...options }));
}

export function plugInCast(options: Partial<CastSimulatorOptions> = {}): Promise<CastSimulator> {
  const id = randomUUID().replaceAll("-", "");
  return started(createCastSimulator({ name: "Test Room", id, port: 0, mdns: false, bufferMs: 0, ...options }));
}

export function plugInAndroidTv(options: Partial<AndroidTvSimulatorOptions> = {}): Promise<AndroidTvSimulator> {
  const quiet = { remotePort: 0, pairingPort: 0, mdns: false };
  return started(createAndroidTvSimulator({ name: "Test Room", ...quiet, ...options }));
}

/** A connection, and the data that it has received. */
export interface Listening {
  readonly socket: Socket;
  text(): string;
  closed(): boolean;
}

/** Ended after the test; with TLS where there are options for that. */
export function listen(host: string, port: number, secure?: ConnectionOptions): Listening {
  const pieces: Uint8Array[] = [];
  let closed = false;
  const socket = secure ? connectTls({ host, port, rejectUnauthorized: false, ...secure }) : connect(port, host);
  clients.push(socket);
  socket.on("data", (piece: Uint8Array) => pieces.push(piece));
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  return { socket, text: () => Buffer.concat(pieces).toString("utf8"), closed: () => closed };
}

/** A package, big enough to be accepted by a set. */
export function packageOf(files: Record<string, string> = {}): Uint8Array {
  const content = {
    manifest: "title=Hello\nmajor_version=1\nminor_version=0\nbuild_version=1\n",
    "source/main.brs": 'sub Main()\n  print "hello"\nend sub\n',
    "images/noise.txt": Array.from({ length: 200 }, (_, index) =>
      createHash("md5").update(`${index}`).digest("hex"),
    ).join(""),
    ...files,
  };
  const entries = Object.entries(content).map(([path, text]) => [path, strToU8(text)] as const);
  return zipSync(Object.fromEntries(entries), { mtime: "2024-01-01" });
}
