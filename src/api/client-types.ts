/**
 * The types of the client, made from the table of operations. In the npm package they are written out, each with its
 * words (.ci/client-types.ts), so that an editor completes and explains them.
 */
import type { z } from "zod";
import type { ApiEvent } from "./events.ts";
import type { Operation, operations } from "./operations.ts";
import type { EndpointName } from "./routes.ts";

export type { ApiEvent } from "./events.ts";
export type { App, Device, KeyOrText, State } from "./schemas.ts";

/** A package to upload: a `Blob`, or a file that is opened when it is read. */
export interface Archive {
  /** Bytes. */
  readonly size: number;
  stream(): ReadableStream<Uint8Array>;
}

interface Upload {
  readonly archive: Archive;
  /** Called as the archive is sent, with how many of its bytes are on their way. */
  readonly progress?: (bytes: number) => void;
}

type Operations = typeof operations;
type WithId<O extends Operation> = (O["path"] extends `${string}:id${string}` ? { readonly id: string } : unknown) &
  (O["path"] extends `${string}:app${string}` ? { readonly app: string } : unknown);
type WithQuery<O extends Operation> = O["query"] extends z.ZodType
  ? Record<never, never> extends z.input<O["query"]>
    ? { readonly query?: z.input<O["query"]> }
    : { readonly query: z.input<O["query"]> }
  : unknown;
type WithBody<O extends Operation> = O["body"] extends z.ZodType
  ? O["optionalBody"] extends true
    ? { readonly body?: z.input<O["body"]> }
    : { readonly body: z.input<O["body"]> }
  : unknown;
type WithUpload<O extends Operation> = O["takes"] extends "upload" ? Upload : unknown;

/** What an operation takes: the `id` of a device, `query`, `body`, and a `signal` to give up by. */
export type Arguments<Name extends EndpointName> = WithId<Operations[Name]> &
  WithQuery<Operations[Name]> &
  WithBody<Operations[Name]> &
  WithUpload<Operations[Name]> & { readonly signal?: AbortSignal | undefined };

/** The operations that answer with a stream, and those with one value. */
export type StreamName = {
  [Name in EndpointName]: Operations[Name] extends { answers: "stream" } ? Name : never;
}[EndpointName];
export type ValueName = Exclude<EndpointName, StreamName>;

/** What an operation answers: the `data` of its envelope. */
export type Result<Name extends ValueName> = z.output<Operations[Name]["data"]>;

/** One event of a stream, with the id to come back with. */
export type Followed = ApiEvent & { readonly id: string };

/** The arguments may be left out where nothing in them is needed. */
type Optional<T> = Record<never, never> extends T ? [given?: T] : [given: T];

/**
 * One method for each operation. Each fails with an `ApiError`; a daemon that is not there is fetch's own TypeError. A
 * stream is followed with `for await`: once it has begun it comes back by itself when it breaks off, and loses nothing that
 * the daemon still has.
 */
export type Client = {
  readonly [Name in ValueName]: (...given: Optional<Arguments<Name>>) => Promise<Result<Name>>;
} & {
  readonly [Name in StreamName]: (...given: Optional<Arguments<Name>>) => AsyncIterable<Followed>;
};

export interface Answer<Data> {
  readonly data: Data;
  /** The body of the response, unchanged. */
  readonly text: string;
}

/** Calls an operation by its name. Fails with an `ApiError`, a `NotZapdError`, or whatever `fetch` fails with. */
export type Call = <Name extends ValueName>(
  name: Name,
  ...given: Optional<Arguments<Name>>
) => Promise<Answer<Result<Name>>>;
