/** One Android TV: a session that stays open, with the one that was paired and no other, and what is done over it. */
import { DeviceError, hasReason, inStandby, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import type { Confirmed, DeepLink, Emit, PlatformApp, PlatformHost, PlatformState } from "../platform.ts";
import { noLonger, notPaired, turnedAway } from "./failures.ts";
import { isBox, prove } from "./identity.ts";
import { codes, keyCodes } from "./keys.ts";
import type { AndroidMemory, AndroidTarget } from "./memory.ts";
import { says, ways } from "./protocol.ts";
import { appOf, isHome, linkOf, packagesOf, shell } from "./services.ts";
import { RemoteSession, type Told } from "./session.ts";

/** A session is kept: one that is opened again may wake a TV that sleeps, and one that is open tells when it comes on. */
const keptForMs = 7 * 24 * 3_600_000;
/** Who hangs up may be going off. */
const firstRetryMs = 5_000;
/** A TV that has just been turned on lets nobody in for a while; one that goes on so has forgotten us (players.md 1.3). */
const startsWithinMs = 3_000;
/** An app shows within this, or it is not known whether there is one (players.md 4.2). */
const shownWithinMs = 5_000;
const leavesWithinMs = 4_000;
const mutedWithinMs = 1_000;
/** From the key until the TV tells that it is off. */
const offWithinMs = 3_000;

export class AndroidTv {
  readonly #target: AndroidTarget;
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<AndroidMemory>;
  readonly #link: ReconnectingSession<RemoteSession>;
  /** Since when it hangs up on us before it says anything. */
  #awaySince: number | undefined;
  /** What was told last of its state. */
  #said = "";
  /** Told to wake, and not on since. */
  #isWoken = false;

  constructor(target: AndroidTarget, platformHost: PlatformHost, emit: Emit<AndroidMemory>) {
    this.#target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    this.#link = new ReconnectingSession<RemoteSession>({
      idleMs: keptForMs,
      firstRetryMs,
      debug: (message) => platformHost.debug(`${target.host}: ${message}`),
      onEnd: ({ retry }) => emit({ type: "disconnected", why: retry ? "hung_up" : "going_off" }),
      onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
      open: (signal, _inBackground, ended) => this.#open(signal, ended),
    });
  }

  /** The session that is open now. */
  get current(): RemoteSession | undefined {
    return this.#link.current;
  }

  close(): void {
    this.#link.close();
  }

  /** The session for a question: its failure is shared by all who ask soon after. */
  session(signal: AbortSignal, eager = false): Promise<RemoteSession> {
    const within = deadline(2 * this.#platformHost.requestTimeoutMs(), signal);
    return this.#link.use(within, { eager });
  }

  /** The session for a command, with a TV that has just been heard, asleep or not. */
  async reach(signal: AbortSignal): Promise<RemoteSession> {
    // Nothing that is sent is answered: over a line that died without a word it would be lost.
    if (this.current?.isDoubtful) this.#link.drop();
    return unlessSlept(this.session(signal, true));
  }

  /** The same, with a TV that is on. */
  async command(signal: AbortSignal): Promise<RemoteSession> {
    const session = await this.reach(signal);
    if (session.told.isOn === false) throw inStandby();
    return session;
  }

  async #open(signal: AbortSignal, ended: (end: { retry: boolean }) => void): Promise<RemoteSession> {
    const target = this.#target;
    const kept = target.secret.read();
    if (!kept) throw notPaired();
    const within = deadline(this.#platformHost.requestTimeoutMs(), signal);
    await prove(target, this.#platformHost, within);
    const agreed = { own: kept, certificate: kept.certificate };
    const session = new RemoteSession(target, agreed, this.#platformHost);
    try {
      await session.open(within);
      await session.whenReady(target.memory.volume !== false, within);
    } catch (error) {
      session.destroy();
      // Before TLS 1.3 it refuses us while that begins.
      const isAway = !session.isGreeted && hasReason(error, "closed", "protocol");
      throw isAway ? this.#turnedAway(error) : error;
    }
    this.#awaySince = undefined;
    this.#said = "";
    this.#learn(session.told);
    session.follow(() => this.#changed(session.told), ended);
    this.#changed(session.told);
    return session;
  }

  #turnedAway(error: unknown): ZapdError {
    const now = performance.now();
    this.#awaySince ??= now;
    return now - this.#awaySince > startsWithinMs ? noLonger() : turnedAway(error);
  }

  #learn({ model, vendor, features, volume }: Told): void {
    const told = { model, manufacturer: vendor, ...(isBox({ model }) && { kind: "player" as const }) };
    this.#emit({
      type: "facts",
      facts: { ...told, access: "full" },
      memory: { features, ...(volume && { volume: volume.most > 0 }) },
    });
  }

  #changed(told: Told): void {
    if (told.isOn) this.#isWoken = false;
    const hasVolume = told.volume && told.volume.most > 0;
    if (hasVolume !== null && hasVolume !== this.#target.memory.volume)
      this.#emit({ type: "facts", memory: { volume: hasVolume } });
    const { power, app, volume } = describeState(told);
    const words = JSON.stringify([power, app, volume]);
    // TVs say the same more than once.
    if (words === this.#said) return;
    this.#said = words;
    this.#emit({ type: "state", patch: { power, app, volume } });
  }

  async press(code: number, signal: AbortSignal): Promise<void> {
    const session = await this.command(signal);
    requireFeature(session, "key");
    session.send(says.key(code, ways.short));
  }

  /** Leaves a key down; what it gives lets go of it. */
  async down(code: number, signal: AbortSignal): Promise<() => Promise<void>> {
    const session = await this.command(signal);
    requireFeature(session, "key");
    session.send(says.key(code, ways.down));
    session.hold(1);
    return async () => {
      session.hold(-1);
      // A TV that was hung up on has let go by itself.
      if (session.alive) session.send(says.key(code, ways.up));
    };
  }

  async type(text: string, signal: AbortSignal): Promise<void> {
    const session = await this.command(signal);
    requireFeature(session, "ime");
    await session.type(text, signal);
  }

  /** Opens a link, or an app by its package; a TV says nothing of it, but what its screen shows then. */
  async launch(id: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed> {
    const link = linkOf(id, params["content_id"] ?? null);
    if (link === null)
      throw new ZapdError("unsupported_operation", `knows no link to one thing in ${appOf(id).name}`, {
        hint: "Launch the app alone, or give the whole link in the place of the app, such as https://…",
      });
    const session = await this.command(signal);
    requireFeature(session, "appLink");
    const before = session.told.app;
    const wanted = packagesOf(id);
    session.send(says.link(link));
    if (!session.has("ime")) return null;
    const isShown = () => {
      const { app } = session.told;
      if (app === null) return false;
      return wanted.length > 0 ? wanted.includes(app) : app !== before && !isHome(app);
    };
    return until(() => isShown() || !session.alive, { timeoutMs: shownWithinMs, everyMs: 50, signal }).then(isShown);
  }

  /** Goes home; answers with what it left. */
  async stop(signal: AbortSignal): Promise<PlatformApp | null> {
    const session = await this.command(signal);
    const { app: left } = session.told;
    if (session.has("ime") && (left === null || isHome(left))) return null;
    requireFeature(session, "key");
    const { app } = describeState(session.told);
    session.send(says.key(keyCodes.home, ways.short));
    const isLeft = () => session.told.app !== left || !session.alive;
    if (left === null || (await until(isLeft, { timeoutMs: leavesWithinMs, everyMs: 50, signal }))) return app;
    throw new ZapdError("device_error", "took the home key, but goes on showing the app");
  }

  async mute(muted: boolean, signal: AbortSignal): Promise<void> {
    const session = await this.command(signal);
    const isSo = () => session.told.volume?.muted === muted;
    if (session.told.volume === null)
      throw new ZapdError(
        "unsupported_operation",
        "does not tell whether it is muted, and has a key alone that toggles",
        {
          hint: "Press that: zapd key mute -d {device}",
        },
      );
    if (isSo()) return;
    await this.press(keyCodes.mute, signal);
    // Told again before it has said so, it would be pressed back.
    await until(() => isSo() || !session.alive, { timeoutMs: mutedWithinMs, everyMs: 20, signal });
  }

  async isOn(signal: AbortSignal): Promise<boolean | null> {
    return (await this.reach(signal)).told.isOn;
  }

  /** Some TVs know no key that wakes: told again, the one that toggles is pressed, since they say that they are off. */
  async turnOn(signal: AbortSignal): Promise<void> {
    const session = await this.reach(signal);
    if (session.told.isOn !== false) return;
    session.send(says.key(this.#isWoken ? codes.power : codes.wake, ways.short));
    this.#isWoken = true;
  }

  async turnOff(signal: AbortSignal): Promise<void> {
    const session = await this.reach(signal);
    if (session.told.isOn === false) return;
    const isOff = () => session.told.isOn !== true || !session.alive;
    for (const code of [codes.sleep, codes.power]) {
      session.send(says.key(code, ways.short));
      if (await until(isOff, { timeoutMs: offWithinMs, everyMs: 50, signal })) return;
    }
    throw new ZapdError("device_error", "took the power-off key but still says that it is on");
  }
}

function requireFeature(session: RemoteSession, feature: Parameters<RemoteSession["has"]>[0]): void {
  if (session.has(feature)) return;
  throw new DeviceError("unsupported_operation", "does not offer that over its remote service", {
    phase: "answered",
    reason: "protocol",
    hint: "On the TV, update the app Android TV Remote Service, or clear its data and restart it",
  });
}

export function describeState({ isOn, app, volume }: Told): PlatformState {
  const shown = isOn !== false && app !== null && !isHome(app) && app !== shell ? app : null;
  const { name, service } = appOf(shown ?? "");
  return {
    power: isOn === null ? "unknown" : isOn ? "on" : "standby",
    app:
      shown === null ? null : { platformId: shown, name, type: "app", version: null, ...(service && { id: service }) },
    screensaver: null,
    playback: null,
    volume:
      isOn !== false && volume && volume.most > 0
        ? { level: Math.round((100 * volume.level) / volume.most), muted: volume.muted }
        : null,
    input: null,
  };
}
