/**
 * The one socket of a TV (smart-tvs.md 3.2, 3.3): it speaks first, and says by that whether it lets us in. Keys and text are
 * never answered; what was refused shows behind the first of them alone.
 */
import { closedBeforeSending, DeviceError, ZapdError } from "../../api/errors.ts";
import { orAborted, sleep, until } from "../../system/sleep.ts";
import { asJson, type Json, number, text } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import type { ConnectionEnd } from "../../transport/websocket.ts";
import { type Address, type Emit, type PlatformHost, pinOf } from "../platform.ts";
import { Prompts } from "../prompts.ts";
import { asksAnew, crowded, noLonger, notPaired } from "./failures.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import { channelPath, encrypted, messages, readToken } from "./protocol.ts";
import { isSecure, type Rest } from "./rest.ts";

/** Between two keys: sets drop those that come faster (3.4). */
const keyEveryMs = 220;
/** A key that is refused is so within this. */
const refusedWithinMs = 300;
/** A ping that is answered behind a key says that the key was read. */
const readWithinMs = 500;
/** That a field has the focus is told soon after it was opened, or the socket. */
const focusWithinMs = 800;
/** The code that no close may have, by which a TV hangs up on too many (3.4), and for how long it is left alone then. */
const crowdedCode = 1_005;
const crowdedMs = 5_000;
/** A list of apps with their names; nothing else is as long. */
const maxBytes = 1024 * 1024;

/** What a TV says first: it lets us in, its user refused, nobody answered its request, or it speaks another protocol. */
export type Admission =
  | { readonly by: "connect"; readonly token: string | null }
  | { readonly by: "unauthorized" | "timeOut" | "error"; readonly token?: never };

export interface RemoteOptions {
  readonly address: Address;
  readonly tls: boolean;
  /** What it must show before the token is said. */
  readonly certificate: string | null;
  readonly token: string | null;
}

/** When a TV takes another key, over whichever connection the last one came. */
export class Pace {
  #free = Promise.resolve();

  /** Waits until it does. */
  turn(signal: AbortSignal): Promise<void> {
    const before = this.#free;
    const turn = orAborted(before, signal);
    this.#free = turn.then(
      () => sleep(keyEveryMs),
      () => before,
    );
    return turn;
  }
}

export class RemoteSession extends WebSocketRpc<Json> {
  readonly #first = Promise.withResolvers<Admission>();
  readonly #pace: Pace;
  #isTried = false;
  #answersPings = true;
  #isRefused = false;
  /** Whether a field takes text now, as far as was said. */
  #focus = false;
  #over: (why: ConnectionEnd) => void = () => {};

  constructor({ address, tls, certificate, token }: RemoteOptions, platformHost: PlatformHost, pace = new Pace()) {
    const path = channelPath(token);
    // Pings come from the TV, and ours are not answered by all of them (3.4): whether it lives is asked over HTTP.
    super({
      address,
      path,
      tls,
      certificate,
      platformHost,
      maxBytes,
      heartbeatMs: 60_000,
      silenceTimeoutMs: Number.POSITIVE_INFINITY,
    });
    this.#pace = pace;
    this.#first.promise.catch(() => {});
    this.onEnd(({ why }) => {
      this.#first.reject(
        why.code === crowdedCode ? crowded() : closedBeforeSending("hung up: it is turning off, or still starting"),
      );
      this.#over(why);
    });
  }

  /** Told when it ends by itself. */
  onOver(told: (why: ConnectionEnd) => void): void {
    this.#over = told;
  }

  /** What it says first; fails with the reason of the signal, or when it hangs up. */
  admission(signal: AbortSignal): Promise<Admission> {
    return orAborted(this.#first.promise, signal);
  }

  /** Presses a key. Fails with `pairing_required` where the TV refuses all of them. */
  async press(code: string, how: "Click" | "Press" | "Release", signal: AbortSignal): Promise<void> {
    // What is held is let go of at once, even if all is about to end.
    if (how !== "Release") await this.#pace.turn(signal);
    if (how === "Press") this.hold(1);
    await this.#say([messages.key(code, how)], signal).finally(() => {
      if (how === "Release") this.hold(-1);
    });
  }

  /** Types into the field that is open. Fails with `device_refused` where none is. */
  async type(given: string, signal: AbortSignal): Promise<void> {
    if (!(await until(() => this.#focus, { timeoutMs: focusWithinMs, everyMs: 20, signal }))) {
      throw new ZapdError("device_refused", "shows no field that takes text, or opened it before zapd was connected", {
        hint: "Press a key with zapd first, then open the field on the TV, such as the search of an app, and try again",
      });
    }
    await this.#say([messages.text(given), messages.textEnd()], signal);
  }

  /** Asks for the apps; `null` where the TV does not answer to it in time. */
  apps(signal: AbortSignal, timeoutMs: number): Promise<unknown> {
    return this.#asked("ed.installedApp.get", messages.apps(), timeoutMs, signal);
  }

  /** Starts an app; the status that the TV gives, or `null` where it gives none in time. */
  async launch(id: string, native: boolean, metaTag: string, signal: AbortSignal): Promise<number | null> {
    return number(await this.#asked("ed.apps.launch", messages.launch(id, native, metaTag), 2_000, signal));
  }

  protected sendHeartbeat(): void {}

  protected received(said: Json): void {
    const event = text(said["event"]) ?? "";
    if (event === "ms.channel.connect") this.#first.resolve({ by: "connect", token: readToken(asJson(said["data"])) });
    else if (event === "ms.channel.unauthorized") {
      this.#isRefused = true;
      this.#first.resolve({ by: "unauthorized" });
    } else if (event === "ms.channel.timeOut") this.#first.resolve({ by: "timeOut" });
    else if (event === "ms.error") this.#first.resolve({ by: "error" });
    else if (event === "ms.remote.imeStart") this.#focus = true;
    else if (event === "ms.remote.imeEnd") this.#focus = false;
    else this.pendingRequest(event)?.resolve(said);
  }

  async #asked(event: string, message: string, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const late = AbortSignal.timeout(timeoutMs);
    const asking = this.sendRequest(event, (line) => line.send(message), AbortSignal.any([signal, late]));
    const said = await asking.catch((error: unknown) => {
      if (signal.aborted || !this.alive) throw error;
      return null;
    });
    return said?.["data"];
  }

  /** What is sent is not accepted yet: whether it is refused shows behind the first (3.4). */
  async #say(sent: readonly string[], signal: AbortSignal): Promise<void> {
    const isRead = this.sendWithoutAnswer((line) => {
      for (const message of sent) line.send(message);
      return this.#answersPings ? line.isRead(readWithinMs) : false;
    });
    const [answered] = await Promise.all([isRead, this.#isTried ? undefined : sleep(refusedWithinMs, signal)]);
    // One that never answers them is not waited for again (3.4).
    this.#answersPings = answered;
    if (this.#isRefused) throw noLonger();
    if (!this.alive)
      throw new DeviceError("device_error", "hung up as it was told", { phase: "sent", reason: "closed" });
    this.#isTried = true;
  }
}

/** The socket, opened when it is first wanted and never inBackground: on some TVs that alone turns them on (3.4). */
export interface Remote {
  readonly reconnecting: ReconnectingSession<RemoteSession>;
  /** Opens it to a TV in standby, too: to turn that on. */
  useAsleep(signal: AbortSignal): Promise<RemoteSession>;
}

export function remoteOf(
  target: SamsungTarget,
  rest: Rest,
  platformHost: PlatformHost,
  emit: Emit<SamsungMemory>,
): Remote {
  let crowdedAt = Number.NEGATIVE_INFINITY;
  let waking = 0;
  const pace = new Pace();
  const prompts = new Prompts(target, emit);

  async function open(signal: AbortSignal, _inBackground: boolean, ended: (end: { retry: false }) => void) {
    const { secret } = target;
    if (isSecure(target) && !secret.read()?.token) throw notPaired();
    if (prompts.isLeftAlone) throw asksAnew();
    if (performance.now() - crowdedAt < crowdedMs) throw crowded();
    const { facts, memory } = await rest.info(signal);
    if (waking === 0) await rest.mustBeOn(signal);
    const kept = secret.read();
    const options = { address: target, tls: isSecure(target), certificate: pinOf(target), token: kept?.token ?? null };
    const session = new RemoteSession(options, platformHost, pace);
    session.onOver((why) => {
      platformHost.debug(
        `${target.host}: the set ${why.reason || "hung up"}${why.code === null ? "" : ` (${why.code})`}`,
      );
      if (why.code === crowdedCode) crowdedAt = performance.now();
      ended({ retry: false });
    });
    try {
      await session.open(signal);
      await admit(session, signal);
    } catch (error) {
      session.destroy();
      throw error;
    }
    emit({ type: "facts", facts: { ...facts, access: "full" }, memory: { ...memory, prompted: 0 } });
    return session;
  }

  async function admit(session: RemoteSession, signal: AbortSignal): Promise<void> {
    const { secret } = target;
    const late = AbortSignal.timeout(platformHost.requestTimeoutMs());
    const admission = await session.admission(AbortSignal.any([signal, late])).catch((error: unknown) => {
      if (signal.aborted || !late.aborted) throw error;
      return null;
    });
    if (admission?.by === "connect") {
      const { token } = admission;
      const kept = secret.read();
      // It may be another with any connection (3.2).
      if (token !== null && kept && token !== kept.token) await secret.keep({ ...kept, token });
      return;
    }
    if (admission?.by === "error") throw encrypted();
    if (admission?.by === "unauthorized") {
      await secret.drop();
      throw noLonger();
    }
    // Its request is on the screen, and goes with us.
    prompts.shown();
    throw asksAnew();
  }

  const reconnecting = new ReconnectingSession<RemoteSession>({
    debug: (message) => platformHost.debug(`${target.host}: ${message}`),
    // That its socket ends says nothing of the TV: what it does is asked over HTTP.
    onEnd: () => emit({ type: "hint" }),
    onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
    open,
  });
  return {
    reconnecting,
    async useAsleep(signal) {
      waking++;
      try {
        return await reconnecting.use(signal, { eager: true });
      } finally {
        waking--;
      }
    },
  };
}
