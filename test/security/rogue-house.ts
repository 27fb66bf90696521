/** A daemon, sets with secrets and without, and rogues that copy their whole public identity, on addresses of this machine. */
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type createCertificate, createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { announce } from "../support/announce.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { freeHost } from "../support/lane.ts";
import { WiredRoku } from "../support/wired-roku.ts";

/** The control port of every set here: an address is a host of its own. */
export const tv = { secure: 3_001 } as const;

export interface SetOptions {
  readonly name?: string;
  readonly uuid?: string;
  /** Nobody accepts at it. */
  readonly denies?: boolean;
  readonly certificate?: ReturnType<typeof createCertificate>;
}

/** A set that gives a key to whoever is accepted. */
export async function webosAt(host: string, options: SetOptions = {}): Promise<WebosSimulator> {
  const set = createWebosSimulator({
    name: options.name ?? "Kitchen",
    host,
    securePort: tv.secure,
    plainPort: null,
    promptMs: 20,
    tuner: false,
    ssdp: true,
    ssdpDelayMs: 10,
    ...(options.uuid !== undefined && { uuid: options.uuid }),
    ...(options.certificate && { certificate: options.certificate }),
    prompt: options.denies ? "deny" : "accept",
  });
  await set.start();
  return set;
}

export const quick: DaemonSetup = {
  config: { devices: { request_timeout_ms: 1_500 }, discovery: { timeout_ms: 250 } },
};

export const startHouse = (setup: DaemonSetup = quick): Promise<TestDaemon> => startTestDaemon(setup);

/**
 * Scans until each of these sets, which announce themselves, has been asked who it is: a scan is short here, and on a machine
 * that is busy one of them may be heard after its end. Gives what the last one found.
 */
export async function scanned(daemon: TestDaemon, announced: Iterable<WiredRoku>) {
  const asked = (fake: WiredRoku) => fake.wire.requests.length;
  const before = [...announced].map((fake) => [fake, asked(fake)] as const);
  for (let scans = 1; ; scans++) {
    const { body } = await daemon.api("POST", "/devices/discover");
    if (before.every(([fake, count]) => asked(fake) > count)) return body.data.devices;
    if (scans === 10) throw new Error("a set that announces itself was not asked in ten scans");
  }
}

type RokuOptions = Parameters<typeof WiredRoku.start>[0];

/**
 * A house for the tests of one file. Its daemon serves all of them and knows no device when a test begins; without `daemon`
 * each test starts its own. What is plugged in goes with the test.
 */
export function houseForFile({ daemon: hasDaemon = true } = {}) {
  const leaving: (() => unknown)[] = [];
  let running: TestDaemon | undefined;
  let made = 0;
  const voices = new Set<WiredRoku>();
  beforeAll(async () => {
    if (hasDaemon) running = await startHouse();
  });
  afterEach(async () => {
    for (const leave of leaving.splice(0).reverse()) await leave();
    const known = await running?.api("GET", "/devices");
    for (const { id } of known?.body.data ?? []) await running?.api("DELETE", `/devices/${id}`);
  });
  afterAll(() => running?.dispose());

  const house = {
    get daemon(): TestDaemon {
      if (!running) throw new Error("no daemon runs in this house");
      return running;
    },
    /** Runs when the test is over, what came last first. */
    leaves(leave: () => unknown): void {
      leaving.push(leave);
    },
    add: (body: object) => house.daemon.api("POST", "/devices", body),
    discover: () => scanned(house.daemon, voices),
    async webos(host: string, options: SetOptions = {}): Promise<WebosSimulator> {
      const set = await webosAt(host, options);
      house.leaves(() => set.stop());
      return set;
    },
    /** A set that was added and has given its key; and what that key is. */
    async paired(options: SetOptions = {}) {
      const set = await house.webos(freeHost(), { name: `Kitchen ${++made}`, ...options });
      const wanted = options.name ?? `Kitchen ${made}`;
      const { body } = await house.add({ host: set.host, port: tv.secure, platform: "webos", name: wanted });
      const { id, name } = body.data as { id: string; name: string };
      expect(codeOf(await house.daemon.api("POST", `/devices/${id}/pair`))).toBe("ok");
      const key = credentialsOf(house.daemon, id)?.["key"] ?? [...set.clientKeys.keys()][0] ?? "";
      expect(key.length).toBeGreaterThan(8);
      return { set, id, key, name };
    },
    async roku(options: RokuOptions = {}): Promise<WiredRoku> {
      const fake = await WiredRoku.start(options);
      house.leaves(() => fake.stop());
      return fake;
    },
    /** One that answers searches; `off` ends it before the test does. */
    async announced(options: RokuOptions = {}, delayMs = 20) {
      const fake = await WiredRoku.start(options);
      const voice = await announce(fake, { delayMs });
      voices.add(fake);
      let stopped: Promise<void> | undefined;
      const off = () => {
        voices.delete(fake);
        stopped ??= voice.stop().then(() => fake.stop());
        return stopped;
      };
      house.leaves(off);
      return { fake, off };
    },
  };
  return house;
}

/** What another device shows as if it were this one. */
export const twin = (fake: WiredRoku) => ({ serial: fake.serial, mac: fake.identity.mac, name: fake.identity.name });

export interface Entry {
  [key: string]: unknown;
  id: string;
  name: string;
  host: string;
  port: number;
  standing?: Record<string, unknown>;
}

/** What the registry holds on disk, to be changed between two runs of the daemon. */
export function editRegistry(daemon: TestDaemon, change: (devices: Entry[]) => void): void {
  const path = join(daemon.stateFolder, "devices.json");
  const content = JSON.parse(readFileSync(path, "utf8")) as { devices: Entry[] };
  change(content.devices);
  writeFileSync(path, JSON.stringify(content));
}

/** Every instant of a device's standing, so many hours earlier. */
export function earlier(value: unknown, hours: number): unknown {
  if (Array.isArray(value)) return value.map((one) => earlier(one, hours));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, earlier(one, hours)]));
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT/.test(value)) return value;
  return new Date(Date.parse(value) - hours * 3_600_000).toISOString();
}

/** What is kept for a device in the file of the user alone. */
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
