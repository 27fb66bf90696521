/** `zapd service`: has the system keep the daemon running, from login on. */
import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { exits } from "../api/errors.ts";
import { answers } from "../runtime/control-socket.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import {
  isPassing,
  keptPlaces,
  launchd,
  type Manager,
  type Owner,
  ownFile,
  type Program,
  programOf,
  type Run,
  runningNow,
  runProgram,
  systemd,
  writeFileOf,
} from "./service-managers.ts";

/** What the command works with beside its words; tests bring their own. */
export interface Surroundings {
  readonly platform: string;
  readonly owner: Owner;
  readonly program: Program;
  run: Run;
  /** Whether a daemon answers on the control socket. */
  answers(): Promise<boolean>;
  /** Milliseconds that a daemon may take to answer after its start. */
  readonly answerTimeoutMs: number;
}

type Action = (manager: Manager, context: Context, surroundings: Surroundings) => Promise<number>;

const actions: Readonly<Record<string, Action>> = { install, uninstall, status };

export async function service(context: Context): Promise<number> {
  const config = context.option("config");
  const env = process.env;
  return serve(context, {
    platform: process.platform,
    owner: { home: homedir(), uid: process.getuid?.() ?? 0, env },
    program: programOf(runningNow(), env, config),
    run: runProgram,
    answers: () => answers(context.socket()),
    answerTimeoutMs: 4_000,
  });
}

/** The same, with its surroundings given. */
export async function serve(context: Context, surroundings: Surroundings): Promise<number> {
  const [word = ""] = context.words;
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (!action) throw new UsageError(word === "" ? "install, uninstall or status?" : `there is no service ${word}`);
  const manager = managerOf(surroundings);
  if (context.flag("print")) {
    context.print(manager.text.trimEnd());
    return exits.ok;
  }
  return action(manager, context, surroundings);
}

function managerOf({ platform, owner, program, run }: Surroundings): Manager {
  if (platform === "linux") return systemd(program, owner, run);
  if (platform === "darwin") return launchd(program, owner, run);
  const words = program.words.map((word) => (/\s/.test(word) ? `\\"${word}\\"` : word)).join(" ");
  const task = `schtasks /create /tn zapd /sc onlogon /rl limited /tr "${words}"`;
  throw new CommandError(
    `zapd installs no service on ${platform === "win32" ? "Windows" : platform} yet`,
    exits.unsupported,
    platform === "win32"
      ? `The Task Scheduler does it: ${task}`
      : `Have what starts programs here run: ${program.words.join(" ")}`,
  );
}

async function install(manager: Manager, context: Context, surroundings: Surroundings): Promise<number> {
  await manager.ready();
  const before = await ownFile(manager.file, manager.mark);
  const was = await manager.state();
  if (!was.running && (await surroundings.answers()))
    throw new CommandError(
      "a daemon is running already, started by hand, and two would fight over the port",
      exits.failed,
      "End that one (Ctrl-C), then install the service again: it starts one of its own",
    );
  const changed = await writeFileOf(manager.file, manager.text, before);
  await manager.start(changed && before !== null);
  const answered = await answersInTime(surroundings);
  if (context.json) await printState(manager, context);
  else {
    const did = `${manager.name} ${changed ? "is installed" : "was installed already"}`;
    const lines = [
      answered ? `${did} and running` : `${did}, but the daemon does not answer yet: its log says why`,
      ...placeLines(manager),
      ...(isPassing(surroundings.program) ? [passing] : []),
      ...(await manager.advice()),
    ];
    context.say(lines.join("\n"));
  }
  return answered ? exits.ok : exits.failed;
}

const passing =
  "This zapd lies in npm's cache, which npm empties some day: install it (npm install -g), then its service";

function placeLines({ file, log }: Manager): string[] {
  return [`file  ${file}`, `log   ${log}`];
}

async function answersInTime({ answers, answerTimeoutMs }: Surroundings): Promise<boolean> {
  const until = performance.now() + answerTimeoutMs;
  for (;;) {
    if (await answers()) return true;
    if (performance.now() >= until) return false;
    await sleep(100);
  }
}

async function uninstall(manager: Manager, context: Context, surroundings: Surroundings): Promise<number> {
  const before = await ownFile(manager.file, manager.mark);
  if (before !== null) {
    await manager.ready();
    await manager.stop();
    await rm(manager.file, { force: true });
    await manager.forget();
  }
  if (context.json) await printState(manager, context);
  else {
    const kept = keptPlaces(surroundings.owner.env, context.option("config"));
    context.say(before === null ? "no service is installed" : `${manager.name} is stopped and removed`);
    context.say(`The config (${kept.config}) and the state (${kept.state}) are left as they are`);
  }
  return exits.ok;
}

async function status(manager: Manager, context: Context): Promise<number> {
  await manager.ready();
  const state = await manager.state();
  if (context.json) await printState(manager, context);
  else if (!state.installed) context.print("no service is installed. Install it with: zapd service install");
  else {
    const current = (await ownFile(manager.file, manager.mark).catch(() => null)) === manager.text;
    const running = state.running ? "running" : "not running";
    const enabled = state.enabled ? "started at each login" : "not started at login";
    context.print(`${manager.name} is ${running}, and ${enabled}`);
    context.print(placeLines(manager).join("\n"));
    if (!current)
      context.print("It runs another zapd, or with other settings, than this one: zapd service install renews it");
  }
  return state.running ? exits.ok : exits.notRunning;
}

async function printState(manager: Manager, context: Context): Promise<void> {
  const state = await manager.state();
  context.print(JSON.stringify({ name: manager.name, file: manager.file, ...state }));
}
