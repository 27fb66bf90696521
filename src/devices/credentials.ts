/** The credentials of each device, kept in `credentials.json` by the id of its record. */
import { z } from "zod";
import type { KeptSecret, Platform } from "../platforms/platform.ts";
import { parserFor, type StateFile, Store } from "./store.ts";

const longest = 4_096;
/** Fields that are no secrets; all others are. */
const publicFields: ReadonlySet<string> = new Set(["user", "certificate"]);

/** One device's credentials, as they are on disk. */
export type Kept = Readonly<Record<string, string>>;
export type CredentialKeeper = KeptSecret<Kept>;

const keptSchema = z.record(z.string(), z.string().max(longest));

/** A device's credentials as its platform reads them; those that it cannot read count as missing. */
export function typedSecrets(keeper: CredentialKeeper, { secret }: Pick<Platform, "secret">): KeptSecret<unknown> {
  const readable = (kept: Kept | null) => (kept && secret?.safeParse(kept).data) ?? null;
  return {
    read: () => readable(keeper.read()),
    readAnyway: () => readable(keeper.readAnyway()),
    keep: (value) => keeper.keep(keptSchema.parse(value)),
    drop: () => keeper.drop(),
  };
}

const developerKey = (id: string) => `${id}/dev`;

const contentSchema = z.object({ credentials: z.record(z.string(), keptSchema) });

type Content = z.infer<typeof contentSchema>;

export class Credentials {
  readonly #store: Store<Content>;
  /** Called with every secret, to keep it out of logs and answers. */
  readonly #hide: (secret: string) => void;

  private constructor(store: Store<Content>, hide: (secret: string) => void) {
    this.#store = store;
    this.#hide = hide;
    for (const kept of Object.values(store.value.credentials)) this.#conceal(kept);
  }

  static async open({ hide, ...file }: StateFile & { hide(secret: string): void }): Promise<Credentials> {
    const parse = parserFor(contentSchema, "credentials");
    const empty: Content = { credentials: {} };
    return new Credentials(await Store.open({ ...file, parse, maxBytes: 8 * 1024 * 1024, empty }), hide);
  }

  /** Reads and writes one device's credentials. */
  keeper(id: string): CredentialKeeper {
    const read = () => {
      const { credentials } = this.#store.value;
      return Object.hasOwn(credentials, id) ? (credentials[id] ?? null) : null;
    };
    return {
      read,
      readAnyway: read,
      keep: (kept) => {
        // Hidden before the write, whose failure must not show it.
        this.#conceal(kept);
        return this.#change(id, kept);
      },
      drop: () => this.#change(id, null),
    };
  }

  /** The password of a device's developer mode, kept apart from its pairing. */
  developer(id: string): CredentialKeeper {
    return this.keeper(developerKey(id));
  }

  /** Drops all secrets of devices in one write; gives what keeps them again. */
  async forget(ids: readonly string[]): Promise<() => Promise<void>> {
    const theirs = new Set(ids.flatMap((id) => [id, developerKey(id)]));
    const dropped = await this.#store.update((content) => {
      const all = Object.entries(content.credentials);
      const result = all.filter(([key]) => theirs.has(key));
      const others = all.filter(([key]) => !theirs.has(key));
      return { next: result.length === 0 ? content : { credentials: Object.fromEntries(others) }, result };
    });
    return async () => {
      await Promise.all(dropped.map(([key, kept]) => this.keeper(key).keep(kept)));
    };
  }

  /** Whether a device is paired. */
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

  #conceal(kept: Kept): void {
    for (const [name, value] of Object.entries(kept)) if (!publicFields.has(name)) this.#hide(value);
  }
}
