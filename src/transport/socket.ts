/**
 * One TCP connection to a device, carrying HTTP/1.1 exchanges one after another. Not `fetch`: here a redirect cannot be
 * followed, a scheme cannot be swapped, a head or a body cannot grow past its cap, an upload is streamed with its length,
 * and the connection itself is known, so that an identity read over it holds for the command sent after it.
 */
import net from "node:net";
import tls from "node:tls";
import { DeviceError, type DeviceReason, systemCode, ZapdError } from "../api/errors.ts";
import type { Address, Surroundings } from "../platforms/platform.ts";
import { type Answer, AnswerReader, hungUp, type Wanted } from "./http-answer.ts";

/** On every call to a device. The guard refuses requests that carry it: a device must not talk us into calling ourselves. */
export const marker = "zapd-call";

/** Connecting takes this long at most (SECURITY.md 4). */
const connectTimeout = 2_000;

export interface Exchange {
  readonly method: "GET" | "HEAD" | "POST";
  /** Path and query, already percent-encoded: one word of printable ASCII. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A chunk is sent before the next is asked for, and may be the same memory. */
  readonly body?: { readonly bytes: number; chunks(): AsyncIterable<Uint8Array> };
  readonly wanted: Wanted;
  readonly maxBytes: number;
}

export class HttpConnection {
  /** Whether what answers here has been proven to be the device that is meant. */
  proven = false;
  /** What the device wanted with every exchange on this connection before it let us in. */
  login: Readonly<Record<string, string>> | undefined;
  /** When that was, on the monotonic clock. */
  provenAt = Number.NEGATIVE_INFINITY;
  /** Whether another exchange may be sent. */
  usable = true;
  /** Whether an exchange has been carried before. */
  used = false;
  /** When the last exchange ended, on the monotonic clock. */
  idleSince = performance.now();

  readonly #socket: net.Socket;
  readonly #address: Address;
  #reader: AnswerReader | undefined;
  #settle: ((error?: Error) => void) | undefined;

  private constructor(socket: net.Socket, address: Address) {
    this.#socket = socket;
    this.#address = address;
    socket.on("data", (bytes: Uint8Array) => this.#received(bytes));
    socket.on("error", (error) => this.#ended(error));
    socket.on("close", () => this.#ended());
    socket.on("end", () => this.#ended());
  }

  /** Connects; fails with `device_unreachable`. */
  static async open(address: Address, signal: AbortSignal): Promise<HttpConnection> {
    return new HttpConnection(await connectSocket(address, false, signal), address);
  }

  /** Sends one request and waits for its answer. Fails with `device_timeout` or `device_error`, and closes the connection then. */
  exchange(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
    const head = headOf(exchange, this.#address);
    const reader = new AnswerReader(exchange.method, exchange.wanted, exchange.maxBytes);
    this.#reader = reader;
    return new Promise<Answer>((resolve, reject) => {
      const aborted = () => this.#settle?.(tooLate(signal, "device_timeout"));
      this.#settle = (error) => {
        this.#settle = undefined;
        this.#reader = undefined;
        signal.removeEventListener("abort", aborted);
        this.used = true;
        this.idleSince = performance.now();
        if (error || !reader.answer || !reader.reusable) this.close();
        if (error) reject(error);
        else if (reader.answer) resolve(reader.answer);
      };
      if (signal.aborted) return aborted();
      if (!this.usable) return this.#settle(hungUp("closed the connection without an answer"));
      signal.addEventListener("abort", aborted, { once: true });
      this.#socket.write(head);
      if (exchange.body) this.#send(exchange.body.chunks()).catch((error) => this.#settle?.(error));
    });
  }

  close(): void {
    this.usable = false;
    this.#socket.destroy();
  }

  /** Sends a body as fast as the device takes it, one chunk at a time, and stops when the device has answered already. */
  async #send(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      if (!this.usable || !this.#settle) return;
      await new Promise<void>((resolve) => {
        const go = () => {
          this.#socket.off("close", go);
          resolve();
        };
        this.#socket.on("close", go);
        this.#socket.write(chunk, go);
      });
    }
  }

  #received(bytes: Uint8Array): void {
    const reader = this.#reader;
    // Bytes that nobody asked for: what they belong to cannot be known, so the connection is not used again.
    if (!reader) return this.close();
    try {
      reader.push(bytes);
      if (reader.answer) this.#settle?.();
    } catch (error) {
      this.#settle?.(error as ZapdError);
    }
  }

  #ended(cause?: Error): void {
    this.usable = false;
    const reader = this.#reader;
    if (!reader) return;
    try {
      if (cause) throw hungUp("broke the connection off", cause);
      reader.end();
      this.#settle?.();
    } catch (error) {
      this.#settle?.(error as ZapdError);
    }
  }
}

/**
 * A TCP connection to a device, with TLS if wanted: whatever certificate it shows, for a device signs its own. Fails with
 * `device_unreachable`.
 */
export async function connectSocket(address: Address, secure: boolean, signal: AbortSignal): Promise<net.Socket> {
  const place = { host: address.host, port: address.port };
  return new Promise((resolve, reject) => {
    // Sets of before 2018 speak nothing newer than TLS 1.0 or 1.1 (smart-tvs.md 1.3); what they show is compared, not trusted.
    const socket: net.Socket = secure
      ? tls.connect({ ...place, rejectUnauthorized: false, minVersion: "TLSv1" })
      : net.connect({ ...place, noDelay: true });
    const done = (error?: ZapdError) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      socket.removeAllListeners();
      if (!error) return resolve(socket);
      socket.on("error", () => {});
      socket.destroy();
      reject(error);
    };
    const aborted = () => done(tooLate(signal, "device_unreachable"));
    const timer = setTimeout(() => done(unreachable(address, "nothing answers there", "timeout")), connectTimeout);
    socket.once("error", (error) => {
      const code = systemCode(error);
      done(tlsTrouble.test(code) ? strangeTls() : unreachable(address, ...(reasons[code] ?? unknownReason), error));
    });
    socket.once("close", () => done(unreachable(address, "it hung up", "closed")));
    socket.once(secure ? "secureConnect" : "connect", () => done());
    if (signal.aborted) aborted();
    else signal.addEventListener("abort", aborted, { once: true });
  });
}

type Told = readonly [words: string, reason: DeviceReason];
const noRoute: Told = ["there is no route to it", "no_route"];
const unknownReason: Told = ["it cannot be reached", "no_route"];
const reasons: Readonly<Record<string, Told>> = {
  // A machine answered that nothing listens at the port: it is up, and what was called there has ended.
  ECONNREFUSED: ["the connection was refused", "refused"],
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EHOSTDOWN: noRoute,
};

/** Someone is there, and shares no version, cipher or kind of certificate with the runtime. */
const tlsTrouble = /^(ERR_SSL|ERR_TLS|EPROTO|DEPTH_ZERO|CERT_|UNABLE_TO)/;

function strangeTls(): DeviceError {
  return new DeviceError("device_error", "speaks a TLS that is not spoken here, most likely one that is too old", {
    phase: "connect",
    reason: "protocol",
    hint: "The compiled program speaks TLS from 1.0 on",
  });
}

function unreachable({ host, port }: Address, words: string, reason: DeviceReason, cause?: Error): DeviceError {
  return new DeviceError("device_unreachable", `did not answer at ${host}:${port} (${words})`, {
    phase: "connect",
    reason,
    hint: `It may be asleep: {wake}, or check that ${host} is still its address with zapd discover`,
    cause,
  });
}

/** The failure for a signal that ended an attempt: a deadline, or a caller who hung up. */
export function tooLate(signal: AbortSignal, code: "device_unreachable" | "device_timeout"): ZapdError {
  const reason: unknown = signal.reason;
  if (reason instanceof ZapdError) return reason;
  const phase = code === "device_unreachable" ? "connect" : "sent";
  return new DeviceError(code, "did not answer in time", { phase, reason: "timeout", cause: reason });
}

/** The Host must be an IP literal, or some devices answer 403 (protocols/roku.md 1.2); an Address holds nothing else. */
export function hostLine({ host, port }: Address): string {
  return `Host: ${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** zapd itself is never called, whatever a device says of where it is. */
export function refuseOwn(address: Address, { isOwnListener }: Pick<Surroundings, "isOwnListener">): void {
  if (!isOwnListener(address)) return;
  throw new ZapdError("device_error", "has the address of zapd itself, which is never called", {
    hint: "Remove it with zapd forget {device}, and add it with its own address",
  });
}

function headOf(exchange: Exchange, address: Address): string {
  const lines = [`${exchange.method} ${exchange.path} HTTP/1.1`, hostLine(address), `${marker}: 1`];
  for (const [name, value] of Object.entries(exchange.headers ?? {})) lines.push(`${name}: ${value}`);
  if (exchange.body) lines.push(`Content-Length: ${exchange.body.bytes}`);
  else if (exchange.method === "POST") lines.push("Content-Length: 0");
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  if (!/^[\x20-\x7e\r\n]+$/.test(head) || /\s/.test(exchange.path) || lines.some((line) => /[\r\n]/.test(line))) {
    throw new ZapdError("internal_error", "A request to a device held characters that no request may hold");
  }
  return head;
}
