/** Who a Kodi says it is (players.md 1.2, 7.1): by the id that it announces, which it tells nobody who asks. */
import { ZapdError } from "../../errors.ts";
import { rest } from "../../rest.ts";
import { deadline } from "../http.ts";
import { asJson, isJson, type Json, text } from "../json.ts";
import type { Identified, Lead, MdnsService, Surroundings } from "../platform.ts";
import { readMac } from "../wake.ts";
import { httpType } from "./device.ts";
import { HttpRpc } from "./rpc.ts";
import { KodiSession } from "./session.ts";

const none = Promise.resolve(null);
const askAgainAfter = 250;
export const socketType = "_xbmc-jsonrpc._tcp";

/** An announcement of either service: at its sender, whatever other address it names (SECURITY.md T6). */
export function readService({ type, source, addresses, port, txt, name }: MdnsService): Lead | null {
  if (type !== httpType && type !== socketType) return null;
  if (!/^[0-9.]+$/.test(source)) return null;
  // What this very machine announces has one sender for all its loopback addresses.
  const own = isLoopback(source) ? addresses.find(isLoopback) : undefined;
  if (addresses.length > 0 && own === undefined && !addresses.includes(source)) return null;
  const uuid = uuidOf(txt);
  return { host: own ?? source, port, said: { type, name, ...(uuid !== null && { uuid }) } };
}

function isLoopback(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(address);
}

function uuidOf(txt: Readonly<Record<string, string>>): string | null {
  const uuid = txt["uuid"]?.toLowerCase() ?? "";
  return /^[0-9a-f-]{8,64}$/.test(uuid) ? uuid : null;
}

export async function identifyKodi(lead: Lead, surroundings: Surroundings, signal: AbortSignal): Promise<Identified> {
  const { said = {} } = lead;
  // A Kodi with a web server is driven over that: its other service leads to it.
  // Asked beside the rest: it takes as long as nobody answers.
  const isIt = ({ port, txt }: MdnsService) =>
    said["type"] === socketType ? said["uuid"] === undefined || uuidOf(txt) === said["uuid"] : port === lead.port;
  const asking =
    said["type"] === httpType ? none : surroundings.announced(httpType, lead.host, isIt, signal).catch(() => null);
  const announced = said["type"] === socketType ? await asking : null;
  if (said["type"] === socketType)
    return announced
      ? {
          ...(await overHttp({ ...lead, port: announced.port }, surroundings, signal, asking)),
          answersOn: announced.port,
        }
      : overSocket(lead, surroundings, signal);
  try {
    return await overHttp(lead, surroundings, signal, asking);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A port that somebody gave may be that of the WebSocket.
    if (said["type"] === httpType || (error instanceof ZapdError && error.code === "device_unreachable")) throw error;
    return overSocket(lead, surroundings, signal).catch(() => {
      throw error;
    });
  }
}

async function overHttp(
  lead: Lead,
  surroundings: Surroundings,
  signal: AbortSignal,
  asking: Promise<MdnsService | null>,
): Promise<Identified> {
  const rpc = new HttpRpc({ address: lead, surroundings, credentials: null });
  try {
    const ask = async (method: string, params: Json) => asJson(await rpc.read(method, params, signal));
    return { ...(await factsBy(ask, lead, asking)), access: "full" };
  } catch (error) {
    if (!(error instanceof ZapdError) || error.code !== "pairing_required") throw error;
    const announced = await asking;
    // It tells nothing without its password, but its name, to all the network.
    const name = text(lead.said?.["name"]) ?? announced?.name ?? null;
    return { ...known(lead, announced, null), name, softwareVersion: null, macs: [], needsPairing: true };
  } finally {
    rpc.close();
  }
}

async function overSocket(lead: Lead, surroundings: Surroundings, signal: AbortSignal): Promise<Identified> {
  const within = deadline(surroundings.requestTimeout(), signal);
  const session = await KodiSession.open(lead, surroundings, within);
  try {
    const ask = async (method: string, params: Json) => asJson(await session.call(method, params, within));
    return { ...(await factsBy(ask, lead, none)), access: "full", traits: { transport: `websocket:${lead.port}` } };
  } finally {
    session.close();
  }
}

async function factsBy(
  ask: (method: string, params: Json) => Promise<Json>,
  lead: Lead,
  asking: Promise<MdnsService | null>,
): Promise<Identified> {
  const [application, labels] = await Promise.all([
    ask("Application.GetProperties", { properties: ["name", "version"] }),
    ask("XBMC.GetInfoLabels", { labels: ["System.FriendlyName", "Network.MacAddress"] }),
  ]);
  const version = application["version"];
  if (!isJson(version) || !("System.FriendlyName" in labels)) throw new ZapdError("device_error", "is no Kodi");
  const mac = readMac(labels["Network.MacAddress"]) ?? (await askedAgain(ask));
  return {
    ...known(lead, await asking, mac),
    name: text(labels["System.FriendlyName"]),
    macs: mac === null ? [] : [mac],
    softwareVersion: `${String(version["major"])}.${String(version["minor"])}`,
  };
}

/** It is busy with finding it out when it is asked for the first time (7.2), and now and then for long. */
async function askedAgain(ask: (method: string, params: Json) => Promise<Json>): Promise<string | null> {
  await rest(askAgainAfter, new AbortController().signal);
  return readMac((await ask("XBMC.GetInfoLabels", { labels: ["Network.MacAddress"] }))["Network.MacAddress"]);
}

/** The id that it announces; without it its hardware's address, which it may not know yet; without that, where it is. */
function known(lead: Lead, announced: MdnsService | null, mac: string | null): Identified {
  const uuid = text(lead.said?.["uuid"]) ?? (announced && uuidOf(announced.txt));
  return {
    identity: uuid ?? mac ?? `${lead.host}:${lead.port}`,
    ...(uuid === null && { provisional: true as const }),
    ...{ name: null, kind: "player", manufacturer: "Kodi", model: null, serial: null, macs: [] },
    ...{ softwareVersion: null, access: null, traits: { transport: "http" } },
  };
}
