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
import { type Outcome, systemCode, ZapdError } from "../api/errors.ts";
import type { Caller } from "../api/events.ts";
import { clientHeader, type EndpointName, endpoints, meansGroup } from "../api/routes.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { type Context, stderr } from "./context.ts";
import { CommandError, notRunning, UsageError } from "./failure.ts";

/** What the daemon answered: its `data`, and the response unchanged for `--json`. */
export type Called<Name extends ValueName> = Answer<Result<Name>>;

interface CallOptions {
  /** Nothing is shown while it takes long. */
  readonly quiet?: boolean;
  /** The daemon is told the time of `--timeout`, and ends the call itself. */
  readonly untilAnswered?: boolean;
}

/** What every operation may take, whichever it is. */
interface CommonArguments {
  readonly id?: string;
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
  const waiting = quiet ? undefined : showSlowCall(context, name, given);
  let done = false;
  try {
    const called = await callOnce(context, name, given, untilAnswered);
    done = true;
    return called;
  } finally {
    await waiting?.end(done);
  }
}

/** The group that `-d` means, `all` or `label:bar`; none where it means a device. */
export function groupOf({ device }: Context): string | undefined {
  return meansGroup(device) ? device : undefined;
}

async function callOnce<Name extends ValueName>(
  context: Context,
  name: Name,
  given: Arguments<Name>,
  untilAnswered: boolean,
): Promise<Called<Name>> {
  const { signal: own } = given as CommonArguments;
  const deadline = untilAnswered ? undefined : context.deadline();
  const signal = own && deadline ? AbortSignal.any([own, deadline]) : (own ?? deadline);
  const isUpload = endpoints[name].path === endpoints.installPackage.path;
  const send = createCall(apiOf(context, isUpload)) as (name: Name, given: Arguments<Name>) => Promise<Called<Name>>;
  try {
    const { data, text } = await send(name, { ...given, signal });
    return { data, text: text.trim() };
  } catch (error) {
    if (own?.aborted && !deadline?.aborted && !(error instanceof ApiError)) throw error;
    throw await failureOf(error, context, name);
  }
}

/** Where the API is, for a client of it: behind the control socket. */
export function apiOf(context: Context, upload = false, caller: Caller = "cli"): Required<ClientOptions> {
  const fetch = (request: Request) => sendRequest(context, request, upload, caller);
  return { url: "http://zapd/v1", fetch, lease: process.env["ZAPD_LEASE"] || undefined };
}

/** What a call, of that name, failed with, as a command fails: the daemon's own failure, or why it has not answered. */
export async function failureOf(error: unknown, context: Context, name?: EndpointName): Promise<CommandError> {
  if (error instanceof ApiError) return CommandError.of(error, error.text.trim());
  const late = name && context.isTimedOut ? name : undefined;
  if (error instanceof ZapdError && !late) return CommandError.of(error);
  return (await import("./unanswered.ts")).noAnswerError(error, context, late);
}

/** A call that takes longer than this shows what it waits for. */
const slowCallMs = 1_000;

function showSlowCall(
  context: Context,
  name: EndpointName,
  given: CommonArguments,
): { end(done: boolean): Promise<void> } {
  const since = performance.now();
  let telling: Promise<(done: boolean) => void> | undefined;
  const timer = setTimeout(() => {
    if (stderr().isTTY)
      telling = import("./progress.ts").then(({ showWaiting }) => showWaiting(context, name, given, since));
  }, slowCallMs);
  return {
    async end(done) {
      clearTimeout(timer);
      (await telling)?.(done);
    },
  };
}

/** Sends one request, whatever the answer. Where nothing listens at the usual socket, the one daemon that runs is asked. */
export async function sendRequest(
  context: Context,
  request: Request,
  upload = false,
  caller: Caller = "cli",
): Promise<Response> {
  const { method, url, headers, signal } = request;
  const body = upload ? request.body : await request.text();
  const path = url.slice("http://zapd".length);
  const said = { ...Object.fromEntries(headers), [clientHeader]: caller };
  const call = { method, path, headers: said, signal, ...(body && { body }) };
  try {
    return await currentRuntime().call(context.socket(), call);
  } catch (error) {
    if (signal.aborted || upload || context.isDaemonChosen || !isNotListening(error)) throw error;
    const { useOnlyRunningDaemon } = await import("./running.ts");
    if (!(await useOnlyRunningDaemon(context))) throw error;
    return await currentRuntime().call(context.socket(), call);
  }
}

/** Whether nothing listens at the socket, so that nothing was sent. */
function isNotListening(error: unknown): boolean {
  return !["ECONNRESET", "EPIPE", "EACCES", "EPERM"].includes(systemCode(error));
}

/** A call whose failure is an answer, for commands that go on with it. Never takes longer than `timeoutMs`. */
export async function tryCall<Name extends ValueName>(
  context: Context,
  name: Name,
  given: Arguments<Name>,
  timeoutMs: number,
): Promise<Outcome<Result<Name>>> {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  const { signal: own } = given as CommonArguments;
  const signal = own ? AbortSignal.any([own, timeout]) : timeout;
  try {
    return { ok: true, data: (await call(context, name, { ...given, signal }, { quiet: true })).data };
  } catch (error) {
    const late = `the daemon did not answer within ${Math.round(timeoutMs / 1_000)} s`;
    if (timeout.aborted) return { ok: false, code: notRunning, message: late };
    if (!(error instanceof CommandError)) throw error;
    const { code, message, hint } = error;
    return { ok: false, code, message, hint };
  }
}
