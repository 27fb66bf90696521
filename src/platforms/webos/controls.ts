/** What an LG set is asked for beyond keys: volume, playback, files, inputs, channels, icons, messages (smart-tvs.md 2.4, 2.5). */
import { ZapdError } from "../../api/errors.ts";
import { sleep, until } from "../../system/sleep.ts";
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
import { SetFailure } from "./failures.ts";
import type { WebosTarget } from "./memory.ts";
import {
  iconOf,
  liveTv,
  mediaAppOf,
  mediaPayload,
  type Payload,
  readChannel,
  readChannels,
  readVolume,
  scaleOf,
  uris,
  viewerPayload,
} from "./protocol.ts";

/** A soundbar loses steps that come faster (lgtv2#46). */
const soundbarStepMs = 350;
/** Live TV does not say what it shows before some 2 s after it came to the front. */
const channelShownWithin = 4_000;
const channelAskedEvery = 300;

type Controls = Pick<Connection, "volume" | "playback" | "media" | "inputs" | "channels" | "icon" | "notify">;

/** `command` does something on a set that is on. */
export function controlsOf(
  reconnecting: ReconnectingSession<RegisteredSession>,
  command: <T>(signal: AbortSignal, work: (registered: RegisteredSession) => Promise<T>) => Promise<T>,
  target: WebosTarget,
  host: Pick<PlatformHost, "isOwnListener" | "requestTimeoutMs">,
): Required<Controls> {
  let steppedAt = Number.NEGATIVE_INFINITY;
  return {
    volume: {
      set: (level, signal) => command(signal, (registered) => setLevel(registered, level, signal)),
      step: (by, signal) =>
        command(signal, async (registered) => {
          const wait = hidesLevel(registered) ? steppedAt + soundbarStepMs - performance.now() : 0;
          if (wait > 0) await sleep(wait, signal);
          await registered.request(by > 0 ? uris.volumeUp : uris.volumeDown, {}, signal);
          steppedAt = performance.now();
        }),
      mute: (muted, signal) =>
        command(signal, async (registered) => void (await registered.request(uris.setMute, { mute: muted }, signal))),
    },
    playback: {
      does: new Set(["play", "pause", "stop"]),
      get isShown() {
        return reconnecting.current?.state.tells("media") ?? true;
      },
      do: (what, signal) => command(signal, (registered) => tellPlayer(registered, what, signal)),
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
    notify: (message, signal) =>
      command(signal, async (registered) => void (await registered.request(uris.toast, { message }, signal))),
  };
}

/** To a level of zapd's scale, on that of the set; one with a soundbar would take it and do nothing (2.5). */
async function setLevel(registered: RegisteredSession, level: number, signal: AbortSignal): Promise<void> {
  const { state } = registered;
  await state.refresh(signal, ["volume"]);
  if (hidesLevel(registered))
    throw new ZapdError(
      "unsupported_operation",
      "plays over a soundbar that keeps its volume to itself: it only steps",
      {
        hint: "Step it: zapd volume +5 -d {device}",
      },
    );
  const most = scaleOf(state.volumeSaid ?? {});
  await registered.request(uris.setVolume, { volume: Math.round((level * most) / 100) }, signal);
}

/** Whether it tells of its volume, and no level. */
function hidesLevel({ state: { volumeSaid } }: RegisteredSession): boolean {
  return volumeSaid !== null && readVolume(volumeSaid).level === null;
}

/** What it does already, as far as it says, it is not told: some apps take the one for the other. */
async function tellPlayer(registered: RegisteredSession, what: PlaybackCommand, signal: AbortSignal): Promise<void> {
  const { state } = registered;
  await state.refresh(signal, ["media"]);
  const { status } = state.playback ?? {};
  if (what === "play" || what === "pause") registered.lastMedia = what;
  if (status === { play: "playing", pause: "paused", stop: "stopped", next: "", previous: "" }[what]) return;
  await registered.request(`ssap://media.controls/${what}`, {}, signal);
}

/**
 * Hands over the address of a file. Sets whose viewer takes none (500 on a C1 and a C8) have an app that does, another one
 * by the year of the firmware, of which it is known how it is handed a film, and nothing else (CONTROLS.md).
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
  let failed: SetFailure | null = null;
  for (const [uri, payload] of tries) {
    failed = await registered.request(uri, payload, signal).then(() => null, lackOf);
    if (failed === null) return;
  }
  throw new ZapdError(
    "unsupported_media",
    `has no player that takes ${mime} by its address: it says "${failed?.words}"`,
    {
      cause: failed,
    },
  );
}

/** What a set said that lacks something, or fails at it; a refusal and a silence are no such word. */
function lackOf(error: unknown): SetFailure {
  if (error instanceof SetFailure && error.code !== "device_refused") return error;
  throw error;
}

async function selectInput(registered: RegisteredSession, id: string, signal: AbortSignal): Promise<void> {
  const input = (await registered.inputs(signal)).find(({ word }) => word === id);
  if (!input) throw new ZapdError("invalid_payload", `has no input ${JSON.stringify(id)} any more`);
  await registered.request(uris.switchInput, { inputId: input.id }, signal);
}

/**
 * Fails with `device_refused` unless live TV is in front and shows a channel: a set without a tuner hangs up on whoever asks
 * it for its channels (2.5), so that it is not asked before it has named one.
 */
async function requireLiveTv(registered: RegisteredSession, signal: AbortSignal): Promise<void> {
  // What is on its way to us was not pushed yet.
  registered.state.commanded();
  await registered.state.refresh(signal, ["app"]);
  const { shown } = registered.state;
  if (shown !== null && shown !== liveTv)
    throw new ZapdError("device_refused", "shows no live TV, and has channels only while it does", {
      hint: "Show it first: zapd key input-tuner -d {device}",
    });
  if ((await channelShown(registered, () => true, signal)) === null)
    throw new ZapdError("device_refused", "shows live TV, but no channel: it has no tuner, or receives nothing");
}

async function selectChannel(
  registered: RegisteredSession,
  channelId: string,
  signal: AbortSignal,
): Promise<Confirmed> {
  await registered.request(uris.openChannel, { channelId }, signal);
  const seen = await channelShown(registered, (id) => id === channelId, signal);
  return seen === null ? null : seen === channelId;
}

/** The channel that is shown, once it is the wanted one, or else the last that was said in time; `null` where none was. */
async function channelShown(
  { session }: RegisteredSession,
  isWanted: (id: string) => boolean,
  signal: AbortSignal,
): Promise<string | null> {
  let shown: string | null = null;
  const holds = async () => {
    shown = await session.request(uris.channel, {}, signal).then(readChannel, (error: unknown) => {
      lackOf(error);
      return null;
    });
    return shown !== null && isWanted(shown);
  };
  await until(holds, { timeoutMs: channelShownWithin, everyMs: channelAskedEvery, signal });
  return shown;
}
