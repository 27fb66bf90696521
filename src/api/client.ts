/**
 * A typed client of the API, made from the same table of operations as the server: one method for each operation, with
 * what it takes and what it answers. It needs no zod when it runs.
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
import { type Endpoint, type EndpointName, endpoints, leaseHeader } from "./routes.ts";

export type * from "./client-types.ts";
export { type ErrorCode, type PairingReason, ZapdError } from "./errors.ts";

const usualUrl = "http://127.0.0.1:7272/v1";

export interface ClientOptions {
  /** Where the API is; `http://127.0.0.1:7272/v1` when left out. */
  readonly url?: string;
  /** Instead of the global `fetch`: a handler of your own, or one that calls the control socket. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** The token of a lease that every call carries, but those that carry another. */
  readonly lease?: string | undefined;
}

/** A package to upload: a `Blob`, or a file that is opened when it is read. */
export interface Archive {
  /** Bytes. */
  readonly size: number;
  stream(): ReadableStream<Uint8Array>;
}

/** What an operation takes that is uploaded to. */
export interface Upload {
  readonly archive: Archive;
  /** Told how many bytes of the archive have been taken. */
  readonly progress?: (bytes: number) => void;
  /** What the package is started with the first time, as `params` of a launch. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** The password of this device alone; it goes before the setting, and is kept once the device has accepted it. */
  readonly password?: string | undefined;
}

/** What an operation takes: the `id` of a device, `query`, `body`, and a `signal` to give up by. */
export type Arguments<Name extends EndpointName> = NonNullable<Parameters<Client[Name]>[0]>;

/** The operations that answer with one value, and not with a stream. */
export type ValueName = {
  [Name in EndpointName]: (typeof endpoints)[Name] extends { answers: string } ? never : Name;
}[EndpointName];

/** What an operation answers: the `data` of its envelope. */
export type Result<Name extends ValueName> = Awaited<ReturnType<Client[Name]>>;

export interface Answer<Data> {
  readonly data: Data;
  /** The body of the response, unchanged. */
  readonly text: string;
}

/** Calls an operation by its name. Fails with an `ApiError`, a `NotZapdError`, or whatever `fetch` fails with. */
export type Call = <Name extends ValueName>(
  name: Name,
  ...given: Parameters<Client[Name]>
) => Promise<Answer<Result<Name>>>;

/** The daemon's own failure, with its code, message and hint. */
export class ApiError extends ZapdError {
  /** Why a pairing failed; absent with every other code. */
  readonly reason: PairingReason | undefined;
  /** The body of the response, unchanged. */
  readonly text: string;

  constructor({ code, message, hint, reason, details }: Failure, text: string) {
    super(toErrorCode(code), message, { hint, details });
    this.reason = reason;
    this.text = text;
  }
}

/** Something answered, and it is not zapd. */
export class NotZapdError extends Error {
  override readonly name = "NotZapdError";
}

export function createClient(options: ClientOptions = {}): Client {
  const call = createCall(options) as (name: EndpointName, given?: AnyArguments) => Promise<Answer<unknown>>;
  const methods = (Object.keys(endpoints) as EndpointName[]).map((name) => {
    const { answers }: Endpoint = endpoints[name];
    if (answers === "stream") return [name, (given?: AnyArguments) => createStream(options, name, given)];
    if (answers === "picture") return [name, (given?: AnyArguments) => readPicture(options, name, given)];
    return [name, async (given?: AnyArguments) => (await call(name, given)).data];
  });
  // The table's keys and the methods' names are the same by construction, which types cannot follow through entries.
  return Object.fromEntries(methods) as Client;
}

/** A client as one function, for callers that want the text of each response, too. */
export function createCall(options: ClientOptions = {}): Call {
  const send = senderOf(options);
  const call = async (name: EndpointName, given: AnyArguments = {}) => {
    const response = await send(name, given);
    return readAnswer(await response.text());
  };
  // What each name takes and answers is in the table of operations, which types cannot follow through a call.
  return call as Call;
}

/** A picture, by an operation that answers with one. */
export async function readPicture(options: ClientOptions, name: EndpointName, given: AnyArguments = {}): Promise<Blob> {
  const response = await senderOf(options)(name, given);
  if (response.headers.get("content-type")?.startsWith("image/")) return response.blob();
  readAnswer(await response.text());
  throw new NotZapdError("What answers is not zapd");
}

export interface FollowOptions extends ClientOptions, Pick<StreamOptions, "broken" | "resumed"> {
  /** Whether a failure to come back is one that passes; without it, whatever is not the daemon's own but for want of room. */
  passes?(error: unknown): boolean;
}

/** Follows an operation that answers with a stream: what only that needs is loaded for it. */
export async function* createStream<Line extends StreamLine = Followed>(
  options: FollowOptions,
  name: EndpointName,
  given: AnyArguments = {},
): AsyncGenerator<Line> {
  const { broken, resumed, passes = isPassing } = options;
  const { follow } = await import("./client-stream.ts");
  yield* follow<Line>({
    signal: given.signal,
    ...(broken && { broken }),
    resumed,
    passes,
    open: (lastId, signal) => openStream(options, name, { ...given, signal }, lastId),
  });
}

/** The lines of an operation that is asked for a stream, after the event with that id; it does not come back by itself. */
export async function openStream(
  options: ClientOptions,
  name: EndpointName,
  given: AnyArguments,
  lastId: string | null = null,
): Promise<ReadableStream<Uint8Array>> {
  const accept = { accept: "application/x-ndjson" };
  const headers = lastId === null ? accept : { ...accept, "last-event-id": lastId };
  const response = await senderOf(options)(name, given, headers);
  const isStream = response.headers.get("content-type")?.startsWith("application/x-ndjson") === true;
  if (isStream && response.body) return response.body;
  readAnswer(await response.text());
  throw new NotZapdError("What answers is not zapd");
}

function isPassing(error: unknown): boolean {
  return !(error instanceof ApiError) || error.code === "too_many_streams";
}

/** Sends the requests of operations to where the API is. */
function senderOf({ url = usualUrl, fetch: send = (request: Request) => fetch(request), lease: usual }: ClientOptions) {
  return async (name: EndpointName, given: AnyArguments, headers: Readonly<Record<string, string>> = {}) => {
    const request = await requestOf(url, endpoints[name], given);
    const lease = given.lease ?? usual;
    if (lease !== undefined) request.headers.set(leaseHeader, lease);
    for (const [header, value] of Object.entries(headers)) request.headers.set(header, value);
    return send(request);
  };
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

async function requestOf(base: string, endpoint: Endpoint, given: AnyArguments): Promise<Request> {
  const { id = "", app = "", group = "", scene = "", query = {}, body, archive, signal } = given;
  // A path of dots means another one, whatever it is encoded as.
  if (/^\.{1,2}$/.test(id.trim())) throw new ZapdError("device_not_found", `No device is called "${id}"`);
  const set = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
  const search = set.length > 0 ? `?${new URLSearchParams(set)}` : "";
  const init: RequestInit = { method: endpoint.method.toUpperCase(), ...(signal && { signal }) };
  if (archive) Object.assign(init, (await import("./client-upload.ts")).formOf({ ...given, archive }));
  else if (body !== undefined)
    Object.assign(init, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const places: Readonly<Record<string, string>> = { id, app, group, scene };
  const path = endpoint.path.replaceAll(/:(\w+)/g, (_, place: string) => encodeURIComponent(places[place] ?? ""));
  return new Request(base + path + search, init);
}

function readAnswer(text: string): Answer<unknown> {
  const envelope = envelopeIn(text);
  if (envelope?.ok === true) return { data: envelope.data, text };
  if (envelope?.error) throw new ApiError(envelope.error, text);
  throw new NotZapdError("What answers is not zapd");
}

function envelopeIn(text: string): { ok?: unknown; data?: unknown; error?: Failure } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
