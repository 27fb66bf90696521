/** Checks of the daemon itself: whether it runs, its port, its socket. */

import { randomBytes } from "node:crypto";
import { access, constants, lstat, readdir, readlink, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../api/errors.ts";
import { endpoints } from "../../api/routes.ts";
import { redactConfig } from "../../config/schema.ts";
import { version } from "../../system/version.ts";
import { homely, shellWord } from "../print.ts";
import {
  type ConfigFound,
  type DaemonStatus,
  type Examination,
  type Finding,
  fail,
  longestSocket,
  type Machine,
  type Met,
  ok,
  warn,
} from "./examination.ts";

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
  const health = await exam.ask("health", {}, 2_000);
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
  const behind = (await readApi(http_host, http_port, endpoints.status.path))?.["pid"];
  if (behind === pid) return [ok("port", place)];
  if (behind === undefined && !(await exam.machine.listens(http_host, http_port)))
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

const mebibyte = 1024 * 1024;
/** Below this the catalog of a house of sets may not fit. */
const littleSpace = 50 * mebibyte;
const noSpace = mebibyte;

export async function configValid(exam: Examination): Promise<Finding[]> {
  const path = homely(exam.configFile);
  const file = await stat(exam.configFile).catch((error: unknown) => systemCode(error));
  const other = exam.remarks.map((one) => warn("config", one, "To use that one, start a daemon with it"));
  if (file === "ENOENT") return [...other, ok("config", `no config at ${path}: every setting has its default`)];
  const found = await exam.config();
  if (found.broken !== null) return [broken(found.broken)];
  const findings = found.warnings.map((one) => warn("config", one, "Mend or remove that line"));
  if (typeof file !== "string" && exam.machine.uid !== null)
    findings.push(...(await permissions(file, found, exam.machine.uid, exam.configFile)));
  findings.push(...other, ...(await differences(found, exam)));
  return findings.length > 0 ? findings : [ok("config", "config valid")];
}

function broken(message: string): Finding {
  const hint = "Mend the file; a daemon that runs goes on with what it had, one that is started now does not start";
  return fail("config", message, hint);
}

async function permissions(
  file: { mode: number; uid: number },
  { config }: ConfigFound,
  uid: number,
  path: string,
): Promise<Finding[]> {
  const mode = octal(file.mode & 0o777);
  if (file.uid !== uid && file.uid !== 0)
    return [fail("config", `the config belongs to user ${file.uid}, and you are ${uid}`, "Use a config of your own")];
  if ((file.mode & 0o022) !== 0)
    return [fail("config", `others may write the config (${mode})`, `chmod 600 ${shellWord(path)}`)];
  if ((file.mode & 0o044) !== 0 && config.dev.vendor_password !== "")
    return [
      warn("config", `others may read the developer password in the config (${mode})`, `chmod 600 ${shellWord(path)}`),
    ];
  return [];
}

/** What the daemon runs with against what the file says: read by the daemon, so that another file is noticed too. */
async function differences({ config }: ConfigFound, exam: Examination): Promise<Finding[]> {
  const met = await exam.met();
  if (met.as !== "running") return [];
  const asked = await exam.ask("readConfig", {}, 2_000);
  if (!asked.ok) return [];
  if (JSON.stringify(asked.data) !== JSON.stringify(redactConfig(config))) {
    const text = `the daemon reads another config than ${homely(exam.configFile)}`;
    return [warn("config", text, "Name the one it was started with: zapd doctor --config FILE")];
  }
  const keys = (["http_enabled", "http_host", "http_port"] as const).filter(
    (key) => config.daemon[key] !== met.status[key],
  );
  if (keys.length === 0) return [];
  const settings = keys.map((key) => `daemon.${key}`).join(", ");
  return [warn("config", `${settings} changed in the config since the daemon started`, "Restart the daemon")];
}

export async function stateWritable(exam: Examination): Promise<Finding[]> {
  const { stateFolder, machine } = exam;
  const path = homely(stateFolder);
  const folder = await stat(stateFolder).catch(() => null);
  if (folder === null) return [await notYet(stateFolder)];
  if (!folder.isDirectory())
    return [fail("state", `${path} is no folder`, "Move it away, or name another with $ZAPD_STATE_DIR")];
  if (machine.uid !== null && folder.uid !== machine.uid)
    return [fail("state", `${path} belongs to user ${folder.uid}, and you are ${machine.uid}`, anotherFolder)];
  const trouble = await tryToWrite(stateFolder);
  if (trouble !== null) return [unwritable(path, trouble)];
  const findings = [...(await space(stateFolder)), ...(await setAside(stateFolder))];
  return findings.length > 0 ? findings : [ok("state", `state folder writable, ${path}`)];
}

const anotherFolder = "Give it back to yourself with chown, or name another with $ZAPD_STATE_DIR";

function unwritable(path: string, code: string): Finding {
  if (code === "ENOSPC")
    return fail("state", `the disk of ${path} is full`, "Make room: nothing can be remembered now");
  if (code === "EROFS") return fail("state", `${path} is on a disk that is read-only`, anotherFolder);
  return fail("state", `${path} cannot be written to (${code})`, anotherFolder);
}

/** Leaves nothing behind; the name is one that the daemon sweeps, should this be killed in between. */
async function tryToWrite(folder: string): Promise<string | null> {
  const path = join(folder, `.doctor.${process.pid}-${randomBytes(4).toString("hex")}.tmp`);
  try {
    await writeFile(path, "zapd\n", { mode: 0o600, flag: "wx" });
    return null;
  } catch (error) {
    return systemCode(error) || "unknown";
  } finally {
    await rm(path, { force: true }).catch(() => {});
  }
}

async function space(folder: string): Promise<Finding[]> {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return [];
  const left = disk.bavail * disk.bsize;
  const amount = `${Math.floor(left / mebibyte)} MiB`;
  if (left < noSpace || (disk.files > 0 && disk.ffree === 0))
    return [fail("state", `the disk of ${homely(folder)} is full`, "Make room: nothing can be remembered now")];
  return left < littleSpace
    ? [warn("state", `only ${amount} are left on the disk of ${homely(folder)}`, "Make room")]
    : [];
}

/** Files that the daemon found damaged and kept. */
async function setAside(folder: string): Promise<Finding[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.corrupt-/.test(name)).sort();
  const last = names.at(-1);
  if (last === undefined) return [];
  const text = `a damaged file was kept aside: ${last}`;
  return [warn("state", text, "Remove it when nothing is missing in `zapd devices`")];
}

/** The folder is made at the first start: the nearest one above it must take it. */
async function notYet(folder: string): Promise<Finding> {
  let above = dirname(folder);
  while ((await stat(above).catch(() => null)) === null && dirname(above) !== above) above = dirname(above);
  const trouble = await access(above, constants.W_OK).then(() => null, systemCode);
  const path = homely(folder);
  if (trouble === null) return ok("state", `the state folder ${path} is made at the first start`);
  return fail(
    "state",
    `the state folder ${path} cannot be made: ${homely(above)} takes no file (${trouble})`,
    anotherFolder,
  );
}

/** Who listens: another zapd, a program by name and pid, or somebody unknown. `null`: nobody. */
type Holder = { readonly zapd: string } | { readonly program: string; readonly pid: number } | "unknown" | null;

const answerTimeoutMs = 1_000;
const maxAnswer = 64 * 1024;

async function holderOf(host: string, port: number, machine: Machine): Promise<Holder> {
  if (!(await machine.listens(host, port))) return null;
  const version = await zapdVersion(host, port);
  if (version !== null) return { zapd: version };
  return (await processAt(port, machine)) ?? "unknown";
}

/** Words for a line of text. */
function holderText(holder: Exclude<Holder, null>): string {
  if (holder === "unknown") return "another program";
  return "zapd" in holder ? `another zapd (${holder.zapd})` : `${holder.program} (pid ${holder.pid})`;
}

/** What the API on a port answers, if it is one. Not `fetch`, which a proxy of the environment would take elsewhere. */
function readApi(host: string, port: number, path: string): Promise<Readonly<Record<string, unknown>> | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    // Not an import: the binary would hold bytecode of it, half a megabyte.
    const request = process
      .getBuiltinModule("node:http")
      .get({ host, port, path: `/v1${path}`, agent: false, signal }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
          if (text.length > maxAnswer) response.destroy();
        });
        response.on("close", () => resolve(dataIn(text)));
      });
    request.on("error", () => resolve(null));
  });
}

function dataIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const { ok, data } = JSON.parse(text) as { ok?: unknown; data?: unknown };
    return ok === true && typeof data === "object" ? (data as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

async function zapdVersion(host: string, port: number): Promise<string | null> {
  const health = await readApi(host, port, endpoints.health.path);
  const { version, uptime_s } = health ?? {};
  return typeof version === "string" && typeof uptime_s === "number" ? version.slice(0, 32) : null;
}

function processAt(port: number, machine: Machine): Promise<Holder> {
  if (machine.platform === "linux") return fromProc(port, machine);
  return machine.platform === "darwin" ? fromLsof(port, machine) : Promise.resolve(null);
}

/** The listening socket's inode in `/proc/net/tcp`, then the process of ours that has it open. */
async function fromProc(port: number, machine: Machine): Promise<Holder> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => machine.read(path)));
  const inode = inodeOf(tables.map((table) => table ?? "").join("\n"), port);
  if (inode === null) return null;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const folder = `/proc/${pid}/fd`;
    for (const fd of await readdir(folder).catch(() => [])) {
      if ((await readlink(`${folder}/${fd}`).catch(() => "")) !== `socket:[${inode}]`) continue;
      return { program: (await machine.read(`/proc/${pid}/comm`))?.trim() || "a program", pid: Number(pid) };
    }
  }
  return null;
}

/** The inode of the socket that listens (state 0A) on a port, from the text of `/proc/net/tcp`. */
export function inodeOf(table: string, port: number): string | null {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  for (const line of table.split("\n")) {
    const words = line.trim().split(/\s+/);
    if (words[1]?.endsWith(`:${hex}`) && words[3] === "0A") return words[9] ?? null;
  }
  return null;
}

async function fromLsof(port: number, machine: Machine): Promise<Holder> {
  const text = await machine.output("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"]);
  const pid = /^p(\d+)$/m.exec(text ?? "")?.[1];
  const program = /^c(.+)$/m.exec(text ?? "")?.[1];
  return pid === undefined || program === undefined ? null : { program, pid: Number(pid) };
}
