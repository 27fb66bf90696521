/** The mutations of each table, and what a run of tests came to. */

import { mutations as clocks } from "./clocks.ts";
import { mutations as doors, type Mutation } from "./doors.ts";
import { mutations as files } from "./files.ts";
import { mutations as secrets } from "./secrets.ts";

export const tables: Readonly<Record<string, readonly Mutation[]>> = { doors, files, secrets, clocks };

/** `broken`: nothing was tested, since the mutation left something that does not even load. */
export type Outcome = "passed" | "failed" | "hung" | "broken";

/** The text of a file with a mutation made. Fails when its place is not there, or not the only one. */
export function mutated(text: string, { find, replace }: Pick<Mutation, "find" | "replace">): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new Error(`${JSON.stringify(find)} stands there ${places} times`);
  return text.replace(find, () => replace);
}

/** What `bun test` says with its exit status and its last lines. */
export function outcomeOf(status: number | null, said: string): Outcome {
  if (/^(?:SyntaxError|error: (?:Expected|Unexpected|Syntax|Cannot find|Export named))/m.test(said)) return "broken";
  if (status === 0) return /^\s*[1-9]\d* pass$/m.test(said) ? "passed" : "broken";
  return /^\s*[1-9]\d* fail$/m.test(said) || /^\(fail\)/m.test(said) ? "failed" : "broken";
}
