/** The neighbour (ARP) table of the system: the MAC address behind an address of the local network (SECURITY.md 2.4); and its routes. */
import { readFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { systemCode } from "../api/errors.ts";
import { tryOr } from "./try-or.ts";

export interface Neighbours {
  /** The MAC address behind an IPv4 address, lower case with colons; `null` where the table has none. */
  macOf(host: string): string | null;
  /** Every MAC address by IPv4 address, at most a second old. */
  table(): ReadonlyMap<string, string>;
}

/** How long the table is cached, so that a burst of calls reads it once. */
const cacheMs = 1_000;
/** An address that is not in the table may just have been added: it is looked up again after this. */
const missCacheMs = 20;

/** The table, where it can be read: on Linux, with permission. Elsewhere it is empty. `read` gives its text, or throws. */
export function neighboursOf(read: () => string = readTable, now: () => number = () => performance.now()): Neighbours {
  let table: ReadonlyMap<string, string> = new Map();
  let readAt = Number.NEGATIVE_INFINITY;
  let readable = true;
  function readWhenOlder(than: number): void {
    if (!readable || now() - readAt < than) return;
    readAt = now();
    try {
      table = parseNeighbours(read());
    } catch (error) {
      // Another system, or no permission: the next read would fail too. Where only file descriptors are used up, it may not.
      readable = ["EMFILE", "ENFILE"].includes(systemCode(error));
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
 * Whether the system has asked for the MAC address of a local address and got no answer. `false` where the table cannot be
 * read, or does not have the address, which may be in another network.
 */
export function isUnclaimed(host: string, read: () => string = readTable): boolean {
  const rows = tryOr(() => rowsOf(read()), []).filter(([address]) => address === host);
  return rows.length > 0 && rows.every(([, , flags]) => (Number(flags) & complete) === 0);
}

/**
 * Whether a route of this machine leads to an IPv4 address: none does while its network is down. `true` where the table cannot
 * be read, and for loopback, which it does not have.
 */
export function isRouted(host: string, read = () => readFileSync("/proc/net/route", "utf8")): boolean {
  if (!isIPv4(host) || host.startsWith("127.")) return true;
  // The table has the last byte first.
  const address = host.split(".").reduceRight((sum, byte) => sum * 256 + Number(byte), 0);
  const leads = ([, to = "", , , , , , mask = ""]: readonly string[]) =>
    (address & Number.parseInt(mask, 16)) >>> 0 === Number.parseInt(to, 16);
  return tryOr(() => rowsOf(read()).some(leads), true);
}

/** ATF_COM of arp(7): the entry has its MAC address. */
const complete = 2;

/**
 * The rows of /proc/net/arp, proc(5): IP address, HW type, Flags, HW address, Mask, Device; or of /proc/net/route: Iface,
 * Destination, Gateway, Flags, RefCnt, Use, Metric, Mask.
 */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
}

/** The MAC address behind each address whose entry is complete. */
export function parseNeighbours(text: string): ReadonlyMap<string, string> {
  const known = rowsOf(text).flatMap(([host = "", , flags = "", mac = ""]): [string, string][] => {
    const isKnown =
      (Number(flags) & complete) !== 0 && /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac) && !/^[0:]+$/.test(mac);
    return isKnown ? [[host, mac.toLowerCase()]] : [];
  });
  return new Map(known);
}
