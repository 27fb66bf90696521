/** Checks of the daemon itself: whether it runs, its port, its socket, its config and its state folder. */
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { access, constants, lstat, readdir, readlink, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode, ZapdError } from "../api/errors.ts";
import { operationRoutes } from "../api/routes.ts";
import { redactConfig } from "../config/schema.ts";
import { longestSocketPath, tryRemove } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { octal } from "../system/owners.ts";
import { checkOwners } from "../system/state-folder.ts";
import { shellQuote, tildePath } from "../system/text.ts";
import { tryOr } from "../system/try-or.ts";
import { version } from "../system/version.ts";
import {
  type ConfigFound,
  type DaemonFound,
  type Examination,
  type Finding,
  fail,
  type Machine,
  ok,
  warn,
} from "./examination.ts";

export async function daemonRuns(exam: Examination): Promise<Finding[]> {
  const daemon = await exam.daemon();
  if (daemon.state !== "running") return [await notRunningFinding(daemon.state, exam)];
  const found = [ok(`daemon running (pid ${daemon.status.pid}), config ${tildePath(exam.configFile)}`)];
  if (daemon.status.version !== version) {
    const text = `the daemon is zapd ${daemon.status.version}, this command is ${version}`;
    found.push({ ...warn(text, "Restart the daemon, so that it runs the installed version"), id: "version" });
  }
  const health = await exam.ask("health", {}, 2_000);
  const { config, warnings: ofLines, modeWarnings } = await exam.config();
  const configWarnings = new Set([...ofLines, ...modeWarnings]);
  // The check of the broker says it too.
  const ofBroker = config.mqtt.url === "" ? null : (daemon.status.mqtt?.problem ?? null);
  const isNew = (one: string) => !configWarnings.has(one) && (ofBroker === null || !one.includes(ofBroker));
  const warnings = health.ok ? health.data.warnings.filter(isNew) : [];
  return [...found, ...warnings.map((one) => ({ ...warn(one), id: "health" }))];
}

async function notRunningFinding(as: Exclude<DaemonFound["state"], "running">, exam: Examination): Promise<Finding> {
  const path = tildePath(exam.socket);
  if (as === "forbidden")
    return fail(
      `the control socket ${path} belongs to another user, or its folder is closed to you`,
      "Run this as the user who owns the daemon, or name your own socket with --socket",
    );
  if (as === "silent")
    return fail(
      `the daemon listens on ${path}, but does not answer`,
      "It hangs or is stopped: read its log, then end it and start it again",
    );
  const { http_enabled, http_host, http_port } = (await exam.config()).config.daemon;
  const holder = http_enabled ? await portHolder(http_host, http_port, exam.machine) : null;
  const port = holder ? `held by ${holder.is}` : "free";
  const stale = as === "stale" ? `; a stale socket is left at ${path}; the next start replaces it` : "";
  if (!holder && http_enabled && lacksLoopback(http_host, exam.machine))
    return fail(`the daemon is not running, and this machine has no ${http_host} now`, loopbackHint);
  if (!holder && http_enabled && (await isForRoot(http_port, exam.machine)))
    return fail(
      `the daemon is not running, and your user may not listen on so low a port as its ${http_port}`,
      "Set daemon.http_port in the config to a free port, from 1024 on",
    );
  const text = `the daemon is not running${http_enabled ? `; its port ${http_port} is ${port}` : ""}${stale}`;
  if (!holder) return fail(text, "Start it with `zapd serve`, or once and for all with `zapd service install`");
  if (holder.zapd) {
    const status = await readApi(http_host, http_port, operationRoutes.status.path);
    if (status?.["socket"] === "")
      return fail(
        text,
        "That zapd has no control socket, so no command reaches it: only HTTP calls do. End it, and run `zapd serve` in its place",
      );
    if (status?.["socket"] === exam.socket)
      return fail(
        text,
        `That zapd makes its control socket, ${path}, again within seconds; if it does not, restart it`,
      );
    if (typeof status?.["socket"] === "string" && (await isOfAnother(status["socket"], exam.machine)))
      return fail(
        text,
        "That zapd is another user's. To run your own beside it, set daemon.http_port in the config to a free port",
      );
    return fail(text, `That zapd has another socket than ${path}: name it with --socket or --config`);
  }
  return fail(text, "Set daemon.http_port in the config to a free port, or end that program");
}

/** Whether a socket is not this user's own: another's lies in a folder that only its user can enter. */
async function isOfAnother(socket: string, { uid }: Machine): Promise<boolean> {
  const found = await lstat(socket).catch(systemCode);
  return typeof found === "string" ? found === "EACCES" : found.uid !== uid;
}

const isForRoot = async (port: number, { uid, read }: Machine) =>
  uid !== 0 && port < Number(await read("/proc/sys/net/ipv4/ip_unprivileged_port_start"));

const loopbackHint =
  "Turn its loopback interface on (Linux: sudo ip link set lo up), or set daemon.http_host in the config to ::1";

/** Whether nothing can be reached at an address of this machine, because its loopback interface is down or lacks it. */
const lacksLoopback = (host: string, { interfaces }: Machine) =>
  host.startsWith("127.") && !interfaces().some((one) => one.loopback);

export async function portBound(exam: Examination): Promise<Finding[]> {
  const daemon = await exam.daemon();
  if (daemon.state !== "running") return [];
  const { http_enabled, http_host, http_port, pid, socket } = daemon.status;
  // Embedded in another server, zapd does not listen itself.
  if (socket === "") return [];
  if (!http_enabled) return [ok("HTTP is off (daemon.http_enabled): zapd listens only on its control socket")];
  const place = `port ${http_port} on ${http_host}`;
  const listeningPid = (await readApi(http_host, http_port, operationRoutes.status.path))?.["pid"];
  if (listeningPid === pid) return [ok(place)];
  if (listeningPid === undefined && !(await exam.machine.isListening(http_host, http_port)))
    return lacksLoopback(http_host, exam.machine)
      ? [fail(`${place} cannot be reached: this machine has no ${http_host} now`, loopbackHint)]
      : [fail(`nothing listens on ${place}`, "Restart the daemon")];
  const hint = "End that program and restart the daemon, or set daemon.http_port to a free port";
  return [fail(`${place} is used by another program, not by the daemon`, hint)];
}

export async function socketPrivate(exam: Examination): Promise<Finding[]> {
  const { socket, stateFolder, machine } = exam;
  if (machine.uid === null) return [];
  const bytes = Buffer.byteLength(socket);
  if (bytes > longestSocketPath) {
    const text = `the path of the control socket has ${bytes} bytes, but a socket path may have at most ${longestSocketPath}: ${socket}`;
    return [fail(text, "Set daemon.socket to a shorter path, or $ZAPD_STATE_DIR to a shorter folder")];
  }
  const file = await lstat(socket).catch(() => null);
  if (file === null) return [];
  const path = tildePath(socket);
  if (!file.isSocket()) return [fail(`${path} is not a socket`, "Move it away, or set daemon.socket to another path")];
  const folder = dirname(socket);
  const folderFound = await stat(folder);
  const found: Finding[] = [];
  if (file.uid !== machine.uid) found.push(wrongOwner(path, file.uid, machine.uid, "Use your own daemon"));
  if ((file.mode & 0o777) !== 0o600)
    found.push(fail(`${path} has the mode ${octal(file)}, not 0600`, `chmod 600 ${shellQuote(socket)}`));
  if ((folderFound.mode & 0o077) !== 0) {
    // A folder that others use must stay open to them, so the socket has to move.
    const restrict = `chmod 700 ${shellQuote(folder)}`;
    const hint = folder === stateFolder ? restrict : "Put it in a folder of its own with daemon.socket in the config";
    found.push(warn(`the folder of the socket, ${tildePath(folder)}, is open to others (${octal(folderFound)})`, hint));
  }
  if (found.length > 0) return found;
  return (await exam.daemon()).state === "running" ? [ok(`socket 0600 in a 0700 folder, ${path}`)] : [];
}

function wrongOwner(what: string, owner: number, uid: number, hint: string): Finding {
  return fail(`${what} belongs to user ${owner}, and you are ${uid}`, hint);
}

export async function configValid(exam: Examination): Promise<Finding[]> {
  const path = tildePath(exam.configFile);
  const file = await stat(exam.configFile).catch((error: unknown) => systemCode(error));
  const other = exam.remarks.map((one) => warn(one, "To use that config, start a daemon with it"));
  if (file === "ENOENT") return [...other, ok(`no config at ${path}: every setting has its default`)];
  const found = await exam.config();
  if (found.broken !== null) return [fail(found.broken.message, found.broken.hint)];
  const findings = found.warnings.map((one) => warn(one, "Correct or remove that line"));
  findings.push(...found.modeWarnings.map((one) => warn(one)));
  if (typeof file !== "string" && exam.machine.uid !== null)
    findings.push(...permissions(file, found, exam.configFile));
  findings.push(...other, ...(await differences(found, exam)));
  return findings.length > 0 ? findings : [ok("config valid")];
}

function permissions(found: Stats, { config }: ConfigFound, path: string): Finding[] {
  if ((found.mode & 0o044) === 0 || config.dev.vendor_password === "") return [];
  const text = `other users may read the developer password in the config (${octal(found)})`;
  return [warn(text, `chmod 600 ${shellQuote(path)}`)];
}

/** Compares the settings that the daemon reports with those of the file, which also finds a daemon that reads another file. */
async function differences({ config }: ConfigFound, exam: Examination): Promise<Finding[]> {
  const found = await exam.daemon();
  if (found.state !== "running") return [];
  const answer = await exam.ask("readConfig", {}, 2_000);
  if (!answer.ok) return [];
  if (JSON.stringify(answer.data) !== JSON.stringify(redactConfig(config))) {
    const text = `the daemon reads another config than ${tildePath(exam.configFile)}`;
    return [warn(text, "Name the config that it was started with: zapd doctor --config FILE")];
  }
  const { daemon } = config;
  const { status } = found;
  const changed = (["http_enabled", "http_host", "http_port"] as const).filter((key) => daemon[key] !== status[key]);
  if (changed.length === 0) return [];
  const settings = changed.map((key) => `daemon.${key}`).join(", ");
  return [warn(`${settings} changed in the config since the daemon started`, "Restart the daemon")];
}

const mebibyte = 1024 * 1024;
/** Below this the state of a house full of devices may not fit. */
const littleSpace = 50 * mebibyte;
const orAnotherFolder = "or choose another with $ZAPD_STATE_DIR";
const anotherFolder = `Make yourself the owner with chown, ${orAnotherFolder}`;
const writableDisk = `Make the disk writable, ${orAnotherFolder}`;
const diskFull = (path: string) =>
  fail(`the disk of ${path} is full`, "Free some space: zapd cannot save anything now");

export async function stateWritable({ stateFolder, machine }: Examination): Promise<Finding[]> {
  const path = tildePath(stateFolder);
  try {
    checkOwners(stateFolder);
  } catch (error) {
    if (error instanceof ZapdError) return [fail(`${error.message}: no daemon starts with it`, error.hint)];
  }
  const folder = await stat(stateFolder).catch(() => null);
  if (folder === null) return [await futureFolder(stateFolder)];
  if (!folder.isDirectory())
    return [fail(`${path} is not a folder`, "Move it away, or choose another with $ZAPD_STATE_DIR")];
  if (machine.uid !== null && folder.uid !== machine.uid)
    return [wrongOwner(path, folder.uid, machine.uid, anotherFolder)];
  const mode = octal(folder);
  const failure = await tryToWrite(stateFolder);
  if (failure === "ENOSPC") return [diskFull(path)];
  if (failure === "EROFS") return [fail(`${path} is on a read-only disk`, writableDisk)];
  if (failure !== null)
    return [
      fail(
        `${path} cannot be written to (${failure}, mode ${mode})`,
        `chmod 700 ${shellQuote(stateFolder)}, ${orAnotherFolder}`,
      ),
    ];
  const findings = [...(await space(stateFolder, path)), ...(await setAside(stateFolder))];
  return findings.length > 0 ? findings : [ok(`state folder writable, ${path}`)];
}

/** Writes and removes a file; gives the system's code of a failure. A killed process leaves a name that the daemon sweeps. */
async function tryToWrite(folder: string): Promise<string | null> {
  const path = join(folder, `.doctor.${process.pid}-${randomBytes(4).toString("hex")}.tmp`);
  try {
    await writeFile(path, "zapd\n", { mode: 0o600, flag: "wx" });
    return null;
  } catch (error) {
    return systemCode(error) || "unknown";
  } finally {
    tryRemove(path);
  }
}

async function space(folder: string, path: string): Promise<Finding[]> {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return [];
  const freeBytes = disk.bavail * disk.bsize;
  if (freeBytes < mebibyte || (disk.files > 0 && disk.ffree === 0)) return [diskFull(path)];
  if (freeBytes >= littleSpace) return [];
  return [warn(`only ${Math.floor(freeBytes / mebibyte)} MiB are left on the disk of ${path}`, "Free some space")];
}

/** A warning of the last damaged file that the daemon kept aside. */
async function setAside(folder: string): Promise<Finding[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.includes(".corrupt-")).sort();
  const hint = "Remove it if nothing is missing in `zapd devices`";
  return names.slice(-1).map((name) => warn(`a damaged file was kept as ${name}`, hint));
}

/** The finding for a state folder that does not exist: the first start makes it, if the nearest folder above is writable. */
async function futureFolder(folder: string): Promise<Finding> {
  let above = dirname(folder);
  while ((await stat(above).catch(() => null)) === null && dirname(above) !== above) above = dirname(above);
  const failure = await access(above, constants.W_OK).then(() => null, systemCode);
  const path = tildePath(folder);
  if (failure === null) return ok(`the state folder ${path} is created at the first start`);
  const text = `the state folder ${path} cannot be created: ${tildePath(above)} is not writable (${failure})`;
  return fail(text, failure === "EROFS" ? writableDisk : anotherFolder);
}

/** A daemon on a busy machine may answer late: it must not be taken for another program. */
const answerTimeoutMs = 3_000;
const maxAnswer = 64 * 1024;

/** The program that listens on a port, and whether it is a zapd; `null` where none listens. */
async function portHolder(host: string, port: number, machine: Machine): Promise<{ is: string; zapd: boolean } | null> {
  if (!(await machine.isListening(host, port))) return null;
  const { version, uptime_s } = (await readApi(host, port, operationRoutes.health.path)) ?? {};
  if (typeof version === "string" && typeof uptime_s === "number")
    return { is: `another zapd (${version.slice(0, 32)})`, zapd: true };
  const program = { linux: programInProc, darwin: programByLsof }[machine.platform];
  return { is: (await program?.(port, machine)) ?? "another program", zapd: false };
}

/** The data that a zapd on a port answers; `null` where there is none. Not by `fetch`, which may go through a proxy. */
function readApi(host: string, port: number, path: string): Promise<Readonly<Record<string, unknown>> | null> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(answerTimeoutMs);
    // Not an import, which would add half a megabyte of bytecode to the binary.
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
  const answer = tryOr((): unknown => JSON.parse(text), null);
  return isObject(answer) && answer["ok"] === true && isObject(answer["data"]) ? answer["data"] : null;
}

/** Finds the program by the inode of the listening socket in `/proc/net/tcp`; only among processes of this user. */
async function programInProc(port: number, machine: Machine): Promise<string | null> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => machine.read(path)));
  const inode = inodeOf(tables.map((table) => table ?? "").join("\n"), port);
  if (inode === null) return null;
  for (const pid of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if ((await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")) !== `socket:[${inode}]`) continue;
      return `${(await machine.read(`/proc/${pid}/comm`))?.trim() || "a program"} (pid ${pid})`;
    }
  }
  return null;
}

/** The inode of the socket that listens (state 0A) on a port, from `/proc/net/tcp`. */
export function inodeOf(table: string, port: number): string | null {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return rows.find(([, local, , state]) => local?.endsWith(`:${hex}`) && state === "0A")?.[9] ?? null;
}

async function programByLsof(port: number, machine: Machine): Promise<string | null> {
  const text = await machine.output("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"]);
  const [pid, program] = [/^p(\d+)$/m, /^c(.+)$/m].map((pattern) => pattern.exec(text ?? "")?.[1]);
  return pid === undefined || program === undefined ? null : `${program} (pid ${pid})`;
}
