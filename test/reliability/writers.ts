/**
 * Every file that a daemon keeps on disk, with a change of it through the API and a way to read it back: the tests of this folder
 * run over them. A new file is a new entry here.
 */
import { afterAll, beforeAll } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createKodiSimulator, type KodiSimulator } from "../../src/simulators/kodi.ts";
import { type DaemonSetup, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { WiredRoku } from "../support/wired-roku.ts";

/** The devices whose data is in the files. */
export interface Sets {
  readonly roku: WiredRoku;
  readonly kodi: KodiSimulator;
  /** The leased device. */
  readonly bench: WiredRoku;
  stop(): Promise<void>;
}

export interface Writer {
  readonly file: string;
  path(daemon: TestDaemon): string;
  /** Changes the file to say `turn`; gives the HTTP status. */
  change(daemon: TestDaemon, sets: Sets, turn: number): Promise<number>;
  /** The turn that the file holds, modulo `cycle` where there is one. */
  read(daemon: TestDaemon): Promise<number>;
  readonly cycle?: number;
}

const roku = "/devices/roku";
const kodi = "/devices/kodi";
const lease = "/devices/bench/lease";
let token = "none";

export const writers: readonly Writer[] = [
  {
    file: "config.toml",
    path: (daemon) => daemon.configFile,
    change: async (daemon, _sets, turn) =>
      (await daemon.api("PATCH", "/config", { "discovery.interval_s": 100 + turn })).status,
    read: async (daemon) => (await daemon.api("GET", "/config")).body.data.discovery.interval_s - 100,
  },
  {
    file: "devices.json",
    path: (daemon) => join(daemon.stateFolder, "devices.json"),
    // The installer's port, so that the name stays the same.
    change: async (daemon, _sets, turn) =>
      (await daemon.api("PATCH", roku, { ports: { installer: 10_000 + turn } })).status,
    read: async (daemon) => (await daemon.api("GET", roku)).body.data.ports.installer - 10_000,
  },
  {
    file: "apps.json",
    path: (daemon) => join(daemon.stateFolder, "apps.json"),
    async change(daemon, sets, turn) {
      sets.roku.apps = [{ id: "12", name: "Netflix", version: String(turn) }];
      return (await daemon.api("POST", `${roku}/apps/refresh`)).status;
    },
    async read(daemon) {
      const { apps } = (await daemon.api("GET", `${roku}/apps`)).body.data;
      return Number(apps.find((app: { id: string }) => app.id === "netflix").version);
    },
  },
  {
    file: "credentials.json",
    path: (daemon) => join(daemon.stateFolder, "credentials.json"),
    async change(daemon, sets, turn) {
      const password = `word ${turn}`;
      sets.kodi.setPassword(password);
      return (await daemon.api("POST", `${kodi}/pair`, { user: "kodi", password })).status;
    },
    async read(daemon) {
      // No answer holds a secret: the file itself is read.
      const kept = JSON.parse(readFileSync(join(daemon.stateFolder, "credentials.json"), "utf8"));
      const [{ password }] = Object.values(kept.credentials) as [{ password: string }];
      return Number(password.slice("word ".length));
    },
  },
  {
    file: "leases.json",
    path: (daemon) => join(daemon.stateFolder, "leases.json"),
    async change(daemon, _sets, turn) {
      const body = { owner: `turn ${turn}`, ttl_s: 3_600 };
      const renewed = await daemon.api("POST", lease, body, { "zapd-lease": token });
      if (renewed.body.error?.code !== "device_leased") return renewed.status;
      // The token is another daemon's, or was lost with a kill.
      await daemon.api("DELETE", `${lease}?force=true`);
      const taken = await daemon.api("POST", lease, body);
      if (taken.status === 200) token = taken.body.data.token;
      return taken.status;
    },
    async read(daemon) {
      const { data } = (await daemon.api("GET", "/devices/bench")).body;
      return Number(data.lease.owner.slice("turn ".length));
    },
  },
];

/** Two devices that are joined with each odd turn and split with the next: one change of many records. */
export const regrouping: Writer = {
  file: "devices.json, joined and split",
  path: (daemon) => join(daemon.stateFolder, "devices.json"),
  cycle: 2,
  async change(daemon, _sets, turn) {
    const wanted = turn % 2;
    // A change without an answer may have been made.
    if ((await regrouping.read(daemon)) === wanted) return 200;
    const [path, body] = wanted === 1 ? ["join", { with: "kodi" }] : ["split", { platform: "kodi" }];
    return (await daemon.api("POST", `${roku}/${path}`, body)).status;
  },
  async read(daemon) {
    const { data } = (await daemon.api("GET", "/devices")).body;
    const shown = data
      .filter(({ name }: { name: string }) => name !== "bench")
      .map(({ name, platforms }: { name: string; platforms: string[] }) => `${name}: ${platforms}`);
    const states = [["roku: roku", "Kodi: kodi"], ["roku: roku,kodi"]];
    const found = states.findIndex((state) => JSON.stringify(state) === JSON.stringify(shown));
    if (found === -1 && shown[1] !== "kodi: kodi") throw new Error(`neither joined nor split: ${shown}`);
    const kept = JSON.parse(readFileSync(regrouping.path(daemon), "utf8"));
    const devices = kept.devices.filter(({ name }: { name: string }) => name !== "bench");
    const parts = devices.filter((record: { part_of?: string }) => record.part_of !== undefined).length;
    const words = devices.map(({ joined = [], apart = [] }) => [joined.length, apart.length]);
    const whole = new Set(words.map(String)).size === 1;
    if (!whole || parts !== Math.max(found, 0)) throw new Error(`half of a change: ${JSON.stringify(devices)}`);
    return Math.max(found, 0);
  },
};

/** Starts the devices. */
export async function startSets(): Promise<Sets> {
  const sets = {
    roku: await WiredRoku.start({ name: "Roku" }),
    bench: await WiredRoku.start({ name: "Bench" }),
    kodi: createKodiSimulator({ name: "Kodi", mdns: false, password: null }),
  };
  await sets.kodi.start();
  return {
    ...sets,
    async stop() {
      await Promise.all([sets.roku.stop(), sets.kodi.stop(), sets.bench.stop()]);
    },
  };
}

/** The devices and a daemon that knows them, for all tests of a file. */
export function homeForAll(setup?: DaemonSetup): { sets: Sets; daemon: TestDaemon } {
  const home = {} as { sets: Sets; daemon: TestDaemon };
  beforeAll(async () => {
    home.sets = await startSets();
    home.daemon = await startTestDaemon(setup);
    await introduce(home.daemon, home.sets);
  });
  afterAll(async () => {
    await home.daemon.dispose();
    await home.sets.stop();
  });
  return home;
}

/** Adds the devices, and makes every file hold `turn`. */
export async function introduce(daemon: TestDaemon, sets: Sets, turn = 0): Promise<void> {
  const { host, port, ports } = sets.kodi;
  const devices = [
    { ...sets.roku.address, name: "roku" },
    { ...sets.bench.address, name: "bench" },
    { host, port, platform: "kodi", name: "kodi", ports: { websocket: ports.tcp, wake: ports.wake } },
  ];
  for (const device of devices)
    expectTaken((await daemon.api("POST", "/devices", device)).status, `add ${device.name}`);
  for (const writer of writers) expectTaken(await writer.change(daemon, sets, turn), writer.file);
}

export function expectTaken(status: number, what: string): void {
  if (status !== 200) throw new Error(`${what} was answered ${status}`);
}
