/** One Cast device: a session that stays open and has proven the device's identity, and the commands over it. */
import { closedBeforeSending, DeviceError, hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { sleepCheck, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { type Json, text } from "../../transport/json.ts";
import { readOwnPicture } from "../../transport/own-picture.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import {
  type Confirmed,
  type DeepLink,
  type Emit,
  type MediaItem,
  mimeOf,
  noEffect,
  type PlatformApp,
  type PlatformHost,
  type PlaybackCommand,
} from "../platform.ts";
import { serviceNames } from "../services.ts";
import { prove } from "./identity.ts";
import type { CastMemory, CastTarget } from "./memory.ts";
import { abilities, describeState, type Media, positionOf, type Receiver, readIdle } from "./protocol.ts";
import { castServices, defaultReceiver, idsOf } from "./services.ts";
import { CastSession, notPlaying } from "./session.ts";

/** Connecting, proving the identity and the first status; an mDNS answer may have to be waited for. */
const openTimeoutMs = 4_000;
/** A device that is only slow answers a ping by then. */
const livenessTimeoutMs = 1_500;
/** An app is loaded from the internet, and a file from anywhere. */
const launchTimeoutMs = 12_000;
const loadTimeoutMs = 12_000;
const shownTimeoutMs = 6_000;
const closedTimeoutMs = 5_000;
const pollEveryMs = 300;

export class CastDevice {
  readonly #target: CastTarget;
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<CastMemory>;
  readonly #reconnecting: ReconnectingSession<CastSession>;
  /** Whether it was muted last by zapd: some do not report it. */
  #isToldToMute = false;

  constructor(target: CastTarget, platformHost: PlatformHost, emit: Emit<CastMemory>) {
    this.#target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    this.#reconnecting = new ReconnectingSession<CastSession>({
      debug: (message) => platformHost.debug(`${target.host}: ${message}`),
      onEnd: () => emit({ type: "disconnected", why: "hung_up" }),
      open: async (signal, ended) => {
        const session = new CastSession(target, platformHost);
        await session.open(deadline(platformHost.requestTimeoutMs(), signal));
        try {
          session.onEnd(ended);
          const { name } = await prove(session, target, platformHost, signal);
          await session.refresh(signal);
          if (name !== null && name !== target.facts.name && target.memory.group !== true)
            emit({ type: "facts", facts: { name } });
          session.follow(() => this.#changed(session));
          this.#changed(session);
          return session;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    });
  }

  get current(): CastSession | undefined {
    return this.#reconnecting.current;
  }

  /** The session for a read; callers share the failure of a recent attempt, unless they are `eager`. */
  async session(signal: AbortSignal, options?: { eager: boolean }): Promise<CastSession> {
    // A device that accepts the connection and never reports its identity may use all of this time, so that the error can
    // say so.
    const within = deadline(Math.max(2 * this.#platformHost.requestTimeoutMs(), openTimeoutMs), signal);
    return this.#reconnecting.use(within, options);
  }

  /** The session for a command, with a fresh status. */
  #ready(signal: AbortSignal): Promise<{ readonly session: CastSession; readonly receiver: Receiver }> {
    return unlessSlept(this.#prepare(signal));
  }

  /**
   * Connections die silently (3.4): one that does not answer is closed, and one that ends now is replaced once. Nothing of
   * the command has been sent by then.
   */
  async #prepare(
    signal: AbortSignal,
    isRetry = false,
  ): Promise<{ readonly session: CastSession; readonly receiver: Receiver }> {
    const session = await this.session(signal, { eager: true });
    let liveness: ReturnType<typeof setTimeout> | undefined;
    try {
      if (!isRetry) liveness = session.closeUnlessHeard(livenessTimeoutMs);
      return { session, receiver: await session.refresh(signal) };
    } catch (error) {
      if (signal.aborted) throw error;
      if (hasReason(error, "closed")) {
        if (isRetry) throw closedBeforeSending(undefined, error);
        return this.#prepare(signal, true);
      }
      if (!hasCode(error, "device_timeout")) throw error;
      session.destroy();
      throw new DeviceError("device_unreachable", error.message, { phase: "connect", reason: "timeout", cause: error });
    } finally {
      clearTimeout(liveness);
    }
  }

  close(): void {
    this.#reconnecting.close();
  }

  /** Launches an app by its id, or by another id of the same service where the device lacks that one. */
  async launch(id: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed> {
    if (Object.keys(params).length > 0)
      throw new ZapdError("unsupported_operation", "cannot open content in an app: Cast has no deep links", {
        hint: "Launch the app without content, or play a file: zapd play URL -d {device}",
      });
    const { session } = await this.#ready(signal);
    return this.#launch(session, id.toUpperCase(), signal);
  }

  async #launch(session: CastSession, wanted: string, signal: AbortSignal): Promise<Confirmed> {
    for (const appId of idsOf(wanted)) {
      const answer = await session.askReceiver({ type: "LAUNCH", appId }, signal, launchTimeoutMs);
      if (answer["reason"] === "NOT_FOUND") continue;
      requireSuccess(answer, "launch the app");
      const isShown = () => session.receiver?.running?.ids.includes(appId) === true;
      return this.#waitFor(session, isShown, shownTimeoutMs, signal);
    }
    const service = castServices.get(wanted);
    const name = service === undefined ? `Cast app ${wanted}` : `${serviceNames[service]} (${wanted})`;
    throw new ZapdError("app_not_found", `does not know ${name}, or cannot run it`, {
      hint: "Check the id, or launch the app once from a phone: a Cast device does not list its apps",
    });
  }

  /** Stops the running app; returns it. */
  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const { session, receiver } = await this.#ready(signal);
    const { running } = receiver;
    if (running === null) return null;
    const { sessionId } = running;
    const answer = await session.askReceiver({ type: "STOP", sessionId }, signal);
    // The app has ended by itself (3.3).
    if (answer["reason"] !== "INVALID_SESSION_ID") requireSuccess(answer, "close the app");
    const isClosed = () => session.receiver?.running?.sessionId !== sessionId;
    if (await this.#waitFor(session, isClosed, closedTimeoutMs, signal)) return running.app;
    throw noEffect("accepted the command, but still shows the app");
  }

  /** Waits for the effect of a command that the device has taken, by pushes and by polling. */
  async #waitFor(session: CastSession, holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const poll = async () => {
      if (holds()) return true;
      requireOpen(session);
      await session.refresh(signal);
      return holds();
    };
    return until(poll, { timeoutMs, everyMs: pollEveryMs, signal });
  }

  /** Changes the volume, relative to a fresh status. */
  async setVolume(
    change: (now: Receiver) => { readonly level: number } | { readonly muted: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { session, receiver } = await this.#ready(signal);
    // The device would accept the command and do nothing (3.4).
    if (receiver.control === "fixed") throw fixedVolume();
    const volume = change({ ...receiver, muted: receiver.muted ?? this.#isToldToMute });
    const answer = await session.askReceiver({ type: "SET_VOLUME", volume }, signal);
    if (answer["reason"] === "INVALID_COMMAND") throw fixedVolume();
    requireSuccess(answer, "change its volume");
    if ("muted" in volume) this.#isToldToMute = volume.muted;
  }

  async control(what: PlaybackCommand | "toggle", signal: AbortSignal): Promise<void> {
    const { session } = await this.#ready(signal);
    const media = mediaOf(session);
    const name = what === "toggle" ? (media.status === "paused" ? "play" : "pause") : what;
    const { ability, verb, message } = playbackCommands[name];
    requireAbility(media, ability, name === "play" ? "pause or resume" : verb);
    await this.#command(session, media, message, verb, signal).catch((error: unknown) => {
      // Some apps end when they are told to stop, and do not answer.
      if (name !== "stop" || session.media !== null || !session.alive) throw error;
    });
  }

  /** Seeks to a position, or by a distance from the current one, in milliseconds. */
  async seek(to: { readonly at: number } | { readonly by: number }, signal: AbortSignal): Promise<void> {
    const { session } = await this.#ready(signal);
    const media = mediaOf(session);
    requireAbility(media, abilities.seek, "seek");
    const wanted = "at" in to ? to.at : requirePosition(media) + to.by;
    const position = Math.max(0, Math.min(wanted, media.durationMs ?? Number.POSITIVE_INFINITY));
    await this.#command(session, media, { type: "SEEK", currentTime: position / 1_000 }, "seek", signal);
  }

  async #command(session: CastSession, media: Media, message: Json, verb: string, signal: AbortSignal): Promise<void> {
    requireSuccess(await session.askApp({ ...message, mediaSessionId: media.sessionId }, signal), verb);
  }

  /** Plays a file in the default receiver, which loads it. */
  async play(item: MediaItem, signal: AbortSignal): Promise<void> {
    const { url, title, image } = item;
    const mime = mimeOf(item);
    const { session, receiver } = await this.#ready(signal);
    const checkAwake = sleepCheck();
    const isRunning = receiver.running?.ids.includes(defaultReceiver) === true;
    if (!isRunning && !(await this.#launch(session, defaultReceiver, signal)))
      throw noEffect("accepted the command, but does not show the app that plays files");
    if (!isRunning) requireOpen(session);
    checkAwake();
    const metadata = {
      metadataType: 0,
      ...(title !== null && { title }),
      ...(image !== null && { images: [{ url: image }] }),
    };
    const streamType = mime.startsWith("image/") ? "NONE" : "BUFFERED";
    const media = { contentId: url, contentType: mime, streamType, metadata };
    // Without a position, because at 0 a live stream would begin as far back as it is kept (vishen/go-chromecast#189).
    const load = { type: "LOAD", sessionId: session.receiver?.running?.sessionId, media, autoplay: true };
    const answer = await session.askApp(load, signal, loadTimeoutMs);
    const { type, detailedErrorCode: detail } = answer;
    if (type === "LOAD_FAILED" || type === "ERROR" || readIdle(answer) === "failed")
      throw new ZapdError(
        "unsupported_media",
        `could not load the file as ${mime}${typeof detail === "number" ? ` (error ${detail})` : ""}`,
        {
          hint: "Check that the device can reach the address and can play this kind of file: it loads the file itself",
        },
      );
    requireSuccess(answer, "load the file");
  }

  /** The picture of what plays, where the device itself has it. */
  async artwork(signal: AbortSignal): Promise<Uint8Array | null> {
    const session = await this.session(signal);
    await session.refresh(signal);
    const image = session.media?.image ?? "";
    if (!URL.canParse(image)) return null;
    const own = { host: this.#target.host, certificate: session.fingerprint };
    return readOwnPicture(new URL(image), own, this.#platformHost, signal);
  }

  #changed(session: CastSession): void {
    const { receiver, media } = session;
    if (receiver === null) return;
    const { control } = receiver;
    if (control !== null && control !== this.#target.memory.volume)
      this.#emit({ type: "facts", memory: { volume: control } });
    const { power, app, playback, volume } = describeState(receiver, media);
    this.#emit({ type: "state", patch: { power, app, playback, volume } });
  }
}

/** Each with the ability that what is playing must have, and the words for it in an error. */
const playbackCommands = {
  play: { ability: abilities.pause, verb: "play", message: { type: "PLAY" } },
  pause: { ability: abilities.pause, verb: "pause", message: { type: "PAUSE" } },
  stop: { ability: 0, verb: "stop", message: { type: "STOP" } },
  next: { ability: abilities.next, verb: "go to the next item", message: { type: "QUEUE_UPDATE", jump: 1 } },
  previous: {
    ability: abilities.previous,
    verb: "go to the previous item",
    message: { type: "QUEUE_UPDATE", jump: -1 },
  },
} as const satisfies Record<PlaybackCommand, object>;

/** After a command was taken. A device that seems unreachable would be sent it again. */
function requireOpen({ alive }: CastSession): void {
  if (!alive) throw hungUp("closed the connection after it took the command");
}

function mediaOf({ media }: CastSession): Media {
  if (media === null) throw notPlaying();
  return media;
}

function requirePosition(media: Media): number {
  const position = positionOf(media);
  if (position !== null) return position;
  throw new ZapdError("device_refused", "does not report the position of what it is playing");
}

function requireAbility({ commands }: Media, bit: number, verb: string): void {
  if (bit !== 0 && commands !== null && (commands & bit) === 0)
    throw new ZapdError("device_refused", `cannot ${verb} now: what it is playing does not allow it`);
}

function fixedVolume(): ZapdError {
  return new ZapdError("unsupported_operation", "has a fixed volume", {
    hint: "Change the volume on the TV or the receiver that it is plugged into",
  });
}

/** Fails with the device's reason where it refused (3.3). */
function requireSuccess(answer: Json, verb: string): void {
  const type = text(answer["type"]) ?? text(answer["responseType"]) ?? "";
  if (type === "RECEIVER_STATUS" || type === "MEDIA_STATUS") return;
  const reason = text(answer["reason"]);
  throw new ZapdError(
    "device_refused",
    `refused to ${verb}: it answered ${type}${reason === null ? "" : `, ${reason}`}`,
    {
      hint: "What it is playing may have changed: check with zapd state {device}, then try again",
    },
  );
}
