/**
 * The one WebSocket of a TV (smart-tvs.md 3.2, 3.3). The TV sends the first event, which shows whether it accepts zapd.
 * Keys and text are not acknowledged; a refusal follows the first of them.
 */
import { inStandby, ZapdError } from "../../api/errors.ts";
import { sleptSince } from "../../system/clock.ts";
import { neverAborted } from "../../system/never-aborted.ts";
import { orAborted, sleep, until } from "../../system/sleep.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { asJson, type Json, number, text } from "../../transport/json.ts";
import { WebSocketRpc } from "../../transport/rpc.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import { type Address, type Emit, type PlatformHost, pinOf } from "../platform.ts";
import { Prompts, turningOffOrStarting } from "../prompts.ts";
import { accessRevoked, notPaired, prompted, takesNoKeys, tooManyClients } from "./failures.ts";
import type { SamsungMemory, SamsungTarget } from "./memory.ts";
import { channelPath, messages, readToken } from "./protocol.ts";
import { givesToken, isSecure, type Rest } from "./rest.ts";

/** TVs drop keys that come faster (3.4). */
const keyIntervalMs = 220;
/** A TV that refuses keys does so within this time. */
const refusalDelayMs = 300;
/** A ping that is answered after a key shows that the key was read. A TV that has answered one before gets more time. */
const pingTimeoutMs = 500;
const lostAfterMs = 2_000;
/** The TV reports the focus soon after a text field, or the socket, was opened. */
const focusTimeoutMs = 800;
/** The invalid close code of a TV that has too many clients (3.4), and how long it is then left alone. */
const tooManyClientsCode = 1_005;
const tooManyClientsMs = 5_000;
/** The longest message is a list of apps. */
const maxBytes = 1024 * 1024;

/**
 * The TV's first event: zapd is accepted, refused by its user, got no answer to the prompt, or is answered with an
 * error.
 */
type Admission =
  | { readonly by: "connect"; readonly token: string | null }
  | { readonly by: "unauthorized" | "timeOut" | "error"; readonly token?: never };

interface RemoteOptions {
  readonly address: Address;
  readonly tls: boolean;
  /** The certificate that the TV must show before the token is sent. */
  readonly certificate: string | null;
  readonly token: string | null;
}

/** Keeps keys apart, over whichever connection they go. */
class KeyPacer {
  #free = Promise.resolve();

  /** Waits until the next key may be sent. */
  wait(signal: AbortSignal): Promise<void> {
    const previous = this.#free;
    const waiting = orAborted(previous, signal);
    this.#free = waiting.then(
      () => sleep(keyIntervalMs),
      () => previous,
    );
    return waiting;
  }

  /** The TV has read a key just now, which may have been long on its way. */
  wasRead(): void {
    this.#free = Promise.all([this.#free, sleep(keyIntervalMs)]).then(() => {});
  }
}

export class RemoteSession extends WebSocketRpc<Json> {
  readonly #first = Promise.withResolvers<Admission>();
  readonly #pacer: KeyPacer;
  /** Whether this machine has slept since it was opened. */
  readonly hasSlept = sleptSince();
  #isAccepted = false;
  /** Whether the TV answers pings; `null` before the first. */
  #answersPings: boolean | null = null;
  #isRefused = false;
  /** How often the TV has reported that it does not know the message of a key. */
  #unknown = 0;
  /** Whether a text field has the focus, as far as the TV has reported. */
  #hasFocus = false;
  /** The request for the list of apps that is under way: the answer names no request, so callers share one. */
  #listing: Promise<unknown> | undefined;

  constructor({ address, tls, certificate, token }: RemoteOptions, platformHost: PlatformHost, pacer = new KeyPacer()) {
    const path = channelPath(token);
    // The TV sends the pings, and some do not answer ours (3.4); its power is read over HTTP.
    const options = { address, path, tls, certificate, platformHost, maxBytes };
    super({ ...options, heartbeatMs: 60_000, silenceTimeoutMs: Number.POSITIVE_INFINITY });
    this.#pacer = pacer;
    this.#first.promise.catch(() => {});
    this.onEnd(({ why }) =>
      this.#first.reject(why.code === tooManyClientsCode ? tooManyClients() : turningOffOrStarting()),
    );
  }

  /** The first event. Fails with the reason of the signal, or when the TV closes the connection. */
  admission(signal: AbortSignal): Promise<Admission> {
    return orAborted(this.#first.promise, signal);
  }

  /** Presses a key. Fails with `pairing_required` where the TV refuses all keys. */
  async press(code: string, how: "Click" | "Press" | "Release", signal: AbortSignal): Promise<void> {
    // A release is sent at once, even while everything is being closed.
    if (how !== "Release") {
      await this.#pacer.wait(signal);
      this.#requireAccess();
    }
    if (how === "Press") this.hold(1);
    const isRead = await this.#sendAll([messages.key(code, how)], signal).finally(() => {
      if (how === "Release") this.hold(-1);
    });
    if (isRead) this.#pacer.wasRead();
  }

  /** Types into the focused text field. Fails with `device_refused` where none has the focus. */
  async type(text: string, signal: AbortSignal): Promise<void> {
    if (!(await until(() => this.#hasFocus, { timeoutMs: focusTimeoutMs, everyMs: 20, signal }))) {
      throw new ZapdError("device_refused", "has no text field open, or opened it before zapd was connected", {
        hint: "Press a key with zapd first, then open a text field on the TV, such as the search of an app, and try again",
      });
    }
    this.#requireAccess();
    await this.#sendAll([messages.text(text), messages.textEnd()], signal);
  }

  /** Requests the list of apps; `null` where the TV does not answer in time. */
  apps(signal: AbortSignal, timeoutMs: number): Promise<unknown> {
    this.#listing ??= this.#ask("ed.installedApp.get", messages.apps(), timeoutMs, neverAborted).finally(() => {
      this.#listing = undefined;
    });
    return orAborted(this.#listing, signal);
  }

  /** Starts an app; returns the TV's status, or `null` where it gives none in time. */
  async launch(id: string, native: boolean, metaTag: string, signal: AbortSignal): Promise<number | null> {
    return number(await this.#ask("ed.apps.launch", messages.launch(id, native, metaTag), 2_000, signal));
  }

  protected received(message: Json): void {
    const event = text(message["event"]) ?? "";
    if (event === "ms.channel.connect")
      this.#first.resolve({ by: "connect", token: readToken(asJson(message["data"])) });
    else if (event === "ms.channel.unauthorized") {
      this.#isRefused = true;
      this.#first.resolve({ by: "unauthorized" });
    } else if (event === "ms.channel.timeOut") this.#first.resolve({ by: "timeOut" });
    else if (event === "ms.error") {
      // Only the text names the message that the error is about (3.2).
      if (text(asJson(message["data"])["message"])?.includes("ms.remote.control")) this.#unknown++;
      this.#first.resolve({ by: "error" });
    } else if (event === "ms.remote.imeStart") this.#hasFocus = true;
    else if (event === "ms.remote.imeEnd") this.#hasFocus = false;
    else this.pendingRequest(event)?.resolve(message);
  }

  async #ask(event: string, message: string, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      return (await this.sendRequest(event, (line) => line.send(message), within))["data"];
    } catch (error) {
      this.#requireAccess();
      if (signal.aborted || !this.alive) throw error;
      return null;
    }
  }

  /** Fails with `pairing_required` where the TV has refused zapd, also between two keys (3.4). */
  #requireAccess(): void {
    if (this.#isRefused) throw accessRevoked();
  }

  /** Sends messages; tells whether the TV has shown that it read them. Its refusal of the first ones takes a moment (3.4). */
  async #sendAll(all: readonly string[], signal: AbortSignal): Promise<boolean> {
    const [known, unknown] = [this.#answersPings, this.#unknown];
    const isRead = this.sendWithoutAnswer((line) => {
      for (const message of all) line.send(message);
      // zapd does not wait again for a TV that answers no ping (3.4).
      return known === false ? false : line.isRead(known ? lostAfterMs : pingTimeoutMs);
    });
    const [answered] = await Promise.all([isRead, this.#isAccepted ? undefined : sleep(refusalDelayMs, signal)]);
    this.#answersPings ||= answered;
    this.#requireAccess();
    if (this.#unknown > unknown) throw takesNoKeys();
    // It has answered before: what it does not answer now, it has not read.
    if (known && !answered) this.destroy();
    if (!this.alive) throw hungUp("closed the connection, or stopped answering, before it confirmed the command");
    this.#isAccepted = true;
    return answered;
  }
}

/** Runs a command over the WebSocket of a TV that is on. */
export type WithRemote = <T>(signal: AbortSignal, work: (session: RemoteSession) => Promise<T>) => Promise<T>;

/** The WebSocket, opened only when it is needed: opening it turns some TVs on (3.4). */
export interface Remote {
  readonly reconnecting: ReconnectingSession<RemoteSession>;
  /** Closes it, because a TV that is asleep or silent must not be controlled over it. Not while the TV is being turned on over it. */
  leave(): void;
  /** Opens it to a TV in standby, too, and runs `work`, which turns that on. */
  wake(signal: AbortSignal, work: (session: RemoteSession) => Promise<void>): Promise<void>;
}

export function remoteOf(
  target: SamsungTarget,
  rest: Rest,
  platformHost: PlatformHost,
  emit: Emit<SamsungMemory>,
): Remote {
  let tooManyClientsAt = Number.NEGATIVE_INFINITY;
  let waking = 0;
  /** The last token that the TV gave. */
  let lastToken: string | null = null;
  const pacer = new KeyPacer();
  const prompts = new Prompts(target, emit);

  async function open(signal: AbortSignal, ended: (end: { retry: false }) => void) {
    const { secret } = target;
    if (givesToken(target) && !secret.read()?.token) throw notPaired();
    if (prompts.isLeftAlone) throw prompted(givesToken(target));
    if (performance.now() - tooManyClientsAt < tooManyClientsMs) throw tooManyClients();
    const { power, facts, memory } = await rest.info(signal);
    const isAsleep = power === "standby";
    if (waking === 0 && isAsleep) throw inStandby();
    const kept = secret.read()?.token;
    const token = kept === undefined ? null : (lastToken ?? kept);
    const options = { address: target, tls: isSecure(target), certificate: pinOf(target), token };
    const session = new RemoteSession(options, platformHost, pacer);
    session.onEnd(({ why }) => {
      const code = why.code === null ? "" : ` (${why.code})`;
      platformHost.debug(`${target.host}: the TV ${why.reason || "closed the connection"}${code}`);
      if (why.code === tooManyClientsCode) tooManyClientsAt = performance.now();
      ended({ retry: false });
    });
    try {
      await session.open(signal);
      await admit(session, isAsleep, signal);
    } catch (error) {
      session.destroy();
      throw error;
    }
    emit({ type: "facts", facts: { ...facts, access: "full" }, memory: { ...memory, prompted: 0 } });
    return session;
  }

  async function admit(session: RemoteSession, isAsleep: boolean, signal: AbortSignal): Promise<void> {
    const { secret } = target;
    const expired = AbortSignal.timeout(platformHost.requestTimeoutMs());
    const admission = await session.admission(AbortSignal.any([signal, expired])).catch((error: unknown) => {
      if (signal.aborted || !expired.aborted) throw error;
      return null;
    });
    if (admission?.by === "connect") {
      const { token } = admission;
      const kept = secret.read();
      // Each connection may bring a new token (3.2).
      if (token === null || !kept) return;
      lastToken = token;
      // Keys go on also where it cannot be saved, as on a full disk (SECURITY.md R9).
      const unsaved = () => platformHost.debug(`${target.host}: the new token of the TV could not be saved`);
      if (token !== kept.token) await secret.keep({ ...kept, token }).catch(unsaved);
      return;
    }
    if (admission?.by === "error") throw takesNoKeys();
    if (admission?.by === "unauthorized") {
      // Where it cannot be dropped, as on a full disk, the user still has to pair.
      await secret.drop().catch(() => {});
      throw accessRevoked();
    }
    // The dark screen shows no prompt. A magic packet may still wake the TV.
    if (admission === null && isAsleep) throw inStandby();
    // The prompt is on the screen, and closes with the connection.
    prompts.shown();
    throw prompted(givesToken(target));
  }

  const reconnecting = new ReconnectingSession<RemoteSession>({
    debug: (message) => platformHost.debug(`${target.host}: ${message}`),
    // The end of the socket says nothing about the TV: its power is read over HTTP.
    onEnd: () => emit({ type: "hint" }),
    onRefused: () => emit({ type: "facts", facts: { access: "unpaired" } }),
    open,
  });
  return {
    reconnecting,
    leave() {
      if (waking === 0) reconnecting.drop();
    },
    async wake(signal, work) {
      waking++;
      try {
        await work(await reconnecting.use(signal, { eager: true }));
      } finally {
        waking--;
      }
    },
  };
}
