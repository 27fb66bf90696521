/**
 * The control socket is also the lock of a state folder: who can bind it is the daemon. A stale one is taken over only
 * after a connect has failed, by one starter at a time. Files are asked for at once, not by way of threads: nothing else
 * is there to be done yet, and waking a thread takes longer than what it would do.
 */
import { chmodSync, closeSync, lstatSync, openSync, rmSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { makeFolder } from "../system/files.ts";
import { isStrange } from "../system/owners.ts";
import { currentRuntime } from "./runtime.ts";

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
const maxPath = 107;
/** A daemon that is still opening its state answers when it has. */
const askAtMost = 1_500;
const soonTries = 8;
const soonEvery = 75;
const takeoverAtMost = 5_000;
/** A starter that was killed while it took over leaves its mark: it counts no more after this. */
const markStaleAfter = 3_000;

/** Binds the socket with `listen`, 0600, or fails: the path is too long, a daemon runs, or something else is in its place. */
export async function claimSocket<T>(path: string, listen: (path: string) => Promise<T>): Promise<T> {
  // Not a Buffer: making the first one takes longer than binding the socket.
  const bytes = new TextEncoder().encode(path).length;
  if (bytes > maxPath) {
    throw new ZapdError(
      "config_invalid",
      `The path of the control socket has ${bytes} bytes, and sockets take at most ${maxPath}: ${path}`,
      {
        hint: "Set daemon.socket to a shorter path, or $ZAPD_STATE_DIR to a shorter folder",
      },
    );
  }
  const mark = `${path}.starting`;
  try {
    makeFolder(dirname(path));
    await takeMark(mark);
  } catch (error) {
    // Who runs on a disk that was writable when it started says so itself.
    if (await answers(path)) throw await running(path);
    throw error;
  }
  try {
    if (isFree(path) || !(await answers(path))) return await bind(path, listen);
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

/** Binds the port with `listen`, or fails saying who has it. Never takes another port instead. */
export async function claimPort<T>(
  place: { hostname: string; port: number },
  socket: string,
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    if (await answersSoon(socket)) throw await running(socket);
    const taken = systemCode(cause) === "EADDRINUSE";
    const reason = taken ? "it is taken by another program" : systemCode(cause) || textOf(cause);
    throw new ZapdError("storage_error", `Port ${place.port} on ${place.hostname} cannot be used: ${reason}`, {
      hint: "Set daemon.http_port in the config to a free port, or end the program that has this one",
      cause,
    });
  }
}

/** One that has the port may be about to bind its socket: the two lie moments apart. */
async function answersSoon(socket: string): Promise<boolean> {
  for (let tries = 0; tries < soonTries; tries++) {
    if (await answers(socket)) return true;
    await new Promise((resolve) => setTimeout(resolve, soonEvery));
  }
  return false;
}

/** Removes the socket at the end, if it is still there; false when something else has taken its place, which stays. */
export function releaseSocket(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true;
  if (!found.isSocket() || isStrange(found)) return false;
  rmSync(path, { force: true });
  return true;
}

/** Whether anyone listens on the socket. */
export async function answers(path: string): Promise<boolean> {
  return currentRuntime().answers(path);
}

async function takeMark(mark: string): Promise<void> {
  const until = performance.now() + takeoverAtMost;
  for (;;) {
    try {
      closeSync(openSync(mark, "wx", 0o600));
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST")
        throw new ZapdError("storage_error", `${dirname(mark)} could not be written to (${systemCode(error)})`, {
          cause: error,
        });
    }
    const found = lstatSync(mark, { throwIfNoEntry: false });
    // Marks are empty files of our own. What else has that name is the user's.
    if (found && (!found.isFile() || found.size > 0 || isStrange(found)))
      throw new ZapdError("storage_error", `${mark} is in the way of the start, and zapd did not make it`, {
        hint: "Move it away, or set daemon.socket to another path",
      });
    const made = found?.mtimeMs ?? Date.now();
    // One from the future is from before the clock was set back.
    if (Math.abs(Date.now() - made) > markStaleAfter && removeMark(mark)) continue;
    if (performance.now() > until)
      throw new ZapdError("storage_error", `Another zapd has been starting for ${takeoverAtMost / 1000} s`, {
        hint: `If none is, remove ${mark}`,
      });
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** False when it cannot be removed. */
function removeMark(mark: string): boolean {
  try {
    unlinkSync(mark);
    return true;
  } catch (error) {
    // Another starter has taken it for stale.
    return systemCode(error) === "ENOENT";
  }
}

/** Whether nothing at all is there, so that nobody need be asked. */
function isFree(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

function removeStale(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new ZapdError("storage_error", `${path} is in the way of the control socket, and it is no socket`, {
      hint: "Move it away, or set daemon.socket to another path",
    });
  if (isStrange(found))
    throw new ZapdError("storage_error", `${path} is in the way of the control socket, and another user's`, {
      hint: "Move it away, or set daemon.socket to another path",
    });
  rmSync(path, { force: true });
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
    const signal = AbortSignal.timeout(askAtMost);
    const response = await runtime.call(path, { method: "GET", path: "/v1/daemon/status", signal });
    const { data } = (await response.json()) as { data?: { pid?: unknown } };
    return typeof data?.pid === "number" ? data.pid : null;
  } catch {
    return null;
  }
}
