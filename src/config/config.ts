/**
 * The config file: read, patched and reloaded (DESIGN.md 2.9). The user's comments, order and formatting survive a
 * patch; a refused patch changes no byte; a broken file never stops a running daemon.
 */
import { chmodSync, existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ZapdError } from "../errors.ts";
import { makeFolder, sweepTemporaries, writeWhole } from "../files.ts";
import { readChanges } from "./changes.ts";
import { parseToml, readConfig, textIn } from "./read.ts";
import { type Config, defaultOf, restartKeys, settingOf, settings } from "./schema.ts";

export type { Config } from "./schema.ts";

/** At most one write in this many milliseconds, however many patches come. */
const writeEvery = 100;

export interface ReloadResult {
  readonly config: Config;
  /** Dotted keys whose value in the file is not the one the daemon runs with. */
  readonly restart_required: string[];
}

/** A patch that waits for its write. */
interface Patch {
  readonly values: ReadonlyMap<string, unknown>;
  resolve(result: ReloadResult): void;
  reject(error: unknown): void;
}

/** What a file holds with a patch made. */
interface Made {
  readonly patch: Patch;
  readonly text: string;
  readonly config: Config;
  readonly warnings: string[];
}

export class ConfigFile {
  readonly path: string;
  /** What the daemon runs with. */
  #running: Config;
  readonly #atStart: Config;
  /** Keys in the file that mean nothing, each with what may have been meant. */
  #warnings: string[];
  #listeners: ((config: Config) => void)[] = [];
  #taking: Promise<unknown> = Promise.resolve();
  #patches: Patch[] = [];
  #wroteAt = Number.NEGATIVE_INFINITY;

  private constructor(path: string, config: Config, warnings: string[]) {
    this.path = path;
    this.#running = config;
    this.#atStart = config;
    this.#warnings = warnings;
  }

  /** Loads the file, or the defaults where there is none. Fails with `config_invalid`, with line and column. */
  static async open(path: string): Promise<ConfigFile> {
    const { config, warnings } = await readConfig(textIn(path), path);
    return new ConfigFile(path, config, warnings);
  }

  /** Removes what a daemon left that was killed while it wrote. */
  sweep(): void {
    const file = targetOf(this.path);
    sweepTemporaries(dirname(file), basename(file));
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
    return (await readConfig(textIn(this.path), this.path)).config;
  }

  /** Takes up the file; on a failure the daemon goes on with what it had. */
  reload(): Promise<ReloadResult> {
    return this.#inTurn(async () => {
      const { config, warnings } = await readConfig(textIn(this.path), this.path);
      return this.#take(config, warnings);
    });
  }

  /** Changes settings in the file, all or none, and takes them up. Patches that come at the same time share one write. */
  async patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    const values = readChanges(changes);
    return new Promise((resolve, reject) => {
      this.#patches.push({ values, resolve, reject });
      if (this.#patches.length === 1) void this.#inTurn(() => this.#patchAll());
    });
  }

  /** One at a time: a reload that read the file before a patch must not be taken up after it. */
  #inTurn<T>(take: () => Promise<T>): Promise<T> {
    const result = this.#taking.then(take);
    this.#taking = result.catch(() => {});
    return result;
  }

  async #patchAll(): Promise<void> {
    const wait = this.#wroteAt + writeEvery - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const batch = this.#patches;
    this.#patches = [];
    try {
      // Where there is no file yet, the first change brings one, with every setting and what it does.
      const text = existsSync(this.path) ? textIn(this.path) : await defaultConfig();
      parseToml(text, this.path);
      const made: Made[] = [];
      for (const patch of batch) {
        try {
          const patched = await this.#patched(made.at(-1)?.text ?? text, patch.values);
          made.push({ patch, ...patched });
        } catch (error) {
          patch.reject(error);
        }
      }
      const last = made.at(-1);
      if (!last) return;
      if (last.text !== text) {
        this.#wroteAt = performance.now();
        makeFolder(dirname(this.path));
        await writeWhole(targetOf(this.path), last.text);
      } else if (last.config.dev.vendor_password !== "") keepPrivate(this.path);
      this.#take(last.config, last.warnings);
      for (const { patch, config } of made) patch.resolve(this.#resultOf(config));
    } catch (error) {
      // Who was refused before has been told already.
      for (const { reject } of batch) reject(error);
    }
  }

  async #patched(text: string, values: ReadonlyMap<string, unknown>) {
    let patched = text;
    for (const [dotted, value] of values) patched = await write(patched, dotted, value);
    // What the editor wrote is read back before it replaces anything.
    return { text: patched, ...(await readConfig(patched, this.path)) };
  }

  #take(config: Config, warnings: string[]): ReloadResult {
    const { http_enabled, http_host, http_port, socket } = this.#atStart.daemon;
    this.#running = { ...config, daemon: { ...config.daemon, http_enabled, http_host, http_port, socket } };
    this.#warnings = warnings;
    for (const listener of this.#listeners) listener(this.#running);
    return this.#resultOf(config);
  }

  #resultOf(config: Config): ReloadResult {
    return {
      config,
      restart_required: restartKeys.filter((key) => settingOf(config, key) !== settingOf(this.#atStart, key)),
    };
  }
}

async function defaultConfig(): Promise<string> {
  return (await import("./default-text.ts")).defaultText;
}

/** A file that holds the password is its owner's alone, even when it was written by hand. */
function keepPrivate(path: string): void {
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch {
    // It is not ours to close; zapd doctor tells of it.
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
