/** Addresses given by users: parsed, resolved once, and checked before anything is sent there (SECURITY.md T7). */
import { lookup } from "node:dns/promises";
import { isIP, isIPv4 } from "node:net";
import { ZapdError } from "../api/errors.ts";
import { interfacesNow } from "./interfaces.ts";

/** Splits `host`, `host:port`, `[v6]` and `[v6]:port`; fails with `invalid_host`. */
export function splitHost(text: string): { host: string; port: number | null } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s/@?#]+)|([0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*))(?::(\d{1,5}))?$/i.exec(
    text.trim(),
  );
  const host = match?.[1] ?? match?.[2] ?? match?.[3];
  const port = match?.[4] === undefined ? null : Number(match[4]);
  if (host && port !== 0 && (port ?? 1) <= 65_535) return { host, port };
  // URLs have no zones: neither runtime can call such an address.
  const hasZone = /^\[?[\da-f:]+%/i.test(text.trim());
  throw invalidHost(
    text,
    hasZone ? "an address with a zone (%…) is not supported" : "it is neither an address nor a host name",
  );
}

/**
 * The IP address of a host, resolved once; IPv4 where it has both, since many devices listen on no other. Fails with
 * `invalid_host` for an address that no device can have.
 */
export async function resolveHost(text: string): Promise<string> {
  const found = isIP(text)
    ? text
    : await lookup(text, { order: "ipv4first" }).then(
        (found) => found.address,
        () => null,
      );
  if (found === null) throw invalidHost(text, "no such host is known");
  const address = canonical(found);
  if (isNoDevice(address)) throw invalidHost(text, `${address} is not the address of one device`);
  return address;
}

/** The canonical form of an address; an IPv4-mapped IPv6 address becomes IPv4. */
function canonical(address: string): string {
  const url = `http://[${address}]`;
  if (isIPv4(address) || !URL.canParse(url)) return address;
  const short = new URL(url).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low]
    .map((part) => Number.parseInt(part, 16))
    .flatMap((part) => [part >> 8, part & 255])
    .join(".");
}

/** Broadcast, multicast, unspecified and reserved addresses. */
function isNoDevice(address: string): boolean {
  if (!isIPv4(address)) return /^(::|ff[0-9a-f]{2}:.*)$/i.test(address);
  const first = Number(address.split(".")[0]);
  return (
    first === 0 ||
    first >= 224 ||
    interfacesNow().some((one) => one.broadcast === address && one.broadcast !== one.address)
  );
}

export function invalidHost(text: string, reason: string): ZapdError {
  // The part before an @ may be a password.
  const shown = JSON.stringify(text.replace(/^.*@/, "…@").slice(0, 128));
  return new ZapdError("invalid_host", `${shown} cannot be a device's host: ${reason}`, {
    hint: "Give the address of the device as its network settings show it, such as 192.168.1.40",
  });
}
