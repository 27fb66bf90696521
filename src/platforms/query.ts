/** How devices are found: what a platform asks the network, and what it reads from the answers. */

/** Where a device answers: an IP address, never a name, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a device may be, and what the answer that named the place said of it; only its own platform reads that. */
export interface Lead extends Address {
  /** Where at that port it says who it is, on platforms whose devices choose that: several may share a port. */
  readonly path?: string;
  readonly announced?: Readonly<Record<string, string>>;
  /** What its platform remembers of the device that is looked for there. */
  readonly memory?: unknown;
}

/** An answer to a search over SSDP: its headers (names in lower case) and who sent it. */
export interface SsdpAnswer {
  readonly headers: ReadonlyMap<string, string>;
  readonly source: string;
}

/** A service announced over mDNS. */
export interface MdnsService {
  readonly name: string;
  readonly type: string;
  /** Who sent it; what it says of other hosts is not to be trusted. */
  readonly source: string;
  readonly addresses: readonly string[];
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

/** What a platform asks the network, and how it reads an answer: where to look closer, or `null` for "not ours". */
export type DiscoveryQuery =
  | { readonly over: "ssdp"; readonly target: string; read(answer: SsdpAnswer): Lead | null }
  | { readonly over: "mdns"; readonly type: string; read(service: MdnsService): Lead | null };

/** What stands for the identity of a device that does not say who it is: where it was found. */
export function addressIdentity({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** Whether an identity is a place, on platforms whose own identities have no colon. */
export function isAddressIdentity(identity: string): boolean {
  return identity.includes(":");
}

/**
 * The place that an answer names as its LOCATION. The host as written must be the sender's own address: never a name, another
 * host or a disguised number (SECURITY.md T6).
 */
export function locationOf({ headers, source }: SsdpAnswer): (Address & { readonly path: string }) | null {
  const location = headers.get("location") ?? "";
  if (location.length > longestLocation || !URL.canParse(location)) return null;
  const url = new URL(location);
  const literal = /^http:\/\/([0-9.]+)(?::\d+)?(?:\/|$)/i.exec(location)?.[1];
  if (literal !== source || url.hostname !== source || url.port === "0") return null;
  return { host: source, port: Number(url.port || 80), path: url.pathname + url.search };
}

const longestLocation = 2_048;

/** The host that announces a service: its sender, whatever other address it names; `null` where it names only others. */
export function senderOf({ source, addresses }: Pick<MdnsService, "source" | "addresses">): string | null {
  if (!/^[0-9.]+$/.test(source)) return null;
  // What this very machine announces has one sender for all its loopback addresses.
  const own = isLoopback(source) ? addresses.find(isLoopback) : undefined;
  return addresses.length > 0 && own === undefined && !addresses.includes(source) ? null : (own ?? source);
}

function isLoopback(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(address);
}
