/** Calls to the daemon, over its control socket and nothing else. */
import {
  type Answer,
  ApiError,
  type Arguments,
  type ClientOptions,
  createCall,
  type Result,
  type ValueName,
} from "../api/client.ts";
import { ZapdError } from "../api/errors.ts";
import { clientHeader, type Groupable, meansGroup, type OperationName, operationRoutes } from "../api/routes.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";

/** What the daemon answered: its `data`, and the response unchanged for `--json`. */
export type Called<Name extends ValueName> = Answer<Result<Name>>;

interface CallOptions {
  /** Shows no progress on the terminal, however long it takes. */
  readonly quiet?: boolean;
  /** Not ended by `--timeout`: the request carries that time, or has a limit of its own. */
  readonly untilAnswered?: boolean;
}

/** What every operation may take. */
export interface CommonArguments {
  readonly id?: string;
  readonly group?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Calls an operation. Fails with CommandError: the daemon's own failure, or that it is not running. */
export async function call<Name extends ValueName>(
  context: Context,
  name: Name,
  given: Arguments<Name>,
  { quiet = context.json, untilAnswered = false }: CallOptions = {},
): Promise<Called<Name>> {
  if ((given as CommonArguments).id?.trim() === "") throw new UsageError("the name of the device is empty");
  const stopShowing = quiet ? undefined : showSlowCall(context, name, given);
  let done = false;
  try {
    const called = await callOnce(context, name, given, untilAnswered);
    done = true;
    return called;
  } finally {
    await stopShowing?.(done);
  }
}

/** The group that `-d` means, `all` or `label:bar`; none where it means a device. */
export function groupOf({ device }: Context): string | undefined {
  return meansGroup(device) ? device : undefined;
}

/** The body that an operation takes. */
type BodyOf<Name extends OperationName> =
  Arguments<Name> extends { readonly body: infer Body extends object } ? Body : undefined;

/** Sends a command to the device of `-d`, or to each of its group. `sentence` says what came of it on one device, if anything. */
export async function sendCommand<Name extends Groupable>(
  context: Context,
  name: Name,
  body: BodyOf<Name>,
  sentence?: (data: Result<Name>) => string | undefined,
): Promise<void> {
  if (groupOf(context)) return (await import("./group.ts")).callGroup(context, `${name}OfGroup`, body);
  // Each operation goes with its own body, which types cannot follow here.
  const called = await call(context, name, { id: context.device, body } as unknown as Arguments<Name>);
  context.reportDone(called, sentence?.(called.data));
}

/** How long a read that needs no device may take: a daemon that starts may wait for its disk, another one hangs. */
const memoryReadMs = 30_000;

async function callOnce<Name extends ValueName>(
  context: Context,
  name: Name,
  given: Arguments<Name>,
  untilAnswered: boolean,
): Promise<Called<Name>> {
  const { signal: own } = given as CommonArguments;
  const deadline = untilAnswered ? undefined : context.deadline();
  const { method, reaches } = operationRoutes[name];
  const limit = method === "get" && reaches === "memory" ? AbortSignal.timeout(memoryReadMs) : undefined;
  const signals = [own, deadline, limit].filter((one) => one !== undefined);
  const signal = signals.length > 0 ? AbortSignal.any(signals) : undefined;
  const isUpload = name === "installPackage";
  const send = createCall(apiOf(context, isUpload)) as (name: Name, given: Arguments<Name>) => Promise<Called<Name>>;
  try {
    const { data, text } = await send(name, { ...given, signal });
    return { data, text: text.trim() };
  } catch (error) {
    if (own?.aborted && !deadline?.aborted && !(error instanceof ApiError)) throw error;
    throw await failureOf(error, context, deadline && name);
  }
}

/** How a client reaches the API: over the control socket. */
export function apiOf(context: Context, upload = false): Required<ClientOptions> {
  const fetch = (request: Request) => sendRequest(context, request, upload);
  // The tokens may be on lines of their own, as `zapd lease` prints them; a header has one line, in ASCII.
  const lease = process.env["ZAPD_LEASE"]?.match(/[!-+\--~]+/g)?.join();
  return { url: "http://zapd/v1", fetch, lease };
}

/** The error of a call as a CommandError: the daemon's own failure, or why the daemon did not answer. `name`: the operation. */
export async function failureOf(error: unknown, context: Context, name?: OperationName): Promise<CommandError> {
  if (error instanceof ApiError) return CommandError.of(error, error.text.trim());
  const late = name && context.isTimedOut ? name : undefined;
  if (error instanceof ZapdError && !late) return CommandError.of(error);
  return (await import("./explain.ts")).noAnswerError(error, context, late);
}

/** A call that takes longer than this shows on the terminal what it waits for. */
const slowCallMs = 1_000;

function showSlowCall(context: Context, name: OperationName, given: CommonArguments): (done: boolean) => Promise<void> {
  const since = performance.now();
  let showing: Promise<(done: boolean) => void> | undefined;
  const timer = setTimeout(() => {
    if (stderr().isTTY)
      showing = import("./progress.ts").then(({ showWaiting }) => showWaiting(context, name, given, since));
  }, slowCallMs);
  return async (done) => {
    clearTimeout(timer);
    (await showing)?.(done);
  };
}

/** Sends one request and gives the response, whatever its status. Where nothing listens at the usual socket, asks the only daemon that runs. */
export async function sendRequest(context: Context, request: Request, upload = false): Promise<Response> {
  const { method, url, headers, signal } = request;
  const body = upload ? request.body : await request.text();
  const path = url.slice("http://zapd".length);
  const allHeaders = { [clientHeader]: context.caller, ...Object.fromEntries(headers) };
  const call = { method, path, headers: allHeaders, signal, ...(body && { body }) };
  const socket = context.socket();
  try {
    if (context.isFromConfig(socket)) (await import("../system/socket-owner.ts")).checkSocketOwner(socket);
    const response = await currentRuntime().call(socket, call);
    context.otherSocket ??= null;
    return response;
  } catch (error) {
    if (signal.aborted || upload) throw error;
    const { useOnlyRunningDaemon } = await import("./running.ts");
    if (!(await useOnlyRunningDaemon(context, error))) throw error;
    return await currentRuntime().call(context.socket(), call);
  }
}
