/** A scene that has been checked: its steps, each with its devices and the commands of the API that it runs. */
import type { EndpointName } from "../api/routes.ts";
import type { Policy } from "../api/scenes.ts";
import type { State } from "../api/schemas.ts";
import type { Condition } from "../devices/conditions.ts";
import type { Device } from "../devices/device.ts";

/** The operations of a device that steps are made of. */
export type StepOperation = Extract<
  EndpointName,
  "pressKey" | "pressKeys" | "launchApp" | "setVolume" | "selectInput" | "playMedia" | "notify"
>;

/** A command to a device, as its operation takes it. */
export interface Command {
  readonly operation: StepOperation;
  readonly body: object;
}

interface Base {
  /** Where it stands: `4.then.1`. */
  readonly at: string;
  readonly line: number | null;
  readonly name: string | null;
  /** In words that give away nothing that is typed. */
  readonly does: string;
  readonly onError: Policy;
  readonly devices: readonly Device[];
}

/** Commands to each of its devices, one after another. */
export interface Act extends Base {
  readonly kind: "act";
  readonly commands: readonly Command[];
  /** Between two of its commands. */
  readonly delayMs: number;
  /** Whether a device is in that state already, and need not be told. */
  readonly isSo?: ((state: State) => boolean) | undefined;
  /** Whether its effect is looked for afterwards, since the command does not tell it. */
  readonly isLookedAt?: boolean | undefined;
  /** A failure may repeat what was typed. */
  readonly isTyped: boolean;
}

export interface Wait extends Base {
  readonly kind: "wait";
  readonly ms: number;
}

export interface WaitFor extends Base {
  readonly kind: "wait_for";
  readonly conditions: readonly Condition[];
  readonly timeoutMs: number;
  /** What happens if it has not come true in time. */
  readonly orElse: Policy;
}

export interface If extends Base {
  readonly kind: "if";
  readonly conditions: readonly Condition[];
  readonly branches: { readonly yes: readonly Planned[]; readonly no: readonly Planned[] };
}

export interface Parallel extends Base {
  readonly kind: "parallel";
  readonly branches: readonly (readonly Planned[])[];
}

export type Planned = Act | Wait | WaitFor | If | Parallel;

/** A scene that can be run. */
export interface Plan {
  /** `null` for steps given at once. */
  readonly name: string | null;
  readonly steps: readonly Planned[];
  /** Every device that any of its steps is for. */
  readonly devices: readonly Device[];
}

/** The steps in the order of writing, those in others behind them. */
export function* allOf(steps: readonly Planned[]): Generator<Planned> {
  for (const step of steps) {
    yield step;
    if (step.kind === "if") for (const branch of [step.branches.yes, step.branches.no]) yield* allOf(branch);
    if (step.kind === "parallel") for (const branch of step.branches) yield* allOf(branch);
  }
}
