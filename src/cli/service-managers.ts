/** The service managers: systemd and launchd, with the commands and the file of each. */
import { execFile } from "node:child_process";
import { devNull } from "node:os";
import { dirname, join, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { absolute } from "../config/paths.ts";
import { makeFolder } from "../system/files.ts";
import { until } from "../system/sleep.ts";
import { shellQuote } from "../system/text.ts";
import { CommandError } from "./failure.ts";
import { serviceLog } from "./service-log.ts";

/** The outcome of a program; `status` is `null` where there is no such program. */
export interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export type Run = (program: string, words: readonly string[]) => Promise<Ran>;

export interface Manager {
  /** The name of the service. */
  readonly name: string;
  /** The file of the service, and the text that it should have. */
  readonly file: string;
  readonly text: string;
  /** The command that shows its log. */
  readonly log: string;
  /** Fails with CommandError where the manager cannot be used. */
  ready(): Promise<void>;
  /** Whether the service is installed, starts at login, and runs. */
  state(): Promise<{ readonly installed: boolean; readonly enabled: boolean; readonly running: boolean }>;
  /** Starts the service now and at each login; `changed`: the file or the program has changed since it was last started. */
  start(changed: boolean): Promise<void>;
  /** Stops the service for good. The file still exists. */
  stop(): Promise<void>;
  /** Called after the file was removed. */
  forget(): Promise<void>;
  /** What else the user should know, a line each. */
  advice(): Promise<string[]>;
}

const programTimeoutMs = 30_000;

export const runProgram: Run = (program, words) =>
  new Promise((resolve) => {
    execFile(program, [...words], { timeout: programTimeoutMs, encoding: "utf8" }, (error, out, err) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ status: status === null && systemCode(error) !== "ENOENT" ? -1 : status, out, err });
    });
  });

const reasonOf = ({ status, err }: Ran) => err.trim().split("\n")[0] || `it exited with ${status}`;

/** Runs a program that must succeed. `log`: the command that shows why it has not. */
async function mustRun(run: Run, log: string, program: string, ...words: readonly string[]): Promise<void> {
  const ran = await run(program, words);
  if (ran.status === 0) return;
  const message = `${[program, ...words].join(" ")} failed: ${reasonOf(ran)}`;
  throw new CommandError(message, exits.failed, moreInLog(log));
}

const moreInLog = (log: string) => `More may be in its log: ${log}`;

export interface Owner {
  readonly home: string;
  readonly uid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const unit = "zapd.service";
const printInstead = "`zapd service install --print` shows what would be installed, for another way to start programs";

export function systemd(program: Program, { home, uid, env }: Owner, run: Run): Manager {
  const file = join(absolute(env["XDG_CONFIG_HOME"]) || join(home, ".config"), "systemd", "user", unit);
  const log = "journalctl --user -u zapd -f";
  const systemctl = (...words: string[]) => mustRun(run, log, "systemctl", "--user", ...words);
  const output = async (...words: string[]) => (await run("systemctl", ["--user", ...words])).out.trim();
  return {
    name: unit,
    file,
    text: unitText(startable(program)),
    log,
    async ready() {
      const ran = await run("systemctl", ["--user", "show", "--property=Version"]);
      if (ran.status === 0) return;
      const [message, hint] =
        ran.status === null
          ? ["this system has no systemctl: it does not use systemd", printInstead]
          : [
              `your user has no running systemd (${reasonOf(ran)})`,
              `Log in as that user directly, not with su or sudo. ${printInstead}`,
            ];
      throw new CommandError(message, exits.failed, hint);
    },
    async state() {
      const [active = "", enabled, path] = await Promise.all([
        output("is-active", unit),
        output("is-enabled", unit),
        output("show", unit, "--property=FragmentPath", "--value"),
      ]);
      return { installed: path !== "", enabled: enabled === "enabled", running: active === "active" };
    },
    async start(changed) {
      await systemctl("daemon-reload");
      // By its path: systemd does not know an $XDG_CONFIG_HOME that only the shell has, and links the file then.
      await systemctl("enable", ...(changed ? [] : ["--now"]), file);
      if (changed) await systemctl("restart", unit);
    },
    stop: () => systemctl("disable", "--now", unit),
    forget: () => systemctl("daemon-reload"),
    async advice() {
      const { out } = await run("loginctl", ["show-user", String(uid), "--property=Linger", "--value"]);
      if (out.trim() === "yes") return [];
      return ["It runs while you are logged in. To start it at boot: loginctl enable-linger"];
    },
  };
}

const label = "local.zapd";
/** Longer than the daemon takes to end where its disk does not answer (8 s). */
const unloadTimeoutMs = 10_000;

export function launchd(program: Program, { home, uid }: Owner, run: Run): Manager {
  const logFile = serviceLog(home);
  const file = join(home, "Library", "LaunchAgents", `${label}.plist`);
  const domain = `gui/${uid}`;
  const service = `${domain}/${label}`;
  const log = `tail -f ${shellQuote(logFile)}`;
  const launchctl = (...words: string[]) => mustRun(run, log, "launchctl", ...words);
  const print = (what: string) => run("launchctl", ["print", what]);
  const loaded = async () => (await print(service)).status === 0;
  const unload = async () => {
    if (!(await loaded())) return;
    // It returns before the daemon has ended, often as a failure (36, in progress); a bootstrap before that end fails.
    const ran = await run("launchctl", ["bootout", service]);
    if (await until(async () => !(await loaded()), { timeoutMs: unloadTimeoutMs })) return;
    const message = `launchctl bootout ${service} did not end the daemon: ${reasonOf(ran)}`;
    throw new CommandError(message, exits.failed, moreInLog(log));
  };
  return {
    name: label,
    file,
    text: plistText(program, logFile),
    log,
    async ready() {
      if ((await print(domain)).status === 0) return;
      const hint = `Log in at the screen of the Mac first. ${printInstead}`;
      throw new CommandError("launchd has no session of your user", exits.failed, hint);
    },
    async state() {
      const { status, out } = await print(service);
      return { installed: status === 0, enabled: status === 0, running: /^\s*pid = \d+/m.test(out) };
    },
    async start(changed) {
      makeFolder(dirname(logFile), null);
      if (changed) await unload();
      if (await loaded()) return launchctl("kickstart", service);
      await launchctl("enable", service);
      await launchctl("bootstrap", domain, file);
    },
    stop: unload,
    async forget() {},
    async advice() {
      return [
        "macOS asks once whether zapd may find devices. If it finds none: System Settings > Privacy & Security > Local Network",
      ];
    },
  };
}

/** The command line of the daemon, and the variables with which it finds the same config and state. */
export interface Program {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The variables that name a config or a state. A service manager does not know what a shell has set. */
export const variables = ["ZAPD_CONFIG", "ZAPD_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] as const;

/** The paths in variables, made absolute; a relative path in an `$XDG_…` variable counts as none. */
export function pathsIn(env: Owner["env"], names: readonly string[]): [string, string][] {
  return names.flatMap((name) => {
    const path = name.startsWith("XDG_") ? absolute(env[name]) : env[name];
    return path ? [[name, resolve(path)]] : [];
  });
}

interface Running {
  readonly execPath: string;
  /** The script, or a path inside the compiled binary. */
  readonly script: string;
  readonly deno: boolean;
}

export function runningNow(): Running {
  return { execPath: process.execPath, script: process.argv[1] ?? "", deno: process.versions["deno"] !== undefined };
}

export function isCompiled({ script }: Running): boolean {
  return /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i.test(script);
}

/**
 * The words between the program and the command: those of a runtime, and the script. As in the compiled binary, no
 * `bunfig.toml` and no `.env` of the folder in which it is started may change what it does.
 */
export function scriptWords(running: Running): string[] {
  if (isCompiled(running)) return [];
  const options = running.deno
    ? ["run", "-A", "--unstable-net", "--unstable-no-legacy-abort"]
    : [`--config=${devNull}`, "--no-env-file"];
  return [...options, resolve(running.script)];
}

/** The program for a service. Fails with CommandError under Deno, whose command line would need its permissions. */
export function programOf(running: Running, env: Owner["env"], config?: string): Program {
  if (running.deno) {
    const hint = "Install it with the binary, or start `deno task start` in another way";
    throw new CommandError("zapd cannot install a service under deno", exits.unsupported, hint);
  }
  const words = [running.execPath, ...scriptWords(running), "serve"];
  if (config !== undefined) words.push("--config", resolve(config));
  const known = pathsIn(env, variables);
  if ([...words, ...known.flat()].some((word) => /[\x00-\x1f\x7f]/.test(word)))
    throw new CommandError("a path with a control character cannot be used in a service", exits.failed);
  return { words, env: Object.fromEntries(known) };
}

/** Stands in every file that zapd writes; a file without it was written by someone else. */
export const mark = /^(#|<!--) Written by `?zapd service install/m;

/**
 * The text of `zapd.service`. Exit status 78 means that the config must be mended (SECURITY.md 4), so a restart would not
 * help. Where a port stays taken, the pauses grow, from systemd 254 on; an older one ignores those two lines. The hardening
 * works in a user unit, because it needs only no_new_privs and seccomp.
 */
export function unitText({ words, env }: Program): string {
  // Without the colon systemd would expand `$NAME`.
  const literal = words.some((word) => word.includes("$")) ? ":" : "";
  const environment = Object.entries(env).map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}\n`);
  return `# Written by \`zapd service install\`; \`zapd service uninstall\` removes it.
[Unit]
Description=zapd, one daemon for every TV and media player in the house

[Service]
Type=exec
ExecStart=${literal}${words.map(unitWord).join(" ")}
${environment.join("")}Restart=on-failure
RestartSec=2
RestartSteps=4
RestartMaxDelaySec=30
RestartPreventExitStatus=78
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
`;
}

/** Starts the program through a shell where its path holds a quote or a backslash, which systemd refuses (config_parse_exec in load-fragment.c). */
function startable({ words, env }: Program): Program {
  return { words: /['"\\]/.test(words[0] ?? "") ? ["/bin/sh", "-c", 'exec "$0" "$@"', ...words] : words, env };
}

/** A word in a unit file (systemd.syntax(7), systemd.unit(5)): quoted, escaped as in C, with per cent signs doubled. */
export function unitWord(word: string): string {
  return `"${word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** The text of `local.zapd.plist`, with the log in `logFile`. launchd also restarts after exit status 78, but only every 30 s. */
export function plistText({ words, env }: Program, logFile: string): string {
  const variables = Object.entries(env).map(([name, value]) => `\t\t<key>${name}</key>\n\t\t${plistString(value)}`);
  const environment = `\t<key>EnvironmentVariables</key>\n\t<dict>\n${variables.join("\n")}\n\t</dict>\n`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by zapd service install; zapd service uninstall removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>${label}</string>
	<key>ProgramArguments</key>
	<array>
${words.map((word) => `\t\t${plistString(word)}`).join("\n")}
	</array>
${variables.length > 0 ? environment : ""}	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>30</integer>
	<key>Umask</key>
	<integer>${0o077}</integer>
	<key>StandardOutPath</key>
	${plistString(logFile)}
	<key>StandardErrorPath</key>
	${plistString(logFile)}
</dict>
</plist>
`;
}

const entities = new Map(Object.entries({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" }));

function plistString(text: string): string {
  return `<string>${text.replace(/[&<>"']/g, (character) => entities.get(character) ?? character)}</string>`;
}
