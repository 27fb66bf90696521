/**
 * What an LG TV can do beside keys: volume, playback, files, inputs, channels, icons, messages (smart-tvs.md 2.4, 2.5).
 */
import { ZapdError } from "../../api/errors.ts";
import { sleepCheck, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { readOwnPicture } from "../../transport/own-picture.ts";
import type { ReconnectingSession } from "../../transport/session.ts";
import {
  type Confirmed,
  type Connection,
  type MediaItem,
  mimeOf,
  type PlatformHost,
  type PlaybackCommand,
} from "../platform.ts";
import type { RegisteredSession } from "./connection.ts";
import { closedAfterwards, unsupportedOrThrow, type WebosError } from "./failures.ts";
import type { WebosTarget } from "./memory.ts";
import {
  iconOf,
  liveTv,
  mediaAppOf,
  mediaPayload,
  type Payload,
  readChannel,
  readChannels,
  scaleOf,
  uris,
  viewerPayload,
} from "./protocol.ts";

/** Live TV reports its channel only some 2 s after it came to the front. */
const channelTimeoutMs = 4_000;
const channelPollMs = 300;

type Controls = Pick<Connection, "volume" | "playback" | "media" | "inputs" | "channels" | "icon" | "notify">;

/** `command` runs a command on a TV that is on. */
export function controlsOf(
  reconnecting: ReconnectingSession<RegisteredSession>,
  command: <T>(signal: AbortSignal, work: (registered: RegisteredSession) => Promise<T>) => Promise<T>,
  target: WebosTarget,
  host: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">,
): Required<Controls> {
  return {
    volume: {
      set: (level, signal) => command(signal, (registered) => setLevel(registered, level, signal)),
      step: (by, signal) => command(signal, (registered) => registered.stepVolume(by, signal)),
      mute: (muted, signal) =>
        command(signal, (registered) => registered.command(uris.setMute, { mute: muted }, signal)),
    },
    playback: {
      does: new Set(["play", "pause", "stop"]),
      do: (what, signal) => command(signal, (registered) => controlPlayer(registered, what, signal)),
    },
    media: { play: (item, signal) => command(signal, (registered) => play(registered, target, item, signal)) },
    inputs: {
      async list(signal) {
        const inputs = await (await reconnecting.use(signal)).inputs(signal);
        return inputs.map(({ word, name }) => ({ id: word, name }));
      },
      select: (id, signal) => command(signal, (registered) => selectInput(registered, id, signal)),
    },
    channels: {
      async list(signal) {
        const registered = await reconnecting.use(signal);
        await requireLiveTv(registered, signal);
        return readChannels(await registered.session.request(uris.channels, {}, signal));
      },
      select: (id, signal) => command(signal, (registered) => selectChannel(registered, id, signal)),
    },
    async icon(platformId, signal) {
      const registered = await reconnecting.use(signal);
      const address = iconOf(await registered.session.request(uris.launchPoints, {}, signal), platformId);
      const own = { host: target.host, certificate: registered.session.fingerprint };
      return address === null ? null : readOwnPicture(address, own, host, signal);
    },
    notify: (message, signal) => command(signal, (registered) => registered.command(uris.toast, { message }, signal)),
  };
}

/** Sets a level of 0 to 100, on the TV's own scale. With a soundbar a TV would accept it and do nothing (2.5). */
async function setLevel(registered: RegisteredSession, level: number, signal: AbortSignal): Promise<void> {
  const { state } = registered;
  await unlessSlept(state.refresh(signal, ["volume"]));
  if (state.volume?.level === null)
    throw new ZapdError(
      "unsupported_operation",
      "plays over a soundbar or an output whose volume it does not know: it accepts only volume steps",
      {
        hint: "Change it in steps: zapd volume +5 -d {device}",
      },
    );
  const most = scaleOf(state.volumePayload ?? {});
  await registered.command(uris.setVolume, { volume: Math.round((level * most) / 100) }, signal);
}

/** Sends a media command unless the TV reports that it already does that: some apps treat "play" as "pause". */
export async function controlPlayer(
  registered: RegisteredSession,
  command: PlaybackCommand | "toggle",
  signal: AbortSignal,
): Promise<void> {
  const { state } = registered;
  await unlessSlept(state.refresh(signal, ["media"]));
  const { status } = state.playback ?? {};
  // A TV that does not report what it plays gets play and pause in turn.
  const isPlaying = status === undefined ? registered.lastMedia === "play" : status === "playing";
  const sent = command === "toggle" ? (isPlaying ? "pause" : "play") : command;
  if (status !== { play: "playing", pause: "paused", stop: "stopped", next: "", previous: "" }[sent])
    await registered.command(`ssap://media.controls/${sent}`, {}, signal);
  // Only now: what it has not taken does not count.
  if (sent === "play" || sent === "pause") registered.lastMedia = sent;
}

/**
 * Plays a file by its URL. Where the viewer accepts none (500 on a C1 and a C8), an app does; which one depends on the
 * firmware, and only the form for a video is known (next/CONTROLS.md).
 */
async function play(
  registered: RegisteredSession,
  { facts: { softwareVersion } }: WebosTarget,
  item: MediaItem,
  signal: AbortSignal,
): Promise<void> {
  const mime = mimeOf(item);
  const app = mime.startsWith("video/") ? mediaAppOf(softwareVersion) : null;
  const tries: [uri: string, payload: Payload][] = [[uris.viewer, viewerPayload(item)]];
  if (app !== null) tries.push([uris.launchMedia, mediaPayload(app, item)]);
  let failed: WebosError | null = null;
  const checkAwake = sleepCheck();
  for (const [uri, payload] of tries) {
    if (failed !== null) checkAwake();
    failed = await registered.command(uri, payload, signal).then(() => null, unsupportedOrThrow);
    if (failed === null) return;
  }
  throw new ZapdError("unsupported_media", `cannot play ${mime} from an address: it says "${failed?.words}"`, {
    cause: failed,
  });
}

async function selectInput(registered: RegisteredSession, id: string, signal: AbortSignal): Promise<void> {
  const input = (await unlessSlept(registered.inputs(signal))).find(({ word }) => word === id);
  if (!input) throw new ZapdError("invalid_payload", `no longer has the input ${JSON.stringify(id)}`);
  await registered.command(uris.switchInput, { inputId: input.id }, signal);
}

/**
 * Fails with `device_refused` unless live TV is in front and shows a channel. A TV without a tuner closes the connection when it is
 * asked for its channels (2.5), so it must have reported one first.
 */
async function requireLiveTv(registered: RegisteredSession, signal: AbortSignal): Promise<void> {
  // What has changed may not have been pushed yet.
  registered.state.invalidate();
  await registered.state.refresh(signal, ["app"]);
  const { foregroundId } = registered.state;
  if (foregroundId !== null && foregroundId !== liveTv)
    throw new ZapdError("device_refused", "is not showing live TV, and lists its channels only while it does", {
      hint: "Open live TV first: zapd key input-tuner -d {device}",
    });
  if ((await currentChannel(registered, () => true, signal)) === null)
    throw new ZapdError("device_refused", "is showing live TV, but no channel: it has no tuner or no signal");
}

async function selectChannel(
  registered: RegisteredSession,
  channelId: string,
  signal: AbortSignal,
): Promise<Confirmed> {
  await registered.command(uris.openChannel, { channelId }, signal);
  const current = await currentChannel(registered, (id) => id === channelId, signal).catch((error: unknown) => {
    throw registered.alive || signal.aborted ? error : closedAfterwards(error);
  });
  return current === null ? null : current === channelId;
}

/** The current channel, once it is the wanted one, or the last that was reported in time; `null` for none. */
async function currentChannel(
  { session }: RegisteredSession,
  isWanted: (id: string) => boolean,
  signal: AbortSignal,
): Promise<string | null> {
  let current: string | null = null;
  const isReached = async () => {
    current = await session.request(uris.channel, {}, signal).then(readChannel, (error: unknown) => {
      unsupportedOrThrow(error);
      return null;
    });
    return current !== null && isWanted(current);
  };
  await until(isReached, { timeoutMs: channelTimeoutMs, everyMs: channelPollMs, signal });
  return current;
}
