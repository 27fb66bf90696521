/** Volume, playback, media, channels and notifications of a Kodi (players.md 7.2, 9). */
import { ZapdError } from "../../api/errors.ts";
import { inParts, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { type Json, text } from "../../transport/json.ts";
import { type Connection, ofKey, type PlatformChannel } from "../platform.ts";
import type { KodiDevice } from "./device.ts";
import { activePlayer, kodiKeys, playerCommands } from "./keys.ts";
import { channelPrefix } from "./protocol.ts";
import { hasTuner, readChannels, showsChannel, tunerHint } from "./tuner.ts";

type Controls = Pick<Connection, "volume" | "playback" | "media" | "channels" | "notify">;

const maxChannels = 5_000;
const tuneTimeoutMs = 6_000;
/** Kodi 20.1 with PulseAudio, ran: 6 to 160 ms after its answer, longer on a busy machine. */
const takenBackWithinMs = 300;
/** `hours` is 23 at most (xbmc/interfaces/json-rpc/schema/types.json, Player.Position.Time). */
const maxPositionMs = 24 * 3_600_000 - 1;

export function kodiControls(device: KodiDevice): Controls {
  return {
    volume: {
      set: (level, signal) => setLevel(device, Math.round(level), signal),
      step: async (by, signal) => void (await ofKey(kodiKeys, by > 0 ? "volume-up" : "volume-down")(device, signal)),
      mute: async (mute, signal) => void (await device.command("Application.SetMute", { mute }, signal)),
    },
    playback: {
      does: new Set(["play", "pause", "stop", "next", "previous"]),
      do: async (what, signal) => void (await playerCommands[what](device, signal)),
      async seek(positionMs, signal) {
        const playerid = await activePlayer(device, signal);
        const reading = device.read("Player.GetProperties", { playerid, properties: ["canseek"] }, signal);
        const { canseek } = await unlessSlept(reading);
        if (canseek === false) throw new ZapdError("device_refused", "cannot seek in what it is playing");
        const ms = Math.min(positionMs, maxPositionMs);
        const seconds = Math.floor(ms / 1_000);
        const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
        const time = { hours, minutes, seconds: seconds % 60, milliseconds: ms % 1_000 };
        // The answer holds the position before the seek (7.3).
        await device.command("Player.Seek", { playerid, value: { time } }, signal);
      },
    },
    media: {
      play: async ({ url }, signal) => void (await device.command("Player.Open", { item: { file: url } }, signal)),
    },
    channels: {
      list: (signal) => listChannels(device, signal),
      async select(id, signal) {
        const channelid = Number(id.slice(channelPrefix.length));
        await device.command("Player.Open", { item: { channelid } }, signal);
        // It has taken the command, whether or not it can say what it shows.
        const isShown = () => showsChannel(device, channelid, signal).catch(() => false);
        return until(isShown, { timeoutMs: tuneTimeoutMs, signal });
      },
    },
    notify: async (message, signal) =>
      void (await device.command("GUI.ShowNotification", { title: "zapd", message }, signal)),
  };
}

/**
 * Where its level was changed in PulseAudio, or twice at once, Kodi answers OK to the next one and shows it, but then goes back
 * to that of PulseAudio (CAESinkPULSE::SetVolume); it keeps the one after that.
 */
function setLevel(device: KodiDevice, volume: number, signal: AbortSignal): Promise<void> {
  let hasShown = false;
  const isTakenBack = async () => {
    const shown = await device.read("Application.GetProperties", { properties: ["volume"] }, signal).catch(() => null);
    if (shown === null) return false;
    hasShown ||= shown["volume"] === volume;
    return hasShown && shown["volume"] !== volume;
  };
  return inParts(async (next) => {
    await device.command("Application.SetVolume", { volume }, signal);
    if (!(await until(isTakenBack, { timeoutMs: takenBackWithinMs, everyMs: 50, signal }))) return;
    next();
    await device.command("Application.SetVolume", { volume }, signal);
  });
}

/** Without a tuner the question fails (9), so that is checked first. */
async function listChannels(device: KodiDevice, signal: AbortSignal): Promise<PlatformChannel[]> {
  if (!(await hasTuner(device, signal)))
    throw new ZapdError("unsupported_operation", "has no tuner", { hint: tunerHint });
  const params = { properties: ["channelnumber", "subchannelnumber"], limits: { start: 0, end: maxChannels } };
  const all: PlatformChannel[] = [];
  for (const one of await readChannels(device, params, signal)) {
    const { channelid } = one;
    const name = text(one["label"]);
    if (typeof channelid !== "number" || name === null) continue;
    // With the prefix that launching takes: Kodi's bare id would be taken for the number of another channel.
    all.push({ id: `${channelPrefix}${channelid}`, number: numberOf(one), name });
  }
  return all.slice(0, maxChannels);
}

/** As Kodi shows it: 4.1 where the channel has a sub-number, as those of ATSC (xbmc/pvr/channels/PVRChannelNumber.cpp). */
function numberOf({ channelnumber, subchannelnumber }: Json): string | null {
  const [number, sub] = [channelnumber, subchannelnumber].map((one) =>
    typeof one === "number" && one > 0 ? one : null,
  );
  if (number === null) return null;
  return sub === null ? String(number) : `${number}.${sub}`;
}
