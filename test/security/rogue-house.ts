/** A daemon, sets with secrets and without, and rogues that copy their whole public identity, on addresses of this machine. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type createCertificate, createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";

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
    ...{ name: options.name ?? "Kitchen", host, securePort: tv.secure, plainPort: null, promptMs: 20, tuner: false },
    ...{ ssdp: true, ssdpDelayMs: 10 },
    ...(options.uuid !== undefined && { uuid: options.uuid }),
    ...(options.certificate && { certificate: options.certificate }),
    prompt: options.denies ? "deny" : "accept",
  });
  await set.start();
  return set;
}

export const quick: DaemonSetup = {
  config: { devices: { request_timeout_ms: 1_500 }, discovery: { timeout_ms: 400 } },
};

export const startHouse = (setup: DaemonSetup = quick): Promise<TestDaemon> => startTestDaemon(setup);

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
