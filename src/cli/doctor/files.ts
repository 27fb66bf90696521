/** Checks of what is on disk: the config and the state folder. */
import { randomBytes } from "node:crypto";
import { access, constants, readdir, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../api/errors.ts";
import { shellWord } from "../print.ts";
import { homely } from "../words.ts";
import { type Finding, fail, ok, warn } from "./check.ts";
import { octal } from "./daemon.ts";
import type { ConfigFound, Examination } from "./examination.ts";

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
  const asked = await exam.ask<ConfigFound["config"]>("GET", "/config", 2_000);
  if (!asked.ok) return [];
  const { redactConfig } = await import("../../config/schema.ts");
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
