/** Calls to the API, typed by the same table as the server. A failure carries the message of the daemon unchanged. */
import type { Arguments, Result, ValueName } from "../api/client.ts";
import type { Client } from "../api/client-types.ts";
import type { ErrorBody, ErrorCode, PackageProblem, PairingReason } from "../api/errors.ts";
import { clientHeader, type OperationName, type OperationRoute, operationRoutes } from "../api/routes.ts";

/** Why a call failed. */
export interface Failure {
  /** The error code of the API; `no_answer` if the daemon does not answer. */
  readonly code: ErrorCode | "no_answer";
  readonly message: string;
  /** What the user can do about it. */
  readonly hint: string | null;
  /** Why a pairing failed. */
  readonly reason: PairingReason | null;
  /** What is wrong with a package that was rejected. */
  readonly problems?: readonly PackageProblem[] | undefined;
}

/** Thrown by a call that failed. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const noAnswer: Failure = {
  code: "no_answer",
  message: "zapd does not answer",
  hint: "Start it with: zapd serve",
  reason: null,
};

/** Errors of a call that its caller aborted, or that reached its caller's timeout. */
const abortErrorNames: ReadonlySet<string> = new Set(["AbortError", "TimeoutError"]);

/** The failure to show for a thrown error; `null` for a call that its caller aborted. */
export function failureOf(thrown: unknown): Failure | null {
  if (thrown instanceof CallError) return thrown.failure;
  if (thrown instanceof DOMException && abortErrorNames.has(thrown.name)) return null;
  return { ...noAnswer, code: "internal_error", message: "An error in the page", hint: "Reload the page" };
}

/** The URL of an operation, relative to the document, because the page may be mounted below a path. Also for `<img src>`. */
export function addressOf(name: OperationName, values: PathValues = {}): string {
  const { path }: OperationRoute = operationRoutes[name];
  const { query: parameters = {}, ...rest } = values;
  const parts: Readonly<Record<string, string | undefined>> = rest;
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(parts[name] ?? ""));
  const query = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `v1${filled}${query.length > 0 ? `?${new URLSearchParams(query)}` : ""}`;
}

/** Calls an operation. Throws a `CallError`, or the reason of an aborted `signal`. */
export async function call<Name extends ValueName>(
  name: Name,
  ...[args]: Parameters<Client[Name]>
): Promise<Result<Name>> {
  const { body, signal, ...values } = (args ?? {}) as Arguments<Name> & PathValues & { readonly body?: unknown };
  const { method }: OperationRoute = operationRoutes[name];
  const response = await send(addressOf(name, values as PathValues), {
    method: method.toUpperCase(),
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  return (await readAnswer(response)) as Result<Name>;
}

/** By how much the clock of the daemon is ahead of the one here, by its last answer. */
let daemonAheadMs = 0;

/** The time of the clock that the times in answers are from. */
export function daemonNow(): number {
  return Date.now() + daemonAheadMs;
}

/** `fetch` with the client header of the page. Throws a `CallError` if the daemon does not answer. */
export async function send(address: string, init: RequestInit = {}): Promise<Response> {
  try {
    const response = await fetch(address, {
      ...init,
      cache: "no-store",
      headers: { ...(init.headers as Record<string, string>), [clientHeader]: "page" },
    });
    const ahead = Date.parse(response.headers.get("date") ?? "") - Date.now();
    // The header has whole seconds, and may be on its way for a while.
    daemonAheadMs = Math.abs(ahead) > 2_000 ? ahead : 0;
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new CallError(noAnswer);
  }
}

/** The data of a response in the API's envelope. Throws a `CallError` if it is an error. */
export async function readAnswer(response: Response): Promise<unknown> {
  const envelope = (await response.json().catch(() => null)) as Envelope | null;
  if (envelope?.ok === true) return envelope.data;
  if (!envelope?.error) throw new CallError(noAnswer);
  const { code, message, hint = null, reason = null, details } = envelope.error;
  throw new CallError({ code, message, hint, reason, problems: details?.problems });
}

interface PathValues {
  readonly id?: string;
  readonly app?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

interface Envelope {
  readonly ok?: boolean;
  readonly data?: unknown;
  readonly error?: ErrorBody;
}
