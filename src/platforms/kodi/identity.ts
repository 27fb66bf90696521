/** Who a Kodi says it is (players.md 1.2, 7.1): by the id that it announces, which it tells nobody who asks. */
import { hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, isJson, text } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";
import type { Access, Address, Lead, MdnsService, PlatformHost, Sighting } from "../platform.ts";
import { addressIdentity, senderOf } from "../query.ts";
import { type Ask, httpType, macLabel, macOf, nameLabel, socketType, uuidOf, webPortOf } from "./announced.ts";
import type { KodiMemory } from "./memory.ts";
import { HttpRpc, isLoginWanted } from "./rpc.ts";
import { KodiSession } from "./session.ts";

const askAgainAfter = 250;
const startEvery = 200;
const startRounds = 6;

type Seen = Sighting<KodiMemory>;

/** An announcement of either service: at its sender, whatever other address it names (SECURITY.md T6). */
export function readService({ type, source, addresses, port, txt, name }: MdnsService): Lead | null {
  const host = senderOf({ source, addresses });
  if ((type !== httpType && type !== socketType) || host === null) return null;
  const uuid = uuidOf(txt);
  return { host, port, announced: { type, name, ...(uuid !== null && { uuid }) } };
}

/** What is known of a Kodi from its announcements: all of them carry its id. */
interface Announced {
  readonly uuid: string | null;
  readonly name: string | null;
  /** The ports of its web server and of its socket. */
  readonly web: number | null;
  readonly socket: number | null;
}

/**
 * A Kodi with a web server is driven over that, wherever it was found: its socket leads to it, by what it announces, or by
 * what it tells of its own settings. Several may run on one machine, each with its own ports.
 */
export async function identifyKodi(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Seen> {
  const type = lead.announced?.["type"];
  if (type === socketType) return bySocket(lead, platformHost, signal);
  // Asked beside the rest: it takes as long as nobody answers.
  const asking = announcedAt(lead, httpType, platformHost, signal);
  try {
    return await byWeb(lead, platformHost, signal, asking);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A port that somebody gave may be that of the socket.
    if (type === httpType || hasCode(error, "device_unreachable")) throw error;
    return bySocket(lead, platformHost, signal).catch(() => {
      throw error;
    });
  }
}

async function byWeb(
  lead: Lead,
  platformHost: PlatformHost,
  signal: AbortSignal,
  asking: Promise<Announced>,
): Promise<Seen> {
  const rpc = new HttpRpc({ address: lead, platformHost });
  try {
    const facts = await factsBy(async (method, params) => asJson(await rpc.read(method, params, signal)));
    return { ...identified(lead, await asking, facts, "full"), power: "on" };
  } catch (error) {
    if (!isLoginWanted(error)) throw error;
    // It tells nothing without its password, but its name, to all the network.
    const announced = await asking;
    const facts = { name: announced.name, mac: null, softwareVersion: null };
    return { ...identified(lead, announced, facts, null), pairing: "required" };
  } finally {
    rpc.close();
  }
}

async function bySocket(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Seen> {
  const asking = announcedAt(lead, socketType, platformHost, signal);
  const within = deadline(platformHost.requestTimeoutMs(), signal);
  const session = await new KodiSession(lead, platformHost).open(within);
  try {
    const ask: Ask = async (method, params) => asJson(await session.call(method, params, within));
    const facts = await factsBy(ask);
    const announced = await asking;
    const told = await webPortOf(ask);
    const web = told === null ? null : (announced.web ?? told ?? null);
    if (web !== null) {
      const known = { ...announced, web, socket: lead.port };
      const at = { host: lead.host, port: web };
      const found = await startedWeb(at, platformHost, signal, known);
      // What it does not tell over the web without a login, it tells here.
      if (found && (found.pairing === "required" || found.facts.name === facts.name)) {
        return { ...identified(at, known, facts, found.facts.access), port: web, pairing: found.pairing };
      }
    }
    return {
      ...identified(lead, { ...announced, socket: null }, facts, "full"),
      atSecondaryPort: true,
      power: "on",
      memory: { socketOnly: lead.port },
    };
  } finally {
    session.close();
  }
}

/** By its web server, which comes up after its socket (players.md 7.3): one that has just started is waited for. */
async function startedWeb(
  at: Address,
  platformHost: PlatformHost,
  signal: AbortSignal,
  known: Announced,
): Promise<Seen | null> {
  for (let round = 0; ; round++) {
    try {
      return await byWeb(at, platformHost, signal, Promise.resolve(known));
    } catch (error) {
      if (!hasReason(error, "refused") || round === startRounds || signal.aborted) return null;
      await sleep(startEvery, signal).catch(() => {});
    }
  }
}

/** What the Kodi announces that has one of its services at an address. */
async function announcedAt(
  { host, port, announced = {} }: Lead,
  type: typeof httpType | typeof socketType,
  platformHost: PlatformHost,
  signal: AbortSignal,
): Promise<Announced> {
  const ask = (asked: string, isIt: (service: MdnsService) => boolean) =>
    platformHost.announced(asked, host, isIt, signal).catch(() => null);
  const other = type === httpType ? socketType : httpType;
  const here =
    announced["type"] === type && announced["uuid"] !== undefined
      ? null
      : await ask(type, (service) => service.port === port);
  const uuid = text(announced["uuid"]) ?? (here && uuidOf(here.txt));
  // Without an id it cannot be told whose the other service is.
  const there = uuid === null ? null : await ask(other, ({ txt }) => uuidOf(txt) === uuid);
  const [web, socket] = type === httpType ? [port, there?.port ?? null] : [there?.port ?? null, port];
  return { uuid, name: text(announced["name"]) ?? here?.name ?? null, web, socket };
}

interface Told {
  readonly name: string | null;
  readonly mac: string | null;
  readonly softwareVersion: string | null;
}

async function factsBy(ask: Ask): Promise<Told> {
  const [application, labels] = await Promise.all([
    ask("Application.GetProperties", { properties: ["name", "version"] }),
    ask("XBMC.GetInfoLabels", { labels: [nameLabel, macLabel] }),
  ]);
  const version = application["version"];
  if (!isJson(version) || !(nameLabel in labels)) throw new ZapdError("device_error", "is no Kodi");
  return {
    name: text(labels[nameLabel]),
    mac: readMac(labels[macLabel]) ?? (await sleep(askAgainAfter).then(() => macOf(ask))),
    softwareVersion: `${String(version["major"])}.${String(version["minor"])}`,
  };
}

/** The id that it announces; without it its hardware's address, which it may not know yet; without that, where it is. */
function identified(
  at: Address,
  { uuid, socket }: Announced,
  { name, mac, softwareVersion }: Told,
  access: Access | null,
): Seen {
  return {
    identity: uuid ?? mac ?? addressIdentity(at),
    ...(uuid === null && { provisional: true as const }),
    facts: {
      name,
      kind: "player",
      manufacturer: "Kodi",
      model: null,
      serial: null,
      macs: mac === null ? [] : [mac],
      softwareVersion,
      access,
    },
    memory: { socketOnly: null, ...(socket !== null && { socket }) },
    pairing: "none",
  };
}
