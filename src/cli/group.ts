/** Commands to groups of devices. Loaded for `-d all` and `-d label:bar` only. */
import type { Arguments, Result } from "../api/client.ts";
import { exits } from "../api/errors.ts";
import type { OperationName } from "../api/routes.ts";
import { printable } from "../system/printable.ts";
import { call } from "./client.ts";
import type { Context } from "./context.ts";
import { printFailure } from "./explain.ts";
import { CommandError } from "./failure.ts";

/** Sends a command to every device of the group of `-d`. Prints each failure, and fails where any device failed. */
export async function callGroup(
  context: Context,
  name: Extract<OperationName, `${string}OfGroup`>,
  body?: object,
): Promise<void> {
  // The daemon checks the body, as it does for one device.
  const given = { group: context.device, body } as Arguments<typeof name>;
  const calling = call(context, name as "pressKeyOfGroup", given as Arguments<"pressKeyOfGroup">);
  const { results, text, exit } = await calling.then(
    (called) => ({ results: called.data.results, text: called.text, exit: exits.failed as number }),
    resultsOfFailure,
  );
  const failed = results.filter(({ error }) => error).length;
  if (context.json && failed === 0) return context.print(text);
  const printedHints = new Set<string>();
  for (const { device, data, error } of results) {
    if (error) printFailure(context, error.message, error.hint, printedHints);
    else if (isUnconfirmed(data))
      context.say(`zapd: ${printable(device.name)} accepted the command, but does not show the effect`);
  }
  if (failed === 0) return;
  throw new CommandError(`${failed} of ${results.length} did not accept it`, exit, undefined, { response: text });
}

/** The results in the failure of a whole group. The exit status is that of the first device. */
function resultsOfFailure(error: unknown) {
  const results = error instanceof CommandError ? (error.details?.results ?? []) : [];
  if (!(error instanceof CommandError) || results.length < 2) throw error;
  return { results: results as Result<"pressKeyOfGroup">["results"], text: error.response ?? "", exit: error.exit };
}

/** Whether the device does not show what it was told to. */
function isUnconfirmed(data: object | undefined): boolean {
  return data !== undefined && "confirmed" in data && data.confirmed === false;
}
