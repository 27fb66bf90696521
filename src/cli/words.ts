/** Parses the words of commands: options, verbs, durations. */
import { parseArgs } from "node:util";
import { nearest } from "../system/nearest.ts";
import { commands } from "./commands.ts";
import { common, type Option, type Parsed } from "./context.ts";
import { UsageError } from "./failure.ts";

/** Where the command stands behind options, which may be its own; behind the last word where there is none. */
export function commandIndex(given: readonly string[]): number {
  const own = Object.values(commands).map(({ options }) => options);
  const options: Record<string, Option> = Object.assign({}, ...own, common);
  const { tokens } = parseArgs({ args: [...given], options, strict: false, tokens: true });
  const isCommand = /^(-h|--help|--version)$/;
  const found = tokens.find(({ kind, index }) => kind === "positional" || isCommand.test(given[index] ?? ""));
  return found?.index ?? given.length;
}

/** Reads options and words. Fails with UsageError for an unknown option, a missing value, or a value that is not taken. */
export function parseWords(
  given: readonly string[],
  options: Readonly<Record<string, Option>>,
  takesNumbers = false,
): Parsed {
  const values: Record<string, string | true> = {};
  const positionals: string[] = [];
  const { tokens } = parseArgs({ args: [...given], options, strict: false, tokens: true });
  let numberAt = -1;
  for (const token of tokens) {
    const word = given[token.index] ?? "";
    if (takesNumbers && token.kind === "option" && /^-\d+$/.test(word)) {
      // `-15` is one word, but two options of the parser.
      if (token.index !== numberAt) positionals.push(word);
      numberAt = token.index;
      continue;
    }
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    // `-x` is never the long option `x`.
    if (!option || (!rawName.startsWith("--") && !option.short)) throw unknown(rawName, Object.keys(options));
    if (option.type === "boolean" && inlineValue) throw new UsageError(`${rawName} takes no value`);
    // An empty path comes from a variable that is not set, and must not mean the usual place.
    const isMissing = !value && (value === undefined || /^(FILE|PATH)$/.test(option.value ?? ""));
    if (option.type === "string" && (isMissing || (!inlineValue && isOption(value ?? "", options))))
      throw new UsageError(`--${name} needs a value`);
    values[name] = value ?? true;
  }
  return { values, positionals };
}

/** Whether a word is an option, and not the value of the one before it, such as a name that begins with a dash. */
function isOption(word: string, options: Readonly<Record<string, Option>>): boolean {
  const isShort = ({ short }: Option) => short !== undefined && word.startsWith(`-${short}`);
  return word.startsWith("--") || Object.values(options).some(isShort);
}

function unknown(flag: string, names: readonly string[]): UsageError {
  const suggestion = flag.startsWith("--") ? nearest(flag.slice(2), names) : null;
  return new UsageError(
    `unknown option ${flag}. ${suggestion ? `Did you mean --${suggestion}?` : "Put words that begin with a dash after --"}`,
  );
}

/** What the first word of a command says, such as `get` of `zapd config get`. Fails with UsageError for an unknown one. */
export function findVerb<Verb>(verbs: Readonly<Record<string, Verb>>, word: string): Verb {
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined;
  if (verb) return verb;
  const names = Object.keys(verbs);
  if (word === "") throw new UsageError(`${names.slice(0, -1).join(", ")} or ${names.at(-1)}?`);
  const suggestion = nearest(word, names);
  throw new UsageError(
    `${JSON.stringify(word)} is not a word of this command${suggestion ? `. Did you mean ${suggestion}?` : ""}`,
  );
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** A day; timers of more than 24 days overflow. */
const maxMs = 24 * 3_600_000;

/** Milliseconds of `30s`, `500ms`, `1.5m`, given as `word`; a bare number is seconds. Fails with UsageError. */
export function parseDuration(word: string, given: string): number {
  const [, amount = "", unit = "s"] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(given.trim()) ?? [];
  const ms = Math.round(Number(amount) * (units[unit] ?? 0));
  if (amount === "" || ms < 1 || ms > maxMs)
    throw new UsageError(`${word} needs a time such as 30s, 500ms or 2m, not ${JSON.stringify(given)}`);
  return ms;
}
