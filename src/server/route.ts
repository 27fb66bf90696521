/** How every route is made: parse what the operation takes, call, answer in the envelope, and tell those who follow. */
import { createHash } from "node:crypto";
import type { Context, Hono } from "hono";
import { z } from "zod";
import { errorBody, textOf, toZapdError, ZapdError } from "../api/errors.ts";
import { type Caller, callers } from "../api/events.ts";
import { describeIssue } from "../api/issues.ts";
import { type Operation, operations } from "../api/operations.ts";
import {
  clientHeader,
  type Endpoint,
  type EndpointName,
  endpoints,
  isForLeaseHolder,
  leaseHeader,
} from "../api/routes.ts";
import type { App } from "../api/schemas.ts";
import type { Device } from "../devices/device.ts";
import type { Devices } from "../devices/devices.ts";
import type { CheckedPicture } from "../devices/pictures.ts";
import { literal } from "../devices/press.ts";
import type { Call } from "../runtime/runtime.ts";
import { type SleepWatch, staleCommandError } from "../system/clock.ts";
import { type Log, redacted } from "../system/log.ts";
import { splitCommas } from "../system/text.ts";
import { checkLength, readJson } from "./body.ts";
import { checkReach } from "./guard.ts";

export interface Env {
  Bindings: Call;
  Variables: {
    /** Whether the caller is a page of an origin that is not listed; the guard says so. */
    foreign?: boolean;
    /** What every route works with. */
    deps: { readonly devices: Devices; readonly sleep: SleepWatch };
  };
}

type BodyOf<O extends Operation> = O["body"] extends z.ZodType ? z.infer<O["body"]> : undefined;
type QueryOf<O extends Operation> = O["query"] extends z.ZodType ? z.infer<O["query"]> : undefined;

/** A command that has ended, for those who follow. */
interface Ended {
  readonly action: string;
  readonly actionId: string;
  /** Of the device that was meant when it began; it may be a part of another by now. */
  readonly id: string;
  readonly by: Caller;
  readonly body: unknown;
  /** What it answered, or what it failed with. */
  readonly outcome: { readonly data: unknown } | { readonly error: unknown };
  readonly durationMs: number;
}

/** What a handler is given, already checked. */
export interface Given<O extends Operation> {
  /** The `{id}`, `{group}` or `{scene}` of the path, decoded once; empty where the path has none. */
  readonly id: string;
  /** How the request came in. */
  readonly call: Call;
  readonly body: BodyOf<O>;
  readonly query: QueryOf<O>;
  /** Ends when the caller hangs up. */
  readonly signal: AbortSignal;
  /** The same, with the leases that the caller carries, and the id by which those who follow know what the command brings about. */
  readonly turn: { readonly signal: AbortSignal; readonly action: string; readonly lease: string | undefined };
  /** For those that make their own answer. */
  readonly context: Context<Env>;
  readonly request: Request;
}

/** Bytes of a body that an operation takes no notice of. */
const mostIgnored = 1024 * 1024;
const maxPath = 2_048;
const maxQuery = 4_096;

type Operations = typeof operations;
/** The operations that answer with a stream or a picture, and those with one value. */
type AnsweringWith<Kind> = {
  [Name in EndpointName]: Operations[Name] extends { answers: Kind } ? Name : never;
}[EndpointName];
type StreamName = AnsweringWith<"stream">;
type PictureName = AnsweringWith<"picture">;
type ValueName = Exclude<EndpointName, StreamName | PictureName>;
type DataOf<Name extends EndpointName> = z.input<Operations[Name]["data"]>;

/** Adds an operation's route. What the handler returns becomes `data`. */
export function route<Name extends ValueName>(
  app: Hono<Env>,
  name: Name,
  handler: (given: Given<Operations[Name]>) => Promise<DataOf<Name> | Response> | DataOf<Name>,
): void {
  const operation: Operation = operations[name];
  const { method, path, reaches, takes } = operation;
  const commands = path.includes("/:id") && reaches === "device" && method !== "get";
  const holders = isForLeaseHolder(operation);
  // Of what only zapd is asked there is an event of its own.
  const action = reaches === "device" ? actionOf(operation) : null;
  app.on(method, `/v1${path}`, async (c) => {
    checkReach(c, reaches);
    const began = performance.now();
    const { devices, sleep } = c.get("deps");
    const request = c.req.raw;
    checkUrl(request.url);
    if (takes !== "json" && takes !== "upload") checkLength(request, mostIgnored);
    const body = takes === "json" ? bodyOf(operation, await readJson(request)) : undefined;
    const query = operation.query && checked(operation.query, queryOf(c));
    // What waited in the kernel, and what began before the sleep and came to its end now.
    if (commands && sleep.hasSleptSince(began)) throw staleCommandError();
    const id = c.req.param("id") ?? c.req.param("group") ?? c.req.param("scene") ?? "";
    const lease = c.req.header(leaseHeader);
    if (holders) devices.findOrNull(id)?.checkLease(lease);
    const actionId = action === null ? "" : crypto.randomUUID();
    const given = {
      id,
      call: c.env,
      context: c,
      body,
      query,
      request,
      // Made when it is asked for: some runtimes make it only then.
      get signal() {
        return request.signal;
      },
      get turn() {
        return { signal: request.signal, action: actionId, lease };
      },
    };
    const since = performance.now();
    // By its device as it is called now: by the end another may have its name.
    const meant = action === null ? undefined : devices.findOrNull(id)?.id;
    const tell = (outcome: Ended["outcome"]) => {
      const by = callers.find((one) => one === c.req.header(clientHeader)) ?? "http";
      const durationMs = Math.round(performance.now() - since);
      if (action !== null && meant !== undefined)
        tellAction(devices, { action, actionId, id: meant, by, body, outcome, durationMs });
    };
    try {
      // The schemas of this very operation have read them, which types cannot follow.
      const answer = handler(given as unknown as Given<Operations[Name]>);
      // Whoever must be waited for has a deadline of its own.
      if (answer instanceof Promise) c.env.withoutIdleLimit("answered");
      const data = await answer;
      // One that may answer with a stream makes it itself.
      if (data instanceof Response) return data;
      tell({ data });
      return c.json({ ok: true, data });
    } catch (error) {
      const hasLeft = request.signal.aborted && !(error instanceof ZapdError);
      tell({
        error: hasLeft ? new ZapdError("internal_error", "Whoever asked for it left before it was done") : error,
      });
      throw error;
    }
  });
}

/** Adds the route of an operation on one device, which the handler is given. */
export function deviceRoute<Name extends ValueName>(
  app: Hono<Env>,
  name: Name,
  handler: (device: Device, given: Given<Operations[Name]>) => Promise<DataOf<Name> | Response> | DataOf<Name>,
): void {
  route(app, name, (given) => handler(given.context.get("deps").devices.find(given.id), given));
}

/** Tells those who follow of a command that has ended; of one to a device that is not known there is nothing to tell. */
function tellAction(devices: Devices, { id, action, actionId, by, body, outcome, durationMs }: Ended): void {
  const device = devices.findOrNull(id);
  if (!device) return;
  const { keys, key } = (body ?? {}) as { keys?: unknown; key?: unknown };
  const words = (Array.isArray(keys) ? keys : [key]).filter((one) => typeof one === "string");
  const typed = words.filter(isTyped);
  const { confirmed, app } = ("data" in outcome ? outcome.data : {}) as { confirmed?: unknown; app?: unknown };
  devices.journal.publish({
    type: "action.finished",
    device_id: device.id,
    action,
    action_id: actionId,
    by,
    ok: "data" in outcome,
    confirmed: confirmed as boolean | null | undefined,
    key: typeof key === "string" && typed.length === 0 ? key : undefined,
    keys: Array.isArray(keys) ? words.map((word) => (isTyped(word) ? "literal" : word)) : undefined,
    characters: typed.length > 0 ? typed.reduce((sum, word) => sum + [...word].length - literal.length, 0) : undefined,
    app: app as App | null | undefined,
    error: "error" in outcome ? shownError(outcome.error, typed.length > 0) : undefined,
    duration_ms: durationMs,
  });
}

/** Why a command failed, for everybody who follows: words about a text that was typed may repeat it. */
function shownError(thrown: unknown, isTyped: boolean): ReturnType<typeof errorBody> {
  const error = toZapdError(thrown);
  return isTyped ? { code: error.code, message: "The text was not typed" } : errorBody(error);
}

function isTyped(word: string): boolean {
  return word.startsWith(literal);
}

/** The word of an action, as its answer says it; `null` for what is none. */
function actionOf({ data }: Operation): string | null {
  const literal = data instanceof z.ZodObject ? data.shape["action"] : undefined;
  return literal instanceof z.ZodLiteral ? String(literal.value) : null;
}

/** Adds the route of a stream: it makes its own answer, once its query is checked. What is wrong before its first byte is told in the envelope. */
export function stream<Name extends StreamName | PictureName>(
  app: Hono<Env>,
  name: Name,
  handler: (given: Given<Operations[Name]>) => Promise<Response> | Response,
): void {
  const operation: Operation = operations[name];
  app.on(operation.method, `/v1${operation.path}`, async (c) => {
    checkReach(c, operation.reaches);
    const request = c.req.raw;
    checkUrl(request.url);
    const query = operation.query && checked(operation.query, queryOf(c));
    const id = c.req.param("id") ?? c.req.param("group") ?? c.req.param("scene") ?? "";
    const { signal } = request;
    const given = {
      id,
      call: c.env,
      body: undefined,
      query,
      request,
      signal,
      turn: { signal, action: "", lease: c.req.header(leaseHeader) },
      context: c,
    };
    return handler(given as unknown as Parameters<typeof handler>[0]);
  });
}

/** Adds the route of a picture, answered as it is, with a tag by which who has it already is spared it. HEAD starts nothing. */
export function picture<Name extends PictureName>(
  app: Hono<Env>,
  name: Name,
  handler: (device: Device, given: Given<Operations[Name]>) => Promise<CheckedPicture>,
): void {
  stream(app, name, async (given) => {
    const { context: c, request } = given;
    const device = c.get("deps").devices.find(given.id);
    if (request.method === "HEAD") return c.body(null, 200);
    c.env.withoutIdleLimit("answered");
    const asked = handler(device, given);
    const found = given.query?.missing === "empty" ? await asked.catch(() => null) : await asked;
    if (found === null) return c.body(null, 204);
    const { bytes, type } = found;
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    // A page may keep it, and asks whether it is still the same.
    const headers = { etag, "cache-control": "private, no-cache" };
    if (hasAlready(request, etag)) return c.body(null, 304, headers);
    return c.body(new Uint8Array(bytes), 200, { ...headers, "content-type": type });
  });
}

/** Whether the caller says that it has what a tag stands for: whatever made it weak on the way, and `*` is anything (RFC 9110, 13.1.2). */
export function hasAlready(request: Request, etag: string): boolean {
  const tags = splitCommas(request.headers.get("if-none-match") ?? "");
  return tags.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
}

function bodyOf({ body, optionalBody }: Operation, given: unknown): unknown {
  if (given === undefined && !optionalBody) {
    throw new ZapdError("invalid_payload", "The request needs a JSON body", {
      hint: `Such as: curl -d '{"key":"home"}'`,
    });
  }
  return body && checked(body, given === undefined ? {} : given);
}

/** The query as an object; a name that is given twice is a list. */
function queryOf(c: Context<Env>): Record<string, unknown> {
  const all = Object.entries(c.req.queries());
  return Object.fromEntries(all.map(([name, texts]) => [name, texts.length === 1 ? texts[0] : texts]));
}

function checked(schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return data;
  throw new ZapdError("invalid_payload", `The request is not valid: ${describeIssue(error.issues)}`.slice(0, 500));
}

function checkUrl(url: string): void {
  if (url.length <= maxPath) return;
  const { pathname, search } = new URL(url);
  if (pathname.length > maxPath || search.length > maxQuery + "?".length) {
    throw new ZapdError(
      "invalid_payload",
      `The address of the request is too long: its path may have ${maxPath} characters, its query ${maxQuery}`,
    );
  }
}

/** Failures whose words are of files, and never of the caller. What devices say is redacted where it comes in (reach.ts). */
const ofFiles: ReadonlySet<string> = new Set(["config_invalid", "storage_error"]);

/**
 * Answers whatever was thrown in the envelope, without a stack or a library's words. What a caller sent stands in it as it
 * was sent: a word in its place would tell who guesses that a guess was right (SECURITY.md T31).
 */
export function answerError(thrown: unknown, c: Context<Env>, log: Log): Response {
  const error = thrown instanceof ZapdError ? thrown : unexpected(thrown, c, log);
  // Who looks after the machine must hear of its disk, and not with every request.
  if (error.code === "storage_error") log.recurring(error.message);
  const shown = errorBody(ofFiles.has(error.code) ? redacted(error, log) : error);
  // The rest of a body that is too large is not read: the connection cannot be used again.
  const headers: Record<string, string> = error.code === "payload_too_large" ? { connection: "close" } : {};
  return c.json({ ok: false, error: shown }, error.status as 400, headers);
}

function unexpected(thrown: unknown, c: Context<Env>, log: Log): ZapdError {
  if (!c.req.raw.signal.aborted)
    log.error(
      `${c.req.method} ${c.req.path}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : textOf(thrown)}`,
    );
  return new ZapdError("internal_error", "zapd failed at this; the log has the details");
}

/** 404 for an unknown route, 405 with `Allow` for a method that a known one does not take. */
export function answerUnknown(c: Context<Env>, prefix: string): Response {
  // As the router has read it: `URL` would take out dots, which Deno leaves in. Behind a CONNECT is no address.
  const path = /^https?:\/\/[^/?#]*(\/[^?#]*)/i.exec(c.req.url)?.[1] ?? c.req.url;
  const known: readonly Endpoint[] = Object.values(endpoints);
  const methods = known.filter((one) => patternOf(one).test(path)).map((one) => one.method.toUpperCase());
  if (methods.length === 0) {
    const error = new ZapdError("not_found", `There is nothing at ${(c.env.callerPath ?? path).slice(0, 200)}`, {
      hint: `Every route begins with ${prefix}/v1, such as ${prefix}/v1/devices`,
    });
    return c.json({ ok: false, error: errorBody(error) }, 404);
  }
  return answerMethod(c, path, methods);
}

/** 405 with `Allow`: the path is known, and takes other methods. */
export function answerMethod(c: Context<Env>, path: string, methods: readonly string[]): Response {
  const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  const error = new ZapdError(
    "method_not_allowed",
    `${(c.env.callerPath ?? path).slice(0, 200)} does not take ${c.req.method.slice(0, 20)}`,
    { hint: `It takes ${allow.join(", ")}` },
  );
  return c.json({ ok: false, error: errorBody(error) }, 405, { allow: allow.join(", ") });
}

function patternOf({ path }: Endpoint): RegExp {
  return new RegExp(`^/v1${path.replaceAll(/:\w+/g, "[^/]+")}$`);
}
