/** Reads and checks the config: the file, its TOML, its settings, and patches. */
import type { Stats } from "node:fs";
import { parse, TomlError } from "smol-toml";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { readUtf8, scarcityHint } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { checkAbove, checkGroupWritable, checkOwned, followLinks } from "../system/owners.ts";
import { splitCommas } from "../system/text.ts";
import { positionOf } from "./edit.ts";
import {
  type Config,
  configOf,
  passwordKey,
  problemOf,
  redacted,
  type Setting,
  sectionNames,
  settings,
  suggestion,
} from "./schema.ts";
import { parseErrorText } from "./toml.ts";

export const maxFileBytes = 256 * 1024;
const mend = "Correct the file; a running daemon reads it again with zapd config reload";

type Tables = Record<string, unknown>;

/** The text of a config, and its file. */
export interface Source {
  /** At most 256 KiB; empty where there is no file. */
  readonly text: string;
  /** The file, with symbolic links resolved. */
  readonly path: string;
  /** `null` where there is none. */
  readonly found: Stats | null;
}

/** Reads the file. Fails with `config_invalid`, also where another user owns it or everyone may write it. */
export function readSource(given: string): Source {
  let found: Stats | null = null;
  try {
    const { path } = followLinks(given);
    checkAbove(path);
    const check = (stats: Stats) => {
      checkOwned(path, stats);
      found = stats;
    };
    return { text: readUtf8(path, maxFileBytes, check) ?? "", path, found };
  } catch (cause) {
    if (cause instanceof ZapdError) throw cause;
    const code = systemCode(cause);
    const reason = cause instanceof TypeError ? "it is not UTF-8" : code || textOf(cause);
    const correct = code === "EACCES" ? "Check its mode and its owner" : "Correct the file";
    const hint = scarcityHint(code) ?? `${correct}, or use another with --config or $ZAPD_CONFIG`;
    throw new ZapdError("config_invalid", `${given} could not be read (${reason})`, { hint, cause });
  }
}

/** Parses TOML whose sections are tables. Fails with `config_invalid`, with line and column. */
export function parseToml(text: string, path: string): Tables {
  try {
    const tables = parse(text);
    const wrong = sectionNames.find((section) => section in tables && !isTable(tables[section]));
    if (wrong !== undefined) throw invalid(text, path, wrong, "must be a table");
    return tables;
  } catch (cause) {
    if (cause instanceof ZapdError) throw cause;
    const place = cause instanceof TomlError ? ` at line ${cause.line}, column ${cause.column}` : "";
    throw new ZapdError("config_invalid", `${path} is not valid TOML${place}: ${parseErrorText(cause)}`, {
      hint: mend,
    });
  }
}

/**
 * Whether the file holds the password, and a warning where its group may write it. Fails with `config_invalid` where the
 * group may write a file with the password. The values need not have been checked.
 */
export function checkSource({ path, found }: Source, { dev }: Tables): { secret: boolean; warnings: string[] } {
  const password = isTable(dev) ? dev["vendor_password"] : undefined;
  const secret = found !== null && typeof password === "string" && password !== "";
  return { secret, warnings: found === null ? [] : checkGroupWritable(path, found, secret) };
}

/**
 * Parses and checks a whole file: a warning for each unknown key, `config_invalid` for a wrong value. Errors show `path`, as
 * the user gave it; warnings show the absolute path `whole`, since they are read elsewhere.
 */
export function readConfig(text: string, path: string, whole = path): { config: Config; warnings: string[] } {
  const tables = parseToml(text, path);
  const values: Record<string, Tables> = {};
  const warnings: string[] = [];
  const unknown = (dotted: string, among?: readonly string[]) =>
    warnings.push(`${whole}: ${dotted} is not a setting. ${suggestion(dotted, among)}`.trim());
  for (const [section, table] of Object.entries(tables)) {
    if (!sectionNames.some((one) => one === section)) {
      unknown(section, [...sectionNames, ...settings.keys()]);
      continue;
    }
    const known: Tables = {};
    for (const [key, value] of Object.entries(table as Tables)) {
      const setting = settings.get(`${section}.${key}`);
      const problem = setting ? problemOf(setting, value) : null;
      if (problem !== null) throw invalid(text, path, `${section}.${key}`, problem);
      if (setting) known[key] = value;
      else unknown(`${section}.${key}`);
    }
    values[section] = known;
  }
  return { config: configOf(values), warnings };
}

function isTable(value: unknown): value is Tables {
  return isObject(value) && !(value instanceof Date);
}

function invalid(text: string, path: string, dotted: string, reason: string): ZapdError {
  const place = positionOf(text, dotted.split("."));
  const where = place ? `, line ${place.line}, column ${place.column}` : "";
  return new ZapdError("config_invalid", `${path}${where}: ${dotted} ${reason}`, { hint: mend });
}

const limits = { keys: 64, keyCharacters: 128 } as const;

/**
 * Checks a patch with dotted keys and plain values, and gives the values by key. Refuses the whole patch for one mistake, in
 * this order: values of types that a patch cannot hold, unknown keys, wrong types and ranges.
 */
export function readChanges(changes: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const entries = Object.entries(changes);
  if (entries.length > limits.keys) throw new ZapdError("invalid_payload", `A patch has at most ${limits.keys} keys`);
  const quote = (key: string) => JSON.stringify(key.slice(0, limits.keyCharacters));
  for (const [key, value] of entries) {
    if (typeof value !== "object" || value === null) continue;
    const message = `${quote(key)} was given ${Array.isArray(value) ? "an array" : "an object"}; a patch may have only strings, numbers, booleans and null`;
    const hint = 'Write a list as one comma-separated string, and nested keys with dots: {"daemon.http_port": 7272}';
    throw new ZapdError("unsupported_patch_value", message, { hint });
  }
  const known = entries.map(([key, value]): [string, Setting, unknown] => {
    const setting = settings.get(key);
    if (setting) return [key, setting, value];
    const hint = suggestion(key) || `The settings are: ${[...settings.keys()].join(", ")}`;
    throw new ZapdError("unknown_config_key", `${quote(key)} is not a setting`, { hint });
  });
  return new Map(known.map(([key, setting, value]) => [key, value === null ? null : parseChange(key, setting, value)]));
}

function parseChange(dotted: string, setting: Setting, given: unknown): unknown {
  const refuse = (reason: string, hint?: string) =>
    new ZapdError("invalid_config_value", `${dotted} ${reason}`, { hint });
  if (dotted === passwordKey && given === redacted)
    throw refuse(
      `was given the placeholder ${redacted}, not a password`,
      "Leave the key out to keep the password, or set it to null to remove the password",
    );
  if (setting.list && typeof given !== "string") throw refuse("must be one string, with commas between its entries");
  const value = setting.list && typeof given === "string" ? splitCommas(given) : given;
  const problem = problemOf(setting, value);
  if (problem !== null) throw refuse(problem);
  return value;
}
