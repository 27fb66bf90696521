/**
 * What hosts announce over mDNS, put together: whoever answers need not tell all of a service in one packet (RFC 6763, 12),
 * and one that tells of many cannot. What one host says is never completed by another's words. Pure.
 */
import type { DnsRecord } from "multicast-dns";
import type { MdnsService } from "../platforms/platform.ts";

/** Kept of all hosts together: what came first gives way. The rest is of one service. */
const most = { kept: 1_024, addresses: 16, texts: 64, text: 512, name: 256 } as const;

/** An instance of a service, as far as its host has told of it. */
interface Instance {
  readonly name: string;
  /** Without it, it has not been said to be one of those that are looked for. */
  type?: string;
  target?: string;
  port?: number;
  txt?: Readonly<Record<string, string>>;
  /** What it lacks has been asked for: one that has no texts even so is told without. */
  isAsked?: boolean;
}

export class Announcements {
  readonly #types: ReadonlyMap<string, string>;
  readonly #instances = new Map<string, Instance>();
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #lacking = new Set<Instance>();

  constructor(types: readonly string[]) {
    this.#types = new Map(types.map((type) => [`${type}.local`.toLowerCase(), type]));
  }

  /** Whether something is missing of a service that was told of. */
  get isLacking(): boolean {
    return this.#lacking.size > 0;
  }

  /** The names of services of which something is missing; each is given once, until it is told of again. */
  lacking(): string[] {
    const all = [...this.#lacking];
    this.#lacking.clear();
    for (const one of all) one.isAsked = true;
    return all.map(({ name }) => name);
  }

  /** Takes the records of a packet; gives the services of which it told, once they are known. */
  take(records: readonly DnsRecord[], source: string): MdnsService[] {
    const told = new Set<Instance>();
    const instanceOf = (name: string) => {
      const key = `${source} ${name.toLowerCase()}`;
      const one = this.#instances.get(key) ?? { name };
      keep(this.#instances, key, one);
      told.add(one);
      return one;
    };
    const addresses = new Map<string, string[]>();
    for (const record of records) {
      // A goodbye (RFC 6762, 10.1).
      if (record.ttl === 0) continue;
      const { name } = record;
      if (record.type === "PTR") {
        const type = this.#types.get(name.toLowerCase());
        if (type !== undefined) instanceOf(record.data).type = type;
      } else if (record.type === "SRV") {
        const { target, port } = record.data;
        Object.assign(instanceOf(name), { target: `${source} ${target.toLowerCase()}`, port });
      } else if (record.type === "TXT") instanceOf(name).txt = textsIn(record.data);
      else if (record.type === "A") {
        const key = `${source} ${name.toLowerCase()}`;
        addresses.set(key, [...(addresses.get(key) ?? []), record.data].slice(0, most.addresses));
      }
    }
    for (const [key, all] of addresses) keep(this.#addresses, key, all);
    return [...told].flatMap((one) => {
      const { name, type, target = "", port, txt, isAsked = false } = one;
      if (type !== undefined && (port === undefined || txt === undefined)) this.#lacking.add(one);
      else this.#lacking.delete(one);
      if (type === undefined || port === undefined || (txt === undefined && !isAsked)) return [];
      const known = this.#addresses.get(target) ?? [];
      return [{ name: ownName(name, type), type, port, source, addresses: known, txt: txt ?? {} }];
    });
  }
}

/** Keeps something as what came last; what came first into a full map gives way. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [first] = map.keys();
  if (map.size > most.kept && first !== undefined) map.delete(first);
}

/** The name of an instance, without its type, which may be written in any case. */
function ownName(name: string, type: string): string {
  const end = `.${type}.local`;
  return (name.toLowerCase().endsWith(end.toLowerCase()) ? name.slice(0, -end.length) : name).slice(0, most.name);
}

const decoder = new TextDecoder();

/** Keys have no case, and the first of two counts (RFC 6763, 6.4). */
function textsIn(strings: readonly Uint8Array[]): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  for (const string of strings) {
    const [, key = "", value = ""] = /^([^=]+)=?(.*)$/s.exec(decoder.decode(string)) ?? [];
    const word = key.toLowerCase();
    if (word !== "" && !texts.has(word) && texts.size < most.texts) texts.set(word, value.slice(0, most.text));
  }
  return Object.fromEntries(texts);
}
