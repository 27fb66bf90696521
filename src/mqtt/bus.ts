/**
 * A bus: topics that are published to and subscribed to, and requests that are answered. What is built on it knows no
 * broker and no package; behind it is MQTT (broker.ts).
 */

/** A message as it came. Nothing of it is to be trusted. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** The broker kept it: nobody may want it any more. */
  readonly retained: boolean;
  /** Seconds that were left of its life when the broker handed it on; `null` where its sender set none. */
  readonly expiresInS: number | null;
  /** When its sender says that it was sent, as an instant of ISO 8601; `null` where that is not said. */
  readonly sentAt: string | null;
  /** Where an answer is wanted, and the mark that it carries. */
  readonly replyTo: string | null;
  readonly correlation: Uint8Array | null;
}

export interface PublishOptions {
  /** Kept by the broker for whoever subscribes later. */
  readonly retain?: boolean;
  /** 1: the broker has it when the promise is kept. 0 without it. */
  readonly qos?: 0 | 1;
  /** After so many seconds the broker hands it to nobody any more. */
  readonly expiresInS?: number | undefined;
  readonly correlation?: Uint8Array | null;
}

export interface RequestOptions {
  /** The topic that answers come to, one of this caller alone. */
  readonly replyTo: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Bus {
  /** Fails with a `BusError` when the connection is gone. */
  publish(topic: string, payload: string | Uint8Array, options?: PublishOptions): Promise<void>;
  /**
   * Hears what comes to topics, with `+` and `#`, and what is kept there; until the function that it gives is called. At 1 a
   * broker drops what comes faster than it is acknowledged (Mosquitto: beyond a thousand); at 0, the whole of it is sent.
   */
  subscribe(
    filters: readonly string[],
    listener: (message: Message) => void,
    qos?: 0 | 1,
  ): Promise<() => Promise<void>>;
  /** Sends an object as JSON, and gives the first answer to it. Fails with a `BusError`, `timeout` where none comes. */
  request(topic: string, body: Readonly<Record<string, unknown>>, options: RequestOptions): Promise<unknown>;
  /** Ends the connection, and says so to the broker. */
  close(): Promise<void>;
  /** Kept when the connection ends, with why. */
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

/** A failure of a bus. What is decided is decided by its reason; the message and the hint are for people. */
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

/** Why nothing was reached, by the codes of the system. */
export const netWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name could not be looked up",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ECONNRESET: "it hung up",
};
