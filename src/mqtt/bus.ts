/**
 * A message bus: publish, subscribe, and requests with answers. Its users know nothing of MQTT, which implements it
 * (broker.ts).
 */
import type { ErrorOptions } from "../api/errors.ts";
import { isObject } from "../system/json.ts";

/** A received message, untrusted. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** A retained message, which may be outdated. */
  readonly retained: boolean;
  /** Seconds until it expires; `null` where its sender set no expiry. */
  readonly expiresInS: number | null;
  /** When it was sent by the sender's clock, ISO 8601; `null` where not given. */
  readonly sentAt: string | null;
  /** The topic for the answer, and the correlation data to repeat in it. */
  readonly replyTo: string | null;
  readonly correlation: Uint8Array | null;
}

export interface PublishOptions {
  /** The broker keeps it for later subscribers. */
  readonly retain?: boolean;
  /** 1: resolves once the broker has acknowledged it. 0 by default. */
  readonly qos?: 0 | 1;
  /** Seconds after which the broker drops it. */
  readonly expiresInS?: number | undefined;
  readonly correlation?: Uint8Array | null;
}

export interface RequestOptions {
  /** The topic for answers to this caller. */
  readonly replyTo: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Bus {
  /** Fails with a `BusError` when the connection has ended. */
  publish(topic: string, payload: string | Uint8Array, options?: PublishOptions): Promise<void>;
  /**
   * Subscribes to topic filters until the returned function is called, and receives retained messages first. At QoS 1 a broker
   * drops messages that are not acknowledged fast enough (Mosquitto: beyond a thousand); at QoS 0 it sends all. No two subscriptions
   * of one bus have a filter in common.
   */
  subscribe(
    filters: readonly string[],
    listener: (message: Message) => void,
    qos?: 0 | 1,
  ): Promise<() => Promise<void>>;
  /** Sends an object as JSON, and resolves with the first answer. Fails with a `BusError`, `timeout` without an answer. */
  request(topic: string, body: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<unknown>;
  /** Disconnects from the broker. */
  close(): Promise<void>;
  /** Resolves when the connection ends, with the reason. */
  readonly ended: Promise<BusError>;
}

/**
 * Why the bus failed: nothing answers; no answer in time; a certificate is not accepted; the login is not accepted; another client
 * has our client id; the protocol is broken; the broker closed the connection; zapd disconnected; a file of the settings cannot be used; the
 * broker forbids it; a message is too large.
 */
export type BusReason =
  | ("unreachable" | "timeout" | "tls" | "login" | "taken_over" | "protocol" | "closed" | "left" | "settings")
  | ("forbidden" | "too_large");

/** A failure of the bus. Code decides by its reason; the message and the hint are for people. */
export class BusError extends Error {
  override readonly name = "BusError";
  readonly reason: BusReason;
  readonly hint: string | undefined;

  constructor(reason: BusReason, message: string, options: Pick<ErrorOptions, "hint" | "cause"> = {}) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.hint = options.hint;
  }
}

/** The JSON object in a message; `null` where there is none. */
export function objectIn(payload: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload).toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Texts for the system codes of network errors. */
export const networkErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name could not be resolved",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ECONNRESET: "it closed the connection",
};
