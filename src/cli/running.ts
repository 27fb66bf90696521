/**
 * The daemons that run: each notes its socket in a folder of its user's alone, so that a command finds one that is not at the
 * usual place, such as the demo. A daemon runs also without a note, and a note that another user could have written is ignored.
 */
import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { configPath, stateFolder } from "../config/paths.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { readRegularFile } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { shellQuote, tildePath } from "../system/text.ts";
import type { Context } from "./context.ts";
import { CommandError, notRunning } from "./failure.ts";
import { tryCall } from "./requests.ts";

/** The daemon of a house, or the one with the simulated sets. */
export type Kind = "serve" | "demo";

/** A daemon, as it has noted itself. */
interface DaemonNote {
  readonly pid: number;
  readonly kind: Kind;
  readonly socket: string;
}

const name = /^(\d{1,10})\.json$/;
const mostBytes = 4_096;
/** Notes that are read at most, since somebody waits meanwhile. */
const mostNotes = 64;

type Environment = Readonly<Record<string, string | undefined>>;

/** Where notes may be: the runtime folder of the login, and one in the temporary folder where there is none. */
function foldersOf(env: Environment): string[] {
  const runtime = env["XDG_RUNTIME_DIR"];
  const uid = process.getuid?.();
  const shared = join(tmpdir(), uid === undefined ? "zapd-run" : `zapd-run-${uid}`);
  return [...(runtime?.startsWith("/") ? [join(runtime, "zapd")] : []), shared];
}

/** Whether a file is ours, and nobody else can write to it. */
function isOurs(path: string, is: (found: { isDirectory(): boolean; isSocket(): boolean }) => boolean): boolean {
  try {
    const found = lstatSync(path);
    const uid = process.getuid?.();
    return is(found) && (uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0));
  } catch {
    return false;
  }
}

const isOurFolder = (path: string) => isOurs(path, (found) => found.isDirectory());

/** Notes a daemon; gives what takes the note away. Where none can be written the daemon runs without. */
export function writeNote(socket: string, kind: Kind): () => void {
  try {
    return noteIn({ pid: process.pid, kind, socket }, foldersOf(process.env));
  } catch {
    // A runtime that does not even say who we are (Deno, without the permission to).
    return () => {};
  }
}

function noteIn(noted: DaemonNote, folders: readonly string[]): () => void {
  for (const folder of folders) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch {
      // It exists, or cannot be made: what counts is whose it is.
    }
    if (!isOurFolder(folder)) continue;
    const path = join(folder, `${process.pid}.json`);
    try {
      sweep(folder);
      writeFileSync(path, `${JSON.stringify(noted)}\n`, { mode: 0o600, flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch {
      // The next folder may take it.
    }
  }
  return () => {};
}

/** Removes the notes of daemons that were killed, and one of a process that had our number before. */
function sweep(folder: string): void {
  for (const file of readdirSync(folder)) {
    const pid = Number(name.exec(file)?.[1]);
    if (pid === process.pid || (pid > 0 && !isAlive(pid))) rmSync(join(folder, file), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) !== "ESRCH";
  }
}

/** The daemons of this user that have noted themselves and answer, in the order of their numbers. */
export async function runningDaemons(): Promise<DaemonNote[]> {
  const noted = foldersOf(process.env).filter(isOurFolder).flatMap(notesIn);
  const answering = await Promise.all(
    noted.map(({ socket }) => isOurs(socket, (found) => found.isSocket()) && currentRuntime().isListening(socket)),
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

/** Turns the context to the one daemon that runs; false where none does. Fails with CommandError where several run. */
export async function useOnlyRunningDaemon(context: Context): Promise<boolean> {
  const usual = context.socket();
  // The usual one was asked already: it has ended since.
  const running = (await runningDaemons()).filter(({ socket }) => socket !== usual);
  const [only] = running;
  if (only === undefined) return false;
  if (running.length > 1) throw ambiguousDaemons(running);
  context.useSocket(only.socket);
  return true;
}

function ambiguousDaemons(running: readonly DaemonNote[]): CommandError {
  const found = running.map(({ pid, kind, socket }) => `${tildePath(socket)} (${kind}, pid ${pid})`);
  const first = shellQuote(running[0]?.socket ?? "");
  return new CommandError(
    `no daemon runs at the usual place, but ${running.length} run elsewhere:\n${found.join("\n")}`,
    exits.notRunning,
    `Say which with --socket, or for this shell: export ZAPD_SOCKET=${first}`,
    { code: notRunning },
  );
}

export interface DaemonPaths {
  readonly configFile: string;
  readonly stateFolder: string;
  readonly socket: string;
  /** Whether a daemon said so. */
  readonly running: boolean;
}

export async function locateDaemon(context: Context): Promise<DaemonPaths> {
  // A daemon that hangs is not waited for.
  const asked = await tryCall(context, "status", {}, 2_000);
  const status = asked.ok ? asked.data : undefined;
  return {
    configFile: status?.config_file ?? ownConfig(context),
    stateFolder: status?.state_folder ?? stateFolder(process.env),
    socket: context.socket(),
    running: asked.ok,
  };
}

/** The config of `--config`, of the environment, or of the usual place. */
function ownConfig(context: Context): string {
  return resolve(configPath(process.env, context.option("config")));
}

/** What to say when the daemon runs on another config than the one that was given for it; `null` when it does not. */
export function configMismatch(context: Context, { running, configFile }: DaemonPaths): string | null {
  const given = context.option("config") !== undefined || process.env["ZAPD_CONFIG"];
  if (!running || !given || configFile === ownConfig(context)) return null;
  return `the daemon that answers runs on ${configFile}, not on ${ownConfig(context)}`;
}
