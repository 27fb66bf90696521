/** Checks of the daemon itself: whether it runs, its port, its socket. */
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { version } from "../../system/version.ts";
import { shellWord } from "../print.ts";
import { homely } from "../words.ts";
import { type Finding, fail, ok, warn } from "./check.ts";
import { type DaemonStatus, type Examination, longestSocket, type Met } from "./examination.ts";
import { holderOf, holderText, listens, readApi } from "./holder.ts";

const start = "Start it with `zapd serve`, or once and for all with `zapd service install`";

export async function daemonRuns(exam: Examination): Promise<Finding[]> {
  const met = await exam.met();
  if (met.as === "running") return running(met.status, exam);
  const { text, hint } = await absence(met.as, exam);
  return [fail("daemon", text, hint)];
}

async function running(status: DaemonStatus, exam: Examination): Promise<Finding[]> {
  const config = homely(exam.configFile);
  const found = [ok("daemon", `daemon running (pid ${status.pid}), config ${config}`)];
  if (status.version !== version) {
    const text = `the daemon is zapd ${status.version}, this command is ${version}`;
    found.push(warn("version", text, "Restart the daemon to have it run what is installed now"));
  }
  const health = await exam.ask<{ warnings: string[] }>("GET", "/health", 2_000);
  const own = new Set((await exam.config()).warnings);
  const warnings = health.ok ? health.data.warnings.filter((one) => !own.has(one)) : [];
  return [...found, ...warnings.map((one) => warn("health", one))];
}

async function absence(as: Exclude<Met["as"], "running">, exam: Examination): Promise<{ text: string; hint: string }> {
  const path = homely(exam.socket);
  if (as === "forbidden")
    return {
      text: `the control socket ${path} belongs to another user`,
      hint: "Run this as the user whose daemon it is, or give your own with --socket",
    };
  if (as === "silent")
    return {
      text: `the daemon accepts on ${path}, but did not answer within 2 s`,
      hint: "It hangs or is stopped: look at its log, then end it and start it again",
    };
  const { daemon } = (await exam.config()).config;
  const stale = as === "stale" ? `; a stale socket is left at ${path}, which the next start takes over` : "";
  if (!daemon.http_enabled) return { text: `the daemon is not running${stale}`, hint: start };
  const holder = await holderOf(daemon.http_host, daemon.http_port, exam.machine);
  if (holder === null)
    return { text: `the daemon is not running; its port ${daemon.http_port} is free${stale}`, hint: start };
  const held = `the daemon is not running; its port ${daemon.http_port} is held by ${holderText(holder)}${stale}`;
  if (holder !== "unknown" && "zapd" in holder)
    return { text: held, hint: `That one has another socket than ${path}: say which with --socket or --config` };
  return { text: held, hint: "Set daemon.http_port in the config to a free port, or end that program" };
}

export async function portBound(exam: Examination): Promise<Finding[]> {
  const met = await exam.met();
  if (met.as !== "running") return [];
  const { http_enabled, http_host, http_port, pid } = met.status;
  if (!http_enabled) return [ok("port", "HTTP is off (daemon.http_enabled): the control socket is the only door")];
  const place = `port ${http_port} on ${http_host}`;
  const behind = (await readApi(http_host, http_port, "/daemon/status"))?.["pid"];
  if (behind === pid) return [ok("port", place)];
  if (behind === undefined && !(await listens(http_host, http_port)))
    return [fail("port", `nothing listens on ${place}`, "Restart the daemon")];
  const hint = "End that program and restart the daemon, or set daemon.http_port to a free port";
  return [fail("port", `${place} is answered by another program than the daemon`, hint)];
}

export async function socketPrivate(exam: Examination): Promise<Finding[]> {
  const { socket, machine } = exam;
  if (machine.uid === null) return [];
  const bytes = Buffer.byteLength(socket);
  if (bytes > longestSocket) {
    const hint = "Set daemon.socket to a shorter path, or $ZAPD_STATE_DIR to a shorter folder";
    return [
      fail(
        "socket",
        `the path of the control socket has ${bytes} bytes, and sockets take at most ${longestSocket}: ${socket}`,
        hint,
      ),
    ];
  }
  const file = await lstat(socket).catch(() => null);
  if (file === null) return [];
  const path = homely(socket);
  if (!file.isSocket())
    return [fail("socket", `${path} is no socket`, "Move it away, or set daemon.socket to another path")];
  const folder = await lstat(dirname(socket));
  const found: Finding[] = [];
  const mode = file.mode & 0o777;
  if (file.uid !== machine.uid)
    found.push(
      fail("socket", `${path} belongs to user ${file.uid}, and you are ${machine.uid}`, "Use your own daemon"),
    );
  if (mode !== 0o600)
    found.push(fail("socket", `${path} has the mode ${octal(mode)}, not 0600`, `chmod 600 ${shellWord(socket)}`));
  if ((folder.mode & 0o077) !== 0) found.push(openFolder(dirname(socket), folder.mode & 0o777, exam.stateFolder));
  if (found.length > 0) return found;
  return (await exam.met()).as === "running" ? [ok("socket", `socket 0600 in a 0700 folder, ${path}`)] : [];
}

/** A folder that others use as well must stay open to them: the socket moves out. */
function openFolder(path: string, mode: number, stateFolder: string): Finding {
  const own =
    path === stateFolder ? `chmod 700 ${shellWord(path)}` : "Give it a folder of its own: daemon.socket in the config";
  return warn("socket", `the folder of the socket, ${homely(path)}, is open to others (${octal(mode)})`, own);
}

export function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
