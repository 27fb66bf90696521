/** What a command says when it fails: a text for people on stderr, with `--json` also the one document on stdout. */
import { exits, type Failure, ZapdError } from "../api/errors.ts";
import { printable } from "../system/printable.ts";
import { joinWithAnd, localTime, shellQuote } from "../system/text.ts";
import { type Context, escapeInvisible, stderr, stdout } from "./context.ts";
import { CommandError, failureDocument, UsageError } from "./failure.ts";
import { columnsOf, wrap } from "./print.ts";
import { tryCall } from "./requests.ts";

/** The command that failed. */
interface FailedCommand {
  /** All its words. */
  readonly given: readonly string[];
  /** None, where its words could not be read. */
  readonly context: Context | undefined;
  /** How it is used, where there is such a command. */
  readonly use: string | undefined;
}

/** Says why a command failed, and gives its exit status. */
export async function explain(error: unknown, { given, context, use }: FailedCommand): Promise<number> {
  const width = stderr().isTTY ? stderr().columns || 80 : Number.POSITIVE_INFINITY;
  const say = (text: string) => stderr().write(`${text}\n`);
  const json = asksForJson(given);
  if (error instanceof UsageError) {
    if (json) printDocument(failureDocument({ code: "usage", message: error.message }));
    say(failureText(error, width));
    if (use !== undefined) say(`use:  zapd ${use}`);
    return exits.usage;
  }
  let failure = error instanceof CommandError ? error : unexpected(error);
  if (context && failure.code === "default_device_missing") failure = await withDeviceNames(failure, context, given);
  if (json) printDocument(failure.response ?? failureDocument(failure));
  say(failureText(failure, width));
  return failure.exit;
}

/** Whether a document is wanted, so far as words that may be wrong can tell. */
export function asksForJson(words: readonly string[]): boolean {
  return beforeDashes(words).includes("--json");
}

/** The words in which options are looked for. */
function beforeDashes(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end === -1 ? words : words.slice(0, end);
}

export function printDocument(text: string): void {
  stdout().write(`${escapeInvisible(text)}\n`);
}

/** What a command does without a daemon fails as the API does; anything else is a bug of zapd. */
function unexpected(error: unknown): CommandError {
  if (error instanceof ZapdError) return CommandError.of(error);
  const text = error instanceof Error ? error.message : String(error);
  const hint = "That is a mistake in zapd: please report it";
  return new CommandError(`zapd itself failed at this: ${text}`, exits.failed, hint, { code: "internal_error" });
}

/** More names than a house has; a lab has a list of its own. */
const mostNames = 12;

/** Where no default device is set, tells the names and what to type; unchanged, where no device is known. */
async function withDeviceNames(
  failure: CommandError,
  context: Context,
  given: readonly string[],
): Promise<CommandError> {
  const asked = await tryCall(context, "listDevices", {}, 2_000);
  if (!asked.ok || asked.data.length === 0) return failure;
  const names = asked.data.map(({ name }) => name);
  const shown = names.length > mostNames ? [...names.slice(0, mostNames), `${names.length - mostNames} more`] : names;
  const example = shellQuote((asked.data.find(({ access }) => access === "full") ?? asked.data[0])?.name ?? "NAME");
  const before = beforeDashes(given);
  const words = [...before.map(shellQuote), "-d", example, ...given.slice(before.length).map(shellQuote)];
  const once = given.includes("default") ? "" : `This once: zapd ${words.join(" ")}. `;
  const { message, code, response } = failure;
  const hint = `Known: ${joinWithAnd(shown)}. ${once}From now on: zapd default ${example}`;
  return CommandError.of({ code, message, hint }, response);
}

/** Behind a suggestion more is said only when it is short. */
const longestAside = 160;
const indent = " ".repeat("zapd: ".length);

/** Failures that do not begin with the name of a device, which is written as it is called. */
const impersonal =
  /^(device_(not_found|name_taken)|default_|group_|scene_|too_many_|invalid_|dev_password_|not_found|method_|payload_|storage_)/;

/**
 * The lines for people: what was found, a suggestion behind it, and below it what to do. A message may have lines of its
 * own. On a terminal they are broken between words.
 */
export function failureText(failure: Error & Partial<Failure>, width = Number.POSITIVE_INFINITY): string {
  const { code = "", hint = "" } = failure;
  const message = impersonal.test(code)
    ? failure.message.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())
    : failure.message;
  const [first = "", ...rest] = message.split("\n");
  const asked = /^Did you mean .*?\?(?= |$)/.exec(hint)?.[0] ?? "";
  const aside = hint.slice(asked.length).trim();
  // With a suggestion, the list of all words is left out.
  const below = asked !== "" && aside.length > longestAside ? "" : aside;
  const sentence = /[.!?:]$/.test(first) ? first : `${first}.`;
  return [[sentence, asked].filter(Boolean).join(" "), ...rest, below]
    .map(withLocalTimes)
    .filter((line) => line !== "")
    .flatMap((line) => (columnsOf(line) + indent.length <= width ? [line] : wrap(line, width - indent.length)))
    .map((line, at) => (at === 0 ? `zapd: ${line}` : indent + line))
    .join("\n");
}

/** Prints one failure of many; its hint only below the first failure that has it. `told` holds the hints that were printed. */
export function printFailure(
  context: Pick<Context, "say">,
  message: string,
  hint: string | undefined,
  told: Set<string>,
): void {
  context.say(`zapd: ${withLocalTimes(message)}`);
  if (hint === undefined || told.has(hint)) return;
  told.add(hint);
  context.say(`${indent}${withLocalTimes(hint)}`);
}

/** What a daemon says, for a terminal: times as the clock here has them. */
function withLocalTimes(text: string): string {
  return printable(text).replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, localTime);
}
