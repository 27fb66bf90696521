/** `zapd logs`: the developer log of a device, once or as it grows. */
import { exits } from "../api/errors.ts";
import { overlap } from "../system/overlap.ts";
import { printable } from "../system/printable.ts";
import { sleep } from "../system/sleep.ts";
import { shellWord } from "../system/text.ts";
import { type Called, call } from "./client.ts";
import type { Context } from "./context.ts";
import { failureText } from "./explain.ts";
import { CommandError } from "./failure.ts";

const pollEveryMs = 500;
/** So many lines tell where a log goes on that is read from its beginning again. */
const kept = 20;

export async function logs(context: Context): Promise<void> {
  if (!context.flag("follow")) {
    const { data, text } = await read(context, undefined);
    return context.json ? context.print(text) : printLines(context, data.lines, data.dropped);
  }
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort());
  try {
    await follow(context, stopped.signal);
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  }
}

/** Where the reading stands: a daemon that has started anew knows no cursor of the one before. */
interface Place {
  cursor?: string;
  pid?: number;
  tail: string[];
}

async function follow(context: Context, signal: AbortSignal): Promise<void> {
  const place: Place = { tail: [] };
  let missing: CommandError | undefined;
  for (;;) {
    try {
      await readOn(context, place, signal);
      if (missing) context.say("zapd: it is back");
      missing = undefined;
    } catch (error) {
      if (!isPassing(error) || place.cursor === undefined) throw error;
      const gone = error.exit === exits.unreachable ? error : new Error("the daemon is gone");
      if (!missing) context.say(`${failureText(gone)} Waiting for it to come back; Ctrl-C ends`);
      missing = error;
    }
    await sleep(pollEveryMs, signal);
  }
}

/** What a restart of the daemon or of the set looks like. */
function isPassing(error: unknown): error is CommandError {
  if (!(error instanceof CommandError)) return false;
  return error.exit === exits.notRunning || error.exit === exits.unreachable || error.hungUp;
}

async function readOn(context: Context, place: Place, signal: AbortSignal): Promise<void> {
  const called = await read(context, place.cursor, signal);
  const { lines, cursor } = called.data;
  if (lines.length === 0 && place.cursor !== undefined) return;
  const { pid } = (await call(context, "status", { signal }, { quiet: true })).data;
  const anew = place.pid !== undefined && place.pid !== pid;
  const fresh = anew ? lines.slice(overlap(place.tail, lines)) : lines;
  if (fresh.length > 0) printFresh(context, called, fresh);
  Object.assign(place, { cursor, pid, tail: [...place.tail, ...fresh].slice(-kept) });
}

/** With `--json` each reading is a line: the response, without the lines that have been printed already. */
function printFresh(context: Context, { data, text }: Called<"readLogs">, fresh: readonly string[]): void {
  if (!context.json) printLines(context, fresh, data.dropped);
  else if (fresh.length === data.lines.length) context.print(text);
  else context.print(JSON.stringify({ ok: true, data: { ...data, lines: fresh } }));
}

function read(context: Context, cursor: string | undefined, signal?: AbortSignal): Promise<Called<"readLogs">> {
  const given = { id: context.device, query: { cursor }, signal };
  return call(context, "readLogs", given, signal ? { quiet: true } : {});
}

function printLines(context: Context, lines: readonly string[], dropped = 0): void {
  if (dropped > 0) context.say(`zapd: ${dropped} earlier ${dropped === 1 ? "line is" : "lines are"} no longer kept`);
  if (lines.length > 0) context.print(lines.map(printable).join("\n"));
}

/** `zapd reload`: the sideloaded package, started anew. */
export async function reload(context: Context): Promise<void> {
  const called = await call(context, "reloadPackage", { id: context.device });
  const { app, device } = called.data;
  context.tell(called, `${app.name} was started anew on ${device.name}. ${logHint(context)}`);
}

/** How to see what the package prints, on the device that was meant. */
export function logHint({ device }: Context): string {
  return `Log: zapd logs --follow${device === "default" ? "" : ` -d ${shellWord(device)}`}`;
}
