/** How every route works: parse the input of the operation, call the handler, answer in the envelope, publish the action. */
import { createHash } from "node:crypto";
import type { Context, Hono } from "hono";
import { z } from "zod";
import { errorBody, textOf, toZapdError, ZapdError } from "../api/errors.ts";
import { callers, doctorCaller, type EventOf } from "../api/events.ts";
import { describeIssue } from "../api/issues.ts";
import { type Operation, operations } from "../api/operations.ts";
import {
  clientHeader,
  isForLeaseHolder,
  leaseHeader,
  type OperationName,
  type OperationRoute,
  operationRoutes,
} from "../api/routes.ts";
import { type App, FailureSummary } from "../api/schemas.ts";
import type { Device } from "../devices/device.ts";
import type { Devices } from "../devices/devices.ts";
import type { CheckedPicture } from "../devices/pictures.ts";
import { literal } from "../devices/press.ts";
import type { Call } from "../runtime/runtime.ts";
import { machineSleep, staleCommandError } from "../system/clock.ts";
import { type Log, redacted } from "../system/log.ts";
import { splitCommas } from "../system/text.ts";
import { checkLength, readJson } from "./body.ts";
import { checkReach } from "./guard.ts";

export interface Env {
  Bindings: Call;
  Variables: {
    /** Whether the caller is a page of an unlisted origin; set by the guard. */
    foreign?: boolean;
    deps: { readonly devices: Devices };
  };
}

type BodyOf<O extends Operation> = O["body"] extends z.ZodType ? z.infer<O["body"]> : undefined;
type QueryOf<O extends Operation> = O["query"] extends z.ZodType ? z.infer<O["query"]> : undefined;

type Action = Pick<EventOf<"action.finished">, "device_id" | "action" | "action_id" | "by" | "duration_ms">;
type Outcome = { readonly data: unknown } | { readonly error: unknown };

/** The input of a handler, already validated. */
export interface Input<O extends Operation> {
  /** The `{id}`, `{group}` or `{scene}` of the path, decoded once; empty where the path has none. */
  readonly id: string;
  readonly body: BodyOf<O>;
  readonly query: QueryOf<O>;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** The signal, the id of the action for its events, and the lease tokens of the caller. */
  readonly turn: { readonly signal: AbortSignal; readonly action: string; readonly lease: string | undefined };
  /** `false`: zapd asks by itself, or for a diagnosis; what is read is no use of the device. */
  readonly isUse: boolean;
  /** For handlers that build their own response. */
  readonly context: Context<Env>;
  readonly request: Request;
}

/** The largest body of a request whose operation takes none. */
const maxIgnoredBytes = 1024 * 1024;
const maxPathLength = 2_048;
const maxQueryLength = 4_096;

type Operations = typeof operations;
/** What a handler returns: the `data` of the envelope, or a whole response for a stream or a picture. */
type Answer<Name extends OperationName> =
  | Response
  | (Operations[Name] extends { answers: string } ? never : z.input<Operations[Name]["data"]>);

/** Adds the route of an operation. */
export function route<Name extends OperationName>(
  app: Hono<Env>,
  name: Name,
  handler: (input: Input<Operations[Name]>) => Promise<Answer<Name>> | Answer<Name>,
): void {
  const operation: Operation = operations[name];
  const { method, path, reaches, takes } = operation;
  const isForDevice = path.includes("/:id") || name === "runScene" || name === "runSteps";
  const isCommand = isForDevice && reaches === "device" && method !== "get";
  const needsLease = isForLeaseHolder(operation);
  // A change of what zapd itself knows has an event of its own.
  const action = reaches === "device" ? actionOf(operation) : null;
  app.on(method, `/v1${path}`, async (c) => {
    checkReach(c, reaches);
    const began = performance.now();
    const { devices } = c.get("deps");
    const request = c.req.raw;
    checkUrl(request.url);
    if (takes !== "json" && takes !== "upload") await checkLength(request, maxIgnoredBytes);
    const body = takes === "json" ? bodyOf(operation, await readJson(request)) : undefined;
    const query = operation.query && validate(operation.query, queryOf(c));
    // The request waited in the kernel while this machine slept, or its body was still arriving.
    if (isCommand && machineSleep().hasSleptSince(began)) throw staleCommandError();
    const id = c.req.param("id") ?? c.req.param("group") ?? c.req.param("scene") ?? "";
    const lease = c.req.header(leaseHeader);
    const actionId = action === null ? "" : crypto.randomUUID();
    const client = c.req.header(clientHeader);
    const input = {
      id,
      isUse: c.env.isUse !== false && client !== doctorCaller,
      context: c,
      body,
      query,
      request,
      // A getter, since some runtimes create the signal of a request only when it is read.
      get signal() {
        return request.signal;
      },
      get turn() {
        return { signal: request.signal, action: actionId, lease };
      },
    };
    const since = performance.now();
    // Resolved now: by the end of the command another device may have the name.
    const device = needsLease ? devices.findOrNull(id) : null;
    const device_id = device?.id;
    const publish = (outcome: Outcome) => {
      const by = client === doctorCaller ? "cli" : (callers.find((one) => one === client) ?? "http");
      const duration_ms = Math.round(performance.now() - since);
      if (action !== null && device_id !== undefined)
        publishAction(devices, { device_id, action, action_id: actionId, by, duration_ms }, body, outcome);
    };
    try {
      if (needsLease) device?.checkLease(lease);
      // The schemas of this operation have validated it, which types cannot follow.
      const answer = handler(input as unknown as Input<Operations[Name]>);
      // The devices and the waits behind it have deadlines of their own.
      if (answer instanceof Promise) c.env.withoutIdleLimit("answered");
      const data = await answer;
      if (data instanceof Response) return data;
      publish({ data });
      return c.json({ ok: true, data });
    } catch (error) {
      // A call to a device that ends with its caller looks like one that the device did not answer in time.
      const { aborted } = request.signal;
      publish({
        error: aborted ? disconnected() : error,
      });
      throw error;
    }
  });
}

/** Adds the route of an operation on one device, which is the first argument of the handler. */
export function deviceRoute<Name extends OperationName>(
  app: Hono<Env>,
  name: Name,
  handler: (device: Device, input: Input<Operations[Name]>) => Promise<Answer<Name>> | Answer<Name>,
): void {
  route(app, name, (input) => handler(input.context.get("deps").devices.find(input.id), input));
}

/** A text that is no key may be as long as a body: an event of that size would drop all others from the journal. */
const maxKeyLength = 64;

/** Publishes `action.finished`, unless the device has been removed meanwhile; it may be a part of another by now. */
function publishAction(devices: Devices, action: Action, body: unknown, outcome: Outcome): void {
  const device = devices.findOrNull(action.device_id);
  if (!device) return;
  const { keys, key } = (body ?? {}) as { keys?: readonly string[]; key?: string };
  const words = keys ?? (key === undefined ? [] : [key]);
  const typed = words.filter(isTyped);
  const { confirmed, app } = ("data" in outcome ? outcome.data : {}) as { confirmed?: unknown; app?: unknown };
  devices.journal.publish({
    type: "action.finished",
    ...action,
    device_id: device.id,
    ok: "data" in outcome,
    confirmed: confirmed as boolean | null | undefined,
    key: typed.length === 0 ? key?.slice(0, maxKeyLength) : undefined,
    keys: keys?.map((word) => (isTyped(word) ? "literal" : word.slice(0, maxKeyLength))),
    characters: typed.length > 0 ? typed.reduce((sum, word) => sum + [...word].length - literal.length, 0) : undefined,
    app: app as App | null | undefined,
    error: "error" in outcome ? publicError(outcome.error, typed.length > 0) : undefined,
  });
}

/** The error of an event, without the message of a failure about typed text, which may repeat the text. */
function publicError(thrown: unknown, isTyped: boolean): z.infer<typeof FailureSummary> {
  const error = toZapdError(thrown);
  return isTyped ? { code: error.code, message: "The text was not typed" } : FailureSummary.parse(errorBody(error));
}

function isTyped(word: string): boolean {
  return word.startsWith(literal);
}

/** The name of the action, from the schema of its answer; `null` where the operation is no action. */
function actionOf({ data }: Operation): string | null {
  const literal = data instanceof z.ZodObject ? data.shape["action"] : undefined;
  return literal instanceof z.ZodLiteral ? String(literal.value) : null;
}

/** Adds the route of a picture, with an `ETag`. HEAD does not ask the device. */
export function picture<Name extends "getIcon" | "getArtwork" | "getScreenshot">(
  app: Hono<Env>,
  name: Name,
  handler: (device: Device, input: Input<Operations[Name]>) => Promise<CheckedPicture>,
): void {
  deviceRoute(app, name, async (device, input) => {
    const { context: c, request } = input;
    if (request.method === "HEAD") return c.body(null, 200);
    const result = handler(device, input);
    const found = input.query?.missing === "empty" ? await result.catch(() => null) : await result;
    if (found === null) return c.body(null, 204);
    const { bytes, type } = found;
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    // A page may cache it, and revalidates it each time.
    const headers = { etag, "cache-control": "private, no-cache" };
    if (isCached(request, etag)) return c.body(null, 304, headers);
    return c.body(new Uint8Array(bytes), 200, { ...headers, "content-type": type });
  });
}

/** Whether `if-none-match` has the tag, compared weakly; `*` matches any (RFC 9110, 13.1.2). */
export function isCached(request: Request, etag: string): boolean {
  const tags = splitCommas(request.headers.get("if-none-match") ?? "");
  return tags.some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
}

function bodyOf({ body, optionalBody }: Operation, json: unknown): unknown {
  if (json === undefined && !optionalBody)
    throw new ZapdError("invalid_payload", "The request requires a JSON body", {
      hint: `Such as: curl -d '${exampleOf(body)}'`,
    });
  return body && validate(body, json === undefined ? {} : json);
}

/** The query as an object; a repeated name gives a list. */
function queryOf(c: Context<Env>): Record<string, unknown> {
  const all = Object.entries(c.req.queries());
  return Object.fromEntries(all.map(([name, texts]) => [name, texts.length === 1 ? texts[0] : texts]));
}

function validate(schema: z.ZodType, value: unknown): unknown {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return data;
  const [issue] = error.issues;
  const example = exampleOf(schema);
  const isName = issue?.code === "unrecognized_keys" || issue?.input === undefined;
  throw new ZapdError("invalid_payload", `The request is not valid: ${describeIssue(error.issues)}`.slice(0, 500), {
    hint: isName && example !== undefined ? `Such as: ${example}` : undefined,
  });
}

/** A valid body as text, for a caller who may not know the names of its fields; a query has none. */
function exampleOf(schema: z.ZodType | undefined): string | undefined {
  const [example] = (schema?.meta()?.["examples"] ?? []) as readonly unknown[];
  return JSON.stringify(example);
}

function checkUrl(url: string): void {
  if (url.length <= maxPathLength) return;
  const { pathname, search } = new URL(url);
  if (pathname.length > maxPathLength || search.length > maxQueryLength + "?".length) {
    throw new ZapdError(
      "invalid_payload",
      `The address of the request is too long: its path may have ${maxPathLength} characters, its query ${maxQueryLength}`,
    );
  }
}

/** Failures whose messages come from files, never from the caller. What devices answer is redacted in devices/endpoint.ts. */
const fileErrors: ReadonlySet<string> = new Set(["config_invalid", "storage_error"]);

/**
 * Answers anything thrown in the envelope, without a stack or the text of a library. What the caller sent is not redacted: a
 * redaction would confirm the guess of a caller who guesses a secret (SECURITY.md T31).
 */
export function answerError(thrown: unknown, c: Context<Env>, log: Log): Response {
  const error = thrown instanceof ZapdError ? thrown : unexpected(thrown, c, log);
  // The log has it too, for whoever maintains the machine.
  if (error.code === "storage_error") log.recurring(error.message);
  const body = errorBody(fileErrors.has(error.code) ? redacted(error, log) : error);
  // The rest of the body is not read, so the connection cannot be reused.
  const headers: Record<string, string> = error.code === "payload_too_large" ? { connection: "close" } : {};
  return c.json({ ok: false, error: body }, error.status as 400, headers);
}

function unexpected(thrown: unknown, c: Context<Env>, log: Log): ZapdError {
  // The answer is still read where the call is a step of a scene: its result and its events have it.
  if (c.req.raw.signal.aborted) return disconnected();
  log.error(`${c.req.method} ${c.req.path}: ${(thrown instanceof Error && thrown.stack) || textOf(thrown)}`);
  return new ZapdError("internal_error", "zapd failed; its log has the details");
}

export function disconnected(): ZapdError {
  return new ZapdError("internal_error", "The caller disconnected before it was done");
}

/** 404 for an unknown path, 405 with `Allow` for a method that a known path does not take. */
export function answerUnknown(c: Context<Env>, prefix: string): Response {
  // As the router reads it: `URL` would resolve dots, which Deno keeps. The target of CONNECT is not a URL.
  const path = /^https?:\/\/[^/?#]*(\/[^?#]*)/i.exec(c.req.url)?.[1] ?? c.req.url;
  const known: readonly OperationRoute[] = Object.values(operationRoutes);
  const isHere = (one: OperationRoute) => new RegExp(`^/v1${one.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(path);
  const methods = known.filter(isHere).map((one) => one.method.toUpperCase());
  if (methods.length === 0) {
    const error = new ZapdError("not_found", `There is nothing at ${(c.env.callerPath ?? path).slice(0, 200)}`, {
      hint: /.\/$/.test(path)
        ? "No route ends with /: leave it out"
        : `Every route begins with ${prefix}/v1, such as ${prefix}/v1/devices`,
    });
    return c.json({ ok: false, error: errorBody(error) }, 404);
  }
  return answerMethod(c, path, methods.includes("GET") ? [...methods, "HEAD"] : methods);
}

/** 405 with `Allow`. */
export function answerMethod(c: Context<Env>, path: string, methods: readonly string[]): Response {
  const allow = methods.join(", ");
  const error = new ZapdError(
    "method_not_allowed",
    `${(c.env.callerPath ?? path).slice(0, 200)} does not support ${c.req.method.slice(0, 20)}`,
    { hint: `It supports ${allow}` },
  );
  return c.json({ ok: false, error: errorBody(error) }, 405, { allow });
}
