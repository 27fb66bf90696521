/**
 * Services put together from mDNS records: a host need not send all records of a service in one packet (RFC 6763, 12). Records
 * of one host never complete those of another. Pure.
 */
import type { DnsRecord } from "multicast-dns";
import type { MdnsService } from "../platforms/platform.ts";

/** `kept` is for all hosts together, oldest dropped first; the rest is for one service. */
const limits = { kept: 1_024, addresses: 16, texts: 64, text: 512, name: 256 } as const;

/** An instance of a service, as far as its host has announced it. */
interface Instance {
  readonly name: string;
  /** Missing until it is announced as one of the types that are browsed. */
  type?: string;
  target?: string;
  port?: number;
  txt?: Readonly<Record<string, string>>;
  /** Its missing records were asked for: without texts even then, it is complete. */
  isAsked?: boolean;
}

export class Announcements {
  readonly #types: ReadonlyMap<string, string>;
  readonly #instances = new Map<string, Instance>();
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #incomplete = new Set<Instance>();

  constructor(types: readonly string[]) {
    this.#types = new Map(types.map((type) => [`${type}.local`.toLowerCase(), type]));
  }

  /** Whether records are missing of a service that was announced. */
  get hasIncomplete(): boolean {
    return this.#incomplete.size > 0;
  }

  /** The names of incomplete services, by their labels; each is given once, until it is announced again. */
  takeIncomplete(): string[][] {
    const all = [...this.#incomplete];
    this.#incomplete.clear();
    for (const one of all) one.isAsked = true;
    return all.map(({ name, type = "" }) => labelsOf(name, type)).filter((labels) => labels.every(isLabel));
  }

  /** Takes the records of a packet; gives the services in it that are complete now. */
  take(records: readonly DnsRecord[], source: string): MdnsService[] {
    const announced = new Set<Instance>();
    const instanceOf = (name: string) => {
      const key = `${source} ${name.toLowerCase()}`;
      const one = this.#instances.get(key) ?? { name };
      keep(this.#instances, key, one);
      announced.add(one);
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
        addresses.set(key, [...(addresses.get(key) ?? []), record.data].slice(0, limits.addresses));
      }
    }
    for (const [key, all] of addresses) keep(this.#addresses, key, all);
    return [...announced].flatMap((one) => {
      const { name, type, target = "", port, txt, isAsked = false } = one;
      if (type !== undefined && (port === undefined || txt === undefined)) this.#incomplete.add(one);
      else this.#incomplete.delete(one);
      if (type === undefined || port === undefined || (txt === undefined && !isAsked)) return [];
      const known = this.#addresses.get(target) ?? [];
      return [{ name: ownName(name, type), type, port, source, addresses: known, txt: txt ?? {} }];
    });
  }
}

/** Puts an entry last into a map; drops the first of a full map. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [first] = map.keys();
  if (map.size > limits.kept && first !== undefined) map.delete(first);
}

/** The name of an instance without its type. */
function ownName(name: string, type: string): string {
  const end = `.${type}.local`;
  return (name.toLowerCase().endsWith(end.toLowerCase()) ? name.slice(0, -end.length) : name).slice(0, limits.name);
}

/** The name of an instance is one label, whatever dots it has (RFC 6763, 4.1.1). */
function labelsOf(name: string, type: string): string[] {
  return [ownName(name, type), ...type.split("."), "local"];
}

/** A name with several labels before its type, which is none of an instance, may be longer than a label. */
const isLabel = (text: string): boolean => text !== "" && Buffer.byteLength(text) < 64;

const decoder = new TextDecoder();

/** Keys are case-insensitive, and the first of two counts (RFC 6763, 6.4). */
function textsIn(strings: readonly Uint8Array[]): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  for (const string of strings) {
    const [, key = "", value = ""] = /^([^=]+)=?(.*)$/s.exec(decoder.decode(string)) ?? [];
    const word = key.toLowerCase();
    if (word !== "" && !texts.has(word) && texts.size < limits.texts) texts.set(word, value.slice(0, limits.text));
  }
  return Object.fromEntries(texts);
}
