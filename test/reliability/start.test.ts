/** Starting as a process: what is in the way is said, with the exit status that service managers know; nothing is left behind. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentRuntime } from "../../src/runtime/runtime.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { freePort, programWords, startTestDaemon, straysIn, type TestDaemon } from "../support/daemon.ts";
import { unfinishedIn } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { damage } from "./damage.ts";

let folder = "";
const running: ChildProcess[] = [];
const daemons: TestDaemon[] = [];
const logs: (() => string)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "zapd-start-"));
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
  await Promise.all(daemons.splice(0).map((daemon) => daemon.dispose()));
  rmSync(folder, { recursive: true, force: true });
  expect(logs.splice(0).flatMap((log) => straysIn(log()))).toEqual([]);
});

interface Outcome {
  /** `null` while it runs. */
  readonly status: number | null;
  readonly log: string;
}

/** Serves with a config, until it ends or has said that it runs. */
async function serve(config: string, state = join(folder, "state"), name = "config.toml"): Promise<Outcome> {
  const file = join(folder, name);
  writeFileSync(file, config);
  return serveFile(file, state);
}

async function serveFile(file: string, state: string): Promise<Outcome> {
  const [program = "", ...words] = programWords();
  const child = spawn(program, [...words, "serve", "--config", file], {
    env: { ...process.env, ZAPD_STATE_DIR: state },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.push(child);
  let log = "";
  logs.push(() => log);
  child.stderr.on("data", (bytes: Buffer) => {
    log += bytes.toString();
  });
  let ended = false;
  child.on("close", () => {
    ended = true;
  });
  for (let tries = 0; tries < 1_500 && !ended && !log.includes(" · socket "); tries++) await Bun.sleep(20);
  return { status: child.exitCode, log };
}

const configOf = (port: number, more = "") => `[daemon]\nhttp_port = ${port}\n${more}\n[discovery]\non_start = false\n`;

async function startDaemon(setup: Parameters<typeof startTestDaemon>[0] = {}): Promise<TestDaemon> {
  const daemon = await startTestDaemon({ speed: 1, ...setup });
  daemons.push(daemon);
  return daemon;
}

describe("R11 a config with a mistake: exit status 78", () => {
  test.each([
    ["no TOML", `[dev]\nvendor_password = "c4nary\n`, /line 2, column \d+/],
    ["a wrong type", '[daemon]\nhttp_port = "c4nary"\n', /line 2, column 13: daemon\.http_port/],
    [
      "an address that is not loopback",
      '[daemon]\nhttp_host = "0.0.0.0"\n',
      /line 2, column 13: daemon\.http_host must be a loopback address/,
    ],
    [
      "an origin that is none",
      '[daemon]\ncors_allowed_origins = ["*"]\n',
      /line 2, column 24: daemon\.cors_allowed_origins/,
    ],
    [
      "a socket path that is too long",
      `[daemon]\nsocket = "/${"x".repeat(107)}"\n`,
      /line 2, column 10: daemon\.socket must .*at most 107 bytes/,
    ],
  ])("%s", async (_what, config, said) => {
    const { status, log } = await serve(config);
    expect([status, log]).toEqual([78, expect.stringMatching(said)]);
    expect(log).toContain(join(folder, "config.toml"));
    expect(log).not.toContain("c4nary");
    expect(log).not.toMatch(/ at .*\.ts/);
    expect(existsSync(join(folder, "state"))).toBe(false);
  });

  test.each([
    ["that is a folder", "not a regular file"],
    ["that is a FIFO", "not a regular file"],
    ["that is a socket", "could not be read"],
    ["that is a link to itself", "ELOOP"],
    ["of a gigabyte of holes", "larger than"],
    ["of NULs, as after a power cut", "not valid TOML"],
  ])("one %s, at once", async (how, said) => {
    const path = join(folder, "damaged.toml");
    damage(path, how, Buffer.from(configOf(await freePort())));
    const began = performance.now();
    const { status, log } = await serveFile(path, join(folder, "state"));
    expect([status, log]).toEqual([78, expect.stringContaining(said)]);
    expect(log).toContain(path);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("an obstacle to the start: exit status 1", () => {
  test("T17 R12 a port that another program has is named, and that program hears nothing", async () => {
    const port = await freePort();
    let heard = 0;
    const squatter = net.createServer((socket) => socket.on("data", () => heard++));
    await new Promise<void>((resolve) => squatter.listen(port, "127.0.0.1", resolve));
    const { status, log } = await serve(configOf(port));
    squatter.close();
    expect([status, log]).toEqual([1, expect.stringMatching(new RegExp(`[Pp]ort ${port} .*another program`))]);
    expect(log).toContain("daemon.http_port");
    expect(heard).toBe(0);
    expect(existsSync(join(folder, "state", "zapd.sock"))).toBe(false);
  });

  test("T16 a daemon that runs on the same state, whatever the port", async () => {
    const daemon = await startDaemon();
    for (const port of [daemon.port, await freePort()]) {
      const { status, log } = await serve(configOf(port), daemon.stateFolder);
      expect([status, log]).toEqual([1, expect.stringContaining("already running")]);
    }
    expect(await currentRuntime().isListening(join(daemon.stateFolder, "zapd.sock"))).toBe(true);
    expect((await daemon.api("GET", "/health")).status).toBe(200);
  });

  test("T16 a daemon whose socket was removed: it makes it again", async () => {
    const daemon = await startDaemon();
    const socket = join(daemon.stateFolder, "zapd.sock");
    for (const times of [1, 2]) {
      rmSync(socket);
      const { status, log } = await serve(configOf(await freePort()), daemon.stateFolder, `${times}.toml`);
      expect([status, log]).toEqual([1, expect.stringContaining("already running")]);
    }
    expect([await currentRuntime().isListening(socket), statSync(socket).mode & 0o777]).toEqual([true, 0o600]);
    expect(await daemon.stop("SIGTERM")).toBe(0);
    expect(readdirSync(daemon.stateFolder).filter((name) => name.includes("sock"))).toEqual([]);
  });

  test("T16 of eight daemons that start at once, one runs", async () => {
    const ports = await Promise.all(Array.from({ length: 8 }, () => freePort()));
    const outcomes = await Promise.all(
      ports.map((port, at) => serve(configOf(port), join(folder, "state"), `${at}.toml`)),
    );
    expect(outcomes.filter(({ status }) => status === null).length).toBe(1);
    for (const { status, log } of outcomes.filter((one) => one.status !== null))
      expect([status, log]).toEqual([1, expect.stringContaining("already running")]);
    expect(await currentRuntime().isListening(join(folder, "state", "zapd.sock"))).toBe(true);
  });

  test("a state folder too deep for a socket", async () => {
    const { status, log } = await serve(configOf(await freePort()), join(folder, "x".repeat(100)));
    expect([status, log]).toEqual([
      expect.any(Number),
      expect.stringMatching(/control socket.*at most 107.*(daemon\.socket|ZAPD_STATE_DIR)/),
    ]);
    expect(status).not.toBe(0);
  });

  test("a file where the state should be", async () => {
    writeFileSync(join(folder, "state"), "precious");
    const { status, log } = await serve(configOf(await freePort()));
    expect([status, log]).toEqual([1, expect.stringContaining(join(folder, "state"))]);
    expect(log).not.toMatch(/ at .*\.ts/);
    expect(await Bun.file(join(folder, "state")).text()).toBe("precious");
  });
});

test("T16 a daemon that is stopped while its state folder is emptied, and another takes it, ends on waking", async () => {
  const state = join(folder, "state");
  await serve(configOf(await freePort()), state, "first.toml");
  const [first, log] = [running[0], logs[0]];
  first?.kill("SIGSTOP");
  for (const name of readdirSync(state)) rmSync(join(state, name));
  expect((await serve(configOf(await freePort()), state, "second.toml")).status).toBeNull();
  first?.kill("SIGCONT");
  await until("the first has ended", () => first?.exitCode === 1);
  // The last that it has said may come after its end.
  const why = /stopped: zapd is already running with this state folder \(pid \d+\)/;
  await until("it has said why", () => why.test(log?.() ?? ""));
  expect(await currentRuntime().isListening(join(state, "zapd.sock"))).toBe(true);
});

test("T16 a daemon that is stopped while its socket is removed, and another takes its state with a socket elsewhere, ends on waking", async () => {
  const state = join(folder, "state");
  await serve(configOf(await freePort()), state, "first.toml");
  const [first] = running;
  first?.kill("SIGSTOP");
  rmSync(join(state, "zapd.sock"));
  const elsewhere = join(folder, "elsewhere.sock");
  const second = configOf(await freePort(), `socket = ${JSON.stringify(elsewhere)}`);
  expect((await serve(second, state, "second.toml")).status).toBeNull();
  first?.kill("SIGCONT");
  await until("the first has ended", () => first?.exitCode === 1);
  expect(readFileSync(join(state, "zapd.sock.at"), "utf8")).toStartWith(elsewhere);
});

test("T16 after kill -9 it starts again, time after time, and SIGTERM leaves no socket", async () => {
  let daemon = await startDaemon();
  const { folder: own, stateFolder } = daemon;
  const socket = join(stateFolder, "zapd.sock");
  for (let kills = 0; kills < 4; kills++) {
    await daemon.stop("SIGKILL");
    expect([existsSync(socket), await currentRuntime().isListening(socket)]).toEqual([true, false]);
    daemon = await startDaemon({ folder: own });
    expect(await currentRuntime().isListening(socket)).toBe(true);
  }
  expect(await daemon.stop("SIGTERM")).toBe(0);
  expect(readdirSync(stateFolder).filter((name) => name.includes("sock"))).toEqual([]);
});

test("SIGTERM as soon as there is a socket: it ends as usual, and leaves none", async () => {
  const state = join(folder, "state");
  for (let tries = 0; tries < 4; tries++) {
    const outcome = serve(configOf(await freePort()), state);
    await until("there is a socket", () => existsSync(join(state, "zapd.sock")));
    const ended = new Promise((resolve) => running.at(-1)?.on("exit", resolve));
    running.at(-1)?.kill("SIGTERM");
    expect([await ended, (await outcome).log]).toEqual([0, expect.stringContaining("socket")]);
    expect(readdirSync(state).filter((name) => name.includes("sock"))).toEqual([]);
  }
}, 60_000);

test("of a search that the stop cuts short nothing is said", async () => {
  const search = '[discovery]\ninterfaces = ["127.0.0.1"]\ntimeout_ms = 10000\n';
  await serve(`[daemon]\nhttp_port = ${await freePort()}\n${search}`);
  const ended = new Promise((resolve) => running.at(-1)?.on("close", resolve));
  running.at(-1)?.kill("SIGTERM");
  await ended;
  expect(logs.at(-1)?.()).toContain('"stopped"');
  expect(logs.at(-1)?.()).not.toMatch(/nothing was found|known/);
});

test("T16 no daemon starts on the state of one that is stopping, and the next one keeps its socket", async () => {
  // It stops for as long as its search goes on, and the other has that long to start.
  const first = await startDaemon({ config: { discovery: { timeout_ms: 3_000 } }, speed: 1 });
  const { folder: own, stateFolder } = first;
  const socket = join(stateFolder, "zapd.sock");
  const asked = first.api("POST", "/devices/discover");
  await until("it searches", () => first.log().includes("searching on"));
  const stopped = first.stop();
  await Bun.sleep(200);
  const { status, log } = await serve(configOf(await freePort()), stateFolder);
  expect([status, log]).toEqual([1, expect.stringContaining("already running")]);
  expect([(await asked).status, await stopped]).toEqual([200, 0]);
  expect(existsSync(socket)).toBe(false);
  await startDaemon({ folder: own });
  expect(await currentRuntime().isListening(socket)).toBe(true);
}, 60_000);

test("T14 T15 under any umask, the socket and all files are 0600, the folders 0700", async () => {
  // A wrapper sets the umask: ours is that of every test.
  const wrapper = join(folder, "open");
  writeFileSync(wrapper, `#!/bin/sh\numask 000\nexec ${programWords().join(" ")} "$@"\n`);
  chmodSync(wrapper, 0o755);
  const port = await freePort();
  const config = join(folder, "config.toml");
  writeFileSync(config, configOf(port), { mode: 0o666 });
  const child = spawn(wrapper, ["serve", "--config", config], {
    env: { ...process.env, ZAPD_STATE_DIR: join(folder, "deep", "state") },
    stdio: "ignore",
  });
  running.push(child);
  const patch = () =>
    fetch(`http://127.0.0.1:${port}/v1/config`, { method: "PATCH", body: '{"daemon.log_level":"debug"}' }).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let tries = 0; tries < 1_000 && !(await patch()); tries++) await Bun.sleep(25);
  const set = createRokuSimulator({ name: "Set", ssdp: false });
  await set.start();
  const body = JSON.stringify({ host: "127.0.0.1", port: set.port });
  const added = await fetch(`http://127.0.0.1:${port}/v1/devices`, { method: "POST", body });
  await set.stop();
  expect(added.status).toBe(200);
  await until("nothing is being written", () => unfinishedIn(join(folder, "deep", "state")).length === 0);
  const modes = (path: string): string[] => [
    `${path.slice(folder.length)} ${(statSync(path).mode & 0o777).toString(8)}`,
    ...(statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => modes(join(path, name))) : []),
  ];
  const found = modes(join(folder, "deep"));
  expect(found.toSorted()).toEqual([
    "/deep 700",
    "/deep/state 700",
    "/deep/state/devices.json 600",
    "/deep/state/zapd.sock 600",
    "/deep/state/zapd.sock.at 600",
  ]);
  expect(modes(config)).toEqual(["/config.toml 600"]);
});
