/** What to do when a search finds nothing. */
import { networkInterfaces } from "node:os";

/** The lines of that screen: where was asked (`discovery.interfaces`, or all), what is usually in the way, what always works. */
export function nothingFound(wanted: readonly string[]): string[] {
  const asked = wanted.length > 0 ? wanted : interfaces();
  return [
    `nothing was found; asked on ${asked.join(", ") || "no interface, as this machine is on no network"}.`,
    "Usually in the way: a guest Wi-Fi, a VPN, a firewall (answers come from UDP port 1900), another VLAN.",
    "What always works is the address of the set, as its network settings show it: zapd add 192.168.1.40",
  ];
}

function interfaces(): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => `${name} (${address})`),
  );
}
