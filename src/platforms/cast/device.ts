/** One Cast device: a session that stays open, proven to be with the one that is meant, and what is done over it. */
import { DeviceError, hasCode, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { type Json, text } from "../../transport/json.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import {
  type Confirmed,
  type DeepLink,
  type Emit,
  type MediaItem,
  mimeOf,
  type PlatformApp,
  type PlatformHost,
  type PlaybackCommand,
} from "../platform.ts";
import { serviceNames } from "../services.ts";
import { prove } from "./identity.ts";
import type { CastMemory, CastTarget } from "./memory.ts";
import { abilities, describeState, type Media, namespaces, type Receiver, receiverId } from "./protocol.ts";
import { castServices, defaultReceiver, idsOf } from "./services.ts";
import { CastSession, playsNothing } from "./session.ts";

/** Connecting, proving and the first status: an announcement may have to be asked for. */
const openWithinMs = 4_000;
/** An app is fetched from the internet, and a file from wherever it is. */
const launchWithinMs = 12_000;
const loadWithinMs = 12_000;
const shownWithinMs = 6_000;
const goneWithinMs = 5_000;
const lookEveryMs = 300;

export class CastDevice {
  readonly target: CastTarget;
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<CastMemory>;
  readonly #link: ReconnectingSession<CastSession>;

  constructor(target: CastTarget, platformHost: PlatformHost, emit: Emit<CastMemory>) {
    this.target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    this.#link = new ReconnectingSession<CastSession>({
      debug: (message) => platformHost.debug(`${target.host}: ${message}`),
      onEnd: () => emit({ type: "disconnected", why: "hung_up" }),
      open: async (signal, _inBackground, ended) => {
        const session = new CastSession(target, platformHost);
        await session.open(deadline(platformHost.requestTimeoutMs(), signal));
        try {
          session.onEnd(ended);
          const { name } = await prove(session, target, platformHost, signal);
          await session.refresh(signal);
          if (name !== null && name !== target.facts.name && target.memory.group !== true)
            emit({ type: "facts", facts: { name } });
          this.#learn(session);
          session.follow(() => this.#changed(session));
          return session;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    });
  }

  /** The session that is open now. */
  get current(): CastSession | undefined {
    return this.#link.current;
  }

  /** The session for a question: its failure is shared by all who ask soon after. */
  async session(signal: AbortSignal, eager = false): Promise<CastSession> {
    // One that takes the connection and never says who it is has all of its time for that: so it is known for what it is.
    const within = deadline(Math.max(2 * this.#platformHost.requestTimeoutMs(), openWithinMs), signal);
    const opening = this.#link.use(within, { eager });
    return eager ? unlessSlept(opening) : opening;
  }

  /**
   * The session for a command, and what the device says right before it. Lines die without a word (3.4): one that does not
   * answer to that is hung up on, and nothing of the command has gone out.
   */
  async #ready(signal: AbortSignal): Promise<{ readonly session: CastSession; readonly receiver: Receiver }> {
    const session = await this.session(signal, true);
    try {
      return { session, receiver: await session.refresh(signal) };
    } catch (error) {
      if (signal.aborted || !hasCode(error, "device_timeout")) throw error;
      session.destroy();
      throw new DeviceError("device_unreachable", error.message, { phase: "connect", reason: "timeout", cause: error });
    }
  }

  close(): void {
    this.#link.close();
  }

  /** Launches an app by its id, or by another id of the same service where it lacks that one. */
  async launch(id: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed> {
    if (Object.keys(params).length > 0)
      throw new ZapdError("unsupported_operation", "cannot open anything in an app: Cast has no deep links", {
        hint: "Launch the app alone, or hand over a file: zapd play URL -d {device}",
      });
    const { session } = await this.#ready(signal);
    return this.#launch(session, id.toUpperCase(), signal);
  }

  async #launch(session: CastSession, wanted: string, signal: AbortSignal): Promise<Confirmed> {
    for (const appId of idsOf(wanted)) {
      const said = await session.ask(
        namespaces.receiver,
        receiverId,
        { type: "LAUNCH", appId },
        signal,
        launchWithinMs,
      );
      if (said["type"] === "LAUNCH_ERROR" && said["reason"] === "NOT_FOUND") continue;
      refuse(said, "launch it");
      const isShown = () => session.receiver?.running?.ids.includes(appId) === true;
      return this.#seen(session, isShown, shownWithinMs, signal);
    }
    const service = castServices.get(wanted);
    const name = service === undefined ? `Cast app ${wanted}` : `${serviceNames[service]} (${wanted})`;
    throw new ZapdError("app_not_found", `knows no ${name}, or has none for its screen`, {
      hint: "A Cast device has no list of its apps: check the id, or launch it once from a phone",
    });
  }

  /** Leaves what is cast to it; answers with that. */
  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const { session, receiver } = await this.#ready(signal);
    const { running } = receiver;
    if (running === null) return null;
    const { sessionId } = running;
    const said = await session.ask(namespaces.receiver, receiverId, { type: "STOP", sessionId }, signal);
    // It has ended by itself meanwhile (3.3).
    if (said["reason"] !== "INVALID_SESSION_ID") refuse(said, "leave it");
    const isGone = () => session.receiver?.running?.sessionId !== sessionId;
    if (await this.#seen(session, isGone, goneWithinMs, signal)) return running.app;
    throw new ZapdError("device_error", "took the command, but goes on showing the app");
  }

  /** Whether something comes to be, by what is pushed and by asking. */
  async #seen(session: CastSession, holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const look = async () => {
      if (!holds()) await session.refresh(signal);
      return holds();
    };
    return until(look, { timeoutMs, everyMs: lookEveryMs, signal });
  }

  /** Changes the volume, from what it is right before. */
  async setVolume(
    change: (now: Receiver) => { readonly level: number } | { readonly muted: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { session, receiver } = await this.#ready(signal);
    // It takes the command all the same, and does nothing (3.4).
    if (receiver.control === "fixed") throw fixedVolume();
    const said = await session.ask(
      namespaces.receiver,
      receiverId,
      { type: "SET_VOLUME", volume: change(receiver) },
      signal,
    );
    if (said["reason"] === "INVALID_COMMAND") throw fixedVolume();
    refuse(said, "change its volume");
  }

  /** A command to what plays. */
  async control(what: PlaybackCommand | "toggle", signal: AbortSignal): Promise<void> {
    const { session } = await this.#ready(signal);
    const media = mediaOf(session);
    const does = what === "toggle" ? (media.status === "paused" ? "play" : "pause") : what;
    const needed = {
      play: abilities.pause,
      pause: abilities.pause,
      stop: 0,
      next: abilities.next,
      previous: abilities.previous,
    };
    requireAbility(media, needed[does], does === "play" ? "be paused and played" : doing[does]);
    const jump = { next: 1, previous: -1, play: 0, pause: 0, stop: 0 }[does];
    const command = jump === 0 ? { type: does.toUpperCase() } : { type: "QUEUE_UPDATE", jump };
    await this.#tell(session, media, command, doing[does], signal);
  }

  /** To a position, or by so much from where it is. */
  async seek(to: (positionMs: number, media: Media) => number, signal: AbortSignal): Promise<void> {
    const { session, receiver } = await this.#ready(signal);
    const media = mediaOf(session);
    requireAbility(media, abilities.seek, "be sought in");
    const now = describeState(receiver, media).playback?.position_ms ?? 0;
    const position = Math.max(0, Math.min(to(now, media), media.durationMs ?? Number.POSITIVE_INFINITY));
    await this.#tell(session, media, { type: "SEEK", currentTime: position / 1_000 }, "seek", signal);
  }

  async #tell(session: CastSession, media: Media, command: Json, what: string, signal: AbortSignal): Promise<void> {
    const said = await session.askRunning({ ...command, mediaSessionId: media.sessionId }, signal);
    refuse(said, what);
  }

  /** Hands a file to the default receiver, which fetches it. */
  async play(item: MediaItem, signal: AbortSignal): Promise<void> {
    const { url, title, image } = item;
    const mime = mimeOf(item);
    const { session, receiver } = await this.#ready(signal);
    const isThere = receiver.running?.ids.includes(defaultReceiver) === true;
    if (!isThere && !(await this.#launch(session, defaultReceiver, signal)))
      throw new ZapdError("device_error", "took the command, but does not show the app that plays files");
    const metadata = {
      metadataType: 0,
      ...(title !== null && { title }),
      ...(image !== null && { images: [{ url: image }] }),
    };
    const streamType = mime.startsWith("image/") ? "NONE" : "BUFFERED";
    const media = { contentId: url, contentType: mime, streamType, metadata };
    const load = {
      type: "LOAD",
      sessionId: session.receiver?.running?.sessionId,
      media,
      autoplay: true,
      currentTime: 0,
    };
    const said = await session.askRunning(load, signal, loadWithinMs);
    const { type, detailedErrorCode: detail } = said;
    if (type === "LOAD_FAILED" || type === "ERROR")
      throw new ZapdError(
        "unsupported_media",
        `could not load it as ${mime}${typeof detail === "number" ? ` (error ${detail})` : ""}`,
        { hint: "The device fetches the address by itself: it must reach it, and play such a file" },
      );
    refuse(said, "load it");
  }

  /** The address of a picture of what plays; `null` where it shows none. */
  async image(signal: AbortSignal): Promise<{ readonly address: URL | null; readonly certificate: string | null }> {
    const session = await this.session(signal);
    await session.refresh(signal);
    const image = session.media?.image ?? null;
    return {
      address: image !== null && URL.canParse(image) ? new URL(image) : null,
      certificate: session.fingerprint,
    };
  }

  #changed(session: CastSession): void {
    const { receiver, media } = session;
    if (receiver === null) return;
    this.#learn(session);
    const { power, app, playback, volume } = describeState(receiver, media);
    this.#emit({ type: "state", patch: { power, app, playback, volume } });
  }

  #learn({ receiver }: CastSession): void {
    const volume = receiver?.control ?? null;
    if (volume !== null && volume !== this.target.memory.volume) this.#emit({ type: "facts", memory: { volume } });
  }
}

const doing = {
  play: "play",
  pause: "pause",
  stop: "stop",
  next: "go to the next",
  previous: "go to the previous",
} as const;

function mediaOf({ media }: CastSession): Media {
  if (media === null) throw playsNothing();
  return media;
}

function requireAbility({ commands }: Media, bit: number, what: string): void {
  if (bit !== 0 && (commands & bit) === 0)
    throw new ZapdError("device_refused", `plays something that cannot ${what} now`);
}

function fixedVolume(): ZapdError {
  return new ZapdError("unsupported_operation", "has a fixed volume", {
    hint: "Change it on the TV or the receiver that it is plugged into",
  });
}

/** Fails with what the device said where that is a refusal (3.3). */
function refuse(said: Json, what: string): void {
  const type = text(said["type"]) ?? text(said["responseType"]) ?? "";
  if (type === "RECEIVER_STATUS" || type === "MEDIA_STATUS") return;
  const reason = text(said["reason"]);
  throw new ZapdError("device_refused", `refused to ${what}: it says ${type}${reason === null ? "" : `, ${reason}`}`, {
    hint: "What it plays may have changed meanwhile: look with zapd state {device}, then try again",
  });
}
