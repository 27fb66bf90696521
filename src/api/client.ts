/**
 * A typed client of the API, made from the same table of operations as the server: one method per operation, with what
 * it takes and what it answers.
 *
 * ```ts
 * const zapd = createClient();
 * await zapd.key({ id: "Living Room", body: { key: "home" } });
 * const { state } = await zapd.getState({ id: "Living Room" });
 * ```
 */
import type { z } from "zod";
import { codes, type ErrorCode, ZapdError } from "./errors.ts";
import type { Operation, operations } from "./operations.ts";
import { type Endpoint, endpoints } from "./routes.ts";

export { type ErrorCode, ZapdError } from "./errors.ts";
export type { App, Device, State } from "./operations.ts";

export interface ClientOptions {
  /** Where the API is; `http://127.0.0.1:7272/v1` when left out. */
  readonly url?: string;
  /** Instead of the global `fetch`: a handler of your own, or one that calls the control socket. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
}

type Operations = typeof operations;
type WithId<O extends Operation> = O["path"] extends `${string}:id${string}` ? { readonly id: string } : unknown;
type WithQuery<O extends Operation> = O["query"] extends z.ZodType ? { readonly query?: z.input<O["query"]> } : unknown;
type WithBody<O extends Operation> = O["body"] extends z.ZodType
  ? O["optionalBody"] extends true
    ? { readonly body?: z.input<O["body"]> }
    : { readonly body: z.input<O["body"]> }
  : unknown;
/** The file of `install`. */
type WithArchive<Name> = Name extends "install" ? { readonly archive: Blob } : unknown;

/** What a method takes: `{id}` of the path, `query`, `body`, and a `signal` to give up by. */
export type Asked<Name extends keyof Operations> = WithId<Operations[Name]> &
  WithQuery<Operations[Name]> &
  WithBody<Operations[Name]> &
  WithArchive<Name> & { readonly signal?: AbortSignal };

/** What a method answers. */
export type Answered<Name extends keyof Operations> = z.output<Operations[Name]["data"]>;

/** One method per operation. Each fails with a ZapdError whose `code` is the daemon's; a daemon that is not there is fetch's own TypeError. */
export type Client = {
  readonly [Name in keyof Operations]: Record<never, never> extends Asked<Name>
    ? (asked?: Asked<Name>) => Promise<Answered<Name>>
    : (asked: Asked<Name>) => Promise<Answered<Name>>;
};

interface AnyAsked {
  readonly id?: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly archive?: Blob;
  readonly signal?: AbortSignal;
}

export function createClient(options: ClientOptions = {}): Client {
  const { url = "http://127.0.0.1:7272/v1", fetch: send = (request: Request) => fetch(request) } = options;
  const call = async (endpoint: Endpoint, asked: AnyAsked = {}) => read(await send(requestOf(url, endpoint, asked)));
  const methods = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    (asked?: AnyAsked) => call(endpoint, asked),
  ]);
  // The table's keys and the methods' names are the same by construction, which types cannot follow through entries.
  return Object.fromEntries(methods) as Client;
}

function requestOf(
  base: string,
  endpoint: Endpoint,
  { id = "", query = {}, body, archive, signal }: AnyAsked,
): Request {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
  const init: RequestInit = { method: endpoint.method.toUpperCase(), ...(signal && { signal }) };
  if (archive) {
    const form = new FormData();
    form.append("archive", archive, "package.zip");
    init.body = form;
  } else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "content-type": "application/json" };
  }
  return new Request(base + endpoint.path.replace(":id", encodeURIComponent(id)) + search, init);
}

interface Envelope {
  readonly ok: boolean;
  readonly data?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
}

async function read(response: Response): Promise<unknown> {
  const envelope = (await response.json()) as Envelope;
  if (envelope.ok) return envelope.data;
  const { code = "internal_error", message = "The daemon failed without a word", hint } = envelope.error ?? {};
  throw new ZapdError(Object.hasOwn(codes, code) ? (code as ErrorCode) : "internal_error", message, { hint });
}
