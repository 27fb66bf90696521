/**
 * A typed client of the API, made from the same table of operations as the server: one method for each operation. It does not
 * need zod at run time.
 *
 * ```ts
 * const zapd = createClient();
 * await zapd.pressKey({ id: "Living Room", body: { key: "home" } });
 * const { state } = await zapd.getState({ id: "Living Room" });
 * ```
 */

import type { Followed, StreamLine, StreamOptions } from "./client-stream.ts";
import type { Client } from "./client-types.ts";
import { type Failure, type PairingReason, toErrorCode, ZapdError } from "./errors.ts";
import { leaseHeader, type OperationName, type OperationRoute, operationRoutes } from "./routes.ts";

export type * from "./client-types.ts";
export { type ErrorCode, type PairingReason, ZapdError } from "./errors.ts";

const defaultUrl = "http://127.0.0.1:7272/v1";

export interface ClientOptions {
  /** The base URL of the API; `http://127.0.0.1:7272/v1` by default. */
  readonly url?: string;
  /**
   * Replaces the global `fetch`, for example to call the control socket. Node's own fails a call that is not answered within
   * five minutes, such as a long scene: give one with a dispatcher that waits longer, or ask for the stream of the scene.
   */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** The lease token for every call that has none of its own. */
  readonly lease?: string | undefined;
}

/** A package to upload: a `Blob`, or a file that is opened when the upload reads it. */
export interface Archive {
  /** Bytes. */
  readonly size: number;
  stream(): ReadableStream<Uint8Array>;
}

/** The arguments of an upload. */
export interface Upload {
  readonly archive: Archive;
  /** Called with the number of bytes of the archive sent so far. */
  readonly progress?: (bytes: number) => void;
  /** The deep link that the package is first started with, as `params` of a launch. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** The developer password of this device. It takes precedence over the setting, and is stored once the device accepts it. */
  readonly password?: string | undefined;
}

/** The arguments of an operation: the `id` of a device, `query`, `body`, and a `signal` to abort with. */
export type Arguments<Name extends OperationName> = NonNullable<Parameters<Client[Name]>[0]>;

/** The operations that answer with one value, not with a stream or a picture. */
export type ValueName = {
  [Name in OperationName]: (typeof operationRoutes)[Name] extends { answers: string } ? never : Name;
}[OperationName];

/** The answer of an operation: the `data` of the envelope. */
export type Result<Name extends ValueName> = Awaited<ReturnType<Client[Name]>>;

export interface Answer<Data> {
  readonly data: Data;
  /** The body of the response, unchanged. */
  readonly text: string;
}

/** Calls an operation by its name. Fails with an `ApiError`, a `NotZapdError`, or whatever `fetch` fails with. */
export type Call = <Name extends ValueName>(
  name: Name,
  ...args: Parameters<Client[Name]>
) => Promise<Answer<Result<Name>>>;

/** An error that the daemon answered, with its code, message and hint. */
export class ApiError extends ZapdError {
  /** Why a pairing failed; `undefined` with every other code. */
  readonly reason: PairingReason | undefined;
  /** The body of the response, unchanged. */
  readonly text: string;

  constructor({ code, message, hint, reason, details }: Failure, text: string) {
    super(toErrorCode(code), message, { hint, details });
    this.reason = reason;
    this.text = text;
  }
}

/** The answer is not from zapd. */
export class NotZapdError extends Error {
  override readonly name = "NotZapdError";
}

export function createClient(options: ClientOptions = {}): Client {
  const call = createCall(options) as (name: OperationName, args?: AnyArguments) => Promise<Answer<unknown>>;
  const methods = (Object.keys(operationRoutes) as OperationName[]).map((name) => {
    const { answers }: OperationRoute = operationRoutes[name];
    if (answers === "stream") return [name, (args?: AnyArguments) => createStream(options, name, args)];
    if (answers === "picture") return [name, (args?: AnyArguments) => readPicture(options, name, args)];
    return [name, async (args?: AnyArguments) => (await call(name, args)).data];
  });
  // The keys of the table are the names of the methods, which types cannot follow through entries.
  return Object.fromEntries(methods) as Client;
}

/** A client as one function, for callers that also need the text of each response. */
export function createCall(options: ClientOptions = {}): Call {
  const call = async (name: OperationName, args: AnyArguments = {}) => {
    const response = await sendRequest(options, name, args);
    return readAnswer(await response.text());
  };
  // The types of each operation come from the table, which types cannot follow through a call.
  return call as Call;
}

/** Calls an operation that answers with a picture. */
export async function readPicture(options: ClientOptions, name: OperationName, args: AnyArguments = {}): Promise<Blob> {
  const response = await sendRequest(options, name, args);
  // 204: there is none, as the caller wants to hear it.
  if (response.status === 204 || response.headers.get("content-type")?.startsWith("image/")) return response.blob();
  return readFailure(response);
}

export interface FollowOptions extends ClientOptions, Pick<StreamOptions, "broken" | "resumed"> {
  /** Whether a failure to reconnect is temporary; by default all but the daemon's own errors, except `too_many_streams`. */
  passes?(error: unknown): boolean;
}

/** Follows an operation that answers with a stream. Its module is loaded with the first stream. */
export async function* createStream<Line extends StreamLine = Followed>(
  options: FollowOptions,
  name: OperationName,
  args: AnyArguments = {},
): AsyncGenerator<Line> {
  const isPassing = (error: unknown) => !(error instanceof ApiError) || error.code === "too_many_streams";
  const { passes = isPassing } = options;
  const { follow } = await import("./client-stream.ts");
  yield* follow<Line>({
    ...options,
    signal: args.signal,
    passes,
    open: (lastId, signal) => openStream(options, name, { ...args, signal }, lastId),
  });
}

/** Opens the stream of an operation as JSON Lines, after the event with that id. It does not reconnect. */
export async function openStream(
  options: ClientOptions,
  name: OperationName,
  args: AnyArguments,
  lastId: string | null = null,
): Promise<ReadableStream<Uint8Array>> {
  const headers = { accept: "application/x-ndjson", ...(lastId !== null && { "last-event-id": lastId }) };
  const response = await sendRequest(options, name, args, headers);
  const isStream = response.headers.get("content-type")?.startsWith("application/x-ndjson") === true;
  return isStream && response.body ? response.body : readFailure(response);
}

async function sendRequest(
  { url = defaultUrl, fetch: send = fetch, lease: defaultLease }: ClientOptions,
  name: OperationName,
  args: AnyArguments,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const request = await requestOf(url, operationRoutes[name], args);
  const lease = args.lease ?? defaultLease;
  if (lease !== undefined) request.headers.set(leaseHeader, lease);
  for (const [header, value] of Object.entries(headers)) request.headers.set(header, value);
  return send(request);
}

interface AnyArguments extends Partial<Upload> {
  readonly id?: string;
  readonly app?: string;
  readonly group?: string;
  readonly scene?: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly lease?: string | undefined;
}

async function requestOf(base: string, route: OperationRoute, args: AnyArguments): Promise<Request> {
  const { id = "", app = "", group = "", scene = "", query = {}, body, archive, signal } = args;
  // URLs resolve a segment of dots, encoded or not, to another path.
  for (const [name, part] of Object.entries({ device: id, app, scene }))
    if (/^\.{1,2}$/.test(part)) {
      const error = { code: `${name}_not_found`, message: `No ${name} is called "${part}"` } as Failure;
      throw new ApiError(error, JSON.stringify({ ok: false, error }));
    }
  const pairs = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
  const search = pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : "";
  const init: RequestInit = { method: route.method.toUpperCase(), ...(signal && { signal }) };
  if (archive) Object.assign(init, (await import("./client-upload.ts")).formOf({ ...args, archive }));
  else if (body !== undefined)
    Object.assign(init, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const places: Readonly<Record<string, string>> = { id, app, group, scene };
  // Half a character (`\p{Cs}`) cannot be encoded.
  const path = route.path.replaceAll(/:(\w+)/g, (_, place: string) =>
    encodeURIComponent((places[place] ?? "").replace(/\p{Cs}/gu, "\ufffd")),
  );
  return new Request(base.replace(/\/$/, "") + path + search, init);
}

function readAnswer(text: string): Answer<unknown> {
  const envelope = envelopeIn(text);
  if (envelope?.ok === true && envelope.data) return { data: envelope.data, text };
  // Other servers put a text or `true` there.
  throw envelope?.error?.message ? new ApiError(envelope.error, text) : notZapd();
}

/** Fails with the error of a response that should have been a stream or a picture. */
async function readFailure(response: Response): Promise<never> {
  readAnswer(await response.text());
  throw notZapd();
}

function notZapd(): NotZapdError {
  return new NotZapdError("The server that answers is not zapd");
}

function envelopeIn(text: string): { ok?: unknown; data?: unknown; error?: Failure } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
