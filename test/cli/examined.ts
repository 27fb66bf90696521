/** An examination of a machine that a test has made up. */

import type { Outcome } from "../../src/api/errors.ts";
import type { Device } from "../../src/api/schemas.ts";
import { configOf } from "../../src/config/schema.ts";
import type { DaemonFound, Examination } from "../../src/doctor/examination.ts";
import type { Probe } from "../../src/doctor/probe.ts";

interface MadeUp {
  readonly platform?: string;
  /** Names of the interfaces; those that begin with `!` hear nothing. */
  readonly interfaces?: readonly string[];
  /** Devices that answered a search on the first of them. */
  readonly answered?: number;
  /** The system's code for a search that could not be sent. */
  readonly trouble?: string;
  /** Whether somebody accepts connections at the addresses of the devices. */
  readonly listens?: boolean;
  readonly wished?: readonly string[];
  readonly hosts?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  readonly programs?: Readonly<Record<string, string>>;
  readonly now?: string;
  readonly met?: DaemonFound;
  readonly devices?: readonly Device[];
  /** Answers of the daemon, by operation and device. */
  readonly answers?: Readonly<Record<string, Outcome<unknown>>>;
}

export const status = {
  pid: 4121,
  version: "0.1.0",
  uptime_s: 5,
  socket: "/s/zapd.sock",
  http_enabled: true,
  http_host: "127.0.0.1",
  http_port: 7272,
  device_count: 0,
  default_device: null,
};

export function examined(given: MadeUp = {}): Examination {
  const { platform = "linux", interfaces = ["wlan0"], answered = 0, trouble = null, files = {}, programs = {} } = given;
  const named = interfaces.map((name) => ({ name: name.replace("!", ""), received: !name.startsWith("!") }));
  const config = configOf({
    daemon: {},
    discovery: { interfaces: [...(given.wished ?? [])], hosts: [...(given.hosts ?? [])] },
    devices: {},
    dev: {},
  });
  const all = named.map(({ name }, at) => ({
    name,
    address: `192.168.${at}.2`,
    netmask: "255.255.255.0",
    broadcast: `192.168.${at}.255`,
    loopback: false,
  }));
  const probes = named.map(
    ({ name, received }, at): Probe => ({
      name,
      received,
      problem: received ? null : trouble,
      answered: at === 0 ? Array.from({ length: answered }, (_, count) => `192.168.0.${count + 40}`) : [],
    }),
  );
  return {
    machine: {
      platform,
      uid: 1000,
      now: () => new Date(given.now ?? "2026-07-30T10:00:00"),
      interfaces: () => all,
      isListening: async () => given.listens === true,
      read: async (path) => files[path] ?? null,
      output: async (program, words) => programs[[program, ...words].join(" ")] ?? null,
    },
    configFile: "/c/config.toml",
    stateFolder: "/s",
    socket: "/s/zapd.sock",
    remarks: [],
    daemon: async () => given.met ?? { state: "running", status },
    config: async () => ({ config, warnings: [], modeWarnings: [], broken: null }),
    searchedInterfaces: async () => all,
    probes: async () => probes,
    devices: async () => given.devices ?? [],
    ask: async (name, asked) => {
      const { id = "" } = asked as { id?: string };
      const none = { ok: false, code: "not_found", message: "no answer" };
      return (given.answers?.[`${name} ${id}`.trim()] ?? none) as never;
    },
  };
}

export function device(name: string, facts: Partial<Device> = {}): Device {
  return {
    id: `id-${name.replaceAll(" ", "-")}`,
    name,
    platform: "roku",
    platforms: ["roku"],
    kind: "tv",
    manufacturer: null,
    model: null,
    serial: null,
    mac: null,
    software_version: null,
    host: "192.168.1.40",
    port: 8060,
    ports: {},
    status: "online",
    access: "full",
    capabilities: ["state", "keys"],
    withheld: [],
    lease: null,
    keys: ["home"],
    is_default: false,
    power: "on",
    used: true,
    added_at: "2026-07-01T00:00:00.000Z",
    last_seen: null,
    ...facts,
  };
}
