/** What lets zapd in at each device, kept in `credentials.json` by the device's id, which is made of its hardware's identity. */
import { z } from "zod";
import type { KeptSecret, Platform } from "../platforms/platform.ts";
import { readBy, Store } from "./store.ts";

const longest = 4_096;
/** What may be read by anyone who looks over a shoulder; every other value is a secret. */
const open: ReadonlySet<string> = new Set(["user", "certificate"]);

/** What is kept of one device, as it is on disk. */
export type Kept = Readonly<Record<string, string>>;
export type CredentialKeeper = KeptSecret<Kept>;

const keptSchema = z.record(z.string(), z.string().max(longest));

/** What is kept, as a platform reads it; what that cannot read is not there. */
export function typed(keeper: CredentialKeeper, { secret }: Pick<Platform, "secret">): KeptSecret<unknown> {
  const readable = (kept: Kept | null) => (kept && secret?.safeParse(kept).data) ?? null;
  return {
    read: () => readable(keeper.read()),
    readAnyway: () => readable(keeper.readAnyway()),
    keep: (given) => keeper.keep(keptSchema.parse(given)),
    drop: () => keeper.drop(),
  };
}

const contentSchema = z.object({ credentials: z.record(z.string(), keptSchema) });

type Content = z.infer<typeof contentSchema>;

export interface CredentialsOptions {
  readonly path: string;
  damaged(problem: string): void;
  /** Told every secret, so that it is kept out of logs and answers. */
  hide(secret: string): void;
}

export class Credentials {
  readonly #store: Store<Content>;
  readonly #hide: (secret: string) => void;

  private constructor(store: Store<Content>, hide: (secret: string) => void) {
    this.#store = store;
    this.#hide = hide;
    for (const kept of Object.values(store.value.credentials)) this.conceal(kept);
  }

  static async open({ path, damaged, hide }: CredentialsOptions): Promise<Credentials> {
    const store = await Store.open<Content>({
      path,
      damaged,
      parse: readBy(contentSchema, "credentials"),
      maxBytes: 8 * 1024 * 1024,
      empty: { credentials: {} },
    });
    return new Credentials(store, hide);
  }

  /** Where a platform keeps those of one device. */
  keeper(id: string): CredentialKeeper {
    const read = () => {
      const { credentials } = this.#store.value;
      return Object.hasOwn(credentials, id) ? (credentials[id] ?? null) : null;
    };
    return {
      read,
      readAnyway: read,
      keep: (kept) => {
        // Hidden before it is on disk: a failure to write it must not show it either.
        this.conceal(kept);
        return this.#change(id, kept);
      },
      drop: () => this.#change(id, null),
    };
  }

  /** Where the password of one device's developer mode is kept: beside what lets us in, since it is no pairing. */
  developer(id: string): CredentialKeeper {
    return this.keeper(`${id}/dev`);
  }

  /** Whether anything is kept of a device. */
  has(id: string): boolean {
    return Object.hasOwn(this.#store.value.credentials, id);
  }

  settled(): Promise<void> {
    return this.#store.settled();
  }

  #change(id: string, kept: Kept | null): Promise<void> {
    return this.#store.update((content) => {
      const { [id]: before, ...others } = content.credentials;
      if (before === undefined && kept === null) return { next: content, result: undefined };
      return { next: { credentials: kept === null ? others : { ...others, [id]: { ...kept } } }, result: undefined };
    });
  }

  /** Keeps secrets out of logs and answers, be they on disk or not. */
  conceal(kept: Kept): void {
    for (const [name, value] of Object.entries(kept)) if (!open.has(name)) this.#hide(value);
  }
}
