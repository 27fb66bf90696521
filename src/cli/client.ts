/** Calls to the daemon, over its control socket and nothing else. */
import { exits, systemCode } from "../api/errors.ts";
import { currentRuntime, type SocketCall } from "../runtime/runtime.ts";
import type { Context } from "./context.ts";
import { spoken } from "./duration.ts";
import { CommandError, type Failure, UsageError } from "./failure.ts";
import { stderr } from "./output.ts";
import type { Asked } from "./waiting.ts";

export interface CallOptions {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Nothing is told while it takes its time. */
  readonly quiet?: boolean;
  /** A body that is no JSON, with its type and length. */
  readonly upload?: { readonly type: string; readonly bytes: number; readonly stream: ReadableStream<Uint8Array> };
}

interface Envelope {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: Failure;
}

/** What the daemon answered: its `data`, and the response unchanged for `--json`. */
export interface Called<T> {
  readonly data: T;
  readonly text: string;
}

/** One call below `/v1`. Fails with CommandError: the daemon's own failure, or that it is not running. */
export async function call<T>(
  context: Context,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Called<T>> {
  const told = options.quiet || context.json ? undefined : afterAMoment(context, { method, path, body: options.body });
  let done = false;
  try {
    const called = await callOnce<T>(context, method, path, options);
    done = true;
    return called;
  } finally {
    await told?.end(done);
  }
}

async function callOnce<T>(context: Context, method: string, path: string, options: CallOptions): Promise<Called<T>> {
  const deadline = context.deadline();
  const signals = [options.signal, deadline?.signal].filter((signal) => signal !== undefined);
  const [first] = signals;
  const signal = signals.length > 1 ? AbortSignal.any(signals) : first;
  try {
    const response = await send(context, method, `/v1${path}`, { ...options, ...(signal && { signal }) });
    const text = await textOf(response, context, signal);
    const envelope = envelopeIn(text);
    if (envelope?.ok) return { data: envelope.data as T, text };
    throw envelope?.error ? CommandError.of(envelope.error, text) : foreign(context);
  } catch (error) {
    if (!deadline?.signal.aborted || error instanceof CommandError) throw error;
    throw CommandError.of({
      code: "device_timeout",
      message: `there was no answer within ${spoken(deadline.ms)}, and --timeout says to wait no longer`,
      hint:
        method === "GET" || !/^\/devices\/[^/]+\//.test(path)
          ? undefined
          : "What has been sent to the device already may still happen",
    });
  }
}

/** Who waits for longer than this wants to know for what. */
const momentMs = 1_000;

function afterAMoment(context: Context, asked: Asked): { end(done: boolean): Promise<void> } {
  const since = performance.now();
  let telling: Promise<(done: boolean) => void> | undefined;
  const timer = setTimeout(() => {
    if (stderr().isTTY) telling = import("./waiting.ts").then(({ tellWaiting }) => tellWaiting(context, asked, since));
  }, momentMs);
  return {
    async end(done) {
      clearTimeout(timer);
      (await telling)?.(done);
    },
  };
}

/** A document that the daemon serves as it is, outside the envelope. */
export async function fetchDocument(context: Context, path: string): Promise<string> {
  const text = await textOf(await send(context, "GET", path), context);
  const envelope = envelopeIn(text);
  if (envelope?.ok === false) throw envelope.error ? CommandError.of(envelope.error, text) : foreign(context);
  return text;
}

/** One request, whatever it answers. */
export async function send(
  context: Context,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Response> {
  const { body, query, upload, signal } = options;
  const request: SocketCall = {
    method,
    path: query ? `${path}?${new URLSearchParams(query)}` : path,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    ...(upload && {
      body: upload.stream,
      headers: { "content-type": upload.type, "content-length": String(upload.bytes) },
    }),
    ...(signal && { signal }),
  };
  try {
    return await currentRuntime().call(context.socket(), request);
  } catch (error) {
    if (signal?.aborted) throw error;
    if (upload || context.chosen || !isAbsent(error)) throw unanswered(context, error);
    const { turnToOnly } = await import("./find.ts");
    if (!(await turnToOnly(context))) throw unanswered(context, error);
    return await send(context, method, path, options);
  }
}

/** The path of a device, and what is below it. */
export function devicePath(name: string, rest = ""): string {
  if (name.trim() === "") throw new UsageError("the name of the device is empty");
  // A path of dots means another one, whatever it is encoded as.
  if (/^\.{1,2}$/.test(name.trim()))
    throw CommandError.of({ code: "device_not_found", message: `no device is called "${name}"` });
  return `/devices/${encodeURIComponent(name)}${rest}`;
}

async function textOf(response: Response, context: Context, signal?: AbortSignal): Promise<string> {
  try {
    return (await response.text()).trim();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unanswered(context, error);
  }
}

function envelopeIn(text: string): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "ok" in value ? (value as Envelope) : undefined;
  } catch {
    return undefined;
  }
}

function foreign(context: Context): CommandError {
  return new CommandError(`what answers at ${context.socket()} is not zapd`, exits.failed);
}

/** Whether nobody is behind the socket, and nothing was sent. */
function isAbsent(error: unknown): boolean {
  return !["ECONNRESET", "EPIPE", "EACCES", "EPERM"].includes(systemCode(error));
}

function unanswered(context: Context, error: unknown): CommandError {
  const code = systemCode(error);
  if (code === "ECONNRESET" || code === "EPIPE")
    return new CommandError("the daemon hung up before it had answered", exits.failed, "Its log says why");
  if (code === "EACCES" || code === "EPERM")
    return new CommandError(`the daemon's socket belongs to another user: ${context.socket()}`, exits.refused);
  const given = context.options["socket"] !== undefined || process.env["ZAPD_SOCKET"];
  return new CommandError(
    `the daemon is not running${given ? `: nothing answers at ${context.socket()}` : ""}. ` +
      "Start it with `zapd serve`, or once and for all with `zapd service install`",
    exits.notRunning,
    undefined,
    { code: "daemon_not_running" },
  );
}
