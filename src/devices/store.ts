/**
 * A value kept in one JSON file. Changes made at the same time share one write; none is visible before it is on disk, so no
 * answered change can be lost, and a failed write leaves nothing to undo.
 */
import type { z } from "zod";
import { systemCode, textOf, ZapdError } from "../api/errors.ts";
import { keepAside, readRegularFile, writeAtomically } from "../system/files.ts";

const version = 1;
/** The least time between two writes. */
const writeIntervalMs = 100;

/** Where a file is, and who learns that it is damaged. */
export interface StateFile {
  readonly path: string;
  /** Called with a message when the file is damaged: where it is kept, and what is used instead. */
  damaged(problem: string): void;
  /** Called after each write, with its failure if it failed. */
  wrote?(failure: ZapdError | undefined): void;
}

interface StoreOptions<T> extends StateFile {
  readonly maxBytes: number;
  readonly empty: T;
  /** Reads the content of the file; throws what is wrong with it. */
  parse(content: unknown): T;
  /** Keeps the content before the last change as `<path>.bak`, for when the file is damaged. */
  readonly backup?: boolean;
}

/** A `parse` by a schema; `what` is the word for the content. */
export function parserFor<T>(schema: z.ZodType<T>, what: string): StoreOptions<T>["parse"] {
  return (content) => {
    const { success, data } = schema.safeParse(content);
    if (!success) throw new Error(`it does not contain ${what} in the format of zapd`);
    return data;
  };
}

/** The next value and the caller's result. The same value means that there is nothing to write. */
export interface Change<T, R> {
  readonly next: T;
  readonly result: R;
}

interface Waiting<T> {
  apply(value: T): T;
  settle(error?: unknown): void;
}

export class Store<T extends object> {
  #value: T;
  /** The keys of the file that this version does not know: an older zapd does not lose what a newer one wrote. */
  readonly #unknown: object;
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #backup: boolean;
  readonly #wrote: StateFile["wrote"];
  #waiting: Waiting<T>[] = [];
  #writing: Promise<void> | undefined;
  #wroteAt = Number.NEGATIVE_INFINITY;
  /** The file is a damaged one, which could not be moved aside yet. */
  #isDamaged: boolean;

  private constructor(
    { path, maxBytes, backup = false, wrote }: StoreOptions<T>,
    { value, unknown }: Read<T>,
    isDamaged = false,
  ) {
    this.#isDamaged = isDamaged;
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#backup = backup;
    this.#wrote = wrote;
    this.#value = value;
    this.#unknown = unknown;
  }

  /** Opens the file. A damaged one is kept aside and reported; the backup or an empty value is used instead. */
  static async open<T extends object>(options: StoreOptions<T>): Promise<Store<T>> {
    const { path, damaged } = options;
    try {
      return new Store(options, contentOf(readRegularFile(path, options.maxBytes), options));
    } catch (error) {
      if (!isWrongFile(error)) throw unreadable(path, error);
      const backup = options.backup ? backupOf(options) : null;
      const aside = await keepAside(path, backup !== null).catch(() => null);
      // A write error is reported at the next change.
      if (backup && aside !== null) await writeAtomically(path, backup.text).catch(() => {});
      const kept = aside ? `It is kept as ${aside}` : "It could not be moved aside";
      const instead = backup === null ? "without it" : "with its content before the last change";
      const reason = textOf(error).split("\n")[0];
      damaged(`${path} could not be read (${reason}). ${kept}; zapd continues ${instead}`);
      return new Store(options, backup ?? { value: options.empty, unknown: {} }, aside === null);
    }
  }

  /** The value on disk. */
  get value(): T {
    return this.#value;
  }

  /** Makes a change and waits until it is on disk. An error that `change` throws is the caller's alone; nothing is written. */
  update<R>(change: (value: T) => Change<T, R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      let made: { result: R } | undefined;
      this.#waiting.push({
        apply(value) {
          const { next, result } = change(value);
          made = { result };
          return next;
        },
        settle(error) {
          if (made && error === undefined) resolve(made.result);
          else reject(error);
        },
      });
      this.#writing ??= this.#write();
    });
  }

  /** Keeps the file aside and writes the current value in its place; gives the file's new name. */
  async keepAside(): Promise<string> {
    this.#isDamaged = true;
    const aside = await keepAside(this.#path, true);
    this.#isDamaged = false;
    await writeAtomically(this.#path, this.#textOf(this.#value));
    return aside;
  }

  /** Waits for pending writes. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Refuses a file that would be too large to be read again. */
  async #save(text: string): Promise<void> {
    if (Buffer.byteLength(text) > this.#maxBytes)
      throw new ZapdError("storage_error", `${this.#path} would be larger than ${this.#maxBytes} bytes`, {
        hint: "Nothing was changed. Remove devices that you do not use: zapd forget NAME",
      });
    const wasDamaged = this.#isDamaged;
    if (wasDamaged) await this.#moveAside();
    await writeAtomically(this.#path, text, { backup: this.#backup && !wasDamaged });
  }

  async #moveAside(): Promise<void> {
    try {
      await keepAside(this.#path, true);
    } catch (cause) {
      if (systemCode(cause) !== "ENOENT")
        throw new ZapdError(
          "storage_error",
          `${this.#path} is damaged, and cannot be moved aside (${systemCode(cause) || textOf(cause)})`,
          {
            hint: "Nothing was changed. Move it away, or check that its folder is writable",
            cause,
          },
        );
    }
    this.#isDamaged = false;
  }

  #textOf(value: T): string {
    return `${JSON.stringify({ version, ...this.#unknown, ...value }, null, 1)}\n`;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const wait = this.#wroteAt + writeIntervalMs - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#commit(batch);
    }
    // No await since the last check: a change that comes now starts a write of its own.
    this.#writing = undefined;
  }

  async #commit(batch: readonly Waiting<T>[]): Promise<void> {
    let next = this.#value;
    const applied: Waiting<T>[] = [];
    for (const change of batch) {
      try {
        next = change.apply(next);
        applied.push(change);
      } catch (error) {
        change.settle(error);
      }
    }
    let failure: ZapdError | undefined;
    if (next !== this.#value) {
      this.#wroteAt = performance.now();
      failure = await this.#save(this.#textOf(next)).then(
        () => undefined,
        (error: ZapdError) => error,
      );
      if (!failure) this.#value = next;
      this.#wrote?.(failure);
    }
    for (const change of applied) change.settle(failure);
  }
}

interface Read<T> {
  readonly value: T;
  readonly unknown: object;
}

/** Whether a file cannot be read for what it is: a link, a socket, or content that is not its own. */
function isWrongFile(error: unknown): boolean {
  return ["", "ELOOP", "ENXIO", "EOPNOTSUPP", "EISDIR"].includes(systemCode(error));
}

/** The file may be valid, and stays where it is: it belongs to another user, mostly root, or the system cannot read it now. */
function unreadable(path: string, cause: unknown): ZapdError {
  const code = systemCode(cause);
  const isForbidden = code === "EACCES" || code === "EPERM";
  const message = isForbidden
    ? `You have no permission to read ${path} (${code})`
    : `${path} could not be read (${code})`;
  const hint = isForbidden
    ? "Change its owner with chown, or choose another folder with $ZAPD_STATE_DIR"
    : "Nothing was changed. Start zapd again; if that does not help, check the disk and the limit of open files, or move the file away to start without it";
  return new ZapdError("storage_error", message, { hint, cause });
}

/** The content of a file; the empty value where there is none. Throws what is wrong with it. */
function contentOf<T extends object>(text: string | null, { empty, parse }: StoreOptions<T>): Read<T> {
  if (text === null) return { value: empty, unknown: {} };
  const content: unknown = JSON.parse(text);
  if (typeof content !== "object" || content === null || !("version" in content)) throw new Error("it has no version");
  if (content.version !== version)
    throw new Error(`it has version ${String(content.version)}, but this version of zapd writes version ${version}`);
  const value = parse(content);
  const unknown = Object.fromEntries(Object.entries(content).filter(([key]) => !Object.hasOwn(value, key)));
  return { value, unknown };
}

/** The backup of a damaged file; `null` where there is no valid one. */
function backupOf<T extends object>(options: StoreOptions<T>): (Read<T> & { readonly text: string }) | null {
  try {
    const text = readRegularFile(`${options.path}.bak`, options.maxBytes);
    return text === null ? null : { text, ...contentOf(text, options) };
  } catch (error) {
    if (!isWrongFile(error)) throw unreadable(`${options.path}.bak`, error);
    return null;
  }
}
