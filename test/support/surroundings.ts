/** What a platform is given by the daemon, with the answers of a test. */
import type {
  Credentials,
  DeviceSurroundings,
  Emit,
  Facts,
  MdnsService,
  PlatformState,
} from "../../src/platforms/platform.ts";

export interface SurroundingsOptions {
  readonly timeout?: number;
  readonly broadcasts?: readonly string[];
  /** What is kept for the device at first. */
  readonly credentials?: Credentials;
  announced?(type: string, host: string): MdnsService | null;
}

export function surroundingsOf(options: SurroundingsOptions = {}): DeviceSurroundings {
  let kept = options.credentials ?? null;
  return {
    requestTimeout: () => options.timeout ?? 2_000,
    isOwnListener: () => false,
    broadcasts: () => options.broadcasts ?? [],
    announced: async (type, host) => options.announced?.(type, host) ?? null,
    debug: () => {},
    credentials: {
      read: () => kept,
      readAnyway: () => kept,
      keep: async (credentials) => {
        kept = credentials;
      },
      drop: async () => {
        kept = null;
      },
    },
  };
}

export interface Told {
  /** What connections learned on the way, and what they said of the state, each in order. */
  readonly learned: Partial<Facts>[];
  readonly states: Partial<PlatformState>[];
  /** Why each connection that ended did. */
  readonly ended: ("hung_up" | "going_off")[];
  readonly emit: Emit;
}

/** Takes down what connections tell. */
export function listener(): Told {
  const told: Told = {
    learned: [],
    states: [],
    ended: [],
    emit(event) {
      if (event.type === "facts") told.learned.push(event.facts);
      else if (event.type === "state") told.states.push(event.patch);
      else told.ended.push(event.why);
    },
  };
  return told;
}

/** Takes nothing down. */
export const nobody: Emit = () => {};

/** A call of a set that is off, as the daemon's `power-on` makes it. */
export const calling = { silent: false, withinMs: 30_000 } as const;
