/** `zapd logs`: the developer log of a device, once or followed. `zapd reload`: starts the sideloaded package again. */
import { ApiError, createStream, type Result } from "../api/client.ts";
import type { StreamLine } from "../api/client-stream.ts";
import { codes, exits } from "../api/errors.ts";
import { comparedLines, overlap } from "../system/overlap.ts";
import { printable } from "../system/printable.ts";
import { shellQuote } from "../system/text.ts";
import { deepLinkOf } from "./apps.ts";
import { apiOf, call, failureOf } from "./client.ts";
import type { Context } from "./context.ts";
import { failureText } from "./explain.ts";
import { onSignal } from "./signals.ts";

export async function logs(context: Context): Promise<void> {
  if (!context.flag("follow")) {
    const { data, text } = await call(context, "readLogs", { id: context.device });
    return context.json ? context.print(text) : printLines(context, data.lines, data.dropped);
  }
  const stopped = new AbortController();
  onSignal(["SIGINT"], () => stopped.abort());
  try {
    await follow(context, stopped.signal);
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  }
}

/** Lines that arrived together, with the cursor as id. */
type Batch = StreamLine & Omit<Result<"readLogs">, "device" | "cursor">;

/** Prints the kept lines and then new ones as they arrive, until the signal aborts. */
async function follow(context: Context, signal: AbortSignal): Promise<void> {
  const { data: device } = await call(context, "getDevice", { id: context.device, signal });
  /** Whether nothing has been read yet of the stream that is open. */
  let isNew = true;
  const { fetch, ...api } = apiOf(context);
  const open = (request: Request) => {
    isNew = true;
    return fetch(request);
  };
  const broken = (isBroken: boolean, error?: unknown) => {
    if (!isBroken) return context.say("zapd: reconnected");
    const text = failureText(error instanceof ApiError ? error : new Error("the daemon does not answer"));
    // Behind a hint, which has a line of its own, the rest has one too.
    context.say(`${text}${text.includes("\n") ? "\n      " : " "}Waiting for it; Ctrl-C ends`);
  };
  // Another device may have the name, or be the default, when the stream is opened again.
  const given = { id: device.id, query: { follow: "true" }, signal };
  const batches = createStream<Batch>({ ...api, fetch: open, broken, passes: isTransient }, "readLogs", given);
  let before: Result<"status"> | undefined;
  let tail: readonly string[] = [];
  try {
    for await (const { id, lines, dropped = 0 } of batches) {
      let fresh = lines;
      if (isNew) {
        // A restarted daemon does not know the cursor: it begins with the lines that the device still has.
        const { data: now } = await call(context, "status", { signal }, { quiet: true });
        // The uptime tells it where the process has the same id each time, as in a container.
        const isRestarted = before && (before.pid !== now.pid || before.uptime_s > now.uptime_s);
        if (isRestarted) fresh = lines.slice(overlap(tail, lines));
        before = now;
        isNew = false;
      }
      tail = [...tail, ...fresh].slice(-comparedLines);
      if (!context.json) printLines(context, fresh, dropped);
      else if (fresh.length > 0)
        context.print(
          JSON.stringify({ ok: true, data: { device, lines: fresh, cursor: id, ...(dropped > 0 && { dropped }) } }),
        );
    }
  } catch (error) {
    throw await failureOf(error, context);
  }
}

/**
 * Whether a failure passes when the daemon or the device has restarted: the console opens later than the control port, and
 * a device that was cut off serves the dead connection for a while.
 */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  const { code } = error;
  const isLate = code === "too_many_streams" || code === "device_refused" || code === "console_in_use";
  return isLate || codes[code].exit === exits.unreachable;
}

function printLines(context: Context, lines: readonly string[], dropped = 0): void {
  if (dropped > 0) context.say(`zapd: ${dropped} earlier ${dropped === 1 ? "line is" : "lines are"} no longer kept`);
  if (lines.length > 0) context.print(lines.map(printable).join("\n"));
}

export async function reload(context: Context): Promise<void> {
  const params = deepLinkOf(context.words);
  const called = await call(context, "reloadPackage", { id: context.device, ...(params && { body: { params } }) });
  const { app, device } = called.data;
  context.reportDone(called, `${app.name} was restarted on ${device.name}. ${logHint(context)}`);
}

/** The command that shows what the package prints. */
export function logHint({ device }: Context): string {
  return `Log: zapd logs --follow${device === "default" ? "" : ` -d ${shellQuote(device)}`}`;
}
