/**
 * The config file: read, patched and reloaded (DESIGN.md 2.9). The user's comments, order and formatting survive a
 * patch; a refused patch changes no byte; a broken file never stops a running daemon.
 */
import { readFile, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { patch as patchToml } from "@decimalturn/toml-patch";
import { parse, TomlError } from "smol-toml";
import type { z } from "zod";
import { systemCode, textOf, ZapdError } from "../errors.ts";
import { makeFolder, writeWhole } from "../files.ts";
import { nearest } from "../nearest.ts";
import { type Config, configSchema, redacted, restartKeys, settingOf, settings } from "./schema.ts";

export type { Config } from "./schema.ts";

const limits = { fileBytes: 256 * 1024, patchKeys: 64, keyCharacters: 128 } as const;

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
  #patching: Promise<unknown> = Promise.resolve();

  private constructor(path: string, config: Config, warnings: string[]) {
    this.path = path;
    this.#running = config;
    this.#atStart = config;
    this.#warnings = warnings;
  }

  /** Loads the file, or the defaults where there is none. Fails with `config_invalid`, with line and column. */
  static async open(path: string): Promise<ConfigFile> {
    const { config, warnings } = read(await textIn(path), path);
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
    return read(await textIn(this.path), this.path).config;
  }

  /** Takes up the file; on a failure the daemon goes on with what it had. */
  async reload(): Promise<ReloadResult> {
    const { config, warnings } = read(await textIn(this.path), this.path);
    return this.#take(config, warnings);
  }

  /** Changes settings in the file, all or none, and takes them up. */
  patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    const result = this.#patching.then(() => this.#patch(changes));
    this.#patching = result.catch(() => {});
    return result;
  }

  async #patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    const values = readChanges(changes);
    const text = await textIn(this.path);
    const tables = parseToml(text, this.path);
    for (const [dotted, value] of values) {
      const { section = "", key = "" } = settings.get(dotted) ?? {};
      const table = (tables[section] ?? {}) as Tables;
      if (value === null) delete table[key];
      else table[key] = value;
      if (value !== null || Object.keys(table).length > 0 || section in tables) tables[section] = table;
    }
    const patched = values.size === 0 ? text : write(text, tables);
    // What the editor wrote is read back before it replaces anything.
    const { config, warnings } = read(patched, this.path);
    if (patched !== text) {
      makeFolder(dirname(this.path));
      await writeWhole(await realpath(this.path).catch(() => this.path), patched);
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

async function textIn(path: string): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    if (text.length > limits.fileBytes) throw new ZapdError("config_invalid", `${path} is larger than 256 KiB`);
    return text;
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return "";
    if (cause instanceof ZapdError) throw cause;
    throw new ZapdError("config_invalid", `${path} could not be read (${systemCode(cause) || textOf(cause)})`, {
      cause,
    });
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
      hint: "Mend the file, then: POST /v1/config/reload",
    });
  }
}

/** Reads and checks a whole file. Unknown keys are warned of; a wrong value is `config_invalid`. */
function read(text: string, path: string): { config: Config; warnings: string[] } {
  const tables = parseToml(text, path);
  const values: Record<string, Tables> = {};
  const warnings: string[] = [];
  for (const section of Object.keys(configSchema.shape)) values[section] = {};
  for (const [section, table] of Object.entries(tables)) {
    const known = Object.hasOwn(configSchema.shape, section);
    if (known && !isTable(table)) throw invalid(text, path, section, "must be a table");
    for (const [key, value] of known ? Object.entries(table as Tables) : [[null, null] as const]) {
      const dotted = key === null ? section : `${section}.${key}`;
      const setting = settings.get(dotted);
      if (!setting) warnings.push(`${path}: ${dotted} is not a setting${suggestion(dotted)}`);
      else if (key !== null)
        (values[section] ?? {})[key] = check(setting.schema, value, (reason) => invalid(text, path, dotted, reason));
    }
  }
  return { config: configSchema.parse(values), warnings };
}

function check(schema: z.ZodType, value: unknown, fail: (reason: string) => ZapdError): unknown {
  const result = schema.safeParse(value);
  if (!result.success) throw fail(result.error.issues[0]?.message ?? "is not valid");
  return value;
}

function isTable(value: unknown): value is Tables {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function invalid(text: string, path: string, dotted: string, reason: string): ZapdError {
  const key = dotted.split(".").at(-1) ?? dotted;
  const line =
    text.split("\n").findIndex((candidate) => new RegExp(`(^|[.\\s[{,])"?${key}"?\\s*[=\\]]`).test(candidate)) + 1;
  return new ZapdError("config_invalid", `${path}${line > 0 ? `, line ${line}` : ""}: ${dotted} ${sentence(reason)}`, {
    hint: "Mend the file, then: POST /v1/config/reload",
  });
}

/** Checks a patch: values that a patch cannot hold first, then keys, then types and ranges. */
function readChanges(changes: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const entries = Object.entries(changes);
  if (entries.length > limits.patchKeys)
    throw new ZapdError("invalid_payload", `A patch holds at most ${limits.patchKeys} keys`);
  for (const [key, value] of entries) {
    if (typeof value !== "object" || value === null) continue;
    throw new ZapdError(
      "unsupported_patch_value",
      `${quoted(key)} was given ${Array.isArray(value) ? "an array" : "an object"}; a patch takes strings, numbers, booleans and null`,
      {
        hint: 'Write a list as one comma-separated string, and nested keys with dots: {"daemon.http_port": 7272}',
      },
    );
  }
  for (const [key] of entries) {
    if (!settings.has(key))
      throw new ZapdError("unknown_config_key", `${quoted(key)} is not a setting`, {
        hint: suggestion(key).trim() || `The settings are: ${[...settings.keys()].join(", ")}`,
      });
  }
  return new Map(entries.map(([key, value]) => [key, value === null ? null : changeOf(key, value)]));
}

function changeOf(dotted: string, given: unknown): unknown {
  const setting = settings.get(dotted);
  const refuse = (reason: string) => new ZapdError("invalid_config_value", `${dotted} ${sentence(reason)}`);
  if (!setting) throw refuse("is not a setting");
  if (dotted === "dev.vendor_password" && given === redacted) {
    throw new ZapdError(
      "invalid_config_value",
      `dev.vendor_password was given the placeholder ${redacted}, not a password`,
      {
        hint: "Leave the key out to keep the password, or give null to unset it",
      },
    );
  }
  if (setting.list && typeof given !== "string") throw refuse("must be one string, with commas between its entries");
  const value =
    setting.list && typeof given === "string"
      ? given
          .split(",")
          .map((part) => part.trim())
          .filter((part) => part !== "")
      : given;
  return check(setting.schema, value, refuse);
}

function write(text: string, tables: Tables): string {
  try {
    return patchToml(text, tables);
  } catch (cause) {
    throw new ZapdError("storage_error", "The config file could not be edited in place; nothing was changed", {
      cause,
    });
  }
}

function suggestion(dotted: string): string {
  const meant = nearest(dotted, [...settings.keys()]);
  return meant ? `. Did you mean ${meant}?` : "";
}

function sentence(reason: string): string {
  return /^(must|is|was)/.test(reason) ? reason : `is not valid: ${reason}`;
}

function quoted(key: string): string {
  return JSON.stringify(key.slice(0, limits.keyCharacters));
}
