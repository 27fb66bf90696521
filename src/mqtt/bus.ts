/**
 * A bus: topics that are published to and subscribed to, and requests that are answered. What uses it knows nothing of MQTT,
 * which is behind it (broker.ts).
 */
import { isObject } from "../system/json.ts";

/** A message as it came. Nothing of it is to be trusted. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** The broker had retained it: it may be out of date. */
  readonly retained: boolean;
  /** Seconds that were left until it expires; `null` where its sender set no expiry. */
  readonly expiresInS: number | null;
  /** When it was sent, by its sender's clock, ISO 8601; `null` where that is not said. */
  readonly sentAt: string | null;
  /** The topic for the answer, and the data that the answer has to carry. */
  readonly replyTo: string | null;
  readonly correlation: Uint8Array | null;
}

export interface PublishOptions {
  /** Kept by the broker for whoever subscribes later. */
  readonly retain?: boolean;
  /** 1: resolved once the broker has it. 0 without it. */
  readonly qos?: 0 | 1;
  /** Seconds after which the broker drops it. */
  readonly expiresInS?: number | undefined;
  readonly correlation?: Uint8Array | null;
}

export interface RequestOptions {
  /** The topic for answers, of this caller alone. */
  readonly replyTo: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Bus {
  /** Fails with a `BusError` when the connection is gone. */
  publish(topic: string, payload: string | Uint8Array, options?: PublishOptions): Promise<void>;
  /**
   * Subscribes to topics, with `+` and `#`, and gets what is retained there, until the returned function is called. At QoS 1 a
   * broker drops what comes faster than it is acknowledged (Mosquitto: beyond a thousand); at 0 it sends all.
   */
  subscribe(
    filters: readonly string[],
    listener: (message: Message) => void,
    qos?: 0 | 1,
  ): Promise<() => Promise<void>>;
  /** Sends an object as JSON, and gives the first answer to it. Fails with a `BusError`, `timeout` where none comes. */
  request(topic: string, body: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<unknown>;
  /** Disconnects from the broker. */
  close(): Promise<void>;
  /** Resolves when the connection ends, with the reason. */
  readonly ended: Promise<BusError>;
}

/**
 * Why a bus is not there: nothing answers; it does not answer in time; its certificate, or ours, is not accepted; the login is not;
 * another client of our name has taken our place; what answers speaks otherwise; it hung up; we did; a file that the settings
 * name cannot be used.
 */
export type BusReason =
  | ("unreachable" | "timeout" | "tls" | "login" | "taken_over" | "protocol" | "closed" | "left" | "settings")
  | ("forbidden" | "too_large");

/** A failure of a bus. Code decides by its reason; the message and the hint are for people. */
export class BusError extends Error {
  override readonly name = "BusError";
  readonly reason: BusReason;
  readonly hint: string | undefined;

  constructor(reason: BusReason, message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.hint = options.hint;
  }
}

/** The JSON object that a message holds; `null` where it holds none. */
export function objectIn(payload: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload).toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Why nothing was reached, by the codes of the system. */
export const netWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name could not be looked up",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ECONNRESET: "it hung up",
};
