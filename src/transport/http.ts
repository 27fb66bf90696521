/**
 * HTTP calls to one device, over a few kept connections. A read may be sent twice. A command is sent once, over a connection on
 * which the device has just proven who it is, or over a new one right after that.
 */
import { DeviceError, hasCode, hasReason } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { machineSleep, unlessSlept } from "../system/clock.ts";
import { Semaphore } from "../system/semaphore.ts";
import { sleep } from "../system/sleep.ts";
import { type Answer, type Exchange, HttpConnection, type Limit } from "./http-connection.ts";
import { refuseOwnListener, tooLate } from "./socket.ts";

export type { Answer } from "./http-connection.ts";
export { bodyText, refuseRedirect } from "./http-connection.ts";

/** A connection that was idle for longer may be dead: the device proves itself again before a command. */
const proofMaxIdleMs = 2_000;
/**
 * Some devices close the connection some milliseconds after an answer, without having announced it. A command written
 * meanwhile is lost, and must not be sent again, as it may have been read. So commands reuse a connection only after this
 * device has left one open for so long, and never again once it has closed one soon after an answer.
 */
const keepAliveCheckMs = 30;
const keepAlivePollMs = 5;
const maxIdleMs = 4_000;
/** A device that serves one connection at a time answers on a new one only when the idle ones are closed. */
const crowdedMs = 1_000;
const maxKept = 4;
/**
 * Of the four calls that a device gets at a time (SECURITY.md R3), one is left for a command. A read waits for its turn within
 * the time that it has for its answer.
 */
const maxReads = 3;
const retryDelayMs = 250;

const defaultMaxBytes = 256 * 1024;

export type Read = (path: string, options?: ReadOptions) => Promise<Answer>;

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** A read with a body is a POST. */
  readonly body?: string;
  /** Of a command without a body; `POST` by default. */
  readonly method?: "POST" | "DELETE";
  /** Called once the device has proven who it is; when it throws, nothing is sent. */
  readonly check?: () => void;
  /** Of a command that may take longer than others. */
  readonly timeoutMs?: number;
}

export interface ReadOptions extends RequestOptions {
  readonly maxBytes?: number;
  /** Whether the device must have proven who it is, as for a command. */
  readonly proven?: boolean;
}

interface DeviceHttpOptions {
  readonly address: Address;
  readonly platformHost: Pick<PlatformHost, "requestTimeoutMs" | "isOwnListener">;
  /** Where given, TLS is used: the SHA-256 of the certificate that the device must show, or `null` for any. */
  readonly certificate?: string | null;
  /** Reads the identity of the device with `read`, and throws when it is another device. */
  prove?(read: Read): Promise<void>;
  /**
   * The headers with the login for a device that has just answered 401; throws where no login may be sent. They are sent on one
   * new connection, which is opened at once, and on another only after a 401 of its own.
   */
  login?(refusal: Answer): Readonly<Record<string, string>>;
  /** Milliseconds after which the device must prove itself again, also over a connection that is in use. */
  readonly proofHoldsMs?: number;
  /** The hint of a failure without an answer, where it is not the usual one. */
  readonly silentHint?: string | undefined;
}

export class DeviceHttp {
  readonly #options: DeviceHttpOptions;
  readonly #reads = new Semaphore(maxReads);
  #idle: HttpConnection[] = [];
  #sweeper: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  /**
   * Whether the device leaves connections open after an answer; `null` before that was seen, `false` once it closed one soon or
   * lost a command.
   */
  #keepsAlive: boolean | null = null;

  constructor(options: DeviceHttpOptions) {
    this.#options = options;
  }

  /** Whether a connection is kept on which the device has accepted the login. */
  get isLoggedIn(): boolean {
    return this.#idle.some((connection) => connection.usable && connection.login !== undefined);
  }

  /** A GET, or a POST with a body; sent once more when the connection was closed without an answer. */
  read(path: string, signal: AbortSignal, options: ReadOptions = {}): Promise<Answer> {
    const limit = this.#limitOf(options);
    const work = async (within: AbortSignal) => {
      let hasTurn = false;
      const begin = () => {
        hasTurn = true;
        return this.#readTwice(path, within, options);
      };
      try {
        return await this.#reads.run(begin, within);
      } catch (error) {
        if (hasTurn) throw error;
        throw signal.aborted
          ? tooLate(signal, "device_timeout")
          : noTurnError(limit.timeoutMs, this.#options.silentHint);
      }
    };
    return this.#withTimeout(signal, work, limit);
  }

  async #readTwice(path: string, within: AbortSignal, options: ReadOptions): Promise<Answer> {
    const get = async (connection: HttpConnection) => {
      this.#check(connection, options);
      return this.#exchangeAndKeep(connection, readOf(path, options), within);
    };
    const kept = options.proven ? undefined : this.#take();
    const open = () => (options.proven ? this.#provenConnection(this.#take(), within) : this.#open(within));
    try {
      return await get(kept ?? (await open()));
    } catch (error) {
      if (within.aborted || !hasReason(error, "closed")) throw error;
      if (!kept) await sleep(retryDelayMs, within);
      return get(await open());
    }
  }

  /** A command, sent at most once. Without a body only the head of the answer is waited for. */
  async command(path: string, signal: AbortSignal, options: RequestOptions = {}): Promise<Answer> {
    const exchange: Exchange =
      options.body === undefined
        ? { method: options.method ?? "POST", path, wanted: "head", maxBytes: defaultMaxBytes }
        : readOf(path, options);
    const send = async (connection: HttpConnection, within: AbortSignal, limit?: Limit) => {
      this.#check(connection, options);
      try {
        return await this.#exchangeAndKeep(connection, exchange, within, limit);
      } catch (error) {
        if (hasReason(error, "closed")) this.#keepsAlive = false;
        throw error;
      }
    };
    // An end that has come already is read first: what is sent over a connection that has ended is lost.
    if (this.#idle.length > 0) await unlessSlept(socketsRead());
    // Without proofs nothing has shown that this device leaves its connections open.
    const kept = this.#options.prove && this.#take();
    if (kept && this.#isReady(kept)) return send(kept, signal, this.#limitOf(options));
    const prepare = (within: AbortSignal) => {
      const preparing = this.#provenConnection(kept, within);
      return unlessSlept(preparing).catch(async (error: unknown) => {
        // After a sleep the connection may be open, though nothing is sent over it.
        await preparing.then((unused) => this.#keep(unused)).catch(() => {});
        throw error;
      });
    };
    const connection = await this.#withTimeout(signal, prepare, this.#limitOf(options));
    // However long the proof has taken: a slow device would be reported as silent although it does what it is told.
    return this.#withTimeout(signal, (within) => send(connection, within), this.#limitOf(options));
  }

  /** Closes the kept connections. A device that went off or away leaves them dead; over a new one that is soon seen. */
  closeKept(): void {
    for (const connection of this.#idle) connection.close();
    this.#idle = [];
  }

  #check(connection: HttpConnection, { check }: RequestOptions): void {
    try {
      check?.();
    } catch (error) {
      this.#keep(connection);
      throw error;
    }
  }

  /** One exchange on a connection of its own; only the signal limits its time. */
  async exchangeOnce(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
    const connection = await this.#open(signal);
    try {
      return await connection.exchange({ ...exchange, headers: { ...exchange.headers, Connection: "close" } }, signal);
    } finally {
      connection.close();
    }
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#sweeper);
    this.closeKept();
  }

  /** Whether a kept connection may carry a command without another proof. */
  #isReady(kept: HttpConnection): boolean {
    const { proofHoldsMs = Number.POSITIVE_INFINITY } = this.#options;
    const now = performance.now();
    return (
      this.#keepsAlive === true &&
      kept.provenAt !== undefined &&
      now - kept.idleSince < proofMaxIdleMs &&
      now - kept.provenAt < proofHoldsMs
    );
  }

  /** A connection on which the device has proven who it is, or a new one right after that. */
  async #provenConnection(kept: HttpConnection | undefined, signal: AbortSignal): Promise<HttpConnection> {
    const { prove } = this.#options;
    if (kept && this.#isReady(kept)) return kept;
    let connection = kept ?? (await this.#open(signal));
    if (!prove) return connection;
    try {
      await prove(async (path, options) => {
        const exchange = readOf(path, options);
        // A kept connection may have been closed meanwhile: then a new one is tried.
        for (let mayBeClosed = connection.exchanges > 0; ; mayBeClosed = false) {
          if (!connection.usable) connection = await this.#open(signal);
          try {
            const exchanged = await this.#exchange(connection, exchange, signal);
            connection = exchanged.connection;
            return exchanged.answer;
          } catch (error) {
            if (!mayBeClosed || signal.aborted || !hasReason(error, "closed")) throw error;
          }
        }
      });
      connection.provenAt = performance.now();
      if (this.#keepsAlive === null) {
        // In several sleeps, so that a busy process reads the close of the connection in between.
        for (let polls = keepAliveCheckMs / keepAlivePollMs; polls > 0 && connection.usable; polls--)
          await sleep(keepAlivePollMs, signal);
        this.#keepsAlive = connection.usable;
      }
    } catch (error) {
      connection.close();
      throw error;
    }
    if (connection.usable && this.#keepsAlive !== false) return connection;
    connection.close();
    return this.#open(signal);
  }

  async #exchangeAndKeep(on: HttpConnection, exchange: Exchange, signal: AbortSignal, limit?: Limit): Promise<Answer> {
    const { answer, connection } = await this.#exchange(on, exchange, signal, limit).catch((error: unknown) => {
      // Still usable where the request has characters that no request may have: nothing was sent.
      this.#keep(on);
      throw error;
    });
    this.#keep(connection);
    return answer;
  }

  /** One exchange, and the connection that it ended on: after a 401 that is a new one, with the login. */
  async #exchange(
    connection: HttpConnection,
    exchange: Exchange,
    signal: AbortSignal,
    limit?: Limit,
  ): Promise<{ answer: Answer; connection: HttpConnection }> {
    const { login } = this.#options;
    const isNew = connection.exchanges === 0;
    const crowded = isNew ? setInterval(() => this.closeKept(), crowdedMs) : undefined;
    let answer: Answer;
    try {
      answer = await connection.exchange(withHeaders(exchange, connection.login), signal, limit);
    } finally {
      clearInterval(crowded);
    }
    // A device that has proven itself without a login gets none for the command that follows.
    if (answer.status !== 401 || !login || connection.login || connection.provenAt !== undefined)
      return { answer, connection };
    connection.close();
    const headers = login(answer);
    const next = await this.#open(signal);
    next.login = headers;
    try {
      return { answer: await next.exchange(withHeaders(exchange, headers), signal), connection: next };
    } catch (error) {
      next.close();
      throw error;
    }
  }

  /** Takes a kept connection out, preferably a proven one. */
  #take(): HttpConnection | undefined {
    this.#dropOld();
    const at = this.#idle.findLastIndex(({ provenAt }) => provenAt !== undefined);
    // -1, where none is proven, takes the last.
    return this.#idle.splice(at, 1)[0];
  }

  #keep(connection: HttpConnection): void {
    if (!connection.usable) return;
    if (this.#closed || this.#idle.length >= maxKept) return connection.close();
    this.#idle.push(connection);
    this.#sweeper ??= setTimeout(() => this.#sweep(), maxIdleMs);
  }

  #sweep(): void {
    this.#sweeper = undefined;
    this.#dropOld();
    if (this.#idle.length > 0) this.#sweeper = setTimeout(() => this.#sweep(), maxIdleMs);
  }

  #dropOld(): void {
    const now = performance.now();
    this.#idle = this.#idle.filter((connection) => {
      const idleMs = now - connection.idleSince;
      if (connection.usable && idleMs < maxIdleMs) return true;
      const isSoon = idleMs < proofMaxIdleMs && !machineSleep().hasSleptSince(connection.idleSince);
      if (!connection.usable && isSoon) this.#keepsAlive = false;
      connection.close();
      return false;
    });
  }

  async #open(signal: AbortSignal): Promise<HttpConnection> {
    const { address, platformHost, certificate } = this.#options;
    refuseOwnListener(address, platformHost);
    // In half of the time for an answer, so that one that has left its address is not taken for one that is slow.
    const withinMs = platformHost.requestTimeoutMs() / 2;
    return HttpConnection.open(address, signal, certificate, withinMs).catch((error: unknown) => {
      // It may have lost a command because it went off.
      if (!signal.aborted) this.#keepsAlive = null;
      const { silentHint } = this.#options;
      if (silentHint === undefined || !hasCode(error, "device_unreachable")) throw error;
      throw error.reworded(error.message, { hint: silentHint });
    });
  }

  #limitOf({ timeoutMs: wantedMs = 0 }: RequestOptions = {}): Limit {
    const timeoutMs = Math.max(wantedMs, this.#options.platformHost.requestTimeoutMs());
    const late = () => {
      this.closeKept();
      return timeoutError(timeoutMs, this.#options.silentHint);
    };
    return { timeoutMs, late };
  }

  /** Runs `work` with the timeout of one answer. Clears the timer afterwards, as `AbortSignal.timeout` of thousands of keys would pile up. */
  async #withTimeout<T>(
    signal: AbortSignal,
    work: (within: AbortSignal) => Promise<T>,
    { timeoutMs, late }: Limit,
  ): Promise<T> {
    const controller = new AbortController();
    const aborted = () => controller.abort(signal.reason);
    const timer = setTimeout(() => controller.abort(late()), timeoutMs);
    signal.addEventListener("abort", aborted);
    if (signal.aborted) aborted();
    try {
      return await work(controller.signal);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
    }
  }
}

/**
 * Waits until the event loop has read what had come over open sockets. The first turn may be the one that is running. A timer
 * is a little surer (60 of 60 ends seen, here 59), but takes 1 ms, several times what a key takes.
 */
async function socketsRead(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A signal that aborts with the given one, or after `ms` with `device_timeout`. */
export function deadline(ms: number, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(timeoutError(ms)), ms);
  timer.unref?.();
  return AbortSignal.any([signal, controller.signal]);
}

function timeoutError(ms: number, hint = asleepHint(ms)): DeviceError {
  const problem = `did not answer within ${seconds(ms)}`;
  return new DeviceError("device_timeout", problem, { phase: "sent", reason: "timeout", hint });
}

function noTurnError(ms: number, hint = asleepHint(ms)): DeviceError {
  const problem = `was not asked: it had not answered the requests before within ${seconds(ms)}`;
  return new DeviceError("device_timeout", problem, { phase: "connect", reason: "timeout", hint });
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}

const moreTime = ", or give it more time with zapd config set devices.request_timeout_ms 10000";
const asleepHint = (ms: number) => `It may be asleep or busy: {wake}${ms < 10_000 ? moreTime : ""}`;

function readOf(path: string, { maxBytes = defaultMaxBytes, headers, body }: ReadOptions = {}): Exchange {
  const shared = { path, wanted: "all", maxBytes, ...(headers && { headers }) } as const;
  if (body === undefined) return { ...shared, method: "GET" };
  const bytes = new TextEncoder().encode(body);
  const chunks = async function* () {
    yield bytes;
  };
  return { ...shared, method: "POST", body: { bytes: bytes.length, chunks } };
}

function withHeaders(exchange: Exchange, more: Readonly<Record<string, string>> | undefined): Exchange {
  return more ? { ...exchange, headers: { ...exchange.headers, ...more } } : exchange;
}
