/**
 * The control socket is also the lock of a state folder: the process that binds it is the daemon. A stale socket is taken
 * over only after a connect has failed, by one starting daemon at a time. File calls are synchronous, because waking a thread
 * takes longer than the call, and nothing else is to be done yet.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { lstat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import {
  isAlive,
  isOwnFile,
  longestSocketPath,
  makeFolder,
  readRegularFile,
  scarcityHint,
  tryRemove,
} from "../system/files.ts";
import { isForeign } from "../system/owners.ts";
import { until } from "../system/sleep.ts";
import { tryOr } from "../system/try-or.ts";
import { currentRuntime, type Listener } from "./runtime.ts";

/** A daemon that is still opening its state answers only after that. */
const askTimeoutMs = 1_500;
/** A daemon that has bound its port may not have bound its socket yet. */
const startupOverlapMs = 600;
const takeoverMs = 5_000;
/** A daemon that was killed while starting leaves its lock file, which is ignored after this. */
const staleLockMs = 3_000;
/** How often a daemon looks for its socket. Where somebody has removed it, it is there again after two looks. */
const watchEveryMs = 500;
const comesBackMs = 3 * watchEveryMs;

/**
 * Binds the socket with `listen`, 0600. Fails where the path is too long, a daemon runs, or something else is in its place.
 * `by`: the setting that names the path, where it is not in the state folder. `usual`: the path in the state folder. A daemon
 * writes where its socket is into a note beside `usual`, because two daemons of one state would overwrite each other's changes.
 */
export async function claimSocket<T>(
  path: string,
  listen: (path: string) => Promise<T>,
  by?: "daemon.socket" | undefined,
  usual = path,
): Promise<T> {
  const bytes = Buffer.byteLength(path);
  if (bytes > longestSocketPath) {
    throw new ZapdError(
      "config_invalid",
      `The path of the control socket has ${bytes} bytes, but a socket path may have at most ${longestSocketPath}: ${path}`,
      { hint: "Set daemon.socket to a shorter path, or $ZAPD_STATE_DIR to a shorter folder" },
    );
  }
  const isElsewhere =
    path !== usual && (basename(path) !== basename(usual) || !isSameFolder(dirname(path), dirname(usual)));
  const locks: string[] = [];
  const lock = async (socket: string, named?: "daemon.socket" | undefined) => {
    makeFolder(dirname(socket), named);
    await lockStart(`${socket}.starting`, named);
    locks.push(`${socket}.starting`);
  };
  let holder: string | undefined;
  const note = readNote(usual);
  if (note && note.pid > 0 && note.pid !== process.pid && isAlive(note.pid) && !existsSync(note.path))
    await until(() => isHeld(note.path), { timeoutMs: comesBackMs, everyMs: 50 });
  try {
    if (isElsewhere)
      await lock(usual).catch((error: unknown) => {
        // On a read-only or full disk no other daemon can change the state either.
        if (!isUnwritable(error)) throw error;
      });
    try {
      await lock(path, by);
    } catch (error) {
      // A daemon may run from when the disk was still writable.
      if (await isHeld(path)) throw await alreadyRunningError(path);
      throw error;
    }
    holder = await holderOf(path, usual);
    if (holder === undefined) {
      const bound = await bind(path, listen);
      noteAt(usual, path);
      return bound;
    }
  } finally {
    locks.forEach(tryRemove);
  }
  // Asked after the locks are released, because the other daemon may answer slowly.
  const status = await askStatus(holder);
  const { state_folder } = status;
  const isOfOther = !isOfState(status, usual);
  if (isOfOther && isElsewhere && holder === path)
    throw new ZapdError(
      "storage_error",
      `Another zapd has the control socket ${path}: the one with the state ${state_folder}`,
      {
        hint: "Set daemon.socket to another path, or use the one that runs",
      },
    );
  if (!isOfOther || holder !== notedAt(usual)) throw await alreadyRunningError(holder, status);
  // The note is of a daemon that was killed, and a daemon of another state uses its socket now.
  removeNote(usual);
  if (holder === notedAt(usual)) throw await alreadyRunningError(holder, status);
  return claimSocket(path, listen, by, usual);
}

/**
 * Watches a bound socket: one that somebody has removed is bound again with `listen`, so that commands and other daemons find
 * it. `failed` gets why that is not possible; `lost` is called once another daemon has the state. Gives the function that
 * ends the watch. `by` and `usual` as for `claimSocket`.
 */
export function watchSocket(
  path: string,
  by: "daemon.socket" | undefined,
  usual: string,
  bound: Listener,
  to: { listen(path: string): Promise<Listener>; failed(error: unknown): void; lost(error: ZapdError): void },
): () => void {
  let listener: Listener | undefined = bound;
  let own = statsOf(path)?.ino;
  const check = async () => {
    // Not synchronous: a disk that hangs must not stop the daemon.
    const found = await lstat(path).catch(() => undefined);
    if (found && (!found.isSocket() || found.ino === own)) return;
    const holder = await holderOf(path, usual);
    if (holder !== undefined) {
      const status = await askStatus(holder);
      // Some file systems change the number of a file.
      if (status.pid === process.pid) own = found?.ino;
      else if (typeof status.pid === "number") {
        const error = await alreadyRunningError(holder, status);
        if (isOfState(status, usual)) to.lost(error);
        else to.failed(error);
      }
    } else if (listener) {
      // Closing removes the file at the path, under Deno some moments later: the next check binds.
      listener.close();
      listener = undefined;
      own = undefined;
    } else {
      listener = await claimSocket(path, to.listen, by, usual);
      own = statsOf(path)?.ino;
    }
  };
  let isChecking = false;
  const timer = setInterval(() => {
    if (isChecking) return;
    isChecking = true;
    void check()
      .catch(to.failed)
      .finally(() => {
        isChecking = false;
      });
  }, watchEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** The socket of the daemon that has this path or this state; `undefined` where none listens. */
async function holderOf(path: string, usual: string): Promise<string | undefined> {
  for (const one of new Set([path, usual])) if (statsOf(one) && (await isHeld(one))) return one;
  const noted = notedAt(usual);
  return noted !== undefined && (await isHeld(noted)) ? noted : undefined;
}

/** Whether a program listens on a socket. Where as many callers wait as it lets wait, only a call tells (Linux: connect(2), EAGAIN). */
export async function isHeld(path: string): Promise<boolean> {
  const runtime = currentRuntime();
  if (await runtime.isListening(path)) return true;
  const signal = AbortSignal.timeout(askTimeoutMs);
  return runtime.call(path, { method: "HEAD", path: "/", signal }).then(
    () => true,
    // A call that gets no answer in time was connected.
    (error: unknown) => signal.aborted || systemCode(error) === "EAGAIN",
  );
}

const noteOf = (usual: string) => `${usual}.at`;

/** The path of the socket in the note, and the daemon that has written it: `NaN` where an older one has. */
function readNote(usual: string): { readonly path: string; readonly pid: number } | undefined {
  const [path, pid] = tryOr(() => readRegularFile(noteOf(usual), longestSocketPath + 32), null)?.split("\n") ?? [];
  return path ? { path, pid: Number.parseInt(pid ?? "", 10) } : undefined;
}

const notedAt = (usual: string) => readNote(usual)?.path;

/** Whether a daemon uses the state folder of the path `usual`, or does not say which. */
function isOfState({ state_folder }: Status, usual: string): boolean {
  return typeof state_folder !== "string" || isSameFolder(state_folder, dirname(usual));
}

/** Writes none where the disk is full or read-only, or a file of the user has that name. */
function noteAt(usual: string, path: string): void {
  removeNote(usual);
  tryOr(() => writeFileSync(noteOf(usual), `${path}\n${process.pid}\n`, { mode: 0o600, flag: "wx" }), undefined);
}

function removeNote(usual: string): void {
  if (isOwnFile(noteOf(usual))) tryRemove(noteOf(usual));
}

function isSameFolder(one: string, other: string): boolean {
  return tryOr(() => realpathSync(one) === realpathSync(other), one === other);
}

async function bind<T>(path: string, listen: (path: string) => Promise<T>): Promise<T> {
  removeStale(path);
  // The umask, because a chmod after the bind leaves a moment in which others could connect.
  const before = process.umask(0o077);
  try {
    const listening = await listen(path);
    chmodSync(path, 0o600);
    return listening;
  } catch (cause) {
    const reason = systemCode(cause) || textOf(cause);
    throw new ZapdError("storage_error", `The control socket ${path} could not be created (${reason})`, {
      hint: scarcityHint(reason) ?? "Set daemon.socket to a path on a disk that supports sockets",
      cause,
    });
  } finally {
    process.umask(before);
  }
}

/** Whether a write failed because the disk is read-only or full. */
export function isUnwritable(error: unknown): boolean {
  const code = systemCode(error instanceof ZapdError ? error.cause : error);
  return code === "EROFS" || code === "ENOSPC" || code === "EDQUOT";
}

/** Binds the port with `listen`. Fails with who has the port, and with `mend`, how to choose another. Never takes another port by itself. */
export async function claimPort<T>(
  place: { hostname: string; port: number },
  socket: string,
  listen: () => Promise<T>,
  mend = "Set daemon.http_port in the config to a free port",
): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    if (await until(() => isHeld(socket), { timeoutMs: startupOverlapMs })) throw await alreadyRunningError(socket);
    const code = systemCode(cause);
    const reason = code === "EADDRINUSE" ? "another program uses it" : code || textOf(cause);
    // A machine may have IPv6 alone.
    const other = /^(127\.0\.0\.1|localhost)$/.test(place.hostname) ? "::1" : "127.0.0.1";
    const usual =
      code === "EADDRNOTAVAIL"
        ? `This machine does not have that address: set daemon.http_host in the config to another, such as ${other}`
        : code === "EACCES"
          ? `Your user may not listen on so low a port. ${mend}, from 1024 on`
          : `${mend}, or end the program that uses this one`;
    const hint = scarcityHint(code) ?? usual;
    throw new ZapdError("storage_error", `Port ${place.port} on ${place.hostname} cannot be used: ${reason}`, {
      hint,
      cause,
    });
  }
}

/** Removes the socket. Gives false where something else is in its place, which stays. */
export function releaseSocket(path: string, usual = path): boolean {
  if (notedAt(usual) === path) removeNote(usual);
  const found = statsOf(path);
  const isOurs = found === undefined || (found.isSocket() && !isForeign(found));
  if (isOurs) rmSync(path, { force: true });
  return isOurs;
}

async function lockStart(path: string, by = "$ZAPD_STATE_DIR"): Promise<void> {
  if (await until(() => tryLock(path, by), { timeoutMs: takeoverMs, everyMs: 25 })) return;
  throw new ZapdError("storage_error", `Another zapd has been starting for ${takeoverMs / 1000} s`, {
    hint: `If no zapd is starting, remove ${path}`,
  });
}

/** Tries to create the lock file. Removes a stale one, for the next try. */
function tryLock(path: string, by: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") {
      const mend = isUnwritable(error) ? "Its disk is full or read-only: correct that" : "Check its mode and its owner";
      throw new ZapdError("storage_error", `${dirname(path)} could not be written to (${systemCode(error)})`, {
        hint: `${mend}, or choose another with ${by}`,
        cause: error,
      });
    }
  }
  const found = statsOf(path);
  // Lock files are empty, and owned by this user; any other file of that name belongs to the user.
  if (found && (!found.isFile() || found.size > 0 || isForeign(found)))
    throw inTheWayError(path, "of the lock file, and is not from zapd");
  // A time in the future is from before the clock was set back.
  // Where another starting daemon has removed it, or the disk is read-only, the wait for it goes on, or fails with the reason.
  if (found && Math.abs(Date.now() - found.mtimeMs) > staleLockMs) tryRemove(path);
  return false;
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function removeStale(path: string): void {
  const found = statsOf(path);
  if (found === undefined) return;
  if (!found.isSocket()) throw inTheWayError(path, "of the control socket, and is not a socket");
  if (isForeign(found)) throw inTheWayError(path, "of the control socket, and belongs to another user");
  rmSync(path, { force: true });
}

function inTheWayError(path: string, of: string): ZapdError {
  return new ZapdError("storage_error", `${path} is in the way ${of}`, {
    hint: "Move it away, or set daemon.socket to another path",
  });
}

async function alreadyRunningError(path: string, known?: Status): Promise<ZapdError> {
  const { pid } = known ?? (await askStatus(path));
  return new ZapdError(
    "storage_error",
    `zapd is already running with this state folder${typeof pid === "number" ? ` (pid ${pid})` : ""}: its control socket ${path} answers`,
    { hint: "Use the running one, or give this one its own state folder with $ZAPD_STATE_DIR" },
  );
}

interface Status {
  readonly pid?: unknown;
  readonly state_folder?: unknown;
}

/** The status of the daemon on a socket; empty where it does not answer. */
async function askStatus(path: string): Promise<Status> {
  try {
    const runtime = currentRuntime();
    const signal = AbortSignal.timeout(askTimeoutMs);
    const response = await runtime.call(path, { method: "GET", path: "/v1/daemon/status", signal });
    return ((await response.json()) as { data?: object }).data ?? {};
  } catch {
    return {};
  }
}
