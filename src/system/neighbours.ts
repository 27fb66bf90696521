/** The system's table of neighbours: which hardware answers at an address of this network (SECURITY.md 2.4). */
import { readFileSync } from "node:fs";

export interface Neighbours {
  /** The hardware's address behind an IPv4 address, lower case with colons; `null` where the table says nothing of it. */
  macOf(host: string): string | null;
  /** All of them, by the host's address, as they were at most a second ago. */
  table(): ReadonlyMap<string, string>;
}

/** How long what was read holds, in milliseconds: a burst of calls reads it once. */
const cacheMs = 1_000;
/** One that is not in it may just have come: it is looked for again after this. */
const missCacheMs = 20;

/**
 * Reads the table where it can be: on Linux, under runtimes that let it be read. Elsewhere it says nothing of anybody.
 * `read` gives its text, or throws.
 */
export function neighboursOf(read: () => string = readTable, now: () => number = () => performance.now()): Neighbours {
  let table: ReadonlyMap<string, string> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let readable = true;
  function readWhenOlder(than: number): void {
    if (!readable || now() - readAt < than) return;
    readAt = now();
    try {
      table = parseNeighbours(read());
    } catch {
      // Another system, or a runtime that lets nobody read there: it will not be otherwise the next time.
      readable = false;
      table = new Map();
    }
  }
  return {
    macOf(host) {
      readWhenOlder(table.has(host) ? cacheMs : missCacheMs);
      return table.get(host) ?? null;
    },
    table() {
      readWhenOlder(cacheMs);
      return table;
    },
  };
}

function readTable(): string {
  return readFileSync("/proc/net/arp", "utf8");
}

/**
 * Whether the system has asked for the hardware at an address of this network, and none has said that it is there. `false`
 * where the table cannot be read, or says nothing of the address: it may be in another network.
 */
export function isUnclaimed(host: string, read: () => string = readTable): boolean {
  try {
    const flags = rowsOf(read()).flatMap((row) => (row[0] === host ? [Number(row[2])] : []));
    return flags.length > 0 && flags.every((flag) => (flag & complete) === 0);
  } catch {
    return false;
  }
}

/** A flag of an entry that is complete. */
const complete = 2;

/** proc(5): IP address, HW type, Flags, HW address, Mask, Device. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
}

/** The hardware's address behind each address whose entry is complete. */
export function parseNeighbours(text: string): ReadonlyMap<string, string> {
  const known = rowsOf(text).flatMap(([host = "", , flags = "", mac = ""]): [string, string][] => {
    const isKnown =
      (Number(flags) & complete) !== 0 && /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac) && !/^[0:]+$/.test(mac);
    return isKnown ? [[host, mac.toLowerCase()]] : [];
  });
  return new Map(known);
}
