/** A checked scene: its steps, each with its devices and its API commands. */
import type { OperationName } from "../api/routes.ts";
import type { Policy } from "../api/scenes.ts";
import type { State } from "../api/schemas.ts";
import type { Condition } from "../devices/conditions.ts";
import type { Device } from "../devices/device.ts";

/** The operations that steps consist of. */
export type StepOperation = Extract<
  OperationName,
  "pressKey" | "pressKeys" | "launchApp" | "setVolume" | "selectInput" | "playMedia" | "notify"
>;

export interface Command {
  readonly operation: StepOperation;
  readonly body: object;
}

interface Base {
  /** Its position: `4.then.1`. */
  readonly at: string;
  readonly line: number | null;
  readonly name: string | null;
  /** A description, without typed text. */
  readonly does: string;
  readonly onError: Policy;
  readonly devices: readonly Device[];
}

/** Commands to each of its devices, one after another. */
export interface Act extends Base {
  readonly kind: "act";
  readonly commands: readonly Command[];
  /** The pause between two of its commands. */
  readonly delayMs: number;
  /** Whether a state has the effect already: then the device gets no command. */
  readonly hasEffect?: ((state: State) => boolean) | undefined;
  /** What is waited for afterwards, since the command does not confirm its effect. */
  readonly readsBack?: Condition | undefined;
  /** It types text, which a failure may repeat. */
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
  /** What happens where the conditions do not hold in time. */
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

export interface Plan {
  /** `null` for steps from a request. */
  readonly name: string | null;
  readonly steps: readonly Planned[];
  /** The devices of all steps. */
  readonly devices: readonly Device[];
}

/** All steps in the order of writing, nested ones after their own. */
export function* allSteps(steps: readonly Planned[]): Generator<Planned> {
  for (const step of steps) {
    yield step;
    if (step.kind === "if") for (const branch of [step.branches.yes, step.branches.no]) yield* allSteps(branch);
    if (step.kind === "parallel") for (const branch of step.branches) yield* allSteps(branch);
  }
}
