/** The words after `npm run bench --`. */

export interface BenchOptions {
  /** The numbers of the measures to run; `null` for all. */
  readonly only: readonly number[] | null;
  readonly rounds: number;
  /** Ends with 1 when a figure falls short of what it must reach. */
  readonly check: boolean;
  /** Writes the table into README.md beside it. */
  readonly write: boolean;
  /** Where the figures go, from the top of the project. */
  readonly json: string;
}

const usage = "npm run bench -- [--only 1,5] [--rounds 5] [--check] [--write] [--json FILE]";

/** Reads them; fails with what is wrong and how it should be. */
export function readOptions(words: readonly string[], known: readonly number[]): BenchOptions {
  let only: readonly number[] | null = null;
  let rounds = 5;
  let check = false;
  let write = false;
  let json = "dist/bench.json";
  const left = [...words];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === "--check") check = true;
    else if (word === "--write") write = true;
    else if (word === "--only") only = numbersIn(left.shift() ?? "", known);
    else if (word === "--rounds") rounds = wholeIn(left.shift() ?? "");
    else if (word === "--json" && left[0]) json = left.shift() ?? json;
    else throw new Error(`${word} is not an option: ${usage}`);
  }
  if (write && only) throw new Error("the page has the whole table: --write does not go with --only");
  return { only, rounds, check, write, json };
}

function numbersIn(text: string, known: readonly number[]): number[] {
  const numbers = text.split(",").map(wholeIn);
  const unknown = numbers.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new Error(`there is no measure ${unknown}: they are ${known.join(", ")}`);
  return numbers;
}

function wholeIn(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text.trim())) throw new Error(`"${text}" is not a number above 0: ${usage}`);
  return Number(text);
}
