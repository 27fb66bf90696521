/** What keeps a daemon running: systemd, or launchd. How each is asked, and the file that each reads. */
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { makeFolder } from "../system/files.ts";
import { until } from "../system/sleep.ts";
import { CommandError } from "./failure.ts";

/** What a program did; `status` is `null` when there is no such program. */
export interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export type Run = (program: string, words: readonly string[]) => Promise<Ran>;

export interface Manager {
  /** What the service is called there. */
  readonly name: string;
  /** The file that describes it, and its text as it would be now. */
  readonly file: string;
  readonly text: string;
  /** How its log is read. */
  readonly log: string;
  /** Fails with CommandError when the manager is not there. */
  ready(): Promise<void>;
  /** Whether it is there, is started at login, and runs. */
  state(): Promise<{ readonly installed: boolean; readonly enabled: boolean; readonly running: boolean }>;
  /** Has it run what the file says, from now on and at each login; `changed` when the file is another than before. */
  start(changed: boolean): Promise<void>;
  /** Ends it, and starts it no more. The file is still there. */
  stop(): Promise<void>;
  /** After the file has been removed. */
  forget(): Promise<void>;
  /** What else to tell its owner. */
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

const reasonOf = ({ status, err }: Ran) => err.trim().split("\n")[0] || `it ended with ${status}`;

/** Runs a program that must succeed. */
async function mustRun(run: Run, program: string, ...words: readonly string[]): Promise<void> {
  const ran = await run(program, words);
  if (ran.status !== 0)
    throw new CommandError(`${[program, ...words].join(" ")} failed: ${reasonOf(ran)}`, exits.failed);
}

export interface Owner {
  readonly home: string;
  readonly uid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const unit = "zapd.service";
const printInstead = "`zapd service install --print` shows what would be installed, for what else starts programs here";

export function systemd(program: Program, { home, env }: Owner, run: Run): Manager {
  const systemctl = (...words: string[]) => mustRun(run, "systemctl", "--user", ...words);
  const output = async (...words: string[]) => (await run("systemctl", ["--user", ...words])).out.trim();
  return {
    name: unit,
    file: join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "systemd", "user", unit),
    text: unitText(startable(program)),
    log: "journalctl --user -u zapd -f",
    async ready() {
      const ran = await run("systemctl", ["--user", "show", "--property=Version"]);
      if (ran.status === 0) return;
      const [message, hint] =
        ran.status === null
          ? ["there is no systemctl here: this system is not run by systemd", printInstead]
          : [
              `your user has no systemd to talk to (${reasonOf(ran)})`,
              `Log in as the user itself, not by su or sudo. ${printInstead}`,
            ];
      throw new CommandError(message, exits.failed, hint);
    },
    async state() {
      const [active = "", enabled, path] = await Promise.all([
        output("is-active", unit),
        output("is-enabled", unit),
        output("show", unit, "--property=FragmentPath", "--value"),
      ]);
      return { installed: path !== "", enabled: enabled === "enabled", running: /^(active|activating)$/.test(active) };
    },
    async start(changed) {
      await systemctl("daemon-reload");
      await systemctl("enable", ...(changed ? [] : ["--now"]), unit);
      if (changed) await systemctl("restart", unit);
    },
    stop: () => systemctl("disable", "--now", unit),
    forget: () => systemctl("daemon-reload"),
    async advice() {
      const { out } = await run("loginctl", ["show-user", "--property=Linger", "--value"]);
      if (out.trim() === "yes") return [];
      return ["It runs while you are logged in. To have it run from boot on: loginctl enable-linger"];
    },
  };
}

const label = "local.zapd";
const unloadTimeoutMs = 5_000;

export function launchd(program: Program, { home, uid }: Owner, run: Run): Manager {
  const logs = join(home, "Library", "Logs", "zapd");
  const file = join(home, "Library", "LaunchAgents", `${label}.plist`);
  const domain = `gui/${uid}`;
  const service = `${domain}/${label}`;
  const launchctl = (...words: string[]) => mustRun(run, "launchctl", ...words);
  const print = (what: string) => run("launchctl", ["print", what]);
  const loaded = async () => (await print(service)).status === 0;
  const unload = async () => {
    if (!(await loaded())) return;
    await launchctl("bootout", service);
    // It returns before the daemon has ended, and a bootstrap before that fails.
    await until(async () => !(await loaded()), { timeoutMs: unloadTimeoutMs });
  };
  return {
    name: label,
    file,
    text: plistText(program, logs),
    log: `tail -f ${join(logs, "zapd.log")}`,
    async ready() {
      if ((await print(domain)).status === 0) return;
      const hint = `It takes a login at the screen of the Mac. ${printInstead}`;
      throw new CommandError("launchd has no session of your user to run it in", exits.failed, hint);
    },
    async state() {
      const { status, out } = await print(service);
      return { installed: status === 0, enabled: status === 0, running: /^\s*pid = \d+/m.test(out) };
    },
    async start(changed) {
      makeFolder(logs, null);
      if (changed) await unload();
      if (await loaded()) return launchctl("kickstart", service);
      await launchctl("enable", service);
      await launchctl("bootstrap", domain, file);
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
export const variables = ["ZAPD_CONFIG", "ZAPD_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] as const;

interface Running {
  readonly execPath: string;
  /** The script, or a path inside the binary. */
  readonly script: string;
  readonly deno: boolean;
}

export function runningNow(): Running {
  return { execPath: process.execPath, script: process.argv[1] ?? "", deno: process.versions["deno"] !== undefined };
}

export function isCompiled({ script }: Running): boolean {
  return /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/i.test(script);
}

/** Fails with CommandError where the command line would be more than a path and a script. */
export function programOf(running: Running, env: Owner["env"], config?: string): Program {
  const { execPath, script, deno } = running;
  if (deno) {
    const hint = "Install it with the binary; or have what starts programs here run `deno task start`";
    throw new CommandError("no service is installed from under deno", exits.unsupported, hint);
  }
  const words = [execPath, ...(isCompiled(running) ? [] : [resolve(script)]), "serve"];
  if (config !== undefined) words.push("--config", resolve(config));
  const known = variables.flatMap((name): [string, string][] => (env[name] ? [[name, resolve(env[name])]] : []));
  if ([...words, ...known.flat()].some((word) => /[\x00-\x1f\x7f]/.test(word)))
    throw new CommandError("a path with a control character in it can stand in no service", exits.failed);
  return { words, env: Object.fromEntries(known) };
}

/** In every file that zapd wrote: one without it is somebody else's. */
export const mark = /^(#|<!--) Written by `?zapd service install/m;

/**
 * The text of `zapd.service`. The daemon ends with 78 when its config must be mended (SECURITY.md 4), and starting it again
 * would not help. What hardens it holds in a user unit: it needs no more than no_new_privs and seccomp.
 */
export function unitText({ words, env }: Program): string {
  // Without the colon systemd would put variables in the place of `$NAME`.
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

/** systemd starts no program whose path holds a quote or a backslash ("special characters", config_parse_exec of its load-fragment.c): the shell does. */
function startable({ words, env }: Program): Program {
  return { words: /['"\\]/.test(words[0] ?? "") ? ["/bin/sh", "-c", 'exec "$0" "$@"', ...words] : words, env };
}

/** One word of a unit (systemd.syntax(7), systemd.unit(5)): in quotes, escaped as in C, its per cent signs doubled. */
export function unitWord(word: string): string {
  return `"${word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/**
 * The text of `local.zapd.plist`; what the daemon says goes to a file in `logs`. launchd cannot be told to leave the daemon
 * alone after exit status 78: it tries again, but every 30 s only.
 */
export function plistText({ words, env }: Program, logs: string): string {
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
	${plistString(`${logs}/zapd.log`)}
	<key>StandardErrorPath</key>
	${plistString(`${logs}/zapd.log`)}
</dict>
</plist>
`;
}

const entities = new Map(Object.entries({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" }));

function plistString(text: string): string {
  return `<string>${text.replace(/[&<>"']/g, (character) => entities.get(character) ?? character)}</string>`;
}
