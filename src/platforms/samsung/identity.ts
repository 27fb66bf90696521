/** Who a Samsung TV says it is (smart-tvs.md 3.1), without a word that could wake it or show anything on it. */
import { DeviceError, hasReason } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { HttpConnection } from "../../transport/http-connection.ts";
import { refuseOwnListener } from "../../transport/socket.ts";
import type { Address, DiscoveryQuery, Lead, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity } from "../query.ts";
import type { SamsungMemory } from "./memory.ts";
import { type Info, infoPath } from "./protocol.ts";
import { infoOf, plainPort, securePort } from "./rest.ts";

const targets = ["urn:samsung.com:device:RemoteControlReceiver:1", "urn:samsung.com:service:MainTVAgent2:1"];
/** Every renderer answers to it; those of Samsung say so in the header. */
const rendering = "urn:schemas-upnp-org:service:RenderingControl:1";

/** One TV answers to several (3.1); what its answers say of other places is not looked at. */
export const queries: readonly DiscoveryQuery[] = [
  ...[...targets, rendering].map(
    (target): DiscoveryQuery => ({
      over: "ssdp",
      target,
      read({ headers, source }) {
        const isIts = headers.get("st") === target || headers.get("usn")?.endsWith(target) === true;
        const isSamsung = target !== rendering || /samsung/i.test(headers.get("server") ?? "");
        return isIts && isSamsung ? { host: source, port: securePort } : null;
      },
    }),
  ),
  {
    over: "mdns",
    type: "_airplay._tcp",
    read: ({ source, txt }) =>
      /^samsung/i.test(txt["manufacturer"] ?? "") ? { host: source, port: securePort } : null,
  },
];

/** Who answered, where, and what it showed. */
interface Met {
  readonly info: Info;
  readonly port: number;
  readonly certificate: string | null;
}

export async function identifySamsung(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<SamsungMemory>> {
  const met = await meet(lead, platformHost, signal);
  const { info, certificate } = met;
  // One that gives tokens is driven over TLS alone; met without, its other port may be opening still.
  const isBeside = info.memory.token && certificate === null;
  const port = isBeside ? securePort : met.port;
  return {
    identity: info.duid ?? addressIdentity({ host: lead.host, port }),
    ...(info.duid === null && { provisional: true as const }),
    ...(isBeside && { atSecondaryPort: true as const }),
    ...(info.power !== null && { power: info.power }),
    port,
    certificate,
    facts: info.facts,
    memory: info.memory,
    pairing: info.memory.token ? "required" : "none",
  };
}

async function meet({ host, port }: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Met> {
  const ask = (at: number, tls: boolean) => askWho({ host, port: at }, tls, platformHost, signal);
  if (port === plainPort) {
    const met = await ask(port, false);
    if (!met.info.memory.token) return met;
    const secure = await ask(securePort, true).catch(() => null);
    return secure && secure.info.duid === met.info.duid ? secure : met;
  }
  try {
    return await ask(port, true);
  } catch (error) {
    // Nobody speaks there, or no TLS: sets of 2016 and 2017 have the plain port alone, and a port that was given may be it.
    if (signal.aborted || hasReason(error, "timeout", "no_route")) throw error;
    return ask(port === securePort ? plainPort : port, false).catch((other: unknown) => {
      throw port === securePort && hasReason(other, "refused", "timeout", "no_route") ? error : other;
    });
  }
}

/** Asks who is there, over a connection of its own. */
export async function askWho(
  address: Address,
  tls: boolean,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Met> {
  refuseOwnListener(address, platformHost);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const connection = await HttpConnection.open(address, within, tls ? null : undefined);
  try {
    const answer = await connection.exchange(
      { method: "GET", path: infoPath, wanted: "all", maxBytes: 65_536 },
      within,
    );
    const certificate = connection.fingerprint;
    // Without one nothing could tell it from another device.
    if (tls && certificate === null)
      throw new DeviceError("device_error", "showed no certificate", { phase: "connect", reason: "protocol" });
    return { info: infoOf(answer), port: address.port, certificate };
  } finally {
    connection.close();
  }
}
