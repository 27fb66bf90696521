/** Whether one endpoint of a device answers, and what it has shown of its power and its state since the daemon's start. */
import type { Address, PlatformState, Power } from "../platforms/platform.ts";
import type { Cause } from "./feed.ts";
import type { DeviceRecord } from "./record.ts";
import { isSameAddress } from "./standing.ts";

/** Whether a device answers, as seen since the daemon's start. */
export interface Availability {
  readonly status: "online" | "offline" | "unknown";
  readonly last_seen: string | null;
  /** What the device last reported of its power. */
  readonly power: Power | null;
}

interface PresenceDependencies {
  record(): DeviceRecord;
  /** Called when its status or its power has changed. */
  onChange(): void;
}

export class Presence {
  readonly #deps: PresenceDependencies;
  #availability: Availability | undefined;
  /** Where and when it last did not answer. */
  #unreachableAt: (Address & { readonly at: number }) | undefined;
  /** The power that the device last pushed, and when. */
  #pushed: { readonly power: Power; readonly at: number } = { power: "unknown", at: Number.NEGATIVE_INFINITY };
  #state: Partial<PlatformState> = {};
  /** When commands last showed each part. */
  readonly #confirmedAt = new Map<string, number>();
  /** When the playback position was last observed. */
  positionAt: string | null = null;

  constructor(deps: PresenceDependencies) {
    this.#deps = deps;
  }

  /** Its availability since the daemon's start; before any contact, what the registry kept. */
  get availability(): Availability {
    const { last_seen, last_power = null } = this.#deps.record();
    return this.#availability ?? { status: "unknown", last_seen, power: last_power };
  }

  /** Whether it last reported that it is off or going off: if it does not answer then, it is asleep rather than gone. */
  get isOff(): boolean {
    return isPowerOff(this.availability.power);
  }

  /** Its power without asking it: `unknown` where it was on and does not answer. */
  get power(): Power {
    const { status, power } = this.availability;
    if (power === null || (status !== "online" && !isPowerOff(power))) return "unknown";
    return status === "offline" ? "off" : power;
  }

  get state(): Partial<PlatformState> {
    return this.#state;
  }

  /** When it pushed that it is on, by `performance.now()`, if it has pushed nothing else since. */
  get pushedOnAt(): number {
    return this.#pushed.power === "on" ? this.#pushed.at : Number.NEGATIVE_INFINITY;
  }

  /**
   * Notes that it answered, now or at a time of `performance.now()`; `reported` is its new power, `null` where it may be on or
   * off by now. An answer older than the last failure at the same address is ignored.
   */
  noteAnswer(reported?: Power | null, at = performance.now()): void {
    const failed = this.#unreachableAt;
    if (failed && failed.at > at && isSameAddress(failed, this.#deps.record())) return;
    const { power: before } = this.availability;
    if (reported === "standby" && this.#state.power !== undefined)
      this.#state = { ...this.#state, ...standbyState, power: reported };
    this.#set({
      status: "online",
      last_seen: new Date().toISOString(),
      power: reported === undefined ? before : reported,
    });
  }

  /** Notes that it does not answer; with `reported`, that it is about to go off. */
  noteNoAnswer(reported?: "off"): void {
    const { last_seen, power } = this.availability;
    const { host, port } = this.#deps.record();
    this.#unreachableAt = { host, port, at: performance.now() };
    const isSeenOff = this.#state.power !== undefined && isPowerOff(reported ?? power);
    if (isSeenOff) this.#state = { ...this.#state, ...offState };
    this.#set({ status: "offline", last_seen, power: reported ?? power });
  }

  /**
   * Takes what was observed of its state. Power that is `unknown` after a command may be on or off; read as `unknown`, it says
   * nothing. A device that pushes that it is off will not answer.
   */
  noteState(patch: Partial<PlatformState>, cause: Cause): void {
    const { power } = patch;
    if (cause === "push" && power !== undefined && power !== "unknown") this.#pushed = { power, at: performance.now() };
    if (power === "off" && cause === "push") this.noteNoAnswer(power);
    else if (power === "unknown") this.noteAnswer(cause === "command" ? null : undefined);
    else this.noteAnswer(power);
    if (patch.playback !== undefined) this.positionAt = new Date().toISOString();
    const isConfirmed = ([, value]: [string, unknown]) => cause === "command" && value !== "unknown";
    for (const [part] of Object.entries(patch).filter(isConfirmed)) this.#confirmedAt.set(part, performance.now());
    const before = { ...this.#state, ...(power === "off" && offState), ...(power === "standby" && standbyState) };
    this.#state = { ...before, ...patch };
  }

  /** What a read that began at `startedAt` gave, without the parts that a command has shown since. */
  withoutOutdated<State extends Partial<PlatformState>>(read: State, startedAt: number): Partial<State> {
    const parts = Object.entries(read).filter(([part]) => !((this.#confirmedAt.get(part) ?? 0) > startedAt));
    return Object.fromEntries(parts) as Partial<State>;
  }

  /** Whether it has reported since a time of `performance.now()` that it goes off: answers to earlier requests are outdated. */
  reportedOffSince(moment: number): boolean {
    return this.#pushed.power === "off" && this.#pushed.at > moment && this.isOff;
  }

  /** Whether it has pushed its power since a time of `performance.now()`. */
  reportedPowerSince(moment: number): boolean {
    return this.#pushed.at > moment;
  }

  /** The device was removed: if it is added again, its availability is unknown. */
  forget(): void {
    this.#availability = undefined;
  }

  #set(availability: Availability): void {
    const { status, power } = this.availability;
    this.#availability = availability;
    if (status !== availability.status || power !== availability.power) this.#deps.onChange();
  }
}

/** Off or in standby: `power-off` leads to standby on most devices. */
export function isPowerOff(power: Power | null): boolean {
  return power === "off" || power === "standby";
}

const standbyState = { app: null, playback: null, input: null } as const;

export const offState: PlatformState & { readonly app: null } = {
  power: "off",
  app: null,
  screensaver: null,
  playback: null,
  volume: null,
  input: null,
};

export const unknownState: PlatformState = { ...offState, power: "unknown" };
