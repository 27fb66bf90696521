/** Reading the config file: as text, as TOML, and as settings, each checked. */
import type { Stats } from "node:fs";
import { parse, TomlError } from "smol-toml";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { readUtf8 } from "../system/files.ts";
import { isObject } from "../system/json.ts";
import { checkAbove, checkGroup, checkOwned, followLinks } from "../system/owners.ts";
import { placeOf } from "./edit.ts";
import { type Config, configOf, problemOf, sectionNames, settings, suggestion } from "./schema.ts";

const maxFileBytes = 256 * 1024;

type Tables = Record<string, unknown>;

/** The text of a config, and the file that holds it. */
export interface Source {
  /** At most 256 KiB; empty where there is no file. */
  readonly text: string;
  /** The file behind the links, which are ours or root's. */
  readonly path: string;
  /** `null` where there is none. */
  readonly found: Stats | null;
}

/** Reads the file, which is ours or root's, and which not everyone may write. Fails with `config_invalid`. */
export function sourceAt(given: string): Source {
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
    const reason = cause instanceof TypeError ? "it is not UTF-8" : systemCode(cause) || textOf(cause);
    throw new ZapdError("config_invalid", `${given} could not be read (${reason})`, { cause });
  }
}

/** The tables of a text; `config_invalid`, with line and column, when it is not TOML. */
export function parseToml(text: string, path: string): Tables {
  try {
    return parse(text);
  } catch (cause) {
    // The library's own message quotes the line, which may hold the password: only its first line and the place are told.
    const place = cause instanceof TomlError ? ` at line ${cause.line}, column ${cause.column}` : "";
    const reason =
      textOf(cause)
        .split("\n")[0]
        ?.replace(/^Invalid TOML document: /, "") ?? "";
    throw new ZapdError("config_invalid", `${path} is not valid TOML${place}: ${reason}`, {
      hint: "Mend the file; a daemon that runs takes it up with zapd config reload",
    });
  }
}

/**
 * Whether a file holds the password of a config. One that does may not be for its group to write, which fails with
 * `config_invalid`; of one that does not, it is told.
 */
export function checkSecret({ path, found }: Source, { dev }: Config): { secret: boolean; warnings: string[] } {
  const secret = found !== null && dev.vendor_password !== "";
  return { secret, warnings: found === null ? [] : checkGroup(path, found, secret) };
}

/** The same for a file whose values have not been checked yet. */
export function checkGroups({ path, found }: Source, { dev }: Tables): string[] {
  const secret = isTable(dev) && typeof dev["vendor_password"] === "string" && dev["vendor_password"] !== "";
  return found === null ? [] : checkGroup(path, found, secret);
}

/** Reads and checks a whole file. Unknown keys are warned of; a wrong value is `config_invalid`. */
export function readConfig(text: string, path: string): { config: Config; warnings: string[] } {
  const tables = parseToml(text, path);
  const values: Record<string, Tables> = {};
  const warnings: string[] = [];
  for (const section of sectionNames) values[section] = {};
  for (const [section, table] of Object.entries(tables)) {
    const known = sectionNames.some((one) => one === section);
    if (known && !isTable(table)) throw invalid(text, path, section, "must be a table");
    for (const [key, value] of known ? Object.entries(table as Tables) : [[null, null] as const]) {
      const dotted = key === null ? section : `${section}.${key}`;
      const setting = settings.get(dotted);
      if (!setting) warnings.push(`${path}: ${dotted} is not a setting. ${suggestion(dotted)}`.trim());
      else if (key !== null) {
        const problem = problemOf(setting, value);
        if (problem !== null) throw invalid(text, path, dotted, problem);
        (values[section] ?? {})[key] = value;
      }
    }
  }
  return { config: configOf(values), warnings };
}

function isTable(value: unknown): value is Tables {
  return isObject(value) && !(value instanceof Date);
}

function invalid(text: string, path: string, dotted: string, reason: string): ZapdError {
  const place = placeOf(text, dotted.split("."));
  const where = place ? `, line ${place.line}, column ${place.column}` : "";
  return new ZapdError("config_invalid", `${path}${where}: ${dotted} ${reason}`, {
    hint: "Mend the file; a daemon that runs takes it up with zapd config reload",
  });
}
