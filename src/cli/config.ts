/** `zapd config`: reads and changes the config through the daemon, which keeps its comments and its formatting. */
import { nearest } from "../system/nearest.ts";
import { printable } from "../system/printable.ts";
import { readHidden } from "./ask.ts";
import { type Called, call } from "./client.ts";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./failure.ts";
import { findVerb } from "./words.ts";

type Value = string | number | boolean | readonly string[];

type Verb = (context: Context, words: readonly string[]) => Promise<void>;

export const verbs: Readonly<Record<string, Verb>> = { get, set, unset, reload, path, edit };
const wordless: readonly Verb[] = [reload, path, edit];

export async function config(context: Context): Promise<void> {
  const [verb = "", ...words] = context.words;
  const run = findVerb(verbs, verb);
  if (words.length > 0 && wordless.includes(run)) throw new UsageError(`${verb} takes no further words`);
  await run(context, words);
}

async function get(context: Context, words: readonly string[]): Promise<void> {
  const [key] = words;
  if (words.length > 1) throw new UsageError("give one key, or none to show all");
  const { settings, text } = await readSettings(context);
  if (key !== undefined && !settings.has(key)) throw unknownKey(key, [...settings.keys()]);
  if (context.json) return context.print(text);
  const value = key === undefined ? undefined : settings.get(key);
  if (value !== undefined) return context.print(printable(typeof value === "object" ? value.join(",") : String(value)));
  const width = Math.max(...[...settings.keys()].map((name) => name.length));
  const lines = [...settings].map(([name, one]) => printable(`${name.padEnd(width)} = ${JSON.stringify(one)}`));
  context.print(lines.join("\n"));
}

async function set(context: Context, words: readonly string[]): Promise<void> {
  if (words.length === 0 || words.length % 2 === 1)
    throw new UsageError("which key, and which value? Give them in pairs");
  const keys = words.filter((_, at) => at % 2 === 0);
  const values = words.filter((_, at) => at % 2 === 1);
  if (values.filter((value) => value === "-").length > 1) throw new UsageError("only one value can be -");
  const { settings } = await readSettings(context);
  // A Map, so that `__proto__` is refused as any other unknown key.
  const patch = new Map<string, unknown>();
  for (const [at, key] of keys.entries()) {
    const given = values[at] ?? "";
    const value = given === "-" ? await readHidden(key) : given;
    // Such as of a command before the pipe that failed.
    if (given === "-" && value === "")
      throw new UsageError(`the value is empty; to remove it: zapd config unset ${key}`);
    patch.set(key, parseValue(key, value, settings.get(key)));
  }
  reportChanged(context, await call(context, "patchConfig", { body: Object.fromEntries(patch) }), keys);
}

async function unset(context: Context, words: readonly string[]): Promise<void> {
  if (words.length === 0) throw new UsageError("which key?");
  const body = Object.fromEntries(words.map((key) => [key, null]));
  reportChanged(context, await call(context, "patchConfig", { body }), words);
}

async function reload(context: Context): Promise<void> {
  await takeUp(context);
  const { locateDaemon } = await import("./running.ts");
  await checkFile(context, (await locateDaemon(context)).configFile);
}

/** Has the daemon read its file again. */
async function takeUp(context: Context): Promise<void> {
  reportChanged(context, await call(context, "reloadConfig", {}));
}

/** Says what the daemon's answer does not have: keys that are no settings. Fails with `config_invalid`. */
async function checkFile(context: Context, path: string): Promise<void> {
  const { ConfigFile } = await import("../config/config.ts");
  for (const warning of (await ConfigFile.open(path)).warnings) context.say(printable(`warning: ${warning}`));
}

async function path(context: Context): Promise<void> {
  const { configMismatch, locateDaemon } = await import("./running.ts");
  const places = await locateDaemon(context);
  const remark = configMismatch(context, places);
  if (remark !== null) context.say(printable(remark));
  context.print(context.json ? JSON.stringify({ path: places.configFile }) : places.configFile);
}

async function edit(context: Context): Promise<void> {
  const [{ editFile }, { locateDaemon }] = await Promise.all([import("./edit.ts"), import("./running.ts")]);
  const { configFile, running: wasRunning } = await locateDaemon(context);
  await editFile(configFile, wasRunning);
  // A daemon may have been started or stopped meanwhile.
  const { running } = await locateDaemon(context);
  if (running) await takeUp(context);
  else if (wasRunning) context.say(printable(`the daemon no longer answers, and did not reload ${configFile}`));
  await checkFile(context, configFile);
  if (!running && context.json) context.print(JSON.stringify({ path: configFile }));
}

/** Prints nothing on success, except settings that take effect at the next start. */
function reportChanged(
  context: Context,
  { data, text }: Called<"patchConfig">,
  keys: readonly string[] = data.restart_required,
): void {
  if (context.json) context.print(text);
  const waiting = data.restart_required.filter((key) => keys.includes(key));
  if (waiting.length > 0) context.say(`takes effect after a restart of the daemon: ${waiting.join(", ")}`);
}

/** Every setting by its dotted key, with its value (the default where the file has none), and the response as it came. */
export async function readSettings(
  context: Context,
  signal?: AbortSignal,
): Promise<{ settings: ReadonlyMap<string, Value>; text: string }> {
  const { data, text } = await call(context, "readConfig", { signal });
  const settings = Object.entries(data).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]): [string, Value] => [`${section}.${key}`, value]),
  );
  return { settings: new Map(settings), text };
}

/** The value in the type of the setting. The text alone does not tell the type: "42" may name a device. */
function parseValue(key: string, given: string, now: Value | undefined): unknown {
  const refuse = (wanted: string) =>
    CommandError.of({
      code: "invalid_config_value",
      message: `${key} must be ${wanted}, not ${JSON.stringify(given)}`,
    });
  if (typeof now === "boolean") {
    if (given !== "true" && given !== "false") throw refuse("true or false");
    return given === "true";
  }
  if (typeof now !== "number") return given;
  if (!/^-?\d+(\.\d+)?$/.test(given.trim())) throw refuse("a number");
  return Number(given);
}

function unknownKey(key: string, keys: readonly string[]): CommandError {
  const suggestion = nearest(key, keys);
  const hint = suggestion ? `Did you mean ${suggestion}?` : `The settings are: ${keys.join(", ")}`;
  return CommandError.of({ code: "unknown_config_key", message: `${JSON.stringify(key)} is not a setting`, hint });
}
