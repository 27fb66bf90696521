/** Identifies the Kodi at an address (players.md 1.2, 7.1) by its id, which it announces over mDNS only. */
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, number, text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { Access, Address, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity, senderOf } from "../query.ts";
import { type Ask, httpType, macLabel, macOf, nameLabel, socketType, uuidOf, webPortOf } from "./announced.ts";
import type { KodiMemory } from "./memory.ts";
import { HttpRpc, isLoginWanted } from "./rpc.ts";
import { KodiSession } from "./session.ts";
import { saysTuner } from "./tuner.ts";

const macRetryMs = 250;
/** Who it is does not wait longer for whether it has a tuner. */
const tunerTimeoutMs = 500;
const webRetryMs = 200;
const webRetries = 6;

type KodiSighting = Sighting<KodiMemory>;

/** Reads an announcement of either service. Its sender is the host, whatever other address it names (SECURITY.md T6). */
export function readService({ type, source, addresses, port, txt, name }: MdnsService): Lead | null {
  const host = senderOf({ source, addresses });
  if ((type !== httpType && type !== socketType) || host === null) return null;
  const uuid = uuidOf(txt);
  return { host, port, announced: { type, name, ...(uuid !== null && { uuid }) } };
}

/** What a Kodi announces; both services carry its id. */
interface Announcement {
  readonly uuid: string | null;
  readonly name: string | null;
  /** The ports of its web server and of its socket. */
  readonly web: number | null;
  readonly socket: number | null;
}

/**
 * A Kodi with a web server is driven over that, also when its socket was found: its announcement or its own settings name the
 * port. Several may run on one machine, each with its own ports.
 */
export async function identifyKodi(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<KodiSighting> {
  const type = lead.announced?.["type"];
  if (type === socketType) return identifyBySocket(lead, platformHost, signal);
  // Asked for at the same time: without an answer it takes until its timeout.
  const announcement = readAnnouncement(lead, httpType, platformHost, signal);
  try {
    return await identifyByWeb(lead, platformHost, signal, announcement);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A port that a user gave may be that of the socket.
    if (type === httpType || hasCode(error, "device_unreachable")) throw error;
    return identifyBySocket(lead, platformHost, signal).catch(() => {
      throw error;
    });
  }
}

async function identifyByWeb(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
  announcement: Promise<Announcement>,
): Promise<KodiSighting> {
  const rpc = new HttpRpc({ address: lead, platformHost });
  try {
    const facts = await readFacts(async (method, params) => asJson(await rpc.read(method, params, signal)));
    return { ...sightingOf(lead, await announcement, facts, "full"), power: "on" };
  } catch (error) {
    if (!isLoginWanted(error)) throw error;
    // Without its password only its announcement is known.
    const announced = await announcement;
    const facts = { name: announced.name, mac: null, softwareVersion: null };
    return { ...sightingOf(lead, announced, facts, null), pairing: "required" };
  } finally {
    rpc.close();
  }
}

async function identifyBySocket(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<KodiSighting> {
  const announcement = readAnnouncement(lead, socketType, platformHost, signal);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const session = await new KodiSession(lead, platformHost).open(within);
  try {
    const ask: Ask = async (method, params) => asJson(await session.call(method, params, within));
    const facts = await readFacts(ask);
    const announced = await announcement;
    const ownPort = await webPortOf(ask);
    const web = ownPort === null ? null : (announced.web ?? ownPort ?? null);
    if (web !== null) {
      const known = { ...announced, web, socket: lead.port };
      const at = { host: lead.host, port: web };
      const found = await identifyByStartingWeb(at, platformHost, signal, known);
      const own = sightingOf(at, known, facts, found?.facts.access ?? null);
      // Without a login its web server reports no facts, but its socket does.
      if (found && (found.pairing === "required" || found.facts.name === own.facts.name))
        return { ...own, port: web, pairing: found.pairing };
    }
    return {
      ...sightingOf(lead, { ...announced, socket: null }, facts, "full"),
      atSecondaryPort: true,
      power: "on",
      memory: { socketOnly: lead.port, ...(facts.tuner && { tuner: true }) },
    };
  } finally {
    session.close();
  }
}

/** Waits for the web server, which comes up after the socket (players.md 7.3); `null` where it does not. */
async function identifyByStartingWeb(
  at: Address,
  platformHost: PlatformHost,
  signal: AbortSignal,
  known: Announcement,
): Promise<KodiSighting | null> {
  for (let round = 0; ; round++) {
    try {
      return await identifyByWeb(at, platformHost, signal, Promise.resolve(known));
    } catch (error) {
      if (!hasReason(error, "refused") || round === webRetries || signal.aborted) return null;
      await sleep(webRetryMs, signal).catch(() => {});
    }
  }
}

/** The announcement of the Kodi that has the service of this type at an address. */
async function readAnnouncement(
  { host, port, announced = {} }: Lead,
  type: typeof httpType | typeof socketType,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Announcement> {
  const ask = (asked: string, isIt: (service: MdnsService) => boolean) =>
    platformHost.announced(asked, host, isIt, signal).catch(() => null);
  const other = type === httpType ? socketType : httpType;
  const here =
    announced["type"] === type && announced["uuid"] !== undefined
      ? null
      : await ask(type, (service) => service.port === port);
  const uuid = text(announced["uuid"]) ?? (here && uuidOf(here.txt));
  // Several may run on the machine: only the id shows which Kodi has the other service.
  const there = uuid === null ? null : await ask(other, ({ txt }) => uuidOf(txt) === uuid);
  const [web, socket] = type === httpType ? [port, there?.port ?? null] : [there?.port ?? null, port];
  return { uuid, name: text(announced["name"]) ?? here?.name ?? null, web, socket };
}

interface KodiFacts {
  readonly name: string | null;
  readonly mac: string | null;
  readonly softwareVersion: string | null;
  /** Without it nothing is known of a tuner. */
  readonly tuner?: true;
}

async function readFacts(ask: Ask): Promise<KodiFacts> {
  const [application, labels] = await Promise.all([
    ask("Application.GetProperties", { properties: ["version"] }),
    ask("XBMC.GetInfoLabels", { labels: [nameLabel, macLabel] }),
  ]);
  const version = application["version"];
  if (!isJson(version) || !(nameLabel in labels)) throw new ZapdError("device_error", "is not a Kodi");
  const [mac, hasTuner] = await Promise.all([
    readMac(labels[macLabel]) ?? sleep(macRetryMs).then(() => macOf(ask)),
    Promise.race([saysTuner(ask).catch(() => false), sleep(tunerTimeoutMs)]),
  ]);
  return {
    name: text(labels[nameLabel]),
    mac,
    softwareVersion: `${number(version["major"])}.${number(version["minor"])}`,
    ...(hasTuner === true && { tuner: true }),
  };
}

/** Known by its announced id; without one by its MAC address, which it may not know yet; without that by its address. */
function sightingOf(
  at: Address,
  { uuid, name: announcedName, socket }: Announcement,
  { name, mac, softwareVersion, tuner }: KodiFacts,
  access: Access | null,
): KodiSighting {
  return {
    identity: uuid ?? mac ?? addressIdentity(at),
    provisional: uuid === null,
    facts: {
      // Without an announced id, the name that it reports is part of the proof of who it is (proof.ts).
      name: name ?? (uuid && announcedName),
      kind: "player",
      manufacturer: "Kodi",
      model: null,
      serial: null,
      macs: mac === null ? [] : [mac],
      softwareVersion,
      access,
    },
    memory: { socketOnly: null, ...(socket !== null && { socket }), ...(tuner && { tuner }) },
    pairing: "none",
  };
}
