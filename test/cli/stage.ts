/** Where scripts are played: a daemon as a process, three simulated sets, and `zapd` on the path of a shell. */
import { afterAll } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createKodiSimulator } from "../../src/simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { createWebosSimulator } from "../../src/simulators/webos.ts";
import { freePort, startTestDaemon, type TestDaemon, zapdWords } from "../support/daemon.ts";
import { type Ended, runProgram } from "./program.ts";

export interface Stage {
  readonly daemon: TestDaemon;
  readonly sets: Readonly<Record<string, RokuSimulator>>;
  /** Everything as it was at the beginning: the sets awake and known by their names. */
  reset(): Promise<void>;
  /** A folder of its own with these files in it. */
  folder(files: Readonly<Record<string, string>>): string;
  /** Runs a line in a shell. */
  run(line: string, folder: string, env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** The environment of such a shell. */
  environment(folder: string): Record<string, string>;
  dispose(): Promise<void>;
}

export const password = "rokudev";

/** A stage for all tests of a file, as it is at the beginning; await it at the top of the file. */
export async function stageForFile(): Promise<Stage> {
  const stage = await setStage();
  afterAll(() => stage.dispose());
  await stage.reset();
  return stage;
}

export async function setStage(): Promise<Stage> {
  // Ports that the system gives to nobody else while a set is unplugged.
  const usual = { ssdp: false, launchMs: 0 } as const;
  const developer = { password, installerPort: await freePort(), consolePort: await freePort() };
  const sets = {
    "Living Room": createRokuSimulator({ ...usual, name: "Living Room", kind: "tv", port: await freePort() }),
    Bedroom: createRokuSimulator({
      ...usual,
      name: "Bedroom",
      kind: "stick",
      access: "limited",
      port: await freePort(),
    }),
    Workbench: createRokuSimulator({ ...usual, name: "Workbench", kind: "tv", port: await freePort(), developer }),
  } as const;
  const backstage = mkdtempSync(join(tmpdir(), "zapd-stage-"));
  const bin = join(backstage, "bin");
  mkdirSync(bin);
  const program = zapdWords()
    .map((word) => `"${word}"`)
    .join(" ");
  writeFileSync(join(bin, "zapd"), `#!/bin/sh\nexec ${program} "$@"\n`);
  chmodSync(join(bin, "zapd"), 0o755);
  // Not known at first: scripts add them by their addresses, $KITCHEN and $CINEMA.
  const kitchen = createWebosSimulator({ name: "Kitchen", securePort: 0, plainPort: null, ssdp: false, promptMs: 50 });
  const cinema = createKodiSimulator({
    name: "Cinema",
    port: 0,
    tcpPort: 0,
    mdns: false,
    password: "popcorn",
    channels: [
      { id: 2, number: 1, name: "One" },
      { id: 1, number: 2, name: "Two" },
    ],
    screenshots: { folder: "/home/kodi/pictures/" },
  });
  const others = [kitchen, cinema];
  for (const set of [...Object.values(sets), ...others]) await set.start();
  const daemon = await startTestDaemon({
    // Searches of this daemon must not find the sets of tests that run beside this one.
    config: { dev: { vendor_password: password }, discovery: { timeout_ms: 100, interfaces: ["nowhere"] } },
    env: { HOME: backstage },
  });
  const config = readFileSync(daemon.configFile);
  let folders = 0;

  const environment = (folder: string) => ({
    PATH: `${bin}:${process.env["PATH"]}`,
    HOME: folder,
    TZ: "UTC",
    LANG: "C.UTF-8",
    TMPDIR: backstage,
    ZAPD_CONFIG: daemon.configFile,
    ZAPD_SOCKET: join(daemon.stateFolder, "zapd.sock"),
    ZAPD_STATE_DIR: daemon.stateFolder,
    KITCHEN: `127.0.0.1:${kitchen.ports.secure}`,
    CINEMA: `127.0.0.1:${cinema.port}`,
  });

  return {
    daemon,
    sets,
    environment,
    async reset() {
      for (const { body } of [await daemon.api("GET", "/devices")])
        for (const { id } of body.data) await daemon.api("DELETE", `/devices/${id}`);
      for (const [name, set] of Object.entries(sets)) {
        await set.wake();
        const ports = set.ports.installer === null ? {} : { ports: set.ports };
        const added = await daemon.api("POST", "/devices", { host: "127.0.0.1", port: set.port, name, ...ports });
        if (added.status !== 200) throw new Error(`${name} could not be added: ${JSON.stringify(added.body)}`);
      }
      writeFileSync(daemon.configFile, config);
      await daemon.api("PATCH", "/config", { "daemon.default_device": "Living Room" });
    },
    folder(files) {
      const folder = join(backstage, `folder-${++folders}`);
      mkdirSync(folder);
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), text);
      }
      return folder;
    },
    run: (line, folder, env = {}) =>
      runProgram(["sh", "-c", line], { cwd: folder, env: { ...environment(folder), ...env } }),
    async dispose() {
      await daemon.dispose();
      await Promise.all([...Object.values(sets), ...others].map((set) => set.stop()));
      rmSync(backstage, { recursive: true, force: true });
    },
  };
}

/** What a cue makes a set do: `Bedroom sleeps`. */
const doings: Readonly<Record<string, (set: RokuSimulator) => unknown>> = {
  sleeps: (set) => set.sleep("deep"),
  "is unplugged": (set) => set.stop(),
  "is plugged in": (set) => set.start(),
  wakes: (set) => set.wake(),
  "is in standby": (set) => set.sleep("standby"),
  "plays a film": (set) => set.play({ durationMs: 1_880_000 }),
  "prints a line": (set) => set.log("hello from the set"),
};

export async function act(stage: Stage, cue: string): Promise<void> {
  for (const [name, set] of Object.entries(stage.sets)) {
    const doing = cue.startsWith(`${name} `) ? doings[cue.slice(name.length + 1)] : undefined;
    if (doing) return void (await doing(set));
  }
  throw new Error(`nobody knows what this means: @ ${cue}`);
}
