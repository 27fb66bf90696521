/** One command or read of a device: what it needs, how long it may take, and what it changes. */
import type { Capability, Connection, PlatformState, StatePart } from "../platforms/platform.ts";
import type { Endpoint } from "./endpoint.ts";

export interface Task<T> {
  /** What is attempted, for errors: "pressing home". */
  readonly activity: string;
  /** Milliseconds from its turn to its end. */
  readonly timeoutMs: number;
  /** Texts of the caller that the device is given and may repeat: they are not redacted in its errors. */
  readonly callerTexts?: readonly string[];
  /** The capability that it needs; it goes to the endpoint preferred for that, and without it to the leading one. */
  readonly needs?: Capability | undefined;
  /** Whether an endpoint that has the capability can do this very thing. */
  readonly accepts?: ((endpoint: Endpoint) => boolean) | undefined;
  /** It may hold a secret: it goes to paired endpoints only, where there are such. */
  readonly isConfidential?: boolean | undefined;
  /** The one endpoint that it is for. */
  readonly route?: Route;
  work(connection: Connection, signal: AbortSignal, endpoint: Endpoint): Promise<T>;
  /** The parts of the state that it can change; by default all. */
  readonly changes?: readonly StatePart[];
  /** What is known of the state once the device took the command. */
  readonly resultingState?: Partial<PlatformState> | undefined;
  /** It may reach another device or address: its outcome does not change the availability. */
  readonly skipsAvailability?: boolean;
  /** `false`: it does not mark the device as used. */
  readonly isUse?: boolean;
  /** It is a part of pairing. */
  readonly isPairing?: boolean;
  /** Whether a part of it was done already, so that it cannot be tried again. */
  hasStarted?(): boolean;
  /** Called when the device was woken for it, before it is tried again. */
  onWoken?(): void;
  /** Its result at a device that is off: at once, or after waking it. By default the device is woken and the task run. */
  readonly whenOff?: { readonly wake: boolean; readonly result: T };
}

/**
 * One endpoint of a device. `withoutRecovery`: it is neither woken nor searched for, since another may be tried. `isAwaited`:
 * whether a caller waits for it by now, as one does by default; otherwise a device that goes on not answering is hardly searched for.
 */
export interface Route {
  readonly endpoint: Endpoint;
  readonly withoutRecovery?: boolean;
  isAwaited?(): boolean;
}
