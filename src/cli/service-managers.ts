/** What a service manager is to zapd, and how its programs are run. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { exits, systemCode } from "../api/errors.ts";
import { configPath, stateFolder } from "../config/paths.ts";
import { makeFolder, writeWhole } from "../system/files.ts";
import { CommandError } from "./failure.ts";

/** What a program did; `status` is `null` when there is no such program. */
export interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export type Run = (program: string, words: readonly string[]) => Promise<Ran>;

interface ServiceState {
  readonly installed: boolean;
  /** Whether it is started at login. */
  readonly enabled: boolean;
  readonly running: boolean;
}

export interface Manager {
  /** What the service is called there. */
  readonly name: string;
  /** The file that describes it, and its text as it would be now. */
  readonly file: string;
  readonly text: string;
  /** What stands in every file that zapd wrote: one without it is somebody else's. */
  readonly mark: string;
  /** How its log is read. */
  readonly log: string;
  /** Fails with CommandError when the manager is not there. */
  ready(): Promise<void>;
  state(): Promise<ServiceState>;
  /** Has it run what the file says, from now on and at each login; `changed` when the file is another than before. */
  start(changed: boolean): Promise<void>;
  /** Ends it, and takes it from those that are started. The file is still there. */
  stop(): Promise<void>;
  /** After the file has been removed. */
  forget(): Promise<void>;
  /** What else its owner should know. */
  advice(): Promise<string[]>;
}

const programWithin = 30_000;

export const runProgram: Run = (program, words) =>
  new Promise((resolve) => {
    execFile(program, [...words], { timeout: programWithin, encoding: "utf8" }, (error, out, err) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ status: status === null && systemCode(error) !== "ENOENT" ? -1 : status, out, err });
    });
  });

/** Runs a program that must succeed. */
async function mustRun(run: Run, program: string, words: readonly string[]): Promise<string> {
  const { status, out, err } = await run(program, words);
  if (status === 0) return out;
  const reason = err.trim().split("\n")[0] || `it ended with ${status}`;
  throw new CommandError(`${[program, ...words].join(" ")} failed: ${reason}`, exits.failed);
}

/** The file as it is, or `null`. Fails with CommandError when somebody else has written it. */
export async function ownFile(path: string, mark: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${path} could not be read (${systemCode(error)})`, exits.failed);
  });
  if (text === null || text.includes(mark)) return text;
  throw new CommandError(
    `${path} is there already, and zapd did not write it`,
    exits.failed,
    "Move it away; nothing was changed",
  );
}

/** Writes the file unless it says the same already; whether it did. */
export async function writeFileOf(path: string, text: string, before: string | null): Promise<boolean> {
  if (before === text) return false;
  makeFolder(dirname(path));
  await writeWhole(path, text);
  return true;
}

export interface Owner {
  readonly home: string;
  readonly uid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const unit = "zapd.service";
const printInstead = "`zapd service install --print` shows what would be installed, for what else starts programs here";

export function systemd(program: Program, { home, env }: Owner, run: Run): Manager {
  const systemctl = (...words: string[]) => mustRun(run, "systemctl", ["--user", ...words]);
  const says = async (...words: string[]) => (await run("systemctl", ["--user", ...words])).out.trim();
  return {
    name: unit,
    file: join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "systemd", "user", unit),
    text: unitText(program),
    mark: unitMark,
    log: "journalctl --user -u zapd -f",
    async ready() {
      const { status, err } = await run("systemctl", ["--user", "show", "--property=Version"]);
      if (status === 0) return;
      if (status === null)
        throw new CommandError(
          "there is no systemctl here: this system is not run by systemd",
          exits.failed,
          printInstead,
        );
      const reason = err.trim().split("\n")[0] || `systemctl ended with ${status}`;
      const hint = `Log in as the user itself, not by su or sudo. ${printInstead}`;
      throw new CommandError(`your user has no systemd to talk to (${reason})`, exits.failed, hint);
    },
    async state() {
      const [active, enabled, path] = await Promise.all([
        says("is-active", unit),
        says("is-enabled", unit),
        says("show", unit, "--property=FragmentPath", "--value"),
      ]);
      return { installed: path !== "", enabled: enabled === "enabled", running: /^(active|activating)$/.test(active) };
    },
    async start(changed) {
      await systemctl("daemon-reload");
      await systemctl("enable", ...(changed ? [] : ["--now"]), unit);
      if (changed) await systemctl("restart", unit);
    },
    async stop() {
      await systemctl("disable", "--now", unit);
    },
    async forget() {
      await systemctl("daemon-reload");
    },
    async advice() {
      const { out } = await run("loginctl", ["show-user", "--property=Linger", "--value"]);
      if (out.trim() === "yes") return [];
      return ["It runs while you are logged in. To have it run from boot on: loginctl enable-linger"];
    },
  };
}

const polls = 50;
const pollEvery = 100;

export function launchd(program: Program, { home, uid }: Owner, run: Run): Manager {
  const logs = join(home, "Library", "Logs", "zapd");
  const file = join(home, "Library", "LaunchAgents", `${label}.plist`);
  const domain = `gui/${uid}`;
  const service = `${domain}/${label}`;
  const printed = () => run("launchctl", ["print", service]);
  const loaded = async () => (await printed()).status === 0;
  const unload = async () => {
    if (!(await loaded())) return;
    await mustRun(run, "launchctl", ["bootout", service]);
    // It returns before the daemon has ended, and a bootstrap before that fails.
    for (let poll = 0; poll < polls && (await loaded()); poll++) await sleep(pollEvery);
  };
  return {
    name: label,
    file,
    text: plistText(program, logs),
    mark: plistMark,
    log: `tail -f ${join(logs, "zapd.log")}`,
    async ready() {
      if ((await run("launchctl", ["print", domain])).status === 0) return;
      const hint = `It takes a login at the screen of the Mac. ${printInstead}`;
      throw new CommandError("launchd has no session of your user to run it in", exits.failed, hint);
    },
    async state() {
      const { status, out } = await printed();
      return { installed: status === 0, enabled: status === 0, running: /^\s*pid = \d+/m.test(out) };
    },
    async start(changed) {
      makeFolder(logs);
      if (changed) await unload();
      if (await loaded()) return void (await mustRun(run, "launchctl", ["kickstart", service]));
      await mustRun(run, "launchctl", ["enable", service]);
      await mustRun(run, "launchctl", ["bootstrap", domain, file]);
    },
    stop: unload,
    async forget() {},
    async advice() {
      return [
        "macOS asks once whether zapd may find devices. Should none be found: System Settings > Privacy & Security > Local Network",
      ];
    },
  };
}

/** The words of the command line, and the variables that it needs to find the same config and state. */
export interface Program {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where a config and a state are looked for: a service manager does not know what a shell has set. */
const variables = ["ZAPD_CONFIG", "ZAPD_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] as const;

type Environment = Readonly<Record<string, string | undefined>>;

export interface Running {
  readonly execPath: string;
  /** The script, or a path inside the binary. */
  readonly script: string;
  readonly deno: boolean;
}

export function runningNow(): Running & { readonly compiled: boolean } {
  const script = process.argv[1] ?? "";
  return {
    execPath: process.execPath,
    script,
    deno: process.versions["deno"] !== undefined,
    compiled: isCompiled(script),
  };
}

function isCompiled(script: string): boolean {
  return /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i.test(script);
}

/** Fails with CommandError where the command line would be more than a path and a script. */
export function programOf({ execPath, script, deno }: Running, env: Environment, config?: string): Program {
  if (deno)
    throw new CommandError(
      "no service is installed from under deno",
      exits.unsupported,
      "Install it with the binary; or have what starts programs here run `deno task start`",
    );
  const words = [execPath, ...(isCompiled(script) ? [] : [resolve(script)]), "serve"];
  if (config !== undefined) words.push("--config", resolve(config));
  const known = variables.flatMap((name): [string, string][] => {
    const value = env[name];
    return value ? [[name, resolve(value)]] : [];
  });
  const all = [...words, ...known.flat()];
  if (all.some((word) => /[\x00-\x1f\x7f]/.test(word)))
    throw new CommandError("a path with a control character in it can stand in no service", exits.failed);
  return { words, env: Object.fromEntries(known) };
}

/** What stays when the service goes. */
export function keptPlaces(env: Environment, config?: string): { config: string; state: string } {
  return { config: resolve(configPath(env, config)), state: resolve(stateFolder(env)) };
}

/** npm keeps what `npx` ran only for a while. */
export function isPassing({ words }: Program): boolean {
  return words.some((word) => /[\\/]_npx[\\/]/.test(word));
}

/** The first line of what zapd writes: a unit without it is somebody else's. */
const unitMark = "# Written by `zapd service install`; `zapd service uninstall` removes it.";

/** SECURITY.md 4: the daemon ends with 78 when its config must be mended, and starting it again would not help. */
const configExit = 78;

/** Each of these holds in a user unit: they need no more than no_new_privs and seccomp. */
const hardening = [
  "NoNewPrivileges=yes",
  "LockPersonality=yes",
  "RestrictNamespaces=yes",
  "RestrictRealtime=yes",
  "RestrictSUIDSGID=yes",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "SystemCallArchitectures=native",
  "UMask=0077",
];

/** The text of `zapd.service`. */
export function unitText({ words, env }: Program): string {
  // Without the colon systemd would put variables in the place of `$NAME`.
  const literal = words.some((word) => word.includes("$")) ? ":" : "";
  return [
    unitMark,
    "[Unit]",
    "Description=zapd, one daemon for every TV and media player in the house",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${literal}${words.map(unitWord).join(" ")}`,
    ...Object.entries(env).map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`),
    "Restart=on-failure",
    "RestartSec=2",
    `RestartPreventExitStatus=${configExit}`,
    ...hardening,
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** One word of a unit (systemd.syntax(7), systemd.unit(5)): in quotes, escaped as in C, its per cent signs doubled. */
export function unitWord(word: string): string {
  return `"${word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
}

export const label = "local.zapd";

/** In what zapd writes: an agent without it is somebody else's. */
const plistMark = "<!-- Written by zapd service install; zapd service uninstall removes it. -->";

/** Here launchd cannot be told to leave the daemon alone after exit status 78: it tries again, but seldom. */
const throttleSeconds = 30;
const umask = 0o077;

/** The text of `local.zapd.plist`; what the daemon says goes to a file in `logs`. */
export function plistText({ words, env }: Program, logs: string): string {
  const variables = Object.entries(env);
  const entries = [
    entry("Label", text(label)),
    entry("ProgramArguments", array(words)),
    ...(variables.length > 0 ? [entry("EnvironmentVariables", dict(variables))] : []),
    entry("RunAtLoad", "<true/>"),
    entry("KeepAlive", "<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>"),
    entry("ThrottleInterval", `<integer>${throttleSeconds}</integer>`),
    entry("Umask", `<integer>${umask}</integer>`),
    entry("StandardOutPath", text(`${logs}/zapd.log`)),
    entry("StandardErrorPath", text(`${logs}/zapd.log`)),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
${plistMark}
<plist version="1.0">
<dict>
${entries.join("\n")}
</dict>
</plist>
`;
}

function entry(key: string, value: string): string {
  return `\t<key>${escaped(key)}</key>\n\t${value}`;
}

function text(value: string): string {
  return `<string>${escaped(value)}</string>`;
}

function array(values: readonly string[]): string {
  return `<array>\n${values.map((value) => `\t\t${text(value)}`).join("\n")}\n\t</array>`;
}

function dict(values: readonly (readonly [string, string])[]): string {
  const lines = values.map(([key, value]) => `\t\t<key>${escaped(key)}</key>\n\t\t${text(value)}`);
  return `<dict>\n${lines.join("\n")}\n\t</dict>`;
}

const entities = new Map(Object.entries({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" }));

function escaped(value: string): string {
  return value.replace(/[&<>"']/g, (character) => entities.get(character) ?? character);
}
