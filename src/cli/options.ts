/** Options of a command: `--name value` and `--name=value`. */
export class UsageError extends Error {}

/** Reads options that each take a value; anything else is a UsageError. */
export function readOptions<Name extends string>(
  words: readonly string[],
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const options: Partial<Record<Name, string>> = {};
  for (let at = 0; at < words.length; at++) {
    const [flag = "", inline] = (words[at] ?? "").split(/=(.*)/s, 2);
    const name = names.find((one) => `--${one}` === flag);
    if (!name) throw new UsageError(`${JSON.stringify(words[at])} is not understood`);
    const value = inline ?? words[++at];
    if (value === undefined || value === "") throw new UsageError(`${flag} needs a value`);
    options[name] = value;
  }
  return options;
}
