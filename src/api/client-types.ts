/**
 * The client's methods, inferred from the table of operations. In the npm package they are written out with their docs
 * (`npm run build:package`), so that an editor can show them.
 */
import type { z } from "zod";
import type { Upload } from "./client.ts";
import type { Followed } from "./client-stream.ts";
import type { Operation, operations } from "./operations.ts";

export type { Followed } from "./client-stream.ts";
export type { ApiEvent } from "./events.ts";
export type { SceneInfo, SceneResult, StepResult } from "./scenes.ts";
export type { App, Device, KeyOrText, State } from "./schemas.ts";

type Optional<T> = Record<never, never> extends T ? { readonly query?: T } : { readonly query: T };
type WithId<O extends Operation> = (O["path"] extends `${string}:id${string}` ? { readonly id: string } : unknown) &
  (O["path"] extends `${string}:app${string}` ? { readonly app: string } : unknown) &
  (O["path"] extends `${string}:group${string}` ? { readonly group: string } : unknown) &
  (O["path"] extends `${string}:scene${string}` ? { readonly scene: string } : unknown);
/** Without `follow`, whose answer has no end. */
type WithQuery<O extends Operation> = O["query"] extends z.ZodType
  ? Optional<Omit<z.input<O["query"]>, "follow">>
  : unknown;
type WithBody<O extends Operation> = O["body"] extends z.ZodType
  ? O["optionalBody"] extends true
    ? { readonly body?: z.input<O["body"]> }
    : { readonly body: z.input<O["body"]> }
  : unknown;
type WithUpload<O extends Operation> = O["takes"] extends "upload" ? Upload : unknown;
type Arguments<O extends Operation> = WithId<O> &
  WithQuery<O> &
  WithBody<O> &
  WithUpload<O> & {
    readonly signal?: AbortSignal | undefined;
    /** The token of a lease of the device; tokens for several devices are separated by commas. */
    readonly lease?: string | undefined;
  };

/**
 * One method for each operation. Each fails with an `ApiError`, or with fetch's own TypeError where no daemon runs. A stream
 * is read with `for await`: once open it reconnects by itself, and misses nothing that the daemon still has. A log is followed
 * with `createStream<{ id: string; lines: string[] }>(options, "readLogs", { id, query: { follow: "true" } })`.
 */
export type Client = {
  readonly [Name in keyof typeof operations]: (
    ...args: Record<never, never> extends Arguments<(typeof operations)[Name]>
      ? [args?: Arguments<(typeof operations)[Name]>]
      : [args: Arguments<(typeof operations)[Name]>]
  ) => (typeof operations)[Name] extends { answers: "stream" }
    ? AsyncIterable<Followed>
    : (typeof operations)[Name] extends { answers: "picture" }
      ? Promise<Blob>
      : Promise<z.output<(typeof operations)[Name]["data"]>>;
};
