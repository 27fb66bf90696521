/** The advice for a search that found no device. */
import { wantedInterfaces } from "../discovery/interfaces.ts";
import { joinWithAnd } from "../system/text.ts";

/** The lines for a search that found nothing: the interfaces it used (`discovery.interfaces`, or all), the usual obstacles, what always works. */
export function nothingFoundLines(wanted: readonly string[]): string[] {
  const searched =
    wanted.length > 0
      ? wanted.filter((one) => wantedInterfaces([one]).length > 0)
      : wantedInterfaces([]).map(({ name, address }) => `${name} (${address})`);
  if (wanted.length > 0 && searched.length === 0)
    return [
      `nothing was found: discovery.interfaces names ${joinWithAnd(wanted)}, which this machine does not have now.`,
      "To search on all its interfaces: zapd config unset discovery.interfaces",
    ];
  return [
    `nothing was found; searched on ${searched.join(", ") || "no interface, as only loopback has an IPv4 address"}.`,
    "The usual causes: a guest Wi-Fi, a VPN, a firewall (answers come from UDP port 1900), another VLAN.",
    "Adding a device by its address, which its network settings show, always works: zapd add 192.168.1.40",
  ];
}
