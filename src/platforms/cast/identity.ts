/** Identifies a Cast device (players.md 1.2, 3.1) by the id that it announces and reports over its connection. */
import { wrongDevice } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import { handshakeTimedOut } from "../../transport/websocket.ts";
import type { Address, Kind, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity, senderOf } from "../query.ts";
import type { CastMemory, CastTarget } from "./memory.ts";
import { readId } from "./protocol.ts";
import { CastSession, type DeviceInfo } from "./session.ts";

export const serviceType = "_googlecast._tcp";
const groupModel = "Google Cast Group";
/** A bit of `ca`: a group (3.1). */
const groupBit = 32;

/** The name of the device is `fn`, not the instance name (1.4). */
export function readService(service: MdnsService): Lead | null {
  const host = senderOf(service);
  if (service.type !== serviceType || host === null) return null;
  return { host, port: service.port, announced: service.txt };
}

/** A bit of `ca`: it has a video output (3.1). */
const screenBit = 1;

/** A device with video that is not plugged into a screen is a TV, as far as its model shows. */
function kindOf(model: string | null, bits: string | null): Kind {
  const isScreen =
    (Number(bits) & screenBit) !== 0 && !/chromecast|shield|streamer|stick|dongle|hub|box/i.test(model ?? "");
  if (!isScreen) return "player";
  // Makers of boxes name them after Android TV or Google TV.
  return /bravia|(?<!android |google )\btv\b/i.test(model ?? "") ? "tv" : "unknown";
}

/** What is announced for an address; `null` where nothing is. */
function announcedAt({ host, port }: Address, platformHost: PlatformHost, signal: AbortSignal) {
  const isHere = (service: MdnsService) => service.port === port;
  return platformHost.announced(serviceType, host, isHere, signal).catch(() => null);
}

export async function identifyCast(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<CastMemory>> {
  // An address that a user gave may be a group's, where the leading device answers as itself.
  const announcing = lead.announced?.["id"] ? null : announcedAt(lead, platformHost, signal);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const session = await new CastSession(lead, platformHost).open(within);
  try {
    const [info, receiver, service] = await Promise.all([
      session.requestDeviceInfo(within),
      session.refresh(within),
      announcing,
    ]);
    const txt = (announcing ? service?.txt : lead.announced) ?? {};
    const isGroup = txt["md"] === groupModel || (Number(txt["ca"]) & groupBit) !== 0;
    const announced = readId(txt["id"]);
    const own = announced !== null && info.ids.includes(announced) ? announced : info.ids[0];
    const identity = isGroup ? announced : (own ?? announced);
    const mac = isGroup ? null : readMac(info.mac);
    return {
      identity: identity ?? addressIdentity(lead),
      provisional: identity === null,
      ...(isGroup ? { alone: true } : mac !== null && { ids: [`mac:${mac}`] }),
      ...(receiver.standby !== null && { power: receiver.standby ? "standby" : "on" }),
      facts: {
        name: isGroup ? text(txt["fn"]) : (info.name ?? text(txt["fn"])),
        kind: kindOf(text(txt["md"]) ?? info.model, txt["ca"] ?? info.capabilities),
        manufacturer: isGroup ? null : (info.manufacturer?.replace(/,? Inc\.?$/, "") ?? null),
        model: text(txt["md"]) ?? info.model,
        serial: null,
        // No magic packet wakes a Cast device, and a group has no address of its own.
        macs: [],
        softwareVersion: info.softwareVersion,
        access: "full",
      },
      memory: {
        group: isGroup,
        tellsId: identity !== null && info.ids.includes(identity),
        ...(receiver.control !== null && { volume: receiver.control }),
      },
      pairing: "none",
    };
  } finally {
    session.close();
  }
}

/**
 * Fails where another device answers. One that reports its id over the connection is known by that. Any other, and a
 * group, for which its leading device may answer, is known by what is announced for this port. Without a contradiction
 * it is accepted: it gets no secret.
 */
export async function prove(
  session: CastSession,
  target: CastTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<DeviceInfo> {
  const { host, identity, provisional, memory } = target;
  const isKnownByTelling = memory.tellsId === true && memory.group !== true;
  const announcing = isKnownByTelling ? null : announcedAt(target, platformHost, signal);
  const info = await session.requestDeviceInfo(signal, identity, isKnownByTelling ? session.timeoutMs : undefined);
  if (provisional || info.ids.includes(identity)) return info;
  if (memory.group !== true && info.ids.length > 0) throw wrongDevice(host);
  if (isKnownByTelling) throw handshakeTimedOut("accepted the connection, but did not say which device it is");
  const announced = readId((await announcing)?.txt["id"]);
  signal.throwIfAborted();
  if (announced !== null && announced !== identity) throw wrongDevice(host);
  return info;
}
