/** Who a Cast device is (players.md 1.2, 3.1): by the id that it announces, and tells whoever asks over its line. */
import { wrongDevice } from "../../api/errors.ts";
import { deadline } from "../../transport/http.ts";
import { text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import { handshakeTimedOut } from "../../transport/websocket.ts";
import type { Kind, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity, senderOf } from "../query.ts";
import type { CastMemory, CastTarget } from "./memory.ts";
import { readId } from "./protocol.ts";
import { CastSession, type Told } from "./session.ts";

export const serviceType = "_googlecast._tcp";
const groupModel = "Google Cast Group";
/** A bit of `ca` (3.1). */
const groupBit = 32;

/** Its instance name is not its name, which is `fn` (1.4). */
export function readService(service: MdnsService): Lead | null {
  const host = senderOf(service);
  if (service.type !== serviceType || host === null) return null;
  return { host, port: service.port, announced: announcedOf(service.txt) };
}

function announcedOf({ id, fn, md, ca }: MdnsService["txt"]): Readonly<Record<string, string>> {
  return { ...(id && { id }), ...(fn && { fn }), ...(md && { md }), ...(ca && { ca }) };
}

/** Its own bits (players.md 3.1): it shows pictures. */
const screenBit = 1;

/** What shows pictures, and is not plugged into a screen, is one, as far as its model says so. */
function kindOf(model: string | null, bits: string | undefined): Kind {
  const isScreen =
    (Number(bits) & screenBit) !== 0 && !/chromecast|shield|streamer|stick|dongle|hub|box/i.test(model ?? "");
  if (!isScreen) return "player";
  // Those who build boxes call them by their system.
  return /bravia|(?<!android |google )\btv\b/i.test(model ?? "") ? "tv" : "unknown";
}

export async function identifyCast(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Sighting<CastMemory>> {
  const { host, port } = lead;
  const isHere = (service: MdnsService) => service.port === port;
  // What somebody gave by its address may be a group, of which the device at that address speaks as itself.
  const announcing =
    lead.announced?.["id"] === undefined
      ? platformHost.announced(serviceType, host, isHere, signal).catch(() => null)
      : Promise.resolve(null);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const session = await new CastSession(lead, platformHost).open(within);
  try {
    const [told, receiver, service] = await Promise.all([session.whoIsIt(within), session.refresh(within), announcing]);
    const said = lead.announced?.["id"] === undefined ? announcedOf(service?.txt ?? {}) : lead.announced;
    const isGroup = said["md"] === groupModel || (Number(said["ca"]) & groupBit) !== 0;
    const announced = readId(said["id"]);
    const own = announced !== null && told.ids.includes(announced) ? announced : told.ids[0];
    const identity = isGroup ? announced : (own ?? announced);
    const mac = isGroup ? null : readMac(told.mac);
    return {
      identity: identity ?? addressIdentity(lead),
      ...(identity === null && { provisional: true }),
      ...(isGroup ? { alone: true } : mac !== null && { ids: [`mac:${mac}`] }),
      ...(receiver.standby !== null && { power: receiver.standby ? "standby" : "on" }),
      facts: {
        name: isGroup ? text(said["fn"]) : (told.name ?? text(said["fn"])),
        kind: kindOf(text(said["md"]) ?? told.model, said["ca"]),
        // Google Inc.
        manufacturer: isGroup ? null : (told.manufacturer?.replace(/,? Inc\.?$/, "") ?? null),
        model: text(said["md"]) ?? told.model,
        serial: null,
        // No packet wakes it, and a group has none of its own.
        macs: [],
        softwareVersion: told.softwareVersion,
        access: "full",
      },
      memory: {
        group: isGroup,
        tellsId: identity !== null && told.ids.includes(identity),
        ...(receiver.control !== null && { volume: receiver.control }),
      },
      pairing: "none",
    };
  } finally {
    session.close();
  }
}

/**
 * Fails where another answers: one that tells its id over the line is known by that; one that never has, or a group, which the
 * device at its address may speak for, by what is announced for its very port. Where nothing is heard that speaks against it,
 * it is believed: there is no secret that it could get.
 */
export async function prove(
  session: CastSession,
  target: CastTarget,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Told> {
  const { host, port, identity, provisional, memory } = target;
  const isKnownByTelling = memory.tellsId === true && memory.group !== true;
  const isHere = (service: MdnsService) => service.port === port;
  const announcing = isKnownByTelling
    ? Promise.resolve(null)
    : platformHost.announced(serviceType, host, isHere, signal).catch(() => null);
  const withinMs = isKnownByTelling ? session.timeoutMs : undefined;
  const told = await session.whoIsIt(signal, { wanted: identity, ...(withinMs && { withinMs }) });
  if (provisional || told.ids.includes(identity)) return told;
  if (memory.group !== true && told.ids.length > 0) throw wrongDevice(host);
  if (isKnownByTelling) throw handshakeTimedOut();
  const announced = readId((await announcing)?.txt["id"]);
  signal.throwIfAborted();
  if (announced !== null && announced !== identity) throw wrongDevice(host);
  return told;
}
