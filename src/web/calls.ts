/** Calls to the API, typed by the same table as the server. A failure says what the daemon said, word for word. */
import type { Arguments, Result, ValueName } from "../api/client.ts";
import type { Client } from "../api/client-types.ts";
import type { ErrorCode, ErrorDetails, PackageProblem, PairingReason } from "../api/errors.ts";
import { clientHeader, type Endpoint, type EndpointName, endpoints } from "../api/routes.ts";

/** Why a call failed. */
export interface Failure {
  /** The daemon's code; `no_answer` when the daemon is not there. */
  readonly code: ErrorCode | "no_answer";
  readonly message: string;
  /** What its user does about it. */
  readonly hint: string | null;
  /** Of a pairing that failed. */
  readonly reason: PairingReason | null;
  /** Of a package that was rejected: what is wrong with it. */
  readonly problems?: readonly PackageProblem[] | undefined;
}

/** A call that failed, as it is thrown. */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const noAnswer: Failure = {
  code: "no_answer",
  message: "zapd does not answer",
  hint: "Start it with: zapd serve",
  reason: null,
};

/** The names of what is thrown by a call that was given up, or that was only to go on for so long. */
const givenUp: ReadonlySet<string> = new Set(["AbortError", "TimeoutError"]);

/** The failure in whatever was thrown; `null` for a call that its caller gave up. */
export function failureOf(thrown: unknown): Failure | null {
  if (thrown instanceof CallError) return thrown.failure;
  if (thrown instanceof DOMException && givenUp.has(thrown.name)) return null;
  return { ...noAnswer, code: "internal_error", message: "The page failed at this", hint: "Reload it" };
}

/** The address of an operation's path, for what a browser loads by itself: pictures. Relative to the document: the page may be mounted below a path. */
export function addressOf(name: EndpointName, given: Places = {}): string {
  const { path }: Endpoint = endpoints[name];
  const { query: asked = {}, ...parts } = given;
  const places: Readonly<Record<string, string | undefined>> = parts;
  const filled = path.replaceAll(/:(\w+)/g, (_, place: string) => encodeURIComponent(places[place] ?? ""));
  const query = Object.entries(asked).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `v1${filled}${query.length > 0 ? `?${new URLSearchParams(query)}` : ""}`;
}

/** Calls an operation. Fails with a `CallError`, or with what ends its signal. */
export async function call<Name extends ValueName>(
  name: Name,
  ...[given]: Parameters<Client[Name]>
): Promise<Result<Name>> {
  const { body, signal, ...places } = (given ?? {}) as Arguments<Name> & Places & { readonly body?: unknown };
  const { method }: Endpoint = endpoints[name];
  const response = await send(addressOf(name, places as Places), {
    method: method.toUpperCase(),
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  return (await readAnswer(response)) as Result<Name>;
}

/** `fetch` with the page's own header; a daemon that is not there is a `CallError`. */
export async function send(address: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address, {
      ...init,
      cache: "no-store",
      headers: { ...(init.headers as Record<string, string>), [clientHeader]: "page" },
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new CallError(noAnswer);
  }
}

/** What an answer in the envelope comes to. */
export async function readAnswer(response: Response): Promise<unknown> {
  const envelope = (await response.json().catch(() => null)) as Envelope | null;
  if (envelope?.ok === true) return envelope.data;
  if (!envelope?.error) throw new CallError(noAnswer);
  const { code, message, hint = null, reason = null, details } = envelope.error;
  throw new CallError({ code, message, hint, reason, problems: details?.problems });
}

interface Places {
  readonly id?: string;
  readonly app?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

interface Envelope {
  readonly ok?: boolean;
  readonly data?: unknown;
  readonly error?: {
    readonly code: Failure["code"];
    readonly message: string;
    readonly hint?: string;
    readonly reason?: PairingReason;
    readonly details?: ErrorDetails;
  };
}
