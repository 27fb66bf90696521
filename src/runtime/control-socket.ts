/**
 * The control socket is also the lock of a state folder: who can bind it is the daemon. A stale one is taken over only
 * after a connect has failed, by one starter at a time. Files are asked for at once, not by way of threads: nothing else
 * is there to be done yet, and waking a thread takes longer than what it would do.
 */
import { chmodSync, closeSync, lstatSync, openSync, rmSync, type Stats, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { makeFolder } from "../system/files.ts";
import { isStrange } from "../system/owners.ts";
import { until } from "../system/sleep.ts";
import { currentRuntime } from "./runtime.ts";

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
const maxPath = 107;
/** A daemon that is still opening its state answers when it has. */
const askTimeoutMs = 1_500;
/** One that has the port may be about to bind its socket: the two lie moments apart. */
const soonMs = 600;
const takeoverMs = 5_000;
/** A starter that was killed while it took over leaves its mark: it counts no more after this. */
const markStaleMs = 3_000;

/**
 * Binds the socket with `listen`, 0600, or fails: the path is too long, a daemon runs, or something else is in its place. `by`
 * is the setting that names it, where it is not in the state folder.
 */
export async function claimSocket<T>(
  path: string,
  listen: (path: string) => Promise<T>,
  by?: "daemon.socket" | undefined,
): Promise<T> {
  // Not a Buffer: making the first one takes longer than binding the socket.
  const bytes = new TextEncoder().encode(path).length;
  if (bytes > maxPath) {
    throw new ZapdError(
      "config_invalid",
      `The path of the control socket has ${bytes} bytes, and sockets take at most ${maxPath}: ${path}`,
      { hint: "Set daemon.socket to a shorter path, or $ZAPD_STATE_DIR to a shorter folder" },
    );
  }
  const mark = `${path}.starting`;
  try {
    makeFolder(dirname(path), by);
    await takeMark(mark, by);
  } catch (error) {
    // Who runs on a disk that was writable when it started says so itself.
    if (await answers(path)) throw await running(path);
    throw error;
  }
  try {
    // Where nothing at all is, nobody need be asked.
    if (!exists(path) || !(await answers(path))) return await bind(path, listen);
  } finally {
    removeMark(mark);
  }
  // Asked when others may go on: who runs may be slow to say.
  throw await running(path);
}

async function bind<T>(path: string, listen: (path: string) => Promise<T>): Promise<T> {
  removeStale(path);
  // It has the mode of its making until another is set: whoever opened it in between would be let in.
  const before = process.umask(0o077);
  try {
    const listening = await listen(path);
    chmodSync(path, 0o600);
    return listening;
  } finally {
    process.umask(before);
  }
}

/** Whether a failure says that the disk takes nothing at all: it is read-only, or full. */
export function isUnwritable(error: unknown): boolean {
  const code = systemCode(error instanceof ZapdError ? error.cause : error);
  return code === "EROFS" || code === "ENOSPC" || code === "EDQUOT";
}

/** Binds the port with `listen`, or fails saying who has it, and `mend`: how another is chosen. Never takes another port instead. */
export async function claimPort<T>(
  place: { hostname: string; port: number },
  socket: string,
  listen: () => Promise<T>,
  mend = "Set daemon.http_port in the config to a free port",
): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    if (await until(() => answers(socket), { timeoutMs: soonMs })) throw await running(socket);
    const taken = systemCode(cause) === "EADDRINUSE";
    const reason = taken ? "it is taken by another program" : systemCode(cause) || textOf(cause);
    throw new ZapdError("storage_error", `Port ${place.port} on ${place.hostname} cannot be used: ${reason}`, {
      hint: `${mend}, or end the program that has this one`,
      cause,
    });
  }
}

/** Removes the socket at the end, if it is still there; false when something else has taken its place, which stays. */
export function releaseSocket(path: string): boolean {
  const found = exists(path);
  const isOurs = found === undefined || (found.isSocket() && !isStrange(found));
  if (isOurs) rmSync(path, { force: true });
  return isOurs;
}

/** Whether anyone listens on the socket. */
export async function answers(path: string): Promise<boolean> {
  return currentRuntime().answers(path);
}

async function takeMark(mark: string, by = "$ZAPD_STATE_DIR"): Promise<void> {
  if (await until(() => tryMark(mark, by), { timeoutMs: takeoverMs, everyMs: 25 })) return;
  throw new ZapdError("storage_error", `Another zapd has been starting for ${takeoverMs / 1000} s`, {
    hint: `If none is, remove ${mark}`,
  });
}

/** Whether the mark is ours now; one that is stale is removed. */
function tryMark(mark: string, by: string): boolean {
  try {
    closeSync(openSync(mark, "wx", 0o600));
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") {
      const mend = isUnwritable(error) ? "Its disk is full or read-only: mend that" : "Check its mode and who owns it";
      throw new ZapdError("storage_error", `${dirname(mark)} could not be written to (${systemCode(error)})`, {
        hint: `${mend}, or choose another with ${by}`,
        cause: error,
      });
    }
  }
  const found = exists(mark);
  // Marks are empty files of our own. What else has that name is the user's.
  if (found && (!found.isFile() || found.size > 0 || isStrange(found)))
    throw inTheWay(mark, "of the start, and zapd did not make it");
  // One from the future is from before the clock was set back.
  if (found && Math.abs(Date.now() - found.mtimeMs) > markStaleMs) removeMark(mark);
  return false;
}

function removeMark(mark: string): void {
  try {
    unlinkSync(mark);
  } catch {
    // Another starter has taken it for stale, or the disk takes nothing: who waits for it is told then.
  }
}

function exists(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function removeStale(path: string): void {
  const found = exists(path);
  if (found === undefined) return;
  if (!found.isSocket()) throw inTheWay(path, "of the control socket, and it is no socket");
  if (isStrange(found)) throw inTheWay(path, "of the control socket, and another user's");
  rmSync(path, { force: true });
}

function inTheWay(path: string, of: string): ZapdError {
  return new ZapdError("storage_error", `${path} is in the way ${of}`, {
    hint: "Move it away, or set daemon.socket to another path",
  });
}

async function running(path: string): Promise<ZapdError> {
  const pid = await pidBehind(path);
  return new ZapdError(
    "storage_error",
    `zapd is already running on this state${pid === null ? "" : ` (pid ${pid})`}: its control socket ${path} answers`,
    { hint: "Use the one that runs, or give this one a state of its own with $ZAPD_STATE_DIR" },
  );
}

/** Who listens, in their own words; `null` when what listens says nothing. */
async function pidBehind(path: string): Promise<number | null> {
  try {
    const runtime = currentRuntime();
    const signal = AbortSignal.timeout(askTimeoutMs);
    const response = await runtime.call(path, { method: "GET", path: "/v1/daemon/status", signal });
    const { data } = (await response.json()) as { data?: { pid?: unknown } };
    return typeof data?.pid === "number" ? data.pid : null;
  } catch {
    return null;
  }
}
