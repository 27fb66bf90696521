/** Finds the daemon that is meant when none answers at the usual place. */
import { exits } from "../api/errors.ts";
import type { Context } from "./context.ts";
import { CommandError } from "./failure.ts";
import { shellWord } from "./print.ts";
import { type Noted, runningDaemons } from "./running.ts";
import { homely } from "./words.ts";

/** Turns the context to the one daemon that runs; false where none does. Fails with CommandError where several run. */
export async function turnToOnly(context: Context): Promise<boolean> {
  const usual = context.socket();
  // Asked already: it has ended since.
  const running = (await runningDaemons()).filter(({ socket }) => socket !== usual);
  const [only] = running;
  if (only === undefined) return false;
  if (running.length > 1) throw several(running);
  context.turnTo(only.socket);
  return true;
}

function several(running: readonly Noted[]): CommandError {
  const found = running.map(({ pid, kind, socket }) => `${homely(socket)} (${kind}, pid ${pid})`);
  const first = shellWord(running[0]?.socket ?? "");
  return new CommandError(
    `no daemon runs at the usual place, but ${running.length} run elsewhere:\n${found.join("\n")}`,
    exits.notRunning,
    `Say which with --socket, or for this shell: export ZAPD_SOCKET=${first}`,
    { code: "daemon_not_running" },
  );
}
