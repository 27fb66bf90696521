/** A daemon with its sets, read as facts: its config, its devices and their pairings. */
import { createWebosSimulator, type WebosSimulator } from "../../src/simulators/webos.ts";
import { type Answered, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { WiredRoku } from "../support/wired-roku.ts";

export const setNames = ["one", "two", "willing", "unwilling"] as const;
export type SetName = (typeof setNames)[number];

/** Values by name: `config`, `default`, `name one`, `ports one`, `paired willing`. A device that is not known has empty ones. */
export type Facts = Map<string, string>;

/** The installer port of a device that was just added. */
export const firstPort = 8_888;

/** The facts of a new daemon. */
export function noFacts(): Facts {
  const devices = setNames.flatMap((set): [string, string][] => [
    [`name ${set}`, ""],
    [`ports ${set}`, ""],
    [`paired ${set}`, "no"],
  ]);
  return new Map([["config", "0|"], ["default", ""], ...devices]);
}

export interface Sets {
  readonly one: WiredRoku;
  readonly two: WiredRoku;
  /** Accepts every pairing. */
  readonly willing: WebosSimulator;
  /** Denies every pairing. */
  readonly unwilling: WebosSimulator;
}

const quiet = { securePort: 0, plainPort: null, ssdp: false } as const;

export async function startHouseSets(): Promise<Sets> {
  const sets = {
    one: await WiredRoku.start({ name: "One" }),
    two: await WiredRoku.start({ name: "Two" }),
    willing: createWebosSimulator({ ...quiet, name: "Willing", prompt: "none" }),
    unwilling: createWebosSimulator({ ...quiet, name: "Unwilling", prompt: "deny", promptMs: 1 }),
  };
  await sets.willing.start();
  await sets.unwilling.start();
  return sets;
}

export class House {
  #daemon: TestDaemon;
  readonly sets: Sets;
  readonly #ids: ReadonlyMap<SetName, string>;
  restarts = 0;
  taken = 0;

  private constructor(sets: Sets, daemon: TestDaemon, ids: ReadonlyMap<SetName, string>) {
    this.sets = sets;
    this.#daemon = daemon;
    this.#ids = ids;
  }

  /** A daemon without devices; ids follow from the identity of the hardware, so they are known beforehand. */
  static async open(sets: Sets, ids?: ReadonlyMap<SetName, string>): Promise<House> {
    const house = new House(
      sets,
      await startTestDaemon({ config: { daemon: { log_level: "info" } } }),
      ids ?? new Map(),
    );
    if (ids) return house;
    const found = new Map<SetName, string>();
    for (const set of setNames) found.set(set, (await house.add(set, `Name of ${set}`)).body.data.id);
    await house.end();
    return House.open(sets, found);
  }

  get ids(): ReadonlyMap<SetName, string> {
    return this.#ids;
  }

  api(method: string, path: string, body?: unknown): Promise<Answered> {
    return this.#daemon.api(method, path, body);
  }

  add(set: SetName, name: string): Promise<Answered> {
    return this.api("POST", "/devices", { ...addressOf(this.sets, set), name });
  }

  path(set: SetName): string {
    return `/devices/${this.#ids.get(set)}`;
  }

  /** kill -9, and a start on the same files. */
  async restart(): Promise<void> {
    const { folder } = this.#daemon;
    await this.#daemon.stop("SIGKILL");
    this.#daemon = await startTestDaemon({ folder });
    this.restarts++;
    const { warnings } = (await this.api("GET", "/health")).body.data;
    if (warnings.length > 0) throw new Error(`after a kill: ${warnings.join("; ")}`);
  }

  kill(): void {
    this.#daemon.process.kill("SIGKILL");
  }

  async facts(): Promise<Facts> {
    const [config, devices] = [
      (await this.api("GET", "/config")).body.data,
      (await this.api("GET", "/devices")).body.data,
    ];
    const facts: Facts = new Map([
      ["config", `${config.discovery.interval_s}|${config.daemon.cors_allowed_origins.join(",")}`],
      ["default", config.daemon.default_device],
    ]);
    for (const set of setNames) {
      const device = devices.find(({ id }: { id: string }) => id === this.#ids.get(set));
      facts.set(`name ${set}`, device?.name ?? "");
      facts.set(`ports ${set}`, set === "one" || set === "two" ? String(device?.ports.installer ?? "") : "");
      facts.set(`paired ${set}`, device ? await this.#paired(set) : "no");
      // The default is kept by its id: one that was forgotten and added by another name is still the default.
      if (device?.name && device.name === config.daemon.default_device && !device.is_default)
        throw new Error(`${device.name} says that it is no default`);
    }
    if (devices.filter((one: { is_default: boolean }) => one.is_default).length > 1)
      throw new Error("there are two defaults");
    if (devices.length !== setNames.filter((set) => facts.get(`name ${set}`) !== "").length)
      throw new Error(`there are ${devices.length} devices`);
    return facts;
  }

  /** Whether the credentials on disk still open the set. */
  async #paired(set: SetName): Promise<string> {
    if (set === "one" || set === "two") return "no";
    const { status, body } = await this.api("GET", `${this.path(set)}/state`);
    if (status === 200) return "yes";
    if (body.error.code === "pairing_required") return "no";
    throw new Error(`${set} said: ${body.error.message}`);
  }

  end(): Promise<void> {
    return this.#daemon.dispose();
  }
}

function addressOf(sets: Sets, set: SetName): object {
  if (set === "willing" || set === "unwilling")
    return { host: sets[set].host, port: sets[set].ports.secure, platform: "webos" };
  const { host, port } = sets[set].address;
  return { host, port, ports: { installer: firstPort } };
}
