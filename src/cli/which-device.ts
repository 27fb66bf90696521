/** Helps on whoever has no default device: the names that there are, and the command with one of them. */
import type { Device } from "../api/operations.ts";
import { ask } from "./ask.ts";
import type { Context } from "./context.ts";
import { CommandError } from "./failure.ts";
import { shellWord } from "./print.ts";
import { listed } from "./words.ts";

const within = 2_000;
/** A house has no more; a lab has its own list. */
const mostNames = 12;

/** The same failure with what can be typed instead; as it was, where no device is known. `given` are the words of the command. */
export async function withNames(
  failure: CommandError,
  context: Context,
  given: readonly string[],
): Promise<CommandError> {
  const asked = await ask<Device[]>(context, "GET", "/devices", { within });
  if (!asked.ok || asked.data.length === 0) return failure;
  const names = asked.data.map(({ name }) => name);
  const shown = names.length > mostNames ? [...names.slice(0, mostNames), `${names.length - mostNames} more`] : names;
  const example = shellWord((asked.data.find(({ access }) => access === "full") ?? asked.data[0])?.name ?? "NAME");
  const once = given.includes("default") ? "" : `This once: ${withDevice(given, example)}. `;
  const { message, code, response } = failure;
  const hint = `Known: ${listed(shown)}. ${once}From now on: zapd default ${example}`;
  return CommandError.of({ code, message, hint }, response);
}

/** The command as it was typed, for one device. */
function withDevice(given: readonly string[], name: string): string {
  const end = given.indexOf("--");
  const words = given.map(shellWord);
  const at = end === -1 ? words.length : end;
  return ["zapd", ...words.slice(0, at), "-d", name, ...words.slice(at)].join(" ");
}
