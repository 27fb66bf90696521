/** `zapd demo`: eight simulated sets and a daemon with a temporary state folder. No packet leaves this machine, and no file stays. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exits, systemCode, textOf, ZapdError } from "../api/errors.ts";
import { type Daemon, startDaemon } from "../daemon.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { developerPassword, type StartedSet, sets, startSet } from "../simulators/demo-sets.ts";
import { scarcityHint } from "../system/files.ts";
import { createLog } from "../system/log.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { shellQuote } from "../system/text.ts";
import { version } from "../system/version.ts";
import { type Context, stderr } from "./context.ts";
import { UsageError } from "./failure.ts";
import { runningDaemons, writeNote } from "./running.ts";
import { exitSoon, logUncaughtErrors, start } from "./serve.ts";
import { isCompiled, runningNow } from "./service-managers.ts";
import { untilSignal } from "./signals.ts";

const usualPort = 7272;
/** How often the demo searches for its own sets. */
const mostScans = 3;

export async function demo(context: Context): Promise<number> {
  const port = Number(context.option("port") ?? usualPort);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--port needs a number from 1 to 65535");
  try {
    return await run(context, port);
  } catch (cause) {
    const code = systemCode(cause);
    if (cause instanceof ZapdError || code === "") throw cause;
    const needed = `It needs the address 127.0.0.1, and a folder in ${tmpdir()}: $TMPDIR chooses another`;
    const hint = scarcityHint(code) ?? needed;
    throw new ZapdError("storage_error", `The demo could not start (${textOf(cause)})`, { hint, cause });
  }
}

async function run(context: Context, port: number): Promise<number> {
  process.umask(0o077);
  const folder = mkdtempSync(join(tmpdir(), "zapd-demo-"));
  const running: StartedSet[] = [];
  const write = (line: string) => void stderr().write(line);
  const log = createLog({ level: "warn", format: "text", colour: false, write });
  logUncaughtErrors(log);
  const stopped = untilSignal();
  try {
    const tell = (text: string) => show(`${printable(text)}\n`);
    for (const [at, set] of sets.entries()) running.push(await startSet(set, `127.0.0.${at + 2}`, tell));
    const config = join(folder, "config.toml");
    writeFileSync(config, configOf(port), { mode: 0o600 });
    // Two demos would find each other's sets, which claim to be the same.
    const otherPort = (await runningDaemons()).some(({ kind }) => kind === "demo")
      ? "Use the demo that runs already"
      : `Choose a free one, such as zapd demo --port ${port < 65_535 ? Math.max(port, usualPort) + 1 : port - 1}`;
    const state = join(folder, "state");
    const page = !context.flag("no-page");
    const daemon = await start(log, () => startDaemon({ config, state, log, page, otherPort }));
    if (typeof daemon === "number") return daemon;
    await Promise.race([waitForDiscovery(daemon, running), stopped]);
    const removeNote = daemon.socket === null ? () => {} : writeNote(daemon.socket, "demo");
    show(introduction(daemon, await isOnlyDaemon(context, daemon), page));
    await stopped;
    removeNote();
    await daemon.stop();
    return exits.ok;
  } finally {
    // A set that could not start as a whole is not stopped.
    exitSoon();
    await Promise.all(running.map((set) => set.simulator.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes to stdout. When its reader has gone the demo ends as with Ctrl-C, so that its folder is removed. */
function show(text: string): void {
  if (process.stdout.listenerCount("error") === 0)
    process.stdout.on("error", () => process.kill(process.pid, "SIGTERM"));
  process.stdout.write(text);
}

/**
 * Whether commands find this daemon by themselves: by its note, with no daemon at the usual place, which goes first, and no
 * other one anywhere.
 */
async function isOnlyDaemon(context: Context, { socket }: Daemon): Promise<boolean> {
  if (await currentRuntime().isListening(context.socket())) return false;
  const running = await runningDaemons();
  return running.length === 1 && running[0]?.socket === socket;
}

function configOf(port: number): string {
  return [
    "# The config of the demo; it is deleted with the demo.",
    `[daemon]\nhttp_port = ${port}\nlog_level = "warn"`,
    '[discovery]\ninterfaces = ["127.0.0.1"]\ninterval_s = 60',
    `[dev]\nvendor_password = "${developerPassword}"`,
    "",
  ].join("\n\n");
}

/**
 * Waits until every set is found, which takes a busy machine more than one scan, then records the ports that are not the
 * standard ones (those need root), as a user does for a device behind a forwarded port.
 */
async function waitForDiscovery({ registry, scanned, scan }: Daemon, running: readonly StartedSet[]): Promise<void> {
  const all = running.flatMap(({ parts }) => parts);
  const entries = () => all.map((part) => registry.records.find(({ identity }) => identity === part.identity));
  const isOneMissing = () => entries().includes(undefined);
  let scanning = true;
  const search = async () => {
    await scanned;
    for (let scans = 1; scans < mostScans && isOneMissing(); scans++) await scan();
  };
  void search().finally(() => {
    scanning = false;
  });
  while (scanning && isOneMissing()) await sleep(20);
  for (const [at, entry] of entries().entries())
    if (entry) await registry.change(entry.id, { ports: all[at]?.ports() ?? {} });
}

/** Commands to try in a second terminal. */
const lines = [
  "devices",
  'key home -d "Living Room"',
  'state "Living Room"',
  'launch netflix -d "Living Room"',
  "home -d Bedroom",
  "pair Kitchen",
  "on -d Kitchen",
];

function introduction({ url, socket }: Daemon, alone: boolean, hasPage: boolean): string {
  const address = (url ?? "").replace("http://", "");
  const rows = sets.map(({ name, model, access }) => `  ${name.padEnd(13)} ${model.padEnd(17)} ${access}`);
  const compiled = isCompiled(runningNow());
  const program = compiled ? "zapd" : "npx zapd";
  const where = compiled ? "In a second terminal" : "In a second terminal, in this folder";
  const choose = alone ? [] : [`  export ZAPD_SOCKET=${shellQuote(socket ?? "")}`];
  return `zapd ${version} · demo: eight simulated sets, nothing leaves this machine

${rows.join("\n")}

${hasPage ? `Page    ${(url ?? "").replace(/v1$/, "")}\n` : ""}API     ${url}

${where}:
${[...choose, ...lines.map((line) => `  ${program} ${line}`)].join("\n")}

or with curl:
  curl -s ${address}/devices
  curl -s -X POST ${address}/devices/Living%20Room/remote/key -d '{"key":"home"}'

Ctrl-C ends the demo. What is done to its sets is told here:

`;
}
