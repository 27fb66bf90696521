/**
 * The config file: read, patched and reloaded (DESIGN.md 2.9). A patch keeps the user's comments, order and formatting; a
 * refused patch changes no byte; a broken file never stops a running daemon.
 */
import { basename, dirname, resolve } from "node:path";
import { ZapdError } from "../api/errors.ts";
import { makeFolder, sweepTemporaries, writeAtomically } from "../system/files.ts";
import { restrictToOwner } from "../system/owners.ts";
import { sleep } from "../system/sleep.ts";
import { positionOf, setValue } from "./edit.ts";
import { checkSource, maxFileBytes, parseToml, readChanges, readConfig, readSource, type Source } from "./read.ts";
import { type Config, defaultText, passwordKey, restartKeys, settingOf, settings } from "./schema.ts";

export type { Config } from "./schema.ts";

/** Between two writes, however many patches arrive. */
const minimumWriteIntervalMs = 100;

/** `file`: the settings in the file; `given`: the key of a secret that a patch set, even to what it was. */
type Listener = (running: Config, file: Config, given: readonly string[]) => void;

export interface ReloadResult {
  readonly config: Config;
  /** Dotted keys whose value in the file is not the one the daemon runs with. */
  readonly restart_required: string[];
}

/** A patch that waits to be written. */
interface Patch {
  readonly values: ReadonlyMap<string, unknown>;
  resolve(result: ReloadResult): void;
  reject(error: unknown): void;
}

/** The file with a patch applied. */
interface PatchedFile {
  readonly patch: Patch;
  readonly text: string;
  readonly config: Config;
  readonly warnings: string[];
}

export class ConfigFile {
  readonly path: string;
  /** What the daemon runs with; changed here only. A field, since every command reads it. */
  running: Config;
  readonly #atStart: Config;
  /** Warnings of unknown keys, each with the key that was probably meant, and of permissions. */
  #warnings: string[];
  /** Warnings of files that were restricted to their owner. */
  readonly #protectedWarnings: string[] = [];
  #onProtected: ((closed: string) => void) | undefined;
  /** The file at the start. */
  readonly #source: Source;
  readonly #listeners: Listener[] = [];
  #lastTask: Promise<unknown> = Promise.resolve();
  #patches: Patch[] = [];
  #lastWriteAt = Number.NEGATIVE_INFINITY;

  private constructor(path: string, source: Source, config: Config, warnings: string[]) {
    this.path = path;
    this.#source = source;
    this.running = config;
    this.#atStart = config;
    this.#warnings = warnings;
  }

  /** Loads the file, or the defaults where there is none. Fails with `config_invalid`, with line and column. */
  static async open(given: string): Promise<ConfigFile> {
    const path = resolve(given);
    const source = readSource(given);
    const { config, warnings } = readConfig(source.text, given, path);
    return new ConfigFile(path, source, config, [...warnings, ...checkSource(source, config).warnings]);
  }

  /** Restricts the file to its owner when it holds the password, now and whenever it is read. Calls `onProtected`, and adds a warning. */
  protectSecrets(onProtected: (warning: string) => void): void {
    this.#onProtected = onProtected;
    this.#protect(this.#source, this.running);
  }

  /** Removes the temporary files of a daemon that was killed while writing. */
  sweep(): void {
    const { path } = this.#source;
    sweepTemporaries(dirname(path), basename(path), true);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings, ...this.#protectedWarnings];
  }

  /** Calls `listener` now and whenever the file was read or patched. */
  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
    listener(this.running, this.running, []);
  }

  /** The settings in the file now, whatever the daemon runs with. */
  async readCurrent(): Promise<Config> {
    return this.#read().config;
  }

  /** Reads and applies the file. On a failure the daemon keeps the settings it had. */
  reload(): Promise<ReloadResult> {
    return this.#enqueue(() => {
      const { config, warnings } = this.#read();
      return this.#apply(config, warnings);
    });
  }

  /** Changes settings in the file, all or none, and applies them. Patches that arrive together share one write. */
  async patch(changes: Readonly<Record<string, unknown>>): Promise<ReloadResult> {
    const values = readChanges(changes);
    return new Promise((resolve, reject) => {
      this.#patches.push({ values, resolve, reject });
      if (this.#patches.length === 1) void this.#enqueue(() => this.#writePatches());
    });
  }

  /** Reads the file and checks its owner and mode. */
  #read(): { config: Config; warnings: string[] } {
    const source = readSource(this.path);
    const { config, warnings } = readConfig(source.text, this.path);
    const checked = checkSource(source, config);
    this.#protect(source, config);
    return { config, warnings: [...warnings, ...checked.warnings] };
  }

  #protect(source: Source, config: Config): void {
    if (!this.#onProtected || source.found === null || !checkSource(source, config).secret) return;
    for (const warning of restrictToOwner(source.path, source.found)) {
      this.#onProtected(warning);
      if (!this.#protectedWarnings.includes(warning)) this.#protectedWarnings.push(warning);
    }
  }

  /** Runs tasks one at a time: a reload that read the file before a patch must not be applied after it. */
  #enqueue<T>(take: () => T | Promise<T>): Promise<T> {
    const result = this.#lastTask.then(take);
    this.#lastTask = result.catch(() => {});
    return result;
  }

  async #writePatches(): Promise<void> {
    const wait = this.#lastWriteAt + minimumWriteIntervalMs - performance.now();
    if (wait > 0) await sleep(wait);
    const batch = this.#patches;
    this.#patches = [];
    try {
      const source = readSource(this.path);
      const { path } = source;
      // Where there is no file yet, the first change writes one with every setting and its description.
      const text = source.found === null ? defaultText() : source.text;
      const open = checkSource(source, parseToml(text, this.path)).warnings;
      const patched: PatchedFile[] = [];
      for (const patch of batch) {
        try {
          patched.push({ patch, ...this.#applyPatch(patched.at(-1)?.text ?? text, patch.values) });
        } catch (error) {
          patch.reject(error);
        }
      }
      const last = patched.at(-1);
      if (!last) return;
      // A patch of the secret counts as a change even when it is none: otherwise it would tell that a guess was right.
      const given = patched.some(({ patch }) => typeof patch.values.get(passwordKey) === "string") ? [passwordKey] : [];
      if (last.text !== text || given.length > 0) {
        this.#lastWriteAt = performance.now();
        makeFolder(dirname(path), "$ZAPD_CONFIG");
        await writeAtomically(path, last.text);
      }
      // A new file is readable by its owner only, so the warnings about its mode no longer hold.
      this.#apply(last.config, last.text === text ? [...last.warnings, ...open] : last.warnings, given);
      for (const { patch, config } of patched) patch.resolve(this.#resultOf(config));
    } catch (error) {
      // Patches that were refused before ignore this.
      for (const { reject } of batch) reject(error);
    }
  }

  #applyPatch(text: string, values: ReadonlyMap<string, unknown>) {
    let patched = text;
    for (const [dotted, value] of values) patched = write(patched, dotted, value);
    if (Buffer.byteLength(patched) > maxFileBytes)
      throw new ZapdError(
        "storage_error",
        `${this.path} would be larger than ${maxFileBytes} bytes; nothing was changed`,
        {
          hint: "Make the file smaller, for example by removing long comments",
        },
      );
    // The edited text is parsed before it replaces the file.
    return { text: patched, ...readConfig(patched, this.path) };
  }

  #apply(config: Config, warnings: string[], given: readonly string[] = []): ReloadResult {
    const { http_enabled, http_host, http_port, socket } = this.#atStart.daemon;
    this.running = { ...config, daemon: { ...config.daemon, http_enabled, http_host, http_port, socket } };
    this.#warnings = warnings;
    for (const listener of this.#listeners) listener(this.running, config, given);
    return this.#resultOf(config);
  }

  #resultOf(config: Config): ReloadResult {
    const restart_required = restartKeys.filter((key) => settingOf(config, key) !== settingOf(this.#atStart, key));
    return { config, restart_required };
  }
}

/** The text with a setting changed. `null` writes the default in its place, so that the comments beside it stay. */
function write(text: string, dotted: string, value: unknown): string {
  const { section = "", key = "", defaultValue } = settings.get(dotted) ?? {};
  try {
    if (value === null && !positionOf(text, [section, key])) return text;
    return setValue(text, section, key, value ?? defaultValue);
  } catch (cause) {
    const message = "The config file could not be edited in place; nothing was changed";
    throw new ZapdError("storage_error", message, { cause });
  }
}
