/** Volume, inputs, channels, media and icons of a Roku. */
import { hasCode, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { childrenOf, childText, readXml } from "../../transport/xml.ts";
import {
  type Confirmed,
  type Connection,
  type Key,
  type MediaItem,
  type PlatformChannel,
  pictureBytes,
} from "../platform.ts";
import type { RokuApps } from "./apps.ts";
import { type Ecp, paths } from "./ecp.ts";
import type { RokuTarget } from "./identity.ts";
import { appOfInput, inputOf, readVolume } from "./protocol.ts";
import { ifReadable } from "./state.ts";

/** The app that plays a file by its address; the user installs it. Without it sets no longer take files (next/CONTROLS.md). */
const mediaAssistant = { id: "782875", name: "Media Assistant" } as const;
const tunerApp = "tvinput.dtv";
const tunePolling = { timeoutMs: 3_000, everyMs: 200 } as const;
const maxChannels = 5_000;

export function connectControls(
  target: RokuTarget,
  ecp: Ecp,
  apps: RokuApps,
  press: (key: Key, signal: AbortSignal) => Promise<void>,
): Pick<Connection, "volume" | "inputs" | "channels" | "media" | "icon"> {
  return {
    volume: {
      step: (by, signal) => press(by > 0 ? "volume-up" : "volume-down", signal),
      ...(target.facts.kind !== "player" && { mute: (muted, signal) => mute(ecp, press, muted, signal) }),
    },
    inputs: {
      async list(signal) {
        const inputs = (await apps.list(signal)).map(({ platformId, name }) => ({ id: inputOf(platformId), name }));
        return inputs.flatMap(({ id, name }) => (id === null ? [] : [{ id, name }]));
      },
      select: async (id, signal) => void (await apps.launch(appOfInput(id) ?? id, {}, signal)),
    },
    channels: {
      list: (signal) => listChannels(ecp, signal),
      select: (id, signal) => tune(ecp, apps, id, signal),
    },
    media: { play: (item, signal) => play(apps, item, signal) },
    icon: (platformId, signal) => ecp.picture(paths.icon(platformId), pictureBytes.icon, signal),
  };
}

/** The key toggles, so the set is asked first, and the key is not pressed where the sound is as wanted. */
async function mute(
  ecp: Ecp,
  press: (key: Key, signal: AbortSignal) => Promise<void>,
  wanted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const asked = ecp.document(paths.audioDevice, "report its volume", signal, { check: ecp.mustBeOn });
  const text = await unlessSlept(asked);
  const muted = text === null ? null : (readVolume(text)?.muted ?? null);
  if (muted === null)
    throw new ZapdError("unsupported_operation", "can only toggle its sound, and does not report whether it is muted", {
      hint: "Toggle it: zapd key mute -d {device}",
    });
  if (muted !== wanted) await press("mute", signal);
}

async function listChannels(ecp: Ecp, signal: AbortSignal): Promise<PlatformChannel[]> {
  const text = await ecp.document(paths.tvChannels, "list its channels", signal);
  if (text === null) throw new ZapdError("unsupported_operation", "has no list of channels");
  return readChannels(text);
}

/** Reads `/query/tv-channels` (1.7), without the channels that the user has hidden. */
export function readChannels(text: string): PlatformChannel[] {
  return childrenOf(readXml(text, "tv-channels"), "channel")
    .flatMap((channel) => {
      const number = childText(channel, "number");
      if (!number || number.length > 32 || childText(channel, "user-hidden") === "true") return [];
      return [{ id: number, number, name: (childText(channel, "name") ?? number).slice(0, 256) }];
    })
    .slice(0, maxChannels);
}

/** Reads `/query/tv-active-channel` (1.7): the number of the channel that is shown, or `null`. */
export function readActiveChannel(text: string): string | null {
  const [channel] = childrenOf(readXml(text, "tv-channel"), "channel");
  return channel && childText(channel, "active-input") !== "false" ? childText(channel, "number") : null;
}

async function tune(ecp: Ecp, apps: RokuApps, id: string, signal: AbortSignal): Promise<Confirmed> {
  // Since Roku OS 14.1.4 `ch` alone opens the channel that was shown last (home-assistant/core#133324); rokuecp sends all three.
  await apps.launch(tunerApp, { ch: id, chan: id, lcn: id }, signal);
  let shown: Confirmed = null;
  await until(
    async () => {
      // It has taken the command, whether or not it can say what it shows.
      const text = await ecp.document(paths.tvActiveChannel, "report its channel", signal).catch(() => null);
      signal.throwIfAborted();
      shown = ifReadable(text, (document) => readActiveChannel(document) === id);
      return shown !== false;
    },
    { ...tunePolling, signal },
  );
  return shown;
}

/** The media type that the app takes: video, audio or picture; video where the MIME type is unknown; `null` where it plays none such. */
function mediaTypeOf(mime: string | null): "v" | "a" | "p" | null {
  if (mime === null || /^video\/|mpegurl|dash\+xml/i.test(mime)) return "v";
  if (/^audio\//i.test(mime)) return "a";
  return /^image\/(jpeg|png|gif|webp)$/i.test(mime) ? "p" : null;
}

async function play(apps: RokuApps, { url, mime }: MediaItem, signal: AbortSignal): Promise<void> {
  const kind = mediaTypeOf(mime);
  if (kind === null) throw new ZapdError("unsupported_media", `cannot play ${mime}`);
  await apps.launch(mediaAssistant.id, { u: url, t: kind }, signal).catch((error: unknown) => {
    if (!hasCode(error, "app_not_found")) throw error;
    throw new ZapdError(
      "unsupported_media",
      `plays files only with the app ${mediaAssistant.name}, which is not installed`,
      {
        hint: `On the Roku, add it from the channel store: ${mediaAssistant.name} (channel ${mediaAssistant.id})`,
        cause: error,
      },
    );
  });
}
