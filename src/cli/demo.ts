/**
 * `zapd demo`: three simulated Rokus and a daemon of its own, in a temporary state folder. Nothing leaves this machine,
 * nothing is left behind.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exits } from "../errors.ts";
import { createLog, printable } from "../log.ts";
import { createRokuSimulator, type RokuSimulator, type RokuSimulatorOptions } from "../simulators/roku.ts";
import { version } from "../version.ts";
import type { Daemon } from "../zapd.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./failure.ts";
import { logStream } from "./output.ts";
import { catchStrays, endSoon, start, untilSignal } from "./serve.ts";

const password = "rokudev";
const usualPort = 7272;

interface DemoSet {
  readonly options: RokuSimulatorOptions;
  /** What the table says of it. */
  readonly model: string;
  readonly access: string;
}

const sets: readonly DemoSet[] = [
  { options: { name: "Living Room", kind: "tv", screenSize: "43" }, model: 'Roku TV, 43"', access: "full access" },
  {
    options: { name: "Bedroom", kind: "stick", access: "limited" },
    model: "streaming stick",
    access: "limited (keys refused, as new firmware does)",
  },
  {
    options: { name: "Workbench", kind: "tv", developer: { password } },
    model: "developer set",
    access: `password "${password}"`,
  },
];

export async function demo(context: Context): Promise<number> {
  const given = context.options["port"];
  const port = given === undefined ? usualPort : Number(given);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--port takes a number from 1 to 65535");
  process.umask(0o077);
  const folder = mkdtempSync(join(tmpdir(), "zapd-demo-"));
  const simulators: RokuSimulator[] = [];
  const log = createLog({
    level: "warn",
    format: "text",
    colour: false,
    write: (line) => void logStream().write(line),
  });
  catchStrays(log);
  const stopped = untilSignal();
  try {
    for (const [at, set] of sets.entries()) simulators.push(await startSet(set, at));
    const config = join(folder, "config.toml");
    writeFileSync(config, configOf(port), { mode: 0o600 });
    const daemon = await start(config, join(folder, "state"), log);
    if (typeof daemon === "number") return daemon;
    await Promise.race([found(daemon, simulators), stopped]);
    await introduceDeveloper(daemon, simulators);
    show(introduction(version, daemon));
    await stopped;
    await daemon.stop();
    endSoon();
    return exits.ok;
  } finally {
    await Promise.all(simulators.map((simulator) => simulator.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What nobody reads any more ends the demo as Ctrl-C does, so that nothing is left behind. */
function show(text: string): void {
  if (process.stdout.listenerCount("error") === 0)
    process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
  process.stdout.write(text);
}

/** Each set has an address of its own where the system gives loopback more than one, as Linux does. */
async function startSet({ options }: DemoSet, at: number): Promise<RokuSimulator> {
  const own = `127.0.0.${at + 2}`;
  const host = (await canBind(own, 0)) ? own : "127.0.0.1";
  const port = host === own && (await canBind(own, 8060)) ? 8060 : 0;
  const onEvent: RokuSimulatorOptions["onEvent"] = (event) => {
    show(`${printable(`${options.name.padEnd(12)} ${event.text}`)}\n`);
  };
  const simulator = createRokuSimulator({ ...options, host, port, onEvent });
  await simulator.start();
  return simulator;
}

function canBind(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.on("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
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

/** Waits until all sets have been found over SSDP, or the scan is over. */
async function found(daemon: Daemon, simulators: readonly RokuSimulator[]): Promise<void> {
  let scanning = true;
  void daemon.scanned?.then(() => {
    scanning = false;
  });
  const missing = () =>
    simulators.some(({ serial }) => !daemon.registry.entries.some((entry) => entry.serial === serial));
  while (scanning && missing()) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The developer ports of a simulated set are not the usual ones, which need root: told as for any set behind a forwarded port. */
async function introduceDeveloper(daemon: Daemon, simulators: readonly RokuSimulator[]): Promise<void> {
  for (const { serial, ports } of simulators) {
    const entry = daemon.registry.entries.find((one) => one.serial === serial);
    const known = Object.entries(ports).filter((pair): pair is [string, number] => pair[1] !== null);
    if (entry) await daemon.registry.change(entry.id, { ports: Object.fromEntries(known) });
  }
}

function introduction(version: string, { url, socket }: Daemon): string {
  const address = (url ?? "").replace("http://", "");
  const rows = sets.map(({ options, model, access }) => `  ${options.name.padEnd(13)} ${model.padEnd(17)} ${access}`);
  return `zapd ${version} · demo: three simulated sets, nothing leaves this machine

${rows.join("\n")}

API     ${url}
Try     curl -s ${address}/devices
        curl -s -X POST ${address}/devices/Living%20Room/remote/key -d '{"key":"home"}'
        curl -s ${address}/devices/Living%20Room/state
        curl -s -X POST ${address}/devices/Living%20Room/apps/launch -d '{"app":"netflix"}'
        curl -s -X POST ${address}/devices/Bedroom/remote/key -d '{"key":"home"}'     (see what a refusal says)
        curl -s -X POST ${address}/devices/Workbench/dev/install -F archive=@my-app.zip
CLI     export ZAPD_SOCKET=${socket}     (then zapd devices, zapd state, zapd help)
Stop    Ctrl-C

`;
}
