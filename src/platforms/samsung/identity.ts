/** Identifies a Samsung TV (smart-tvs.md 3.1) without anything that could wake it or show a prompt. */
import { DeviceError, hasReason } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { HttpConnection } from "../../transport/http-connection.ts";
import { refuseOwnListener } from "../../transport/socket.ts";
import type { Address, DiscoveryQuery, Lead, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity } from "../query.ts";
import type { SamsungMemory } from "./memory.ts";
import { type Info, infoPath } from "./protocol.ts";
import { parseInfo, plainPort, securePort } from "./rest.ts";

const targets = ["urn:samsung.com:device:RemoteControlReceiver:1", "urn:samsung.com:service:MainTVAgent2:1"];
/** Every renderer answers to it; those of Samsung have a `Server` header that names Samsung. */
const rendering = "urn:schemas-upnp-org:service:RenderingControl:1";

/** One TV answers to several (3.1). Other places that an answer names are ignored. */
export const queries: readonly DiscoveryQuery[] = [
  ...[...targets, rendering].map(
    (target): DiscoveryQuery => ({
      over: "ssdp",
      target,
      read({ headers, source }) {
        const matches = headers.get("st") === target || headers.get("usn")?.endsWith(target) === true;
        const isSamsung = target !== rendering || /samsung/i.test(headers.get("server") ?? "");
        return matches && isSamsung ? { host: source, port: securePort } : null;
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

interface InfoAnswer {
  readonly info: Info;
  readonly port: number;
  readonly certificate: string | null;
}

export async function identifySamsung(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<SamsungMemory>> {
  const answer = await requestInfo(lead, platformHost, signal);
  const { info, certificate } = answer;
  // A TV that gives tokens is driven over TLS only. When it answers only without, its TLS port may still be opening.
  const atSecondaryPort = info.memory.token && certificate === null;
  const port = atSecondaryPort ? securePort : answer.port;
  return {
    identity: info.duid ?? addressIdentity({ host: lead.host, port }),
    provisional: info.duid === null,
    atSecondaryPort,
    ...(info.power !== null && { power: info.power }),
    port,
    certificate,
    facts: info.facts,
    memory: info.memory,
    pairing: info.memory.token ? "required" : "none",
  };
}

async function requestInfo({ host, port }: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<InfoAnswer> {
  const ask = (at: number, tls: boolean) => requestInfoAt({ host, port: at }, tls, platformHost, signal);
  if (port === plainPort) {
    const plain = await ask(port, false);
    if (!plain.info.memory.token) return plain;
    const secure = await ask(securePort, true).catch(() => null);
    return secure && secure.info.duid === plain.info.duid ? secure : plain;
  }
  try {
    return await ask(port, true);
  } catch (error) {
    // Most TVs of 2016 and 2017 have no TLS port, and a port that a user gave may be the plain one.
    if (signal.aborted || hasReason(error, "timeout", "no_route")) throw error;
    return ask(port === securePort ? plainPort : port, false).catch((other: unknown) => {
      throw port === securePort && hasReason(other, "refused", "timeout", "no_route") ? error : other;
    });
  }
}

/** Reads the identity over a separate connection. */
export async function requestInfoAt(
  address: Address,
  tls: boolean,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<InfoAnswer> {
  refuseOwnListener(address, platformHost);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const connection = await HttpConnection.open(address, within, tls ? null : undefined);
  try {
    const answer = await connection.exchange(
      { method: "GET", path: infoPath, wanted: "all", maxBytes: 65_536 },
      within,
    );
    const certificate = connection.fingerprint;
    // Without a certificate, nothing could tell the TV from another device.
    if (tls && certificate === null)
      throw new DeviceError("device_error", "showed no certificate", { phase: "connect", reason: "protocol" });
    return { info: parseInfo(answer), port: address.port, certificate };
  } finally {
    connection.close();
  }
}
