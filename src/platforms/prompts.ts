/**
 * Prompts that a paired set shows when we connect (smart-tvs.md 2.5, 3.2). So that they are not shown again and again, nothing
 * connects for a minute after the first, twice as long after each further one, and not at all after five, until the user pairs.
 */
import { closedBeforeSending, type DeviceError, pairingFailed } from "../api/errors.ts";
import type { Emit, Target } from "./platform.ts";

export const pairHint = "Run zapd pair {device}, and accept the request that the TV shows";

export function closedDuringPairing(cause: unknown): DeviceError {
  return pairingFailed("closed", "closed the connection during pairing", {
    hint: "If it was just turned on or off, wait a few seconds, then run zapd pair {device} again",
    cause,
  });
}

/** TVs accept a connection and close it while they turn off or start. */
export const turningOffOrStarting = () =>
  closedBeforeSending("closed the connection: it is turning off or still starting");

const firstPauseMs = 60_000;
const maxPrompts = 5;

interface PromptMemory {
  /** How many prompts have been shown. */
  readonly prompted?: number | undefined;
}

export class Prompts {
  readonly #target: Pick<Target<PromptMemory>, "memory">;
  readonly #emit: Emit<PromptMemory>;
  /** When the last prompt was shown, or when this object was made, where that was later. */
  #at = performance.now();

  constructor(target: Pick<Target<PromptMemory>, "memory">, emit: Emit<PromptMemory>) {
    this.#target = target;
    this.#emit = emit;
  }

  get isLeftAlone(): boolean {
    const times = this.#times;
    if (times >= maxPrompts) return true;
    return times > 0 && performance.now() - this.#at < firstPauseMs * 2 ** (times - 1);
  }

  /** Call when a prompt is shown, also when no caller waits any more. */
  shown(): void {
    this.#at = performance.now();
    this.#emit({ type: "facts", memory: { prompted: this.#times + 1 } });
  }

  get #times(): number {
    return this.#target.memory.prompted ?? 0;
  }
}
