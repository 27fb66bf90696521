/**
 * Reads the words of a command as `parseArgs` of `node:util` does, which is not used because loading it takes a tenth of
 * the time of a key press: `--name value`, `--name=value`, `-n value`, `-nvalue`, switches, and `--` before plain words.
 */
import { nearest } from "../system/nearest.ts";
import { UsageError } from "./failure.ts";

/** What an option is called, and whether it takes a value. */
export interface Known {
  readonly type: "string" | "boolean";
  readonly short?: string;
}

export interface Parsed {
  readonly values: Record<string, string | boolean | undefined>;
  readonly positionals: string[];
}

/** Fails with UsageError for an option that there is not, or one with too much or too little. */
export function parseWords(given: readonly string[], options: Readonly<Record<string, Known>>): Parsed {
  const values: Parsed["values"] = {};
  const positionals: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const word = given[at] ?? "";
    if (word === "--") return { values, positionals: [...positionals, ...given.slice(at + 1)] };
    if (!/^-./.test(word)) {
      positionals.push(word);
      continue;
    }
    const { flag, name, inline } = split(word, options);
    const option = name === undefined ? undefined : options[name];
    if (name === undefined || option === undefined) throw unknown(flag, Object.keys(options));
    if (option.type === "boolean") {
      if (inline !== undefined) throw new UsageError(`${flag} takes no value`);
      values[name] = true;
      continue;
    }
    const value = inline ?? given[++at];
    if (value === undefined || (inline === undefined && /^-./.test(value)))
      throw new UsageError(`--${name} takes a value`);
    values[name] = value;
  }
  return { values, positionals };
}

/** The option as it was written, its name if there is one, and the value behind `=` or a short option. */
function split(
  word: string,
  options: Readonly<Record<string, Known>>,
): { flag: string; name: string | undefined; inline: string | undefined } {
  if (word.startsWith("--")) {
    const equals = word.indexOf("=");
    const flag = equals === -1 ? word : word.slice(0, equals);
    const name = flag.slice(2);
    return {
      flag,
      name: Object.hasOwn(options, name) ? name : undefined,
      inline: equals === -1 ? undefined : word.slice(equals + 1),
    };
  }
  const name = Object.keys(options).find((one) => options[one]?.short === word[1]);
  return { flag: word.slice(0, 2), name, inline: word.length > 2 ? word.slice(2) : undefined };
}

function unknown(flag: string, names: readonly string[]): UsageError {
  const meant = flag.startsWith("--") ? nearest(flag.slice(2), names) : null;
  return new UsageError(
    `there is no option ${flag}. ${meant ? `Did you mean --${meant}?` : "Words that begin with a dash stand behind --"}`,
  );
}
