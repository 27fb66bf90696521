/** One Android TV: a session with the paired TV that stays open, and the commands over it. */
import { hasReason, inStandby, ZapdError } from "../../api/errors.ts";
import { sleepCheck, unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import {
  type Confirmed,
  type DeepLink,
  type Emit,
  noEffect,
  type PlatformApp,
  type PlatformHost,
  type PlatformState,
} from "../platform.ts";
import { accessRevoked, notPaired, refusedBeforeGreeting, unsupported } from "./failures.ts";
import { isStreamingBox, prove } from "./identity.ts";
import { codes, keyCodes } from "./keys.ts";
import type { AndroidMemory, AndroidTarget } from "./memory.ts";
import { keyDirections, messages } from "./protocol.ts";
import { appOf, isHome, linkOf, packagesOf, shell } from "./services.ts";
import { RemoteSession, type RemoteState } from "./session.ts";

/** A session is kept open: a new one may wake a sleeping TV, and an open one reports when the TV comes on. */
const sessionIdleMs = 7 * 24 * 3_600_000;
/** A TV that closes the connection may be turning off. */
const firstRetryMs = 5_000;
/**
 * A TV that was just turned on refuses sessions for a while; one that still refuses them has forgotten zapd (players.md
 * 1.3).
 */
const startTimeoutMs = 3_000;
/** Refusals that are further apart may belong to two starts. */
const refusalsApartMs = 600_000;
/** Until an app shows; after that it is not known whether it was launched (players.md 4.2). */
const shownTimeoutMs = 5_000;
const closedTimeoutMs = 4_000;
const muteTimeoutMs = 1_000;
/** From the key until the TV reports that it is off. */
const powerOffTimeoutMs = 3_000;

type Feature = Parameters<RemoteSession["has"]>[0];

export class AndroidTv {
  readonly #target: AndroidTarget;
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<AndroidMemory>;
  readonly #reconnecting: ReconnectingSession<RemoteSession>;
  /** Since when the TV closes the connection before its first message, and when it last did. */
  #refusals: { readonly since: number; readonly last: number } | undefined;
  /** The wake key was sent, and the TV has not come on since. */
  #wakeKeySent = false;

  constructor(target: AndroidTarget, platformHost: PlatformHost, emit: Emit<AndroidMemory>) {
    this.#target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    this.#reconnecting = new ReconnectingSession<RemoteSession>({
      idleMs: sessionIdleMs,
      firstRetryMs,
      debug: (message) => platformHost.debug(`${target.host}: ${message}`),
      onEnd: ({ retry }) => emit({ type: "disconnected", why: retry ? "hung_up" : "going_off" }),
      onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
      open: (signal, ended) => this.#open(signal, ended),
    });
  }

  get current(): RemoteSession | undefined {
    return this.#reconnecting.current;
  }

  close(): void {
    this.#reconnecting.close();
  }

  /** The session for a read; callers share the failure of a recent attempt. */
  session(signal: AbortSignal, options?: { eager: boolean }): Promise<RemoteSession> {
    const within = deadline(2 * this.#platformHost.requestTimeoutMs(), signal);
    return this.#reconnecting.use(within, options);
  }

  /** The session for a command, with a TV that has sent something lately, asleep or not. */
  async #reach(signal: AbortSignal): Promise<RemoteSession> {
    // No command is answered, so one sent over a dead connection would be lost.
    if (this.current?.isDoubtful) this.#reconnecting.drop();
    return unlessSlept(this.session(signal, { eager: true }));
  }

  /** The same, with a TV that is on, and offers a feature. */
  async #reachOn(signal: AbortSignal, feature?: Feature): Promise<RemoteSession> {
    const session = await this.#reach(signal);
    // First: a TV that lacks it need not be woken.
    if (feature) requireFeature(session, feature);
    if (session.state.isOn === false) throw inStandby();
    return session;
  }

  async #open(signal: AbortSignal, ended: (end: { retry: boolean }) => void): Promise<RemoteSession> {
    const target = this.#target;
    const kept = target.secret.read();
    if (!kept) throw notPaired();
    const within = deadline(this.#platformHost.requestTimeoutMs(), signal);
    await prove(target, this.#platformHost, within).catch((error: unknown) => {
      // Where it was off since, it may be starting again.
      if (!signal.aborted) this.#refusals = undefined;
      throw error;
    });
    const session = new RemoteSession(target, kept, this.#platformHost);
    try {
      await session.open(within);
      await session.whenReady(target.memory.volume !== false, within);
    } catch (error) {
      session.destroy();
      // With TLS 1.2 a refusal looks like a protocol error.
      const isRefused = !session.isGreeted && hasReason(error, "closed", "protocol");
      throw isRefused ? this.#refused(error) : error;
    }
    this.#refusals = undefined;
    this.#learn(session.state);
    session.onEnd(ended);
    session.follow(() => this.#changed(session.state));
    this.#changed(session.state);
    return session;
  }

  #refused(error: unknown): ZapdError {
    const now = performance.now();
    const { since, last } = this.#refusals ?? { since: now, last: now };
    const first = now - last > refusalsApartMs ? now : since;
    this.#refusals = { since: first, last: now };
    return now - first > startTimeoutMs ? accessRevoked() : refusedBeforeGreeting(error);
  }

  #learn({ model, vendor, features }: RemoteState): void {
    const facts = { model, manufacturer: vendor, ...(isStreamingBox({ model }) && { kind: "player" as const }) };
    this.#emit({ type: "facts", facts: { ...facts, access: "full" }, memory: { features } });
  }

  #changed(state: RemoteState): void {
    if (state.isOn) this.#wakeKeySent = false;
    const hasVolume = state.volume && state.volume.most > 0;
    if (hasVolume !== null && hasVolume !== this.#target.memory.volume)
      this.#emit({ type: "facts", memory: { volume: hasVolume } });
    const { power, app, volume } = describeState(state);
    this.#emit({ type: "state", patch: { power, app, volume } });
  }

  async press(code: number, signal: AbortSignal): Promise<void> {
    const session = await this.#reachOn(signal, "key");
    await session.command(messages.key(code, keyDirections.short), signal);
  }

  /** Leaves a key down; the returned function releases it. */
  async down(code: number, signal: AbortSignal): Promise<() => Promise<void>> {
    const session = await this.#reachOn(signal, "key");
    session.begin(messages.key(code, keyDirections.down));
    session.hold(1);
    return async () => {
      session.hold(-1);
      // A TV releases its keys when the connection ends.
      if (session.alive) session.send(messages.key(code, keyDirections.up));
      session.requireTaken();
      if (!session.alive) throw hungUp("closed the connection before the key was released");
    };
  }

  async type(text: string, signal: AbortSignal): Promise<void> {
    const session = await this.#reachOn(signal, "ime");
    await session.type(text, signal);
  }

  /** Opens a link, or an app by its package. Only the app on the screen shows whether it worked. */
  async launch(id: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed> {
    const { content_id, contentId = content_id, media_type: _type, ...others } = params;
    const link = Object.keys(others).length > 0 ? null : linkOf(id, contentId ?? null);
    if (link === null)
      throw new ZapdError(
        "unsupported_operation",
        `cannot open content in ${appOf(id).name}: zapd knows no link for it`,
        {
          hint: "Launch the app without content, or launch a whole link instead of the app, such as https://…",
        },
      );
    const session = await this.#reachOn(signal, "appLink");
    const before = session.state.app;
    const wanted = packagesOf(id);
    const sent = messages.link(link);
    if (!session.has("ime")) return session.command(sent, signal).then(() => null);
    // Where the app is in front already, only a refusal shows that nothing was opened.
    await session.command(sent, signal);
    const isShown = () => {
      const { app } = session.state;
      if (app === null) return false;
      return wanted.length > 0 ? wanted.includes(app) : app !== before && !isHome(app);
    };
    await until(() => isShown() || !session.alive, { timeoutMs: shownTimeoutMs, everyMs: 50, signal });
    session.requireTaken();
    if (!isShown() && !session.alive) throw hungUp("closed the connection before it showed the app");
    // Any other link may have been opened by the app that was in front already.
    const isUnknown = wanted.length === 0 && before !== null && !isHome(before) && session.state.app === before;
    return isUnknown ? null : isShown();
  }

  /** Goes home; returns the app that was left. */
  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const session = await this.#reachOn(signal);
    const { app: left } = session.state;
    if (left === null ? session.has("ime") : isHome(left)) return null;
    requireFeature(session, "key");
    const home = messages.key(keyCodes.home, keyDirections.short);
    if (left === null) return session.command(home, signal).then(() => null);
    session.begin(home);
    const isLeft = () => session.state.app !== left;
    const isSeen = () => isLeft() || !session.alive;
    const isOver = await until(isSeen, { timeoutMs: closedTimeoutMs, everyMs: 50, signal });
    session.requireTaken();
    if (!isLeft() && !session.alive) throw hungUp("closed the connection before it showed that it left the app");
    if (isOver) return appOf(left);
    throw noEffect("accepted the home key, but still shows the app");
  }

  async mute(muted: boolean, signal: AbortSignal): Promise<void> {
    const session = await this.#reachOn(signal, "key");
    const isSo = () => session.state.volume?.muted === muted;
    // A box whose highest volume is 0 leaves the volume to the TV.
    if (!session.state.volume?.most)
      throw new ZapdError(
        "unsupported_operation",
        "can only toggle its sound, and does not report whether it is muted",
        {
          hint: "Toggle it: zapd key mute -d {device}",
        },
      );
    if (isSo()) return;
    await this.press(keyCodes.mute, signal);
    // Without waiting for the report, a second call would toggle it back.
    await until(() => isSo() || !session.alive, { timeoutMs: muteTimeoutMs, everyMs: 20, signal });
  }

  async isOn(signal: AbortSignal): Promise<boolean | null> {
    return (await this.#reach(signal)).state.isOn;
  }

  /** Some TVs have no key that only wakes: the second time, the toggle is pressed, where the TV reports that it is off. */
  async turnOn(signal: AbortSignal): Promise<void> {
    const session = await this.#reach(signal);
    const { isOn } = session.state;
    if (isOn === true) return;
    const toggles = isOn === false && this.#wakeKeySent;
    session.send(messages.key(toggles ? codes.power : codes.wake, keyDirections.short));
    this.#wakeKeySent = isOn === false;
  }

  async turnOff(signal: AbortSignal): Promise<void> {
    const session = await this.#reach(signal);
    if (session.state.isOn === false) return;
    requireFeature(session, "key");
    const isOff = () => session.state.isOn !== true || !session.alive;
    const checkAwake = sleepCheck();
    for (const code of [codes.sleep, codes.power]) {
      checkAwake();
      session.begin(messages.key(code, keyDirections.short));
      const isOver = await until(isOff, { timeoutMs: powerOffTimeoutMs, everyMs: 50, signal });
      // One that refuses the key, whether or not it hangs up, is on.
      if (session.state.isOn === true) session.requireTaken();
      if (isOver) return;
    }
    throw noEffect("accepted the power-off key, but still reports that it is on");
  }
}

function requireFeature(session: RemoteSession, feature: Feature): void {
  if (!session.has(feature)) throw unsupported();
}

export function describeState({ isOn, app, volume }: RemoteState): PlatformState {
  const shown = isOn !== false && app !== null && !isHome(app) && app !== shell ? app : null;
  return {
    power: isOn === null ? "unknown" : isOn ? "on" : "standby",
    app: shown === null ? null : appOf(shown),
    screensaver: null,
    playback: null,
    volume:
      isOn !== false && volume && volume.most > 0
        ? { level: Math.round((100 * volume.level) / volume.most), muted: volume.muted }
        : null,
    input: null,
  };
}
