/** `zapd serve`: runs the daemon in the foreground until a signal ends it. */
import { exits, systemCode, textOf, ZapdError } from "../api/errors.ts";
import { configPath, homeFolder, stateFolder } from "../config/paths.ts";
import { type Daemon, startDaemon } from "../daemon.ts";
import { nothingFoundLines } from "../doctor/nothing-found.ts";
import { createLog, type Log } from "../system/log.ts";
import { pluralize, tildePath, withHint } from "../system/text.ts";
import { version } from "../system/version.ts";
import { type Context, stderr } from "./context.ts";
import { UsageError } from "./failure.ts";
import { usesColour } from "./print.ts";
import { writeNote } from "./running.ts";
import { rotating } from "./service-log.ts";
import { untilSignal } from "./signals.ts";

/** EX_CONFIG of sysexits(3): service managers do not restart a daemon whose config must be mended (SECURITY.md 4). */
const exitConfig = 78;

export async function serve(context: Context): Promise<number> {
  const given = context.option("config");
  if (context.option("socket") !== undefined) throw new UsageError(noSocket);
  process.umask(0o077);
  const log = terminalLog(context);
  logUncaughtErrors(log);
  const page = !context.flag("no-page");
  // One that arrives during the start is obeyed after it: the socket would be left behind.
  const stopping = untilSignal().then(() => {
    setTimeout(() => {
      log.error(
        `zapd did not stop within ${stopMs / 1_000} s, usually because the disk does not answer, so it ends now. Every change that was answered is saved`,
      );
      process.exit(exits.failed);
    }, stopMs).unref();
  });
  const started = await start(log, () =>
    startDaemon({ config: configPath(process.env, given), state: stateFolder(process.env), log, page }),
  );
  if (typeof started === "number") {
    exitSoon();
    return started;
  }
  // After the first requests, which may wait already.
  await new Promise((resolve) => setImmediate(resolve));
  const removeNote = started.socket === null ? () => {} : writeNote(started.socket, "serve");
  log.info(
    `zapd ${version} · ${started.url ?? "HTTP is off"} · ${started.socket === null ? "no socket" : `socket ${tildePath(started.socket)}`}`,
  );
  let isStopping = false;
  void started.scanned?.then(() => {
    // The stop cuts a search short, which then has found little.
    if (!isStopping) for (const line of knownLines(started)) log.info(line);
  });
  void started.lost.then((error) => {
    log.error(`stopped: ${withHint(error.message, error.hint)}`);
    removeNote();
    process.exit(exits.failed);
  });
  await stopping;
  isStopping = true;
  removeNote();
  await started.stop();
  log.info("stopped");
  exitSoon();
  return exits.ok;
}

const noSocket = "--socket is for commands that call a daemon; the daemon's own socket is daemon.socket in the config";

/** From the signal to the end where the disk does not answer: shorter than service managers wait (Docker: 10 s). */
const stopMs = 8_000;

/** Errors of reading that may be gone at the next start. */
const passing: ReadonlySet<string> = new Set(["EIO", "EMFILE", "ENFILE", "ENOMEM", "ESTALE"]);

/** Starts a daemon; on failure logs why and gives the exit status. */
export async function start(log: Log, startOne: () => Promise<Daemon>): Promise<Daemon | number> {
  try {
    return await startOne();
  } catch (error) {
    if (!(error instanceof ZapdError)) throw error;
    log.error(withHint(error.message, error.hint));
    return error.code === "config_invalid" && !passing.has(systemCode(error.cause)) ? exitConfig : exits.failed;
  }
}

/** Text on a terminal, JSON lines otherwise. */
function terminalLog(context: Context): Log {
  // Asked at the first line, because making the stream takes longer than binding the port.
  const terminal = () => stderr().isTTY === true;
  const write = (line: string) => void stderr().write(line);
  return createLog({
    level: "info",
    get format() {
      return terminal() ? "text" : "json";
    },
    get colour() {
      return usesColour(terminal(), context.flag("no-color"), process.env);
    },
    write: process.platform === "darwin" ? rotating(write, homeFolder) : write,
  });
}

/** Logs uncaught errors, which then do not end the daemon. */
export function logUncaughtErrors(log: Log): void {
  process.on("unhandledRejection", (reason) =>
    log.error(`uncaught error: ${reason instanceof Error ? (reason.stack ?? reason.message) : textOf(reason)}`),
  );
  process.on("uncaughtException", (error) => log.error(`uncaught error: ${error.stack ?? error.message}`));
}

/** Ends the process within a second: enough to send devices a last message, such as UNSUBSCRIBE, without waiting for answers. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), 1_000).unref();
}

function knownLines(daemon: Daemon): string[] {
  const count = daemon.registry.devices.length;
  if (count === 0) return nothingFoundLines(daemon.interfaces());
  const known = `${pluralize(count, "device")} known`;
  return [`${known}. Ctrl-C stops; \`zapd service install\` keeps it running`];
}
