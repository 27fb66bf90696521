/**
 * The config file: read, patched and reloaded (DESIGN.md 2.9). The user's comments, order and formatting survive a
 * patch; a refused patch changes no byte; a broken file never stops a running daemon.
 */
import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import { parse, TomlError } from "smol-toml";
import { systemCode, textOf, ZapdError } from "../errors.ts";
import { makeFolder, readBytes, sweepTemporaries, writeWhole } from "../files.ts";
import { readChanges } from "./changes.ts";
import {
  type Config,
  configOf,
  defaultOf,
  problemOf,
  restartKeys,
  sectionNames,
  settingOf,
  settings,
  suggestion,
} from "./schema.ts";

export type { Config } from "./schema.ts";

const maxFileBytes = 256 * 1024;

export interface ReloadResult {
  readonly config: Config;
  /** Dotted keys whose value in the file is not the one the daemon runs with. */
  readonly restart_required: string[];
}

type Tables = Record<string, unknown>;

export class ConfigFile {
  readonly path: string;
  /** What the daemon runs with. */
  #running: Config;
  readonly #atStart: Config;
  /** Keys in the file that mean nothing, each with what may have been meant. */
  #warnings: string[];
  #listeners: ((config: Config) => void)[] = [];
  #taking: Promise<unknown> = Promise.resolve();

  private constructor(path: string, config: Config, warnings: string[]) {
    this.path = path;
    this.#running = config;
    this.#atStart = config;
    this.#warnings = warnings;
  }

  /** Loads the file, or the defaults where there is none. Fails with `config_invalid`, with line and column. */
  static async open(path: string): Promise<ConfigFile> {
    const { config, warnings } = await read(textIn(path), path);
    const file = targetOf(path);
    sweepTemporaries(dirname(file), basename(file));
    return new ConfigFile(path, config, warnings);
  }

  get running(): Config {
    return this.#running;
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Calls `listener` now and after each change of the running config. */
  follow(listener: (config: Config) => void): void {
    this.#listeners.push(listener);
    listener(this.#running);
  }

  /** What the file says now, whatever the daemon runs with. */
  async onDisk(): Promise<Config> {
    return (await read(textIn(this.path), this.path)).config;
  }

  /** Takes up the file; on a failure the daemon goes on with what it had. */
  reload(): Promise<ReloadResult> {
    return this.#inTurn(async () => {
      const { config, warnings } = await read(textIn(this.path), this.path);
      return this.#take(config, warnings);
    });
  }

  /** Changes settings in the file, all or none, and takes them up. */
  patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    return this.#inTurn(() => this.#patch(changes));
  }

  /** One at a time: a reload that read the file before a patch must not be taken up after it. */
  #inTurn(take: () => Promise<ReloadResult>): Promise<ReloadResult> {
    const result = this.#taking.then(take);
    this.#taking = result.catch(() => {});
    return result;
  }

  async #patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    const values = readChanges(changes);
    const text = textIn(this.path);
    parseToml(text, this.path);
    let patched = text;
    for (const [dotted, value] of values) patched = await write(patched, dotted, value);
    // What the editor wrote is read back before it replaces anything.
    const { config, warnings } = await read(patched, this.path);
    if (patched !== text) {
      makeFolder(dirname(this.path));
      await writeWhole(targetOf(this.path), patched);
    }
    return this.#take(config, warnings);
  }

  #take(config: Config, warnings: string[]): ReloadResult {
    const restart_required = restartKeys.filter((key) => settingOf(config, key) !== settingOf(this.#atStart, key));
    const { http_enabled, http_host, http_port, socket } = this.#atStart.daemon;
    this.#running = { ...config, daemon: { ...config.daemon, http_enabled, http_host, http_port, socket } };
    this.#warnings = warnings;
    for (const listener of this.#listeners) listener(this.#running);
    return { config, restart_required };
  }
}

/** The file behind a symlink, which stays one. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function textIn(path: string): string {
  try {
    const bytes = readBytes(path, maxFileBytes);
    return bytes === null ? "" : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const reason = cause instanceof TypeError ? "it is not UTF-8" : systemCode(cause) || textOf(cause);
    throw new ZapdError("config_invalid", `${path} could not be read (${reason})`, { cause });
  }
}

function parseToml(text: string, path: string): Tables {
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

/** Reads and checks a whole file. Unknown keys are warned of; a wrong value is `config_invalid`. */
async function read(text: string, path: string): Promise<{ config: Config; warnings: string[] }> {
  const tables = parseToml(text, path);
  const values: Record<string, Tables> = {};
  const warnings: string[] = [];
  for (const section of sectionNames) values[section] = {};
  for (const [section, table] of Object.entries(tables)) {
    const known = sectionNames.some((one) => one === section);
    if (known && !isTable(table)) throw await invalid(text, path, section, "must be a table");
    for (const [key, value] of known ? Object.entries(table as Tables) : [[null, null] as const]) {
      const dotted = key === null ? section : `${section}.${key}`;
      const setting = settings.get(dotted);
      if (!setting) warnings.push(`${path}: ${dotted} is not a setting. ${suggestion(dotted)}`.trim());
      else if (key !== null) {
        const problem = problemOf(setting, value);
        if (problem !== null) throw await invalid(text, path, dotted, problem);
        (values[section] ?? {})[key] = value;
      }
    }
  }
  return { config: configOf(values), warnings };
}

function isTable(value: unknown): value is Tables {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

async function invalid(text: string, path: string, dotted: string, reason: string): Promise<ZapdError> {
  const { placeOf } = await import("./edit.ts");
  const place = placeOf(text, dotted.split("."));
  const where = place ? `, line ${place.line}, column ${place.column}` : "";
  return new ZapdError("config_invalid", `${path}${where}: ${dotted} ${reason}`, {
    hint: "Mend the file; a daemon that runs takes it up with zapd config reload",
  });
}

/** The text with a setting changed; `null` puts its default where it is written, so that the comments beside it stay. */
async function write(text: string, dotted: string, value: unknown): Promise<string> {
  const { placeOf, setValue } = await import("./edit.ts");
  const { section = "", key = "" } = settings.get(dotted) ?? {};
  try {
    if (value !== null) return setValue(text, section, key, value);
    return placeOf(text, [section, key]) ? setValue(text, section, key, defaultOf(dotted)) : text;
  } catch (cause) {
    throw new ZapdError("storage_error", "The config file could not be edited in place; nothing was changed", {
      cause,
    });
  }
}
