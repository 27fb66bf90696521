/** The service managers: systemd for a user of Linux, launchd for a user of macOS. */
import { join } from "node:path";
import { exits } from "../../api/errors.ts";
import { makeFolder } from "../../system/files.ts";
import { CommandError } from "../failure.ts";
import { label, plistText } from "./launchd.ts";
import { type Manager, mustRun, type Run } from "./manager.ts";
import type { Program } from "./program.ts";
import { unitText } from "./systemd.ts";

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
      const said = err.trim().split("\n")[0] || `systemctl ended with ${status}`;
      const hint = `Log in as the user itself, not by su or sudo. ${printInstead}`;
      throw new CommandError(`your user has no systemd to talk to (${said})`, exits.failed, hint);
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
    for (let poll = 0; poll < polls && (await loaded()); poll++) await pause();
  };
  return {
    name: label,
    file,
    text: plistText(program, logs),
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

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pollEvery));
}
