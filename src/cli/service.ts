/** `zapd service`: installs the daemon as a service of the system, started at login. */
import { lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { exits, systemCode } from "../api/errors.ts";
import { configPath, homeFolder, stateFolder } from "../config/paths.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { makeFolder, writeAtomically } from "../system/files.ts";
import { until } from "../system/sleep.ts";
import { shellQuote } from "../system/text.ts";
import { tryOr } from "../system/try-or.ts";
import { type Context, configuredSocket } from "./context.ts";
import { CommandError } from "./failure.ts";
import type { Manager, Owner, Program, Run } from "./service-managers.ts";
import * as managers from "./service-managers.ts";
import { findVerb } from "./words.ts";

/** What the command needs of the system; replaced in tests. */
export interface PlatformHost {
  readonly platform: string;
  readonly owner: Owner;
  readonly program: Program;
  run: Run;
  /** Whether a daemon answers on the control socket. */
  answers(): Promise<boolean>;
  /** The control socket of the daemon. */
  readonly socket: string;
  /** How long a daemon may take to answer after its start. */
  readonly answerTimeoutMs: number;
}

type Action = (manager: Manager, context: Context, platformHost: PlatformHost) => Promise<number>;

const actions: Readonly<Record<string, Action>> = { install, uninstall, status };

export async function service(context: Context): Promise<number> {
  const { env } = process;
  const config = context.option("config");
  // Not that of $ZAPD_SOCKET, which is for commands and may name another daemon.
  const socket = configuredSocket(configPath(env, config));
  return serve(context, {
    platform: process.platform,
    owner: { home: homeFolder(), uid: process.getuid?.() ?? 0, env },
    program: managers.programOf(managers.runningNow(), env, config),
    run: managers.runProgram,
    answers: () => currentRuntime().isListening(socket),
    socket,
    answerTimeoutMs: 4_000,
  });
}

/** `zapd service` on a given system. */
export async function serve(context: Context, platformHost: PlatformHost): Promise<number> {
  const [word = ""] = context.words;
  const action = findVerb(actions, word);
  const manager = managerOf(platformHost);
  if (context.flag("print")) {
    const { name, file, text } = manager;
    context.print(context.json ? JSON.stringify({ name, file, text }) : text.trimEnd());
    return exits.ok;
  }
  const status = await action(manager, context, platformHost);
  if (context.json) {
    const { name, file } = manager;
    context.print(JSON.stringify({ name, file, ...(await manager.state()) }));
  }
  return status;
}

function managerOf({ platform, owner, program, run }: PlatformHost): Manager {
  if (platform === "linux") return managers.systemd(program, owner, run);
  if (platform === "darwin") return managers.launchd(program, owner, run);
  const words = program.words.map((word) => (/\s/.test(word) ? `\\"${word}\\"` : word)).join(" ");
  const [system, hint] =
    platform === "win32"
      ? ["Windows", `Use the Task Scheduler: schtasks /create /tn zapd /sc onlogon /rl limited /tr "${words}"`]
      : [platform, `Start this in another way: ${program.words.map(shellQuote).join(" ")}`];
  throw new CommandError(`zapd cannot install a service on ${system} yet`, exits.unsupported, hint);
}

async function install(manager: Manager, context: Context, platformHost: PlatformHost): Promise<number> {
  const { name, file, text } = manager;
  await manager.ready();
  const before = await ownFile(file);
  const { running } = await manager.state();
  if (!running && (await platformHost.answers()))
    throw new CommandError(
      "a daemon that was started by hand is running already, and both would need the same port",
      exits.failed,
      "Stop it (Ctrl-C), then install the service again, which starts its own daemon",
    );
  if (before !== text) {
    makeFolder(dirname(file), null);
    await writeAtomically(file, text);
  }
  const isOld = running && isProgramNewer(platformHost);
  await manager.start((before !== text && before !== null) || isOld);
  const answered = await until(platformHost.answers, { timeoutMs: platformHost.answerTimeoutMs });
  if (!context.json) {
    const did = `${name} ${before !== text ? "is installed" : isOld ? "was restarted with its new program" : "was installed already"}`;
    context.say(answered ? `${did} and running` : `${did}, but the daemon does not answer yet: its log says why`);
    context.say(fileAndLog(manager));
    if (isInNpmCache(platformHost.program)) context.say(npmCacheWarning);
    for (const line of await manager.advice()) context.say(line);
  }
  return answered ? exits.ok : exits.failed;
}

/** Whether the program was put where it is after the daemon had started, which binds its socket then. */
function isProgramNewer({ program: { words }, socket }: PlatformHost): boolean {
  const files = words.slice(0, words.indexOf("serve")).filter(isAbsolute);
  const changed = (file: string) => [statSync(file), ...partsOf(file)].map(({ ctimeMs }) => ctimeMs);
  return tryOr(() => Math.max(...files.flatMap(changed)) > statSync(socket).ctimeMs, false);
}

/** What lies beside a script: an upgraded clone has other modules, and mostly the same src/main.ts. */
function partsOf(file: string): readonly Stats[] {
  if (!file.endsWith(".ts")) return [];
  const folder = dirname(file);
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  // An editor's own link may lead nowhere.
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => lstatSync(join(folder, name)));
}

const npmCacheWarning =
  "This zapd is in npm's cache, which npm may empty: install it (npm install -g), then its service";

/** Whether the program lies in npm's cache, which keeps what `npx` ran only for a while. */
export function isInNpmCache({ words }: Program): boolean {
  return words.some((word) => /[\\/]_npx[\\/]/.test(word));
}

function fileAndLog({ file, log }: Manager): string {
  return `file  ${file}\nlog   ${log}`;
}

/** The text of the service file; `null` where there is none. Fails with CommandError where zapd did not write it. */
async function ownFile(path: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return null;
    throw new CommandError(`${path} could not be read (${systemCode(error)})`, exits.failed);
  });
  if (text === null || managers.mark.test(text)) return text;
  const hint = "Move that file away; nothing was changed";
  throw new CommandError(`${path} exists already, and zapd did not write it`, exits.failed, hint);
}

async function uninstall(manager: Manager, context: Context, { owner: { env } }: PlatformHost): Promise<number> {
  const before = await ownFile(manager.file);
  if (before !== null) {
    await manager.ready();
    await manager.stop();
    await rm(manager.file, { force: true });
    await manager.forget();
  }
  if (!context.json) {
    const [config, state] = [configPath(env, context.option("config")), stateFolder(env)].map((path) => resolve(path));
    context.say(before === null ? "no service is installed" : `${manager.name} is stopped and removed`);
    context.say(`The config (${config}) and the state (${state}) were kept`);
  }
  return exits.ok;
}

async function status(manager: Manager, context: Context, platformHost: PlatformHost): Promise<number> {
  await manager.ready();
  const { installed, running, enabled } = await manager.state();
  if (!context.json && !installed) context.print("no service is installed. Install it with: zapd service install");
  else if (!context.json) {
    const login = enabled ? "started at each login" : "not started at login";
    context.print(`${manager.name} is ${running ? "running" : "not running"}, and ${login}`);
    context.print(fileAndLog(manager));
    const text = await ownFile(manager.file).catch((error: CommandError) => error);
    if (text instanceof CommandError) context.print(text.message);
    else if (text !== manager.text || (running && isProgramNewer(platformHost)))
      context.print("It runs another zapd, or uses other settings: update it with zapd service install");
  }
  return running ? exits.ok : exits.notRunning;
}
