/** Calls to the daemon, over its control socket and nothing else. */
import { exits } from "../errors.ts";
import { currentRuntime, type SocketCall } from "../runtime/runtime.ts";
import type { Context } from "./context.ts";
import { CommandError } from "./failure.ts";

export interface CallOptions {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** A body that is no JSON, with its type. */
  readonly upload?: { readonly type: string; readonly stream: ReadableStream<Uint8Array> };
}

interface Envelope {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: { code: string; message: string; hint?: string };
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
  const response = await send(context, method, `/v1${path}`, options);
  const text = (await response.text()).trim();
  const envelope = JSON.parse(text) as Envelope;
  if (envelope.ok) return { data: envelope.data as T, text };
  if (context.json) context.print(text);
  throw CommandError.of(envelope.error ?? { code: "internal_error", message: "the daemon failed without a word" });
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
    ...(upload && { body: upload.stream, headers: { "content-type": upload.type } }),
    ...(signal && { signal }),
  };
  try {
    return await (await currentRuntime()).call(context.socket(), request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new CommandError(
      "the daemon is not running. Start it with `zapd serve`, or once and for all with `zapd service install`",
      exits.notRunning,
    );
  }
}

/** The path of a device of the context, or of a name. */
export function devicePath(name: string, rest = ""): string {
  return `/devices/${encodeURIComponent(name)}${rest}`;
}
