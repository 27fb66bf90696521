/** The session of a set that lets us in, with what it pushes, its pointer, and its power. */
import { DeviceError, hasCode, hasReason } from "../../api/errors.ts";
import { neverAborted, sleep } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import { asJson } from "../../transport/json.ts";
import { ReconnectingSession, type Session } from "../../transport/session.ts";
import type { Emit, PlatformHost } from "../platform.ts";
import { Prompts } from "../prompts.ts";
import { hungUp } from "./failures.ts";
import { toldWhenIn } from "./identity.ts";
import type { WebosMemory, WebosTarget } from "./memory.ts";
import { admit, askedAgain, notPaired } from "./pairing.ts";
import { Pointer } from "./pointer.ts";
import { openProven } from "./proof.ts";
import { appOf, type Payload, readInputs, readLaunchPoints, uris, type WebosInput } from "./protocol.ts";
import type { WebosSession } from "./session.ts";
import { WebosState } from "./state.ts";

/** A set that spoke this lately is taken to live, and its power to be the same: a key is answered by nobody. */
const heardLately = 2_000;
const provenWithin = 1_500;

/** A session, registered for commands. */
export class RegisteredSession implements Session {
  readonly session: WebosSession;
  readonly state: WebosState;
  readonly pointer: Pointer;
  readonly #titles: Map<string, string>;
  /** Apps whose title has been looked for, each once: the list holds none that is hidden. */
  readonly #looked = new Map<string, Promise<void>>();
  readonly #canWake: () => boolean;
  /** Text goes where the focus is; whether there is one is only told to those who subscribe (2.4). */
  focus: boolean | null = null;
  /** The last of play and pause that was sent. */
  lastMedia: "play" | "pause" = "play";
  /** Commands under way that are no request. */
  #busy = 0;

  /** `titles` are the names of apps that lists have said before. */
  constructor(
    session: WebosSession,
    state: WebosState,
    pointer: Pointer,
    { titles, canWake }: { readonly titles: Map<string, string>; canWake(): boolean },
  ) {
    this.session = session;
    this.state = state;
    this.pointer = pointer;
    this.#titles = titles;
    this.#canWake = canWake;
  }

  get alive(): boolean {
    return this.session.alive;
  }

  get pending(): number {
    return this.session.pending + this.#busy;
  }

  close(): void {
    this.pointer.close();
    this.session.close();
  }

  async busy<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
    }
  }

  title(appId: string): string | null {
    return this.#titles.get(appId) ?? null;
  }

  /** Looks once for the title of an app that no list named yet. */
  learnTitle(appId: string): Promise<void> {
    if (this.#titles.has(appId)) return Promise.resolve();
    const looking =
      this.#looked.get(appId) ??
      this.apps(neverAborted).then(
        () => {},
        () => void this.#looked.delete(appId),
      );
    this.#looked.set(appId, looking);
    return looking;
  }

  /** The same, waited for a moment: an app without its title is better than none. */
  async titleSoon(appId: string, signal: AbortSignal): Promise<void> {
    if (!this.#titles.has(appId)) await Promise.race([this.learnTitle(appId), sleep(this.session.graceMs, signal)]);
  }

  /** The list of apps, whose names are remembered for the state. */
  async apps(signal: AbortSignal) {
    const apps = readLaunchPoints(await this.session.request(uris.launchPoints, {}, signal));
    for (const { platformId, name } of apps) this.#titles.set(platformId, name);
    return apps;
  }

  /** The list of inputs, whose words are remembered for the state. */
  async inputs(signal: AbortSignal): Promise<readonly WebosInput[]> {
    this.state.inputs = readInputs(await this.session.request(uris.inputs, {}, signal));
    return this.state.inputs;
  }

  /** Fails with `device_unreachable` when the set is gone though its socket is open still (2.2). */
  async proveAlive(signal: AbortSignal): Promise<void> {
    const { session, state } = this;
    if (session.quiet < heardLately && !state.isOld("power", heardLately)) return;
    if (await state.ask("power", deadline(provenWithin, signal))) return;
    signal.throwIfAborted();
    session.destroy();
    throw new DeviceError("device_unreachable", "no longer answers, though it has not hung up", {
      phase: "connect",
      reason: "timeout",
      hint: this.#canWake()
        ? "It may be asleep: try zapd key power-on -d {device}"
        : "It may be asleep: turn it on with its own remote",
    });
  }

  request(uri: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    this.state.commanded();
    return this.session.request(uri, payload, signal).finally(() => this.state.commanded());
  }
}

/** The session, made now if need be, and seen to be alive: a command may go over it. */
export async function readyForCommand(
  reconnecting: ReconnectingSession<RegisteredSession>,
  signal: AbortSignal,
): Promise<RegisteredSession> {
  const registered = await reconnecting.use(signal, { eager: true });
  await registered.proveAlive(signal);
  return registered;
}

/** The session with one set; opening it never makes the set show anything. */
export function sessionWith(
  target: WebosTarget,
  platformHost: PlatformHost,
  emit: Emit<WebosMemory>,
): ReconnectingSession<RegisteredSession> {
  const prompts = new Prompts(target, emit);
  const titles = new Map<string, string>();
  const reconnecting: ReconnectingSession<RegisteredSession> = new ReconnectingSession<RegisteredSession>({
    debug: (message) => platformHost.debug(`${target.host}: ${message}`),
    onEnd: () => emit({ type: "disconnected", why: "hung_up" }),
    onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
    async open(signal, _unasked, ended) {
      const { secret } = target;
      if (!secret.read()?.key) throw notPaired();
      if (prompts.isLeftAlone) throw askedAgain();
      const greeted = await openProven(target, platformHost, signal).catch((error: unknown) => {
        throw target.facts.macs.length > 0 ? error : withoutWaking(error);
      });
      const { session, hello } = greeted;
      try {
        await admit(session, secret, () => prompts.shown(), signal);
      } catch (error) {
        session.destroy();
        throw error;
      }
      let registered: RegisteredSession | undefined;
      /** An app that is shown, and whose name no list has said yet, is told again with it. */
      const nameApp = async () => {
        const id = registered?.state.app ?? null;
        if (!registered || id === null || titles.has(id)) return;
        await registered.learnTitle(id);
        if (titles.has(id) && registered.alive && registered.state.app === id)
          emit({ type: "state", patch: { app: appOf(id, registered.title(id)) } });
      };
      session.onEnd(({ again, why }) => {
        platformHost.debug(
          `${target.host}: the set ${why.reason || "hung up"}${why.code === null ? "" : ` (${why.code})`}`,
        );
        registered?.pointer.close();
        ended({ again });
      });
      // As sets do on their way off, and while they start (2.5): nothing has been asked of it that it could have done.
      const stillThere = () => {
        if (!session.alive) throw hungUp();
      };
      const state = await WebosState.follow(
        session,
        {
          changed(patch) {
            emit({ type: "state", patch });
            void nameApp();
          },
          title: (id) => titles.get(id) ?? null,
          leaves() {
            // The first answers come with the session; what comes later was said by itself.
            if (!registered) return;
            session.leaving = true;
            // It leaves its socket open and silent: nothing more is to be heard there.
            reconnecting.drop();
          },
        },
        signal,
      );
      const pointer = new Pointer(session, target, platformHost);
      registered = new RegisteredSession(session, state, pointer, {
        titles,
        canWake: () => target.facts.macs.length > 0,
      });
      const made = registered;
      stillThere();
      const told = toldWhenIn(session, hello, target, signal).then(({ inputs, ...learned }) => {
        if (!session.alive) return;
        state.inputs = inputs ?? [];
        emit({ type: "facts", ...learned });
      });
      const focus = session.subscribe(uris.keyboard, (said) => followFocus(made, said), signal).catch(() => {});
      // A set that is slow to say one of these, or never does, can be driven all the same.
      await Promise.race([Promise.all([told, focus]), sleep(session.graceMs, signal)]);
      stillThere();
      void nameApp();
      return registered;
    },
  });
  return reconnecting;
}

/** What nobody can wake is not to be told to be woken. */
function withoutWaking(error: unknown): unknown {
  if (!hasCode(error, "device_unreachable")) return error;
  if (hasReason(error, "wrong_device", "closed")) return error;
  return error.reworded(error.message, {
    hint: "It may be off: turn it on with its own remote, or look for it at another address with zapd discover",
  });
}

function followFocus(registered: RegisteredSession, said: Payload): void {
  const { focus } = asJson(said["currentWidget"]);
  if (typeof focus === "boolean") registered.focus = focus;
}
