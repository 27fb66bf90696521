/** How a command reports its failure: a text for people on stderr, and with `--json` also one document on stdout. */
import { statSync } from "node:fs";
import { NotZapdError } from "../api/client.ts";
import { exits, type Failure, systemCode, ZapdError } from "../api/errors.ts";
import { type OperationName, operationRoutes } from "../api/routes.ts";
import { configPath } from "../config/paths.ts";
import { printable } from "../system/printable.ts";
import { joinWithAnd, localTime, shellQuote, tildePath } from "../system/text.ts";
import { type Context, escapeInvisible, stderr, stdout } from "./context.ts";
import { CommandError, failureDocument, notRunning, UsageError } from "./failure.ts";
import { columnsOf, wrap } from "./print.ts";
import { tryCall } from "./requests.ts";

interface FailedCommand {
  /** Its words, unparsed. */
  readonly given: readonly string[];
  /** None when its words could not be parsed. */
  readonly context: Context | undefined;
  /** Its usage; none for an unknown command. */
  readonly use: string | undefined;
}

/** Reports why a command failed, and gives its exit status. */
export async function explain(error: unknown, { given, context, use }: FailedCommand): Promise<number> {
  const width = stderr().isTTY ? stderr().columns || 80 : Number.POSITIVE_INFINITY;
  const say = (text: string) => stderr().write(`${text}\n`);
  const json = asksForJson(given);
  if (error instanceof UsageError) {
    process.exitCode = exits.usage;
    if (json) printDocument(failureDocument({ code: "usage", message: error.message }));
    say(failureText(error, width));
    if (use !== undefined) say(`use:  zapd ${use}`);
    return exits.usage;
  }
  let failure = error instanceof CommandError ? error : unexpected(error);
  if (context && failure.code === "default_device_missing") failure = await withDeviceNames(failure, context, given);
  // For a process that ends when it writes, because its reader has gone.
  process.exitCode = failure.exit;
  if (json && context?.isReported !== true) printDocument(failure.response ?? failureDocument(failure));
  say(failureText(failure, width));
  return failure.exit;
}

/** Whether `--json` was given, judged by words that may not parse. */
export function asksForJson(words: readonly string[]): boolean {
  return beforeDashes(words).includes("--json");
}

/** The words before `--`, which may be options. */
function beforeDashes(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end === -1 ? words : words.slice(0, end);
}

export function printDocument(text: string): void {
  stdout().write(`${escapeInvisible(text)}\n`);
}

/** A ZapdError comes from work without a daemon, and fails as the API does; what its runtime forbids is for its user to permit. Anything else is a bug of zapd. */
function unexpected(error: unknown): CommandError {
  if (error instanceof ZapdError) return CommandError.of(error);
  const text = error instanceof Error ? error.message : String(error);
  if (isForbiddenByRuntime(error)) return new CommandError(`its runtime does not permit this: ${text}`, exits.failed);
  const hint = "This is a bug in zapd: please report it";
  return new CommandError(`an error in zapd: ${text}`, exits.failed, hint, { code: "internal_error" });
}

/** Its message names the permission, and the option that gives it. */
function isForbiddenByRuntime(error: unknown): boolean {
  return error instanceof Error && error.name === "NotCapable";
}

/** Names listed at most: more than a house has. */
const mostNames = 12;

/** The failure "no default device" with the known names and the command to type. Unchanged where no device is known. */
async function withDeviceNames(
  failure: CommandError,
  context: Context,
  given: readonly string[],
): Promise<CommandError> {
  const listed = await tryCall(context, "listDevices", {}, 2_000);
  if (!listed.ok || listed.data.length === 0) return failure;
  const names = listed.data.map(({ name }) => name);
  const shown = names.length > mostNames ? [...names.slice(0, mostNames), `${names.length - mostNames} more`] : names;
  const example = shellQuote((listed.data.find(({ access }) => access === "full") ?? listed.data[0])?.name ?? "NAME");
  const before = beforeDashes(given);
  const words = [...before.map(shellQuote), "-d", example, ...given.slice(before.length).map(shellQuote)];
  const once = given.includes("default") ? "" : `This once: zapd ${words.join(" ")}. `;
  const { message, code, response } = failure;
  const hint = `Known: ${joinWithAnd(shown)}. ${once}From now on: zapd default ${example}`;
  return CommandError.of({ code, message, hint }, response);
}

/** A longer hint is left out behind "did you mean". */
const longestAside = 160;
const indent = " ".repeat("zapd: ".length);

/** Codes whose messages do not begin with the name of a device: their first letter can be made small. */
const impersonal =
  /^(device_(not_found|name_taken)|default_|group_|scene_|too_many_|invalid_|dev_password_|not_found|method_|payload_|storage_|broker_|config_)/;

/** The text for people: the message (which may have several lines), "did you mean" behind it, the hint below; wrapped at `width`. */
export function failureText(
  failure: Partial<Failure> & { readonly message: string },
  width = Number.POSITIVE_INFINITY,
): string {
  const { code = "", hint = "" } = failure;
  const message = impersonal.test(code)
    ? failure.message.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
    : failure.message;
  const [first = "", ...rest] = message.split("\n");
  const suggestion = /^Did you mean .*?\?(?= |$)/.exec(hint)?.[0] ?? "";
  const advice = hint.slice(suggestion.length).trim();
  // The long list of all words is left out behind a suggestion.
  const below = suggestion !== "" && advice.length > longestAside ? "" : advice;
  const sentence = /[.!?:]$/.test(first) ? first : `${first}.`;
  return [[sentence, suggestion].filter(Boolean).join(" "), ...rest, below]
    .map(withLocalTimes)
    .filter((line) => line !== "")
    .flatMap((line) => (columnsOf(line) + indent.length <= width ? [line] : wrap(line, width - indent.length)))
    .map((line, at) => (at === 0 ? `zapd: ${line}` : indent + line))
    .join("\n");
}

/** Prints one failure of several. A hint is printed only below the first failure that has it: `printed` holds those printed. */
export function printFailure(
  context: Pick<Context, "say">,
  message: string,
  hint: string | undefined,
  printed: Set<string>,
): void {
  context.say(`zapd: ${withLocalTimes(message)}`);
  if (hint === undefined || printed.has(hint)) return;
  printed.add(hint);
  context.say(`${indent}${withLocalTimes(hint)}`);
}

/** A text of the daemon for a terminal, with its instants in local time. */
export function withLocalTimes(text: string): string {
  return printable(text).replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, localTime);
}

/** The error of a call without an answer. `late`: the operation, where the time of `--timeout` was over. */
export function noAnswerError(error: unknown, context: Context, late?: OperationName): CommandError {
  const socket = context.socket();
  const code = systemCode(error);
  if (error instanceof CommandError) return error;
  if (isForbiddenByRuntime(error)) return unexpected(error);
  if (late) return timeoutError(late, context.timeoutMs ?? 0);
  const broken = { code: "internal_error" } as const;
  if (error instanceof NotZapdError)
    return new CommandError(`the program that answers at ${socket} is not zapd`, exits.failed, undefined, broken);
  const isLate = error instanceof Error && error.name === "TimeoutError";
  if (isLate || code === "EAGAIN")
    return new CommandError(
      `the daemon does not answer${isLate ? "" : `: too many callers wait at ${socket}`}`,
      exits.notRunning,
      "It hangs or is stopped: end it and start it again",
      { code: notRunning },
    );
  // Deno's `fetch` gives no code for a connection that was lost.
  if (code === "" || code === "ECONNRESET" || code === "EPIPE")
    return new CommandError(
      "the daemon closed the connection without an answer",
      exits.failed,
      "Its log says why",
      broken,
    );
  const configFile = () => configPath(process.env, context.option("config"));
  if (code === "EACCES" || code === "EPERM") {
    const hint = context.isFromConfig(socket)
      ? `Correct daemon.socket in ${tildePath(configFile())}, or name the socket with --socket if you trust its owner`
      : "Or its folder is closed to you: zapd doctor says how to open it";
    return new CommandError(`the daemon's socket belongs to another user: ${socket}`, exits.refused, hint);
  }
  const config = configFile();
  const given = context.option("socket") !== undefined || process.env["ZAPD_SOCKET"];
  if (!given && isNoFile(config))
    return CommandError.of({
      code: "config_invalid",
      message: `${config} could not be read (it is not a regular file)`,
      hint: "Use another with --config or $ZAPD_CONFIG",
    });
  const where = given ? `: nothing answers at ${socket}` : "";
  const start = "Start it with `zapd serve`, or once and for all with `zapd service install`";
  return new CommandError(`the daemon is not running${where}. ${start}`, exits.notRunning, undefined, {
    code: notRunning,
  });
}

/** Whether a FIFO, a folder or another thing that is not a file is there. */
function isNoFile(path: string): boolean {
  try {
    return !statSync(path).isFile();
  } catch {
    return false;
  }
}

function timeoutError(name: OperationName, ms: number): CommandError {
  const { method, path } = operationRoutes[name];
  const commanded = method !== "get" && path.startsWith(`${operationRoutes.getDevice.path}/`);
  return CommandError.of({
    code: "device_timeout",
    message: timeoutMessage(ms),
    hint: commanded ? "What was already sent to the device may still take effect" : undefined,
  });
}

export function timeoutMessage(ms: number): string {
  const time = ms < 1_000 ? `${ms} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
  return `no answer within ${time}, the time given with --timeout`;
}
