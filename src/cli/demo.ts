/**
 * `zapd demo`: five simulated sets and a daemon of its own, in a temporary state folder. Nothing leaves this machine,
 * nothing is left behind.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exits } from "../api/errors.ts";
import type { Daemon } from "../daemon.ts";
import type { Ports } from "../platforms/platform.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { createKodiSimulator } from "../simulators/kodi.ts";
import { createRokuSimulator, type RokuSimulatorOptions } from "../simulators/roku.ts";
import { createWebosSimulator } from "../simulators/webos.ts";
import { createLog, printable } from "../system/log.ts";
import { version } from "../system/version.ts";
import { type Context, logStream } from "./context.ts";
import { UsageError } from "./failure.ts";
import { shellWord } from "./print.ts";
import { note, runningDaemons } from "./running.ts";
import { catchStrays, endSoon, start, untilSignal } from "./serve.ts";
import { isCompiled, runningNow } from "./service-managers.ts";

const usualPort = 7272;

export async function demo(context: Context): Promise<number> {
  const given = context.option("port");
  const port = given === undefined ? usualPort : Number(given);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--port takes a number from 1 to 65535");
  process.umask(0o077);
  const folder = mkdtempSync(join(tmpdir(), "zapd-demo-"));
  const shown: DemoSet[] = [];
  const log = createLog({
    level: "warn",
    format: "text",
    colour: false,
    write: (line) => void logStream().write(line),
  });
  catchStrays(log);
  const stopped = untilSignal();
  try {
    for (const [at, startSet] of starters.entries())
      shown.push(
        await startSet(`127.0.0.${at + 2}`, (name, text) => show(`${printable(`${name.padEnd(12)} ${text}`)}\n`)),
      );
    const config = join(folder, "config.toml");
    writeFileSync(config, configOf(port), { mode: 0o600 });
    const daemon = await start(config, join(folder, "state"), log);
    if (typeof daemon === "number") return daemon;
    await Promise.race([found(daemon, shown), stopped]);
    await introducePorts(daemon, shown);
    const unnote = daemon.socket === null ? () => {} : note(daemon.socket, "demo");
    show(introduction(daemon, shown, await isAlone(context, daemon)));
    await stopped;
    unnote();
    await daemon.stop();
    endSoon();
    return exits.ok;
  } finally {
    await Promise.all(shown.map((set) => set.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What nobody reads any more ends the demo as Ctrl-C does, so that nothing is left behind. */
function show(text: string): void {
  if (process.stdout.listenerCount("error") === 0)
    process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
  process.stdout.write(text);
}

/** Whether a command without more words finds this daemon: the user's own would go first, and of several none is guessed. */
async function isAlone(context: Context, { socket }: Daemon): Promise<boolean> {
  if (await currentRuntime().answers(context.socket())) return false;
  return (await runningDaemons()).every((one) => one.socket === socket);
}

function configOf(port: number): string {
  return [
    "# The demo's own config; it goes with the demo.",
    `[daemon]\nhttp_port = ${port}\nlog_level = "warn"`,
    '[discovery]\ninterfaces = ["127.0.0.1"]\ninterval_s = 60',
    `[dev]\nvendor_password = "${password}"`,
    "",
  ].join("\n\n");
}

/** Waits until all sets have been found by their announcements, or the scan is over. */
async function found(daemon: Daemon, sets: readonly DemoSet[]): Promise<void> {
  let scanning = true;
  void daemon.scanned?.then(() => {
    scanning = false;
  });
  const missing = () => sets.some((set) => entryOf(daemon, set) === undefined);
  while (scanning && missing()) await new Promise((resolve) => setTimeout(resolve, 20));
}

function entryOf(daemon: Daemon, { identity }: DemoSet) {
  return daemon.registry.entries.find((one) => one.identity === identity);
}

/** Some ports of a simulated set are not the usual ones, which need root: told as for any set behind a forwarded port. */
async function introducePorts(daemon: Daemon, sets: readonly DemoSet[]): Promise<void> {
  for (const set of sets) {
    const entry = entryOf(daemon, set);
    if (entry) await daemon.registry.change(entry.id, { ports: set.ports });
  }
}

/** What to type in the second terminal: each line as it stands. */
const lines = [
  "devices",
  'key home -d "Living Room"',
  'state "Living Room"',
  'launch netflix -d "Living Room"',
  "home -d Bedroom",
  "pair Kitchen",
  "on -d Kitchen",
];

function introduction({ url, socket }: Daemon, sets: readonly DemoSet[], alone: boolean): string {
  const address = (url ?? "").replace("http://", "");
  const rows = sets.map(({ name, model, access }) => `  ${name.padEnd(13)} ${model.padEnd(17)} ${access}`);
  const compiled = isCompiled(runningNow());
  const program = compiled ? "zapd" : "npx zapd";
  const where = compiled ? "In a second terminal" : "In a second terminal, in this folder";
  const choose = alone ? [] : [`  export ZAPD_SOCKET=${shellWord(socket ?? "")}`];
  return `zapd ${version} · demo: five simulated sets, nothing leaves this machine

${rows.join("\n")}

API     ${url}

${where}:
${[...choose, ...lines.map((line) => `  ${program} ${line}`)].join("\n")}

or with curl:
  curl -s ${address}/devices
  curl -s -X POST ${address}/devices/Living%20Room/remote/key -d '{"key":"home"}'

Ctrl-C ends the demo. What is done to its sets is told here:

`;
}

/** The developer password of the set that has one. */
export const password = "rokudev";

/** A simulated set that runs. */
interface DemoSet {
  readonly name: string;
  /** What the table says of it. */
  readonly model: string;
  readonly access: string;
  /** As the registry knows it. */
  readonly identity: string;
  /** Those that are not the usual ones, by the platform's words for them. */
  readonly ports: Ports;
  stop(): Promise<void>;
}

/** Starts a set at an address of its own, and tells what it does. */
type Starter = (own: string, tell: (name: string, text: string) => void) => Promise<DemoSet>;

const roku =
  (options: RokuSimulatorOptions, model: string, access: string): Starter =>
  async (own, tell) => {
    const { name } = options;
    const { host, port } = await placeAt(own, 8060);
    const simulator = createRokuSimulator({ ...options, host, port, onEvent: ({ text }) => tell(name, text) });
    await simulator.start();
    const known = Object.entries(simulator.ports).filter((pair): pair is [string, number] => pair[1] !== null);
    const ports = Object.fromEntries(known);
    return { name, model, access, identity: simulator.serial, ports, stop: () => simulator.stop() };
  };

const kodi: Starter = async (own, tell) => {
  const name = "Cinema";
  const { host, port } = await placeAt(own, 8080);
  const tcp = await placeAt(own, 9090);
  const simulator = createKodiSimulator({
    name,
    host,
    port,
    tcpPort: tcp.host === host ? tcp.port : 0,
    mdns: true,
    onEvent: ({ text }) => tell(name, text),
  });
  await simulator.start();
  const ports = { websocket: simulator.ports.tcp ?? 0, wake: simulator.ports.wake };
  return { name, model: "Kodi", access: "full access", identity: simulator.uuid, ports, stop: () => simulator.stop() };
};

const webos: Starter = async (own, tell) => {
  const name = "Kitchen";
  const { host, port } = await placeAt(own, 3001);
  const plain = await placeAt(own, 3000);
  const simulator = createWebosSimulator({
    name,
    host,
    securePort: port,
    plainPort: plain.host === host ? plain.port : 0,
    promptMs: 2_000,
    onEvent: ({ text }) => tell(name, text),
  });
  await simulator.start();
  const ports = { plain: simulator.ports.plain ?? 0, wake: simulator.ports.wake };
  const access = "to be paired";
  return { name, model: "LG TV", access, identity: simulator.uuid, ports, stop: () => simulator.stop() };
};

const starters: readonly Starter[] = [
  roku({ name: "Living Room", kind: "tv", screenSize: "43" }, 'Roku TV, 43"', "full access"),
  roku(
    { name: "Bedroom", kind: "stick", access: "limited" },
    "streaming stick",
    "limited (keys refused, as new firmware does)",
  ),
  roku({ name: "Workbench", kind: "tv", developer: { password } }, "developer set", `password "${password}"`),
  kodi,
  webos,
];

/** Each set has an address of its own where the system gives loopback more than one, as Linux does. */
async function placeAt(own: string, usual: number): Promise<{ host: string; port: number }> {
  const host = (await canBind(own, 0)) ? own : "127.0.0.1";
  return { host, port: host === own && (await canBind(own, usual)) ? usual : 0 };
}

function canBind(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.on("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
