/**
 * HTTP calls to one device, over a few kept connections. Reads may be tried twice; a command is sent once, and only over
 * a connection (or to an address, right afterwards) on which the device has just proven to be the one that is meant.
 */
import { DeviceError, hasCode, hasReason } from "../api/errors.ts";
import type { Address, PlatformHost } from "../platforms/platform.ts";
import { unlessSlept } from "../system/clock.ts";
import { sleep } from "../system/sleep.ts";
import { type Answer, type Exchange, HttpConnection, type Limit } from "./http-connection.ts";
import { refuseOwnListener } from "./socket.ts";

export type { Answer } from "./http-connection.ts";
export { bodyText, refuseRedirect } from "./http-connection.ts";

/** A connection that rests longer may be dead without our knowing: it is proven again before a command. */
const provenFor = 2_000;
/**
 * Some devices hang up after each answer without saying so, within some milliseconds: a command written meanwhile is lost,
 * and must not be sent again, for nobody knows whether it was read. So no command goes over a connection before this device
 * has left one open for so long.
 */
const keepsAfter = 30;
const lookEvery = 5;
const keptFor = 4_000;
const keptAtMost = 4;
const retryAfter = 250;

const descriptionBytes = 256 * 1024;

/** Asks for one document. */
export type Read = (path: string, options?: ReadOptions) => Promise<Answer>;

/** What an exchange carries beside its path. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** With it a read is a POST: a question that is asked in a body. */
  readonly body?: string;
  /** Of a command without a body; `POST`, unless it takes something away. */
  readonly method?: "POST" | "DELETE";
  /** Called once the device has proven who it is, before anything is sent: what it throws keeps the exchange back. */
  readonly check?: () => void;
}

export interface ReadOptions extends Sent {
  readonly maxBytes?: number;
  /** Whether the device must have proven who it is, as for a command: what it says then decides what is done to it. */
  readonly proven?: boolean;
}

export interface DeviceHttpOptions {
  readonly address: Address;
  readonly platformHost: Pick<PlatformHost, "requestTimeoutMs" | "isOwnListener">;
  /** Over TLS, where it is given: SHA-256 of the certificate that the device must show, or `null` where it may show any. */
  readonly certificate?: string | null;
  /** Reads the device's identity with the `read` it is given, and throws when another device answers. */
  prove?(read: Read): Promise<void>;
  /**
   * The headers that let us in, for a device that has just answered 401; throws where this answer must not be given any.
   * They go out on one new connection, opened at once, and on no other before that has been answered 401 itself.
   */
  login?(refusal: Answer): Readonly<Record<string, string>>;
  /** Milliseconds after which it is proven anew over a connection that is in use; without it, only over one that rested. */
  readonly proofHoldsMs?: number;
  /** What a person can do when it does not answer, where that is not the usual. */
  readonly silentHint?: string | undefined;
}

export class DeviceHttp {
  readonly #options: DeviceHttpOptions;
  #idle: HttpConnection[] = [];
  #sweeper: ReturnType<typeof setTimeout> | undefined;
  #closed = false;
  /** Whether the device has been seen to keep connections. Until then no command goes over one that it may be closing. */
  #keepsThem = false;

  constructor(options: DeviceHttpOptions) {
    this.#options = options;
  }

  /** Whether a connection is kept on which the device has let us in. */
  get isLoggedIn(): boolean {
    return this.#idle.some((connection) => connection.usable && connection.login !== undefined);
  }

  /** GET; tried once more when the first try failed without a word. */
  read(path: string, signal: AbortSignal, options: ReadOptions = {}): Promise<Answer> {
    return this.#inTime(signal, (within) => this.#readTwice(path, within, options));
  }

  async #readTwice(path: string, within: AbortSignal, options: ReadOptions): Promise<Answer> {
    const get = async (connection: HttpConnection) => {
      this.#check(connection, options);
      return this.#carry(connection, readOf(path, options), within);
    };
    const kept = options.proven ? undefined : this.#take();
    const open = () => (options.proven ? this.#proven(this.#take(), within) : this.#open(within));
    try {
      return await get(kept ?? (await open()));
    } catch (error) {
      if (within.aborted || !hasReason(error, "closed")) throw error;
      if (!kept) await sleep(retryAfter, within);
      return get(await open());
    }
  }

  /** One command, sent at most once; without a body it is decided by the head of its answer. */
  command(path: string, signal: AbortSignal, sent: Sent = {}): Promise<Answer> {
    const exchange: Exchange =
      sent.body === undefined
        ? { method: sent.method ?? "POST", path, wanted: "head", maxBytes: descriptionBytes }
        : readOf(path, sent);
    const send = async (connection: HttpConnection, within: AbortSignal, limit?: Limit) => {
      this.#check(connection, sent);
      try {
        return await this.#carry(connection, exchange, within, limit);
      } catch (error) {
        if (hasReason(error, "closed")) this.#keepsThem = false;
        throw error;
      }
    };
    const kept = this.#take();
    // In what is there at once nobody can have slept.
    if (kept && this.#isReady(kept)) return send(kept, signal, this.#limit);
    return this.#inTime(signal, async (within) => send(await unlessSlept(this.#proven(kept, within)), within));
  }

  /** Has the device prove anew who it is before the next command. */
  requireProof(): void {
    for (const connection of this.#idle) connection.proven = false;
  }

  #check(connection: HttpConnection, { check }: Sent): void {
    try {
      check?.();
    } catch (error) {
      this.#keep(connection);
      throw error;
    }
  }

  /** Any exchange on a connection of its own, with no deadline but the signal's. */
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
    for (const connection of this.#idle) connection.close();
    this.#idle = [];
  }

  /** Whether a kept connection may carry a command: the device has just proven over it who it is, or need not. */
  #isReady(kept: HttpConnection): boolean {
    const { prove, proofHoldsMs = Number.POSITIVE_INFINITY } = this.#options;
    if (!prove) return true;
    const now = performance.now();
    return kept.proven && this.#keepsThem && now - kept.idleSince < provenFor && now - kept.provenAt < proofHoldsMs;
  }

  /** A connection on which the device has proven who it is. */
  async #proven(kept: HttpConnection | undefined, signal: AbortSignal): Promise<HttpConnection> {
    const { prove } = this.#options;
    if (kept && this.#isReady(kept)) return kept;
    let connection = kept ?? (await this.#open(signal));
    if (!prove) return connection;
    try {
      await prove(async (path, options) => {
        const exchange = readOf(path, options);
        // One that has carried an answer may have been closed by then, which says nothing of the device.
        for (let mayBeClosed = connection.used; ; mayBeClosed = false) {
          if (!connection.usable) connection = await this.#open(signal);
          try {
            const said = await this.#exchange(connection, exchange, signal);
            connection = said.connection;
            return said.answer;
          } catch (error) {
            if (!mayBeClosed || signal.aborted || !hasReason(error, "closed")) throw error;
          }
        }
      });
      connection.proven = true;
      connection.provenAt = performance.now();
      // A device that hangs up after each answer, and does not say so, must not take the command for one of those.
      if (!this.#keepsThem) {
        // In looks, each of which reads what has come: while this machine is busy with others, time passes that shows nothing.
        for (let looks = keepsAfter / lookEvery; looks > 0 && connection.usable; looks--)
          await sleep(lookEvery, signal);
        this.#keepsThem = connection.usable;
      }
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection.usable ? connection : this.#open(signal);
  }

  async #carry(on: HttpConnection, exchange: Exchange, signal: AbortSignal, limit?: Limit): Promise<Answer> {
    const { answer, connection } = await this.#exchange(on, exchange, signal, limit);
    this.#keep(connection);
    return answer;
  }

  /** One exchange, and on which connection it was answered: one that asks for a login is hung up on. */
  async #exchange(
    connection: HttpConnection,
    exchange: Exchange,
    signal: AbortSignal,
    limit?: Limit,
  ): Promise<{ answer: Answer; connection: HttpConnection }> {
    const { login } = this.#options;
    const answer = await connection.exchange(withHeaders(exchange, connection.login), signal, limit);
    // Who has proven who it is without a login is not sent one in the midst of a command.
    if (answer.status !== 401 || !login || connection.login || connection.proven) return { answer, connection };
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

  /** A kept connection, the one proven last first. */
  #take(): HttpConnection | undefined {
    this.#idle = this.#idle.filter((connection) => connection.usable);
    const at = this.#idle.findLastIndex((connection) => connection.proven);
    // Where none is proven (-1), the last one.
    return this.#idle.splice(at, 1)[0];
  }

  #keep(connection: HttpConnection): void {
    if (!connection.usable) return;
    if (this.#closed || this.#idle.length >= keptAtMost) return connection.close();
    this.#idle.push(connection);
    this.#sweeper ??= setTimeout(() => this.#sweep(), keptFor);
  }

  #sweep(): void {
    this.#sweeper = undefined;
    const oldest = performance.now() - keptFor;
    this.#idle = this.#idle.filter((connection) => {
      if (connection.usable && connection.idleSince > oldest) return true;
      connection.close();
      return false;
    });
    if (this.#idle.length > 0) this.#sweeper = setTimeout(() => this.#sweep(), keptFor);
  }

  async #open(signal: AbortSignal): Promise<HttpConnection> {
    const { address, platformHost, certificate } = this.#options;
    refuseOwnListener(address, platformHost);
    return HttpConnection.open(address, signal, certificate).catch((error: unknown) => {
      const { silentHint } = this.#options;
      if (silentHint === undefined || !hasCode(error, "device_unreachable")) throw error;
      throw error.reworded(error.message, { hint: silentHint });
    });
  }

  /** How long one answer may take. */
  get #limit(): Limit {
    const timeoutMs = this.#options.platformHost.requestTimeoutMs();
    return { timeoutMs, late: () => silent(timeoutMs, this.#options.silentHint) };
  }

  /** Runs something with the deadline of one answer, and leaves nothing of it behind: thousands of keys would pile up theirs. */
  async #inTime<T>(signal: AbortSignal, work: (within: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutMs, late } = this.#limit;
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

  /** The deadline of one answer. */
  within(signal: AbortSignal): AbortSignal {
    return deadline(this.#options.platformHost.requestTimeoutMs(), signal);
  }
}

/** A signal that ends with the caller's, or after `ms` with `device_timeout`. */
export function deadline(ms: number, signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(silent(ms)), ms);
  timer.unref?.();
  return AbortSignal.any([signal, controller.signal]);
}

function silent(ms: number, hint = asleepHint): DeviceError {
  const problem = `did not answer within ${seconds(ms)}`;
  return new DeviceError("device_timeout", problem, { phase: "sent", reason: "timeout", hint });
}

const asleepHint =
  "It may be asleep or busy: {wake}, or give it more time with zapd config set devices.request_timeout_ms 10000";

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}

function readOf(path: string, { maxBytes = descriptionBytes, headers, body }: ReadOptions = {}): Exchange {
  const common = { path, wanted: "all", maxBytes, ...(headers && { headers }) } as const;
  if (body === undefined) return { ...common, method: "GET" };
  const bytes = new TextEncoder().encode(body);
  const once = async function* () {
    yield bytes;
  };
  return { ...common, method: "POST", body: { bytes: bytes.length, chunks: once } };
}

function withHeaders(exchange: Exchange, more: Readonly<Record<string, string>> | undefined): Exchange {
  return more ? { ...exchange, headers: { ...exchange.headers, ...more } } : exchange;
}
