/** The session with a paired TV: what it pushes, its pointer socket, and the titles of its apps. */
import { DeviceError, hasCode, hasReason } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { neverAborted } from "../../system/never-aborted.ts";
import { sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, flag } from "../../transport/json.ts";
import { ReconnectingSession, type Session, type SessionEnd } from "../../transport/session.ts";
import type { Emit, PlatformHost, PlatformState } from "../platform.ts";
import { Prompts, turningOffOrStarting } from "../prompts.ts";
import type { Greeting } from "./endpoints.ts";
import { readWhenRegistered } from "./identity.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { notPaired, promptedAgain, register } from "./pairing.ts";
import { Pointer } from "./pointer.ts";
import { openProven } from "./proof.ts";
import { appOf, type Payload, readInputs, readLaunchPoints, uris, type WebosInput } from "./protocol.ts";
import type { WebosSession } from "./session.ts";
import { WebosState } from "./state.ts";

/** A TV that sent a message this recently counts as alive, and its power as unchanged: no key press is acknowledged. */
const recentMs = 2_000;
const livenessTimeoutMs = 1_500;
/** A soundbar loses steps that come faster (lgtv2#46, bendavid/aiopylgtv#16). */
const soundbarStepMs = 350;

/** A registered session: commands can go over it. */
export class RegisteredSession implements Session {
  readonly session: WebosSession;
  readonly state: WebosState;
  readonly pointer: Pointer;
  readonly #target: WebosTarget;
  readonly #titles: Map<string, string>;
  /** The last title lookup. The list leaves out hidden apps, so it may find nothing. */
  #lookup: { readonly appId: string; readonly done: Promise<void> } | undefined;
  /** Whether a text field has the focus. The TV reports it only to a subscription (2.4). */
  focus: boolean | null = null;
  lastMedia: "play" | "pause" = "play";
  #steppedAt = Number.NEGATIVE_INFINITY;

  /** `titles`: the app names from the last list. */
  constructor(
    session: WebosSession,
    state: WebosState,
    pointer: Pointer,
    { target, titles }: { readonly target: WebosTarget; readonly titles: Map<string, string> },
  ) {
    this.session = session;
    this.state = state;
    this.pointer = pointer;
    this.#target = target;
    this.#titles = titles;
  }

  get alive(): boolean {
    return this.session.alive;
  }

  get pending(): number {
    return this.session.pending;
  }

  close(): void {
    this.pointer.close();
    this.session.close();
  }

  /** Counts work that is not a request as pending, so that the session is not closed during it. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    this.session.hold(1);
    try {
      return await work();
    } finally {
      this.session.hold(-1);
    }
  }

  title(appId: string): string | null {
    return this.#titles.get(appId) ?? null;
  }

  /** Looks a title up once, for an app that no list has named yet. */
  learnTitle(appId: string): Promise<void> {
    if (this.#lookup?.appId !== appId) {
      const forget = () => {
        this.#lookup = undefined;
      };
      this.#lookup = { appId, done: this.apps(neverAborted).then(() => {}, forget) };
    }
    return this.#lookup.done;
  }

  /** The same, for a moment only: an app without its title is better than no app. */
  async learnTitleSoon(appId: string, signal: AbortSignal): Promise<void> {
    if (!this.#titles.has(appId)) await Promise.race([this.learnTitle(appId), sleep(this.session.graceMs, signal)]);
  }

  /** Lists the apps, and remembers their titles for the state. */
  async apps(signal: AbortSignal) {
    const apps = readLaunchPoints(await this.session.request(uris.launchPoints, {}, signal));
    this.#titles.clear();
    for (const { platformId, name } of apps) this.#titles.set(platformId, name);
    return apps;
  }

  /** Lists the inputs, and remembers them for the state. */
  async inputs(signal: AbortSignal): Promise<readonly WebosInput[]> {
    this.state.inputs = readInputs(await this.session.request(uris.inputs, {}, signal));
    return this.state.inputs;
  }

  /** Fails with `device_unreachable` when the TV is gone although its socket is still open (2.2). */
  async requireAlive(signal: AbortSignal): Promise<void> {
    const { session, state } = this;
    // Only `silentForMs` counts the machine's sleep, after which the first key would be lost.
    if (session.sinceMessageMs < recentMs && session.silentForMs < recentMs && !state.isStale("power", recentMs))
      return;
    const silent = new AbortController();
    // A TV that answers pings is only slow.
    const askedAt = performance.now();
    session.ping();
    const timer = setTimeout(() => {
      if (session.isSilentSince(askedAt)) silent.abort();
    }, livenessTimeoutMs);
    const within = deadline(session.timeoutMs, AbortSignal.any([signal, silent.signal]));
    if (await state.poll("power", within).finally(() => clearTimeout(timer))) return;
    signal.throwIfAborted();
    session.destroy();
    throw new DeviceError("device_unreachable", "no longer answers, although its connection is still open", {
      phase: "connect",
      reason: "timeout",
      hint:
        this.#target.facts.macs.length > 0
          ? "It may be asleep: try zapd key power-on -d {device}"
          : "It may be asleep: turn it on with its own remote",
    });
  }

  /** Sends a request that changes the TV: the state is read again afterwards. */
  async command(uri: string, payload: Payload, signal: AbortSignal): Promise<void> {
    this.state.invalidate();
    await this.session.request(uri, payload, signal).finally(() => this.state.invalidate());
  }

  /** Steps the volume, that of a soundbar no faster than it follows. */
  async stepVolume(by: 1 | -1, signal: AbortSignal): Promise<void> {
    const wait = this.state.volume?.level === null ? this.#steppedAt + soundbarStepMs - performance.now() : 0;
    if (wait > 0) await unlessSlept(sleep(wait, signal));
    await this.command(by > 0 ? uris.volumeUp : uris.volumeDown, {}, signal);
    this.#steppedAt = performance.now();
  }
}

/** The session, opened if need be and checked to be alive, ready for a command. */
export async function readyForCommand(
  reconnecting: ReconnectingSession<RegisteredSession>,
  signal: AbortSignal,
): Promise<RegisteredSession> {
  const registered = await reconnecting.use(signal, { eager: true });
  await registered.requireAlive(signal);
  return registered;
}

/** The reconnecting session with one TV. A prompt that the TV shows although it is paired is removed from its screen. */
export function sessionWith(
  target: WebosTarget,
  platformHost: PlatformHost,
  emit: Emit<WebosMemory>,
): ReconnectingSession<RegisteredSession> {
  const prompts = new Prompts(target, emit);
  const titles = new Map<string, string>();
  const reconnecting = new ReconnectingSession<RegisteredSession>({
    debug: (message) => platformHost.debug(`${target.host}: ${message}`),
    onEnd: () => emit({ type: "disconnected", why: "hung_up" }),
    onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
    async open(signal, ended) {
      const { secret } = target;
      if (!secret.read()?.key) throw notPaired();
      if (prompts.isLeftAlone) throw promptedAgain();
      const greeted = await openProven(target, platformHost, signal).catch((error: unknown) => {
        throw target.facts.macs.length > 0 ? error : withoutWaking(error);
      });
      try {
        await register(greeted.session, secret, () => prompts.shown(), signal);
        return await follow(greeted, ended, signal);
      } catch (error) {
        greeted.session.destroy();
        throw error;
      }
    },
  });
  return reconnecting;

  /** Follows a TV that has accepted the key; done once it has told what it can, or has had time to. */
  async function follow(
    { session, hello }: Greeting,
    ended: (end: SessionEnd) => void,
    signal: AbortSignal,
  ): Promise<RegisteredSession> {
    let registered: RegisteredSession | undefined;
    /** Reports the foreground app again once its title is known. */
    const reportTitle = async () => {
      const id = registered?.state.app ?? null;
      if (!registered || id === null || titles.has(id)) return;
      await registered.learnTitle(id);
      if (titles.has(id) && registered.alive && registered.state.app === id)
        emit({ type: "state", patch: { app: appOf(id, registered.title(id)) } });
    };
    session.onEnd(({ retry, why }) => {
      const code = why.code === null ? "" : ` (${why.code})`;
      platformHost.debug(`${target.host}: the TV ${why.reason || "closed the connection"}${code}`);
      registered?.pointer.close();
      ended({ retry });
    });
    const listener = {
      changed(patch: Partial<PlatformState>) {
        emit({ type: "state", patch });
        void reportTitle();
      },
      title: (id: string) => titles.get(id) ?? null,
      goingOff() {
        // The first answers belong to the opening of the session; only later ones are pushes.
        if (!registered) return;
        session.leaving = true;
        // The TV leaves its socket open and silent.
        reconnecting.drop();
      },
    };
    const state = await WebosState.follow(session, listener, signal);
    const opened = new RegisteredSession(session, state, new Pointer(session, platformHost), { target, titles });
    registered = opened;
    const facts = readWhenRegistered(session, hello, target, signal).then(({ inputs, ...learned }) => {
      if (!session.alive) return;
      if (inputs) state.inputs = inputs;
      emit({ type: "facts", ...learned });
    });
    const followFocus = (payload: Payload) => {
      opened.focus = flag(asJson(payload["currentWidget"])["focus"]) ?? opened.focus;
    };
    const focus = session.subscribe(uris.keyboard, followFocus, signal).catch(() => {});
    // A TV that answers one of these late, or never, can still be controlled.
    await Promise.race([Promise.all([facts, focus]), sleep(session.graceMs, signal)]);
    requireOpen(session);
    void reportTitle();
    return opened;
  }
}

/** TVs close the connection while they turn off or start (2.5). No command has been sent yet. */
function requireOpen(session: WebosSession): void {
  if (!session.alive) throw turningOffOrStarting();
}

/** The same error without the hint to wake a TV whose hardware address is not known. */
function withoutWaking(error: unknown): unknown {
  if (!hasCode(error, "device_unreachable")) return error;
  if (hasReason(error, "wrong_device", "closed")) return error;
  return error.reworded(error.message, {
    hint: "Turn it on with its own remote; if it is on and has a new address, run zapd discover",
  });
}
