/** The machine's IPv4 interfaces, and which of them discovery uses. */
import { networkInterfaces } from "node:os";
import { tryOr } from "../system/try-or.ts";

export interface Interface {
  readonly name: string;
  readonly address: string;
  readonly netmask: string;
  readonly broadcast: string;
  readonly loopback: boolean;
}

/** Every address of this machine; none where the system cannot tell, as while no file descriptor is left. */
function addressesNow(): ReturnType<typeof networkInterfaces> {
  return tryOr(networkInterfaces, {});
}

/** The IPv4 interfaces now: they come and go. */
export function interfacesNow(): Interface[] {
  return Object.entries(addressesNow()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter((one) => one.family === "IPv4")
      .map((one) => ({
        name,
        address: one.address,
        netmask: one.netmask,
        broadcast: broadcastOf(one.address, one.netmask),
        loopback: one.internal,
      })),
  );
}

/** The interfaces with the wanted names or addresses; where none are given, all but loopback. */
export function wantedInterfaces(wanted: readonly string[], all: readonly Interface[] = interfacesNow()): Interface[] {
  if (wanted.length === 0) return all.filter((one) => !one.loopback);
  const chosen = all.filter((one) => wanted.includes(one.name) || wanted.includes(one.address));
  // Any address of the loopback network, such as 127.0.0.2, belongs to the loopback interface.
  const loopback = all.find((one) => one.loopback);
  if (loopback && chosen.every((one) => !one.loopback) && wanted.some((one) => one.startsWith("127.")))
    chosen.push(loopback);
  return chosen;
}

/** Whether an address is this machine's own. */
export function isThisMachine(host: string): boolean {
  if (host.startsWith("127.") || host === "::1" || host === "localhost" || /^::ffff:127\./i.test(host)) return true;
  return Object.values(addressesNow()).some((addresses) => addresses?.some((one) => one.address === host));
}

/** Whether an address is on the link of an interface, by its netmask; a tunnel's netmask does not show that. */
export function isOnLink(address: string, { address: own, netmask }: Interface): boolean {
  if (netmask === "255.255.255.255") return true;
  return broadcastOf(address, netmask) === broadcastOf(own, netmask);
}

function broadcastOf(address: string, netmask: string): string {
  const mask = netmask.split(".").map(Number);
  return address
    .split(".")
    .map((part, at) => Number(part) | (~(mask[at] ?? 0) & 255))
    .join(".");
}
