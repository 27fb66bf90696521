/** How devices are found: what a platform asks the network, and how it reads the answers. */

/** Where a device answers: an IP address, never a name, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a device may be, and what was announced of it, which only its own platform reads. */
export interface Lead extends Address {
  /** The path of its description, on platforms whose devices choose that: several may share a port. */
  readonly path?: string;
  readonly announced?: Readonly<Record<string, string>>;
  /** What the platform remembers of the device that is expected there. */
  readonly memory?: unknown;
}

/** An answer to an SSDP search: its headers, with names in lower case, and its sender. */
export interface SsdpAnswer {
  readonly headers: ReadonlyMap<string, string>;
  readonly source: string;
}

/** A service announced over mDNS. */
export interface MdnsService {
  readonly name: string;
  readonly type: string;
  /** The sender; addresses of other hosts in it are not to be trusted. */
  readonly source: string;
  readonly addresses: readonly string[];
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

/** What a platform asks the network, and how it reads an answer: where to identify a device, or `null` for another platform. */
export type DiscoveryQuery =
  | { readonly over: "ssdp"; readonly target: string; read(answer: SsdpAnswer): Lead | null }
  | { readonly over: "mdns"; readonly type: string; read(service: MdnsService): Lead | null };

/** The identity of a device that does not report one: the address where it was found. */
export function addressIdentity({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** Whether an identity is an address, on platforms whose other identities have no colon. */
export function isAddressIdentity(identity: string): boolean {
  return identity.includes(":");
}

/** The LOCATION of an answer. Its host must be the sender's address as written: no name, no other notation (SECURITY.md T6). */
export function locationOf({ headers, source }: SsdpAnswer): (Address & { readonly path: string }) | null {
  const location = headers.get("location") ?? "";
  if (location.length > maxLocationLength || !URL.canParse(location)) return null;
  const url = new URL(location);
  const literal = /^http:\/\/([0-9.]+)(?::\d+)?(?:\/|$)/i.exec(location)?.[1];
  if (literal !== source || url.hostname !== source || url.port === "0") return null;
  return { host: source, port: Number(url.port || 80), path: url.pathname + url.search };
}

const maxLocationLength = 2_048;

/** The host of a service: the sender of its announcement; `null` where the announced addresses are all of others. */
export function senderOf({ source, addresses }: Pick<MdnsService, "source" | "addresses">): string | null {
  if (!/^[0-9.]+$/.test(source)) return null;
  // Announcements of this machine have one sender for all its loopback addresses.
  const own = isLoopback(source) ? addresses.find(isLoopback) : undefined;
  return addresses.length > 0 && own === undefined && !addresses.includes(source) ? null : (own ?? source);
}

function isLoopback(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(address);
}
