/** One Kodi: asked over HTTP or its WebSocket, proven to be the one that is meant, and followed by its notifications. */
import { DeviceError, hasCode, hasReason, ZapdError } from "../../api/errors.ts";
import { unlessSlept } from "../../system/clock.ts";
import { sleep } from "../../system/sleep.ts";
import { addressText } from "../../system/text.ts";
import { deadline } from "../../transport/http.ts";
import { asJson, type Json, number } from "../../transport/json.ts";
import { ReconnectingSession } from "../../transport/session.ts";
import type { Emit, PlatformHost } from "../platform.ts";
import { type Ask, defaultSocketPort, httpType, isUuid, socketType } from "./announced.ts";
import { KeyboardField } from "./field.ts";
import type { KodiMemory, KodiTarget } from "./memory.ts";
import { hasScreenshots } from "./pictures.ts";
import { KodiProof } from "./proof.ts";
import { pictureShow } from "./protocol.ts";
import { PushedState } from "./pushed.ts";
import { HttpRpc, isLoginWanted, type Login, loginWanted, usualUser } from "./rpc.ts";
import { KodiSession } from "./session.ts";
import { hasTuner } from "./tuner.ts";

/** After the socket could not be opened: until the next try to follow it, and to check the identity over it. */
const followRetryMs = 60_000;
const socketRetryMs = 5_000;
const followTimeoutMs = 10_000;
/** Opening a session includes the proof, which may have to wait for an announcement. */
const openTimeoutMs = 2_500;
/** Kodi still answers for a moment after it has announced that it ends: those answers are ignored. */
const shutdownMs = 3_000;
/** The user may add a tuner or a folder for screenshots at any time. */
const featuresHoldMs = 10 * 60_000;
/** So that the features are asked for after what somebody waits for. */
const featuresDelayMs = 2_000;
const typingMethod = "Input.SendText";

export class KodiDevice {
  readonly #target: KodiTarget;
  readonly pushed = new PushedState();
  readonly field = new KeyboardField();
  /** Its machine sleeps, as it has announced or by our command: a magic packet may wake it. */
  isAsleep = false;
  readonly #platformHost: PlatformHost;
  readonly #emit: Emit<KodiMemory>;
  /** `null` where it has no web server. */
  readonly #http: HttpRpc | null;
  readonly #reconnecting: ReconnectingSession<KodiSession>;
  readonly #proof: KodiProof;
  /** The session that was open when the announcement was last checked for a login. */
  #verifiedSession: KodiSession | undefined;
  #noSocketAt = Number.NEGATIVE_INFINITY;
  #followNotBefore = Number.NEGATIVE_INFINITY;
  /** Its web server did not answer when it was last called. */
  #wasDown = false;
  #shutsDownUntil = Number.NEGATIVE_INFINITY;
  #featuresReadAt = Number.NEGATIVE_INFINITY;
  readonly #closed = new AbortController();

  constructor(target: KodiTarget, platformHost: PlatformHost, emit: Emit<KodiMemory>) {
    this.#target = target;
    this.#platformHost = platformHost;
    this.#emit = emit;
    const hasWeb = target.memory.socketOnly !== target.port;
    const prove = async (ask: Ask) => {
      await this.#proof.prove(ask);
      this.#refreshFeatures();
    };
    this.#proof = new KodiProof({
      target,
      platformHost,
      emit,
      service: hasWeb ? httpType : socketType,
      read: (method, params) => this.read(method, params, this.#closed.signal),
      signal: this.#closed.signal,
    });
    this.#http = hasWeb
      ? new HttpRpc({
          address: target,
          platformHost,
          login: () => this.#login(),
          verify: (signal) => this.verifyBeforeLogin(signal),
          prove,
        })
      : null;
    this.#reconnecting = new ReconnectingSession<KodiSession>({
      debug: (message) => platformHost.debug(`${target.host}: ${message}`),
      onEnd: () => {
        this.pushed.invalidate();
        this.field.forget();
        this.#forgetVerification();
        emit({ type: "disconnected", why: "hung_up" });
      },
      open: async (signal, ended) => {
        const address = { host: target.host, port: this.#socketPort ?? defaultSocketPort };
        // Calls over HTTP, which may wait for it before a login, are still answered in time where a firewall drops the socket's port.
        const options = hasWeb ? { handshakeTimeoutMs: platformHost.requestTimeoutMs() / 2 } : {};
        const session = await new KodiSession(address, platformHost, options).open(signal);
        try {
          const ask: Ask = async (method, params) => asJson(await session.call(method, params, signal));
          if (hasWeb) await this.#proof.refuseNeighbour(ask, this.#socketPort, signal);
          session.onEnd(ended);
          await prove(ask);
          // What was read before may have changed while nothing was heard.
          this.pushed.invalidate();
          session.onNotification((method, data) => this.#handleNotification(session, method, data));
          this.#forgetVerification();
          emit({ type: "hint" });
          return session;
        } catch (error) {
          session.close();
          throw error;
        }
      },
    });
  }

  /** The port of its own socket; `null` where it is not known: another Kodi on the same machine may have the default one. */
  get #socketPort(): number | null {
    if (!this.#http) return this.#target.port;
    return this.#target.ports["websocket"] ?? this.#target.memory.socket ?? null;
  }

  /** Whether its notifications are received now. */
  get isFollowed(): boolean {
    return this.#reconnecting.current !== undefined;
  }

  /** A question whose answer is an object. */
  async read(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    return asJson(await this.#call("read", method, params, signal));
  }

  /**
   * The active players, that of pictures last, beside which music may play; after a stop one still answers zeros, so this is
   * asked first (7.2).
   */
  async players(signal: AbortSignal): Promise<number[]> {
    const result = await this.#call("read", "Player.GetActivePlayers", {}, signal);
    const ids = (Array.isArray(result) ? result : []).flatMap((one) => number(asJson(one)["playerid"]) ?? []);
    return ids.sort((one, next) => Number(one === pictureShow) - Number(next === pictureShow));
  }

  /** A command; what was read before it is no longer true. */
  async command(method: string, params: Json, signal: AbortSignal): Promise<unknown> {
    // Text that is typed into a Kodi with a login is as secret as the login.
    const isSecret = method === typingMethod && this.#target.secret.readAnyway() !== null;
    if (isSecret) await unlessSlept(this.verifyBeforeLogin(signal));
    this.pushed.invalidate();
    try {
      return await this.#call("command", method, params, signal, isSecret);
    } finally {
      this.pushed.invalidate();
    }
  }

  /** A file of its web server; `null` where there is none at the path, or Kodi does not give it. The socket has no files. */
  async file(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const http = this.#http;
    if (!http) throw withoutWebServer();
    this.#refuseDuringShutdown();
    try {
      return await this.#trackAccess(() => http.file(path, maxBytes, signal));
    } catch (error) {
      // One that is followed runs all the same.
      throw hasReason(error, "refused") && this.isFollowed ? withoutWebServer() : this.explainFailure(error);
    }
  }

  /** Opens the socket in the background, so that its notifications are received from then on. */
  follow(): void {
    const notBefore = Math.max(this.#followNotBefore, this.#shutsDownUntil);
    if (!this.#http || (!this.isFollowed && performance.now() < notBefore)) return;
    // Where it is open already this counts as use, without which it would be closed after a while.
    this.#reconnecting.use(AbortSignal.timeout(followTimeoutMs), { eager: true }).catch((error: unknown) => {
      this.#followNotBefore = performance.now() + followRetryMs;
      this.#platformHost.debug(
        `${this.#target.host}: cannot receive its notifications: ${error instanceof Error ? error.message : ""}`,
      );
    });
  }

  /** Kodi ends, or its machine goes to sleep or off. */
  startShutdown(isAsleep: boolean): void {
    this.isAsleep = isAsleep;
    this.#shutsDownUntil = performance.now() + shutdownMs;
    this.pushed.invalidate();
    this.field.forget();
    // First: what is still pushed is not polled for soon.
    this.#reconnecting.drop();
    this.#emit({ type: "disconnected", why: "going_off" });
  }

  close(): void {
    const problem = "is no longer connected: what zapd knows about it has changed";
    this.#closed.abort(new DeviceError("device_error", problem, { phase: "connect", reason: "closed" }));
    this.#http?.close();
    this.#reconnecting.close();
  }

  /**
   * Over HTTP where it has a web server. The socket requires no login: it serves a Kodi that must not be sent one now, or whose
   * web server is off or not up yet.
   */
  async #call(
    how: "read" | "command",
    method: string,
    params: Json,
    signal: AbortSignal,
    isSecret = false,
  ): Promise<unknown> {
    const http = this.#http;
    const overSocket = async (unopened = (error: unknown) => error) => {
      const session = await this.#session(signal, how === "command").catch((error: unknown) => {
        throw unopened(error);
      });
      const askedAt = performance.now();
      return session.call(method, params, signal).catch((error: unknown) => {
        // A machine without power leaves the connection open: the next call opens another.
        if (hasCode(error, "device_timeout") && session.isSilentSince(askedAt)) this.#reconnecting.drop();
        throw error;
      });
    };
    this.#refuseDuringShutdown();
    if (!http) return overSocket();
    // A login would wait for the missing announcement each time.
    if (this.#proof.isSilent && this.isFollowed && !isSecret) return overSocket();
    const startedAt = performance.now();
    try {
      return await this.#trackAccess(() => http[how](method, params, signal));
    } catch (error) {
      const isWebOff = hasReason(error, "refused") && (this.isFollowed || this.#socketPort !== null);
      const hasNoSocket = !this.isFollowed && this.#noSocketAt > startedAt;
      const mayUseSocket = (isWebOff || hasCode(error, "device_unproven")) && !hasNoSocket;
      if (!mayUseSocket || (isSecret && !this.#isVerified)) throw this.explainFailure(error);
      // What it answers there counts, and what it has got there must not be sent again.
      return overSocket((socketError) => {
        const saysMore = hasReason(socketError, "wrong_device") || hasCode(socketError, "device_busy");
        return saysMore ? socketError : this.explainFailure(error);
      });
    }
  }

  async #session(signal: AbortSignal, eager: boolean): Promise<KodiSession> {
    const within = deadline(Math.max(this.#platformHost.requestTimeoutMs(), openTimeoutMs), signal);
    try {
      const opening = this.#reconnecting.use(within, { eager });
      return await (eager ? unlessSlept(opening) : opening);
    } catch (error) {
      // A refused socket says nothing of a Kodi with a web server.
      throw this.#http ? error : this.explainFailure(error);
    }
  }

  #handleNotification(session: KodiSession, method: string, data: Json): void {
    if (method === "System.OnQuit" || method === "System.OnSleep" || method === "System.OnRestart") {
      session.leaving = true;
      // Exit code 64 turns the machine off, 0 ends Kodi only.
      return this.startShutdown(method === "System.OnSleep" || data["exitcode"] === 64);
    }
    if (method === "Input.OnInputRequested" || method === "Input.OnInputFinished") this.field.forget();
    this.#emit({ type: "state", patch: { power: "on", ...this.pushed.apply(method, data) } });
    if (!this.pushed.isKnown) this.#emit({ type: "hint" });
  }

  #refuseDuringShutdown(): void {
    if (performance.now() >= this.#shutsDownUntil) return;
    if (!this.isAsleep) throw this.#ended("has just quit");
    const options = { phase: "connect", reason: "closed", hint: this.#wakeHint } as const;
    throw new DeviceError("device_unreachable", "is turning off", options);
  }

  /** Runs a call over HTTP, and remembers what its outcome shows about the access and the identity. */
  async #trackAccess<T>(call: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      const result = await call();
      // An answer to what was asked before the shutdown says nothing of the time after it.
      if (startedAt >= this.#shutsDownUntil) this.isAsleep = false;
      // It was started again: its web server comes up last (7.3), so the socket can be opened now.
      if (this.#wasDown) this.#followNotBefore = Number.NEGATIVE_INFINITY;
      this.#wasDown = false;
      if (this.#target.facts.access !== "full") this.#emit({ type: "facts", facts: { access: "full" } });
      return result;
    } catch (error) {
      this.#wasDown ||= hasCode(error, "device_unreachable", "device_timeout");
      if (isLoginWanted(error) && this.#target.facts.access !== "unpaired")
        this.#emit({ type: "facts", facts: { access: "unpaired" } });
      if (!isLoginWanted(error) && !hasCode(error, "device_unproven")) this.#forgetVerification();
      throw error;
    }
  }

  /** The failure with a hint that fits a Kodi: how it is started, or woken. One that does not run is reported as going off. */
  explainFailure(error: unknown): unknown {
    if (hasReason(error, "refused")) {
      this.pushed.invalidate();
      this.#emit({ type: "disconnected", why: "going_off" });
      return this.#ended(`is not running: its machine refused the connection to ${addressText(this.#target)}`);
    }
    if (!hasCode(error, "device_unreachable", "device_timeout") || hasReason(error, "wrong_device")) return error;
    return error.reworded(error.message, { hint: this.#wakeHint });
  }

  #ended(problem: string): DeviceError {
    const hint = `Start Kodi with Settings > Services > Control > Allow remote control via HTTP turned on; ${this.#ifMovedHint}`;
    return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "refused", hint });
  }

  get #wakeHint(): string {
    return `It may be asleep: {wake}; ${this.#ifMovedHint}`;
  }

  /** A search finds only a Kodi that announces itself. */
  get #ifMovedHint(): string {
    const command = isUuid(this.#target.identity) ? "zapd discover" : "zapd add with its new address";
    return `if ${this.#target.host} is no longer its address, run ${command}`;
  }

  #login(): Login {
    const { user = usualUser, password } = this.#target.secret.read() ?? {};
    if (!password) throw loginWanted();
    return { user, password };
  }

  /**
   * Before a login is sent: checks the identity as far as that is possible without one (SECURITY.md 2.4), over the socket, which
   * requires no login, and by the announced id. Fails with the reason `wrong_device` for another Kodi, and with `device_unproven`
   * where one that has announced itself before does not now.
   */
  async verifyBeforeLogin(signal: AbortSignal): Promise<void> {
    if (!isUuid(this.#target.identity)) {
      await this.#openSocket(signal);
      return;
    }
    const { current } = this.#reconnecting;
    if (current && this.#isVerified) {
      // A machine that was unplugged does not close the connection: the one that has its address now does not answer over the session.
      await current.call("JSONRPC.Ping", {}, signal);
      if (this.#isVerified) return;
    }
    const [session] = await Promise.all([this.#openSocket(signal), this.#proof.requireAnnouncement(signal)]);
    this.#verifiedSession = session;
  }

  get #isVerified(): boolean {
    const { current } = this.#reconnecting;
    return current !== undefined && current === this.#verifiedSession;
  }

  #forgetVerification(): void {
    this.#verifiedSession = undefined;
    this.#noSocketAt = Number.NEGATIVE_INFINITY;
    this.#proof.reset();
  }

  /** Its session, which proves who is there; `undefined` where its socket cannot be reached. */
  async #openSocket(signal: AbortSignal): Promise<KodiSession | undefined> {
    const { current } = this.#reconnecting;
    if (current || performance.now() - this.#noSocketAt < socketRetryMs) return current;
    return this.#reconnecting.use(signal).catch((error: unknown) => {
      if (hasReason(error, "wrong_device") || signal.aborted) throw error;
      this.#noSocketAt = performance.now();
      return undefined;
    });
  }

  /** In the background: whether it has channels, and gives pictures of its screen. */
  #refreshFeatures(): void {
    if (performance.now() - this.#featuresReadAt < featuresHoldMs) return;
    this.#featuresReadAt = performance.now();
    // What cannot be read now is asked for again later.
    this.#readFeatures(this.#closed.signal).catch(() => {});
  }

  async #readFeatures(signal: AbortSignal): Promise<void> {
    await sleep(featuresDelayMs, signal);
    this.rememberFeatures({ tuner: await hasTuner(this, signal) });
    if (this.#http) this.rememberFeatures({ screenshots: await hasScreenshots(this, signal) });
  }

  rememberFeatures(memory: Pick<KodiMemory, "tuner" | "screenshots">): void {
    const known = this.#target.memory;
    const names = ["tuner", "screenshots"] as const;
    if (names.some((name) => memory[name] !== undefined && memory[name] !== (known[name] ?? false)))
      this.#emit({ type: "facts", memory });
  }
}

function withoutWebServer(): ZapdError {
  return new ZapdError("unsupported_operation", "cannot send pictures without its web server", {
    hint: "In Kodi: Settings > Services > Control > Allow remote control via HTTP; then run zapd discover",
  });
}
