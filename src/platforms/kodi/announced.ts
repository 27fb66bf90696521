/** What a Kodi announces over mDNS (players.md 2.3), and what it reports about its own ports and its hardware. */
import { asJson, type Json } from "../../transport/json.ts";
import { readMac } from "../../transport/wake-on-lan.ts";

/** Asks one Kodi a question whose answer is an object. */
export type Ask = (method: string, params: Json) => Promise<Json>;

/** The mDNS service of its web server. */
export const httpType = "_xbmc-jsonrpc-h._tcp";
/** That of its socket, which speaks WebSocket and bare TCP. */
export const socketType = "_xbmc-jsonrpc._tcp";
export const defaultSocketPort = 9_090;

/** The id that it announces with both services. */
export function uuidOf(txt: Readonly<Record<string, string>>): string | null {
  const uuid = txt["uuid"]?.toLowerCase() ?? "";
  return isUuid(uuid) ? uuid : null;
}

/** Whether an identity is an announced id; others are a MAC address, or the address where it was found. */
export function isUuid(identity: string): boolean {
  return /^[0-9a-f-]{8,64}$/.test(identity);
}

/** The port of its web server, `null` when that is off, and `undefined` when it does not report it. */
export async function webPortOf(ask: Ask): Promise<number | null | undefined> {
  const readSetting = async (setting: string) =>
    asJson(await ask("Settings.GetSettingValue", { setting }).catch((): Json => ({})))["value"];
  const [isOn, port] = await Promise.all([readSetting("services.webserver"), readSetting("services.webserverport")]);
  if (isOn === false) return null;
  return typeof port === "number" && port > 0 ? port : undefined;
}

export const nameLabel = "System.FriendlyName";
export const macLabel = "Network.MacAddress";

/** Its MAC address; `null` while Kodi is still finding it out, as at the first question (7.2). */
export async function macOf(ask: Ask): Promise<string | null> {
  return readMac((await ask("XBMC.GetInfoLabels", { labels: [macLabel] }))[macLabel]);
}
