/** The tuner of a Kodi, provided by a PVR client, and its channels (players.md 7.2, 9). */
import { type Json, listOf } from "../../transport/json.ts";
import type { Ask } from "./announced.ts";
import type { KodiDevice } from "./device.ts";
import { codeOf } from "./rpc.ts";
import { readPlayer } from "./state.ts";

export const tunerHint = "Enable a PVR client in Kodi: Settings > Add-ons > My add-ons > PVR clients";
const maxChannels = 20_000;

/** Kodi answers -32100 to a question about a tuner where none has started (xbmc/interfaces/json-rpc/PVROperations.cpp). */
async function emptyWithoutTuner(request: Promise<Json>): Promise<Json> {
  try {
    return await request;
  } catch (error) {
    if (codeOf(error) !== -32_100) throw error;
    return {};
  }
}

/** Whether it says that it has a tuner. One that has just started may not say so yet. */
export async function saysTuner(ask: Ask): Promise<boolean> {
  const properties = await emptyWithoutTuner(ask("PVR.GetProperties", { properties: ["available"] }));
  return properties["available"] === true;
}

export function hasTuner(device: KodiDevice, signal: AbortSignal): Promise<boolean> {
  return saysTuner((method, params) => device.read(method, params, signal));
}

/** Television channels, then radio channels; none without a tuner. */
export async function readChannels(device: KodiDevice, params: Json, signal: AbortSignal): Promise<Json[]> {
  const groups = await Promise.all(
    ["alltv", "allradio"].map((channelgroupid) =>
      emptyWithoutTuner(device.read("PVR.GetChannels", { channelgroupid, ...params }, signal)),
    ),
  );
  return groups.flatMap((one) => listOf(one, "channels", maxChannels));
}

export async function showsChannel(device: KodiDevice, channelid: number, signal: AbortSignal): Promise<boolean> {
  const playing = await readPlayer(device, signal);
  return playing?.live === true && playing.itemId === channelid;
}
