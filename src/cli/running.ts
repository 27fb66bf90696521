/**
 * Finds daemons that run elsewhere than at the usual place, such as the demo: each writes a note with its socket into a folder
 * that only its user may write. A note that another user could have written is ignored. A daemon may run without a note.
 */
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { absolute, configPath, stateFolder } from "../config/paths.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { isAlive, readRegularFile } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { shellQuote, tildePath } from "../system/text.ts";
import type { Context } from "./context.ts";
import { CommandError, notRunning } from "./failure.ts";
import { tryCall } from "./requests.ts";

/** Whether `zapd serve` or `zapd demo` started the daemon. */
export type Kind = "serve" | "demo";

/** What a daemon writes about itself. */
interface DaemonNote {
  readonly pid: number;
  readonly kind: Kind;
  readonly socket: string;
}

const name = /^(\d{1,10})\.json$/;
const mostBytes = 4_096;
/** Notes read at most, because a person waits for the command. */
const mostNotes = 64;

/** Where notes may be: in the runtime folder of the login, and in the temporary folder. */
function noteFolders(): string[] {
  try {
    const runtime = absolute(process.env["XDG_RUNTIME_DIR"]);
    const uid = process.getuid?.();
    const shared = join(tmpdir(), uid === undefined ? "zapd-run" : `zapd-run-${uid}`);
    return [...(runtime ? [join(runtime, "zapd")] : []), shared];
  } catch {
    // Deno may not be permitted to say who the user is.
    return [];
  }
}

/** Whether a file belongs to this user, and nobody else may write it. */
function isOurs(path: string, is: "isDirectory" | "isSocket"): boolean {
  try {
    const found = lstatSync(path);
    const uid = process.getuid?.();
    return found[is]() && (uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0));
  } catch {
    return false;
  }
}

const isOurFolder = (path: string) => isOurs(path, "isDirectory");

/** Writes the note of this daemon, where it can, and gives the function that removes it. */
export function writeNote(socket: string, kind: Kind): () => void {
  const note: DaemonNote = { pid: process.pid, kind, socket };
  for (const folder of noteFolders()) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch {
      // It exists or cannot be made; its owner is checked next.
    }
    if (!isOurFolder(folder)) continue;
    const path = join(folder, `${process.pid}.json`);
    try {
      sweep(folder);
      writeFileSync(path, `${JSON.stringify(note)}\n`, { mode: 0o600, flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch {
      // The next folder may take it.
    }
  }
  return () => {};
}

/** Removes the notes of daemons that were killed, and of an earlier process with our pid. */
function sweep(folder: string): void {
  for (const file of readdirSync(folder)) {
    const pid = Number(name.exec(file)?.[1]);
    if (pid === process.pid || (pid > 0 && !isAlive(pid))) rmSync(join(folder, file), { force: true });
  }
}

/** The daemons of this user that wrote a note and answer, by pid. */
export async function runningDaemons(): Promise<DaemonNote[]> {
  const noted = noteFolders().filter(isOurFolder).flatMap(notesIn);
  const answering = await Promise.all(
    noted.map(({ socket }) => isOurs(socket, "isSocket") && currentRuntime().isListening(socket)),
  );
  const sockets = new Set<string>();
  return noted
    .filter(({ socket }, at) => answering[at] && !sockets.has(socket) && sockets.add(socket))
    .sort((one, other) => one.pid - other.pid);
}

function notesIn(folder: string): DaemonNote[] {
  return readdirSync(folder)
    .filter((file) => name.test(file))
    .slice(0, mostNotes)
    .flatMap((file) => readNote(join(folder, file)) ?? []);
}

function readNote(path: string): DaemonNote | null {
  try {
    const value: unknown = JSON.parse(readRegularFile(path, mostBytes) ?? "");
    if (!isObject(value)) return null;
    const { pid, kind, socket } = value;
    if (typeof pid !== "number" || typeof socket !== "string" || !socket.startsWith("/")) return null;
    return { pid, kind: kind === "demo" ? "demo" : "serve", socket };
  } catch {
    return null;
  }
}

/**
 * Makes the context use the only daemon that runs, after the call of the usual one failed with `error`. False where there is
 * none, or the usual one is meant. Fails with CommandError where there are several.
 */
export async function useOnlyRunningDaemon(context: Context, error: unknown): Promise<boolean> {
  if (context.otherSocket === null || isDaemonChosen(context) || !isNotListening(error)) return false;
  const usual = context.socket();
  // The daemon at the usual socket was called already, and has ended.
  const running = (await runningDaemons()).filter(({ socket }) => socket !== usual);
  const [only] = running;
  if (only === undefined) return false;
  if (running.length > 1) throw ambiguousDaemons(running);
  context.otherSocket = only.socket;
  return true;
}

/** What `zapd doctor` says where several daemons run, none at the usual place; `null` otherwise. */
export async function severalDaemons(context: Context): Promise<ReturnType<typeof describeSeveral> | null> {
  if (isDaemonChosen(context) || (await currentRuntime().isListening(context.socket()))) return null;
  const running = await runningDaemons();
  return running.length > 1 ? describeSeveral(running, " ") : null;
}

/** Whether an option or the environment says which daemon is meant. */
function isDaemonChosen(context: Context): boolean {
  if (context.option("socket") !== undefined || context.option("config") !== undefined) return true;
  return ["ZAPD_SOCKET", "ZAPD_CONFIG", "ZAPD_STATE_DIR"].some((variable) => process.env[variable]);
}

/** Whether nothing listens at the socket: no byte was sent. */
function isNotListening(error: unknown): boolean {
  return !["", "ECONNRESET", "EPIPE", "EAGAIN", "EACCES", "EPERM"].includes(systemCode(error));
}

/** That several daemons run, none at the usual place, and how to select one. */
function describeSeveral(running: readonly DaemonNote[], separator: string) {
  const found = running.map(({ pid, kind, socket }) => `${tildePath(socket)} (${kind}, pid ${pid})`);
  const first = shellQuote(running[0]?.socket ?? "");
  return {
    text: `no daemon runs at the usual place, but ${running.length} run at other places:${separator}${found.join(separator)}`,
    hint: `Select one with --socket, or for this shell: export ZAPD_SOCKET=${first}`,
  };
}

function ambiguousDaemons(running: readonly DaemonNote[]): CommandError {
  const { text, hint } = describeSeveral(running, "\n");
  return new CommandError(text, exits.notRunning, hint, { code: notRunning });
}

interface DaemonPaths {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  /** Whether a daemon answered; its answer is where the paths come from then. */
  readonly running: boolean;
}

/** The paths of the daemon that answers, or those that a daemon would have. */
export async function locateDaemon(context: Context): Promise<DaemonPaths> {
  // A short deadline: the daemon may hang.
  const answer = await tryCall(context, "status", {}, 2_000);
  const status = answer.ok ? answer.data : undefined;
  return {
    configFile: status?.config_file ?? ownConfig(context),
    stateFolder: status?.state_folder ?? stateFolder(process.env),
    socket: context.socket(),
    running: answer.ok,
  };
}

/** The config of `--config`, of $ZAPD_CONFIG, or at the usual place. */
function ownConfig(context: Context): string {
  return resolve(configPath(process.env, context.option("config")));
}

/** The remark that the daemon runs on another config than the one given; `null` where it does not. */
export function configMismatch(context: Context, { running, configFile }: DaemonPaths): string | null {
  const given = context.option("config") !== undefined || process.env["ZAPD_CONFIG"];
  if (!running || !given || configFile === ownConfig(context)) return null;
  return `the running daemon uses ${configFile}, not ${ownConfig(context)}`;
}
