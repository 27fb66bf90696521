/** A daemon with sets, with and without secrets, and rogues that copy their whole public identity, on addresses of this machine. */
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type createCertificate, createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { announce } from "../support/announce.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { WiredRoku } from "../support/wired-roku.ts";

/** The control port of every LG set here: each has an address of its own. */
export const webosPort = 3_001;

export interface SetOptions {
  readonly name?: string;
  readonly uuid?: string;
  /** It denies every pairing. */
  readonly denies?: boolean;
  readonly certificate?: ReturnType<typeof createCertificate>;
}

export const quick: DaemonSetup = {
  config: { devices: { request_timeout_ms: 3_000 }, discovery: { timeout_ms: 250 } },
};

export const startHouse = (setup: DaemonSetup = quick): Promise<TestDaemon> => startTestDaemon(setup);

/** A set that answers searches. */
type Announced = WiredRoku | WebosSimulator;

/**
 * Scans until each of these announced sets has been probed: on a busy machine a set may answer after the end of a short scan.
 * Resolves with the devices of the last scan.
 */
export async function scanned(daemon: TestDaemon, announced: Iterable<Announced>) {
  const asked = (set: Announced) => ("wire" in set ? set.wire.requests : set.received.requests).length;
  const before = [...announced].map((fake) => [fake, asked(fake)] as const);
  for (let scans = 1; ; scans++) {
    const { body } = await daemon.api("POST", "/devices/discover");
    if (before.every(([fake, count]) => asked(fake) > count)) return body.data.devices;
    if (scans === 10) throw new Error("a set that announces itself was not asked in ten scans");
  }
}

type RokuOptions = Parameters<typeof WiredRoku.start>[0];

/**
 * Sets and one daemon for the tests of a file; the daemon knows no device when a test begins. Without `daemon` each test starts
 * its own. A set is stopped at the end of its test.
 */
export function houseForFile({ daemon: hasDaemon = true } = {}) {
  const cleanups: (() => unknown)[] = [];
  let running: TestDaemon | undefined;
  let made = 0;
  const announced = new Set<WiredRoku>();
  const televisions: WebosSimulator[] = [];
  beforeAll(async () => {
    if (hasDaemon) running = await startHouse();
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    const known = await running?.api("GET", "/devices");
    for (const { id } of known?.body.data ?? []) await running?.api("DELETE", `/devices/${id}`);
  });
  afterAll(() => running?.dispose());

  const house = {
    get daemon(): TestDaemon {
      if (!running) throw new Error("no daemon runs in this house");
      return running;
    },
    /** Registers a cleanup that runs at the end of the test, the last one first. */
    atEnd(cleanup: () => unknown): void {
      cleanups.push(cleanup);
    },
    add: (body: object) => house.daemon.api("POST", "/devices", body),
    discover: () => scanned(house.daemon, [...announced, ...televisions.filter(({ state }) => state.discoverable)]),
    /** An LG set that answers searches, and gives a key to whoever is accepted. */
    async webos(host: string, { denies, ...options }: SetOptions = {}): Promise<WebosSimulator> {
      const ports = { securePort: webosPort, plainPort: null };
      const answers = { ssdp: true, ssdpDelayMs: 10, promptMs: 20, prompt: denies ? "deny" : "accept" } as const;
      const set = createWebosSimulator({ name: "Kitchen", host, tuner: false, ...ports, ...answers, ...options });
      await set.start();
      televisions.push(set);
      house.atEnd(() => set.stop());
      return set;
    },
    /** An LG set that was added and paired, with its key. */
    async paired(options: SetOptions = {}) {
      const set = await house.webos(freeHost(), { name: `Kitchen ${++made}`, ...options });
      const wanted = options.name ?? `Kitchen ${made}`;
      const { body } = await house.add({ host: set.host, port: webosPort, platform: "webos", name: wanted });
      const { id, name } = body.data as { id: string; name: string };
      expect(codeOf(await house.daemon.api("POST", `/devices/${id}/pair`))).toBe("ok");
      const key = credentialsOf(house.daemon, id)?.["key"] ?? [...set.clientKeys.keys()][0] ?? "";
      expect(key.length).toBeGreaterThan(8);
      return { set, id, key, name };
    },
    async roku(options: RokuOptions = {}): Promise<WiredRoku> {
      const fake = await WiredRoku.start(options);
      house.atEnd(() => fake.stop());
      return fake;
    },
    /** A Roku that answers searches; `off` stops it before the end of the test. */
    async announced(options: RokuOptions = {}, delayMs = 20) {
      const fake = await WiredRoku.start(options);
      const announcement = await announce(fake, { delayMs });
      announced.add(fake);
      let stopped: Promise<void> | undefined;
      const off = () => {
        announced.delete(fake);
        stopped ??= announcement.stop().then(() => fake.stop());
        return stopped;
      };
      house.atEnd(off);
      return { fake, off };
    },
  };
  return house;
}

export interface StoredRecord {
  [key: string]: unknown;
  id: string;
  name: string;
  host: string;
  port: number;
  standing?: Record<string, unknown>;
}

/** Changes the registry on disk, between two runs of the daemon. */
export function editRegistry(daemon: TestDaemon, change: (devices: StoredRecord[]) => void): void {
  const path = join(daemon.stateFolder, "devices.json");
  const content = JSON.parse(readFileSync(path, "utf8")) as { devices: StoredRecord[] };
  change(content.devices);
  writeFileSync(path, JSON.stringify(content));
}

/** A device's standing with each of its dates so many hours earlier. */
export function earlier(value: unknown, hours: number): unknown {
  if (Array.isArray(value)) return value.map((one) => earlier(one, hours));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, earlier(one, hours)]));
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT/.test(value)) return value;
  return new Date(Date.parse(value) - hours * 3_600_000).toISOString();
}

/** The credentials that are kept of a device. */
export function credentialsOf(daemon: TestDaemon, id: string): Record<string, string> | undefined {
  const path = join(daemon.stateFolder, "credentials.json");
  if (!existsSync(path)) return undefined;
  return (JSON.parse(readFileSync(path, "utf8")) as { credentials: Record<string, Record<string, string>> })
    .credentials[id];
}

export const deviceOf = async (daemon: TestDaemon, id: string) => (await daemon.api("GET", `/devices/${id}`)).body.data;
export const warningsOf = async (daemon: TestDaemon): Promise<string[]> =>
  (await daemon.api("GET", "/health")).body.data.warnings;
export const press = (daemon: TestDaemon, id: string, key: string) =>
  daemon.api("POST", `/devices/${id}/remote/key`, { key });
export const codeOf = ({ body }: { body: { ok: boolean; error?: { code: string } } }): string =>
  body.ok ? "ok" : (body.error?.code ?? "?");
