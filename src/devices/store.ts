/**
 * A value kept in one JSON file. Changes made at the same time share one write and all wait for it; none is visible
 * before it is on disk, so nothing that was answered can be lost, and a write that fails leaves nothing to undo.
 */
import { textOf, type ZapdError } from "../errors.ts";
import { readRegular, setAside, writeWhole } from "../files.ts";

const version = 1;
/** At most one write in this time, however many changes come. */
const writeEvery = 100;

export interface StoreOptions<T> {
  readonly path: string;
  readonly maxBytes: number;
  readonly empty: T;
  /** Reads what the file holds; throws what is wrong with it. */
  parse(content: unknown): T;
  /** Told when the file was damaged and where it was put. */
  damaged(problem: string): void;
}

/** What a change makes: the next value, and what its caller gets. The same value means that there is nothing to write. */
export interface Change<T, R> {
  readonly next: T;
  readonly result: R;
}

interface Waiting<T> {
  apply(value: T): T;
  settle(error?: unknown): void;
}

export class Store<T> {
  #value: T;
  readonly #path: string;
  #waiting: Waiting<T>[] = [];
  #writing: Promise<void> | undefined;
  #wroteAt = Number.NEGATIVE_INFINITY;

  private constructor(path: string, value: T) {
    this.#path = path;
    this.#value = value;
  }

  /** Opens the file. A damaged one is kept aside and reported, and the store begins empty. */
  static async open<T>(options: StoreOptions<T>): Promise<Store<T>> {
    const { path, empty, damaged } = options;
    try {
      const text = readRegular(path, options.maxBytes);
      if (text === null) return new Store(path, empty);
      const content: unknown = JSON.parse(text);
      if (typeof content !== "object" || content === null || !("version" in content))
        throw new Error("it has no version");
      if (content.version !== version)
        throw new Error(`it has version ${String(content.version)}, and this zapd writes ${version}`);
      return new Store(path, options.parse(content));
    } catch (error) {
      const aside = await setAside(path).catch(() => null);
      damaged(
        `${path} could not be read (${textOf(error).split("\n")[0]}). ${aside ? `It is kept as ${aside}` : "It could not be moved aside"}; zapd goes on without it`,
      );
      return new Store(path, empty);
    }
  }

  /** What is on disk. */
  get value(): T {
    return this.#value;
  }

  /** Makes a change and waits until it is on disk. What `change` throws is the caller's own failure; nothing is written then. */
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

  /** Waits for changes under way. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const wait = this.#wroteAt + writeEvery - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#commit(batch);
    }
    // In the same breath as the last look: a change that comes now must start a write of its own.
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
      failure = await writeWhole(this.#path, `${JSON.stringify({ version, ...next }, null, 1)}\n`).then(
        () => undefined,
        (error: ZapdError) => error,
      );
      if (!failure) this.#value = next;
    }
    for (const change of applied) change.settle(failure);
  }
}
