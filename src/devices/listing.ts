/** The list of devices as JSON. It is asked for far more often than it changes, so what is written stays until it does. */
import type { Control } from "./control.ts";
import type { Entry } from "./entry.ts";
import type { Contact, Registry } from "./registry.ts";

interface Line {
  readonly entry: Entry;
  readonly contact: Contact;
  readonly isDefault: boolean;
  readonly json: string;
}

export class Listing {
  readonly #registry: Registry;
  readonly #control: Control;
  /** What each device was written from, and as what. An entry or a contact that changes is another object. */
  #lines = new Map<string, Line>();
  #written:
    | { entries: readonly Entry[]; contacts: number; chosen: string | undefined; bytes: Uint8Array<ArrayBuffer> }
    | undefined;

  readonly #finish: (json: string) => Uint8Array<ArrayBuffer>;

  /** `finish` makes the answer of the array's JSON. */
  constructor(registry: Registry, control: Control, finish: (json: string) => Uint8Array<ArrayBuffer>) {
    this.#registry = registry;
    this.#control = control;
    this.#finish = finish;
  }

  /** Every device as the API shows it, in the order of adding. */
  bytes(): Uint8Array<ArrayBuffer> {
    const { entries, contacts } = this.#registry;
    const chosen = this.#control.defaultDevice()?.id;
    const { entries: seen, contacts: counted, chosen: before, bytes } = this.#written ?? {};
    if (bytes && seen === entries && counted === contacts && before === chosen) return bytes;
    const written = this.#finish(`[${this.#write(entries, chosen).join(",")}]`);
    this.#written = { entries, contacts, chosen, bytes: written };
    return written;
  }

  #write(entries: readonly Entry[], defaultId: string | undefined): string[] {
    const before = this.#lines;
    this.#lines = new Map();
    return entries.map((entry) => {
      const contact = this.#registry.contact(entry.id);
      const isDefault = entry.id === defaultId;
      const known = before.get(entry.id);
      const holds = known?.entry === entry && known.contact === contact && known.isDefault === isDefault;
      const line = holds
        ? known
        : { entry, contact, isDefault, json: JSON.stringify(this.#control.describe(entry, defaultId)) };
      this.#lines.set(entry.id, line);
      return line.json;
    });
  }
}
