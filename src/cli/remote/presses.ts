/**
 * Sends commands to devices: one at a time to each device, in order. While a key is kept down the daemon holds it; its
 * repeats are not sent as presses.
 */
import type { Failure } from "../../api/errors.ts";
import type { Command, Order } from "./model.ts";

/** A press this soon after the one before is a repeat of a key that is down: terminals repeat every 30 to 95 ms, people tap slower. */
const repeatMs = 100;
/** A key counts as up after this time without a repeat. `told`: the terminal reports key-up, but the report may be lost. */
const releaseAfterMs = { guessed: 200, told: 1_000 } as const;
/** How often the hold is renewed; the daemon releases a key after 2 s without renewal. */
const renewMs = 400;
const maxWaiting = 8;
const maxAgeMs = 3_000;

interface Dependencies {
  /** Sends a command, reports its outcome to the model, and gives the failure, if any. */
  send(id: string, command: Command): Promise<Failure | null>;
  dropped(id: string, count: number): void;
  now(): number;
}

interface QueuedCommand {
  readonly command: Command;
  readonly input?: string | undefined;
  readonly at: number;
  /** The hold that it starts, renews or ends: such a command is never dropped. */
  readonly hold?: Hold;
}

interface Hold {
  readonly id: string;
  readonly input: string;
  readonly key: Order["holdKey"] & string;
  /** Whether the daemon was told that the key is down. */
  isDown: boolean;
  renewal?: ReturnType<typeof setTimeout>;
  end?: ReturnType<typeof setTimeout>;
}

interface DeviceQueue {
  waiting: QueuedCommand[];
  /** The command that is being sent. */
  current: QueuedCommand | undefined;
  draining: Promise<void> | null;
}

export class Presses {
  readonly #deps: Dependencies;
  readonly #queues = new Map<string, DeviceQueue>();
  #last: { readonly id: string; readonly input: string; readonly at: number; readonly repeats: number } | undefined;
  #hold: Hold | undefined;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Sends a command behind those that wait for the same device; a key that repeats becomes a hold. */
  enqueue({ id, input, command, isRepeat = false, holdKey }: Order): void {
    const at = this.#deps.now();
    if (input === undefined) return this.#addToQueue(id, { command, at });
    const isSame = (one: { readonly id: string; readonly input: string } | undefined) =>
      one?.id === id && one.input === input;
    if (isSame(this.#hold)) return this.#extendHold(isRepeat);
    const last = isSame(this.#last) ? this.#last : undefined;
    const repeats = last && (isRepeat || at - last.at < repeatMs) ? last.repeats + 1 : 0;
    this.#last = { id, input, at, repeats };
    const wait = { command, input, at };
    // One press this soon may only have been delayed on its way, and counts as a press.
    if (!isRepeat && repeats < 2) this.#addToQueue(id, wait);
    else if (holdKey !== undefined) this.#startHold({ id, input, key: holdKey, isDown: false }, isRepeat);
    // Of volume steps and seeks one waits at most; keys without hold are not repeated.
    else if (command.operation !== "pressKey") this.#addToQueue(id, wait, true);
  }

  /** Ends the hold: of this input, or of any, since another key was pressed. The next press is a new one. */
  release(input?: string): void {
    const hold = this.#hold;
    this.#last = undefined;
    if (!hold || (input !== undefined && input !== hold.input)) return;
    this.#hold = undefined;
    clearTimeout(hold.renewal);
    clearTimeout(hold.end);
    const queue = this.#queueOf(hold.id);
    queue.waiting = queue.waiting.filter((one) => one.hold !== hold);
    if (hold.isDown) this.#sendHold(hold, "up");
  }

  /** The key of the terminal that is held. */
  get held(): string | undefined {
    return this.#hold?.input;
  }

  /** Ends the hold and drops what has not been sent. Resolves once the daemon knows that no key is down. */
  async end(): Promise<void> {
    this.release();
    const queues = [...this.#queues.values()];
    for (const queue of queues) queue.waiting = queue.waiting.filter(({ hold }) => hold);
    // What ends a hold waits behind commands of that hold only.
    const holding = queues.filter(({ current }) => current?.hold);
    await Promise.all(holding.map(({ draining }) => draining));
  }

  #queueOf(id: string): DeviceQueue {
    const queue = this.#queues.get(id) ?? { waiting: [], current: undefined, draining: null };
    this.#queues.set(id, queue);
    return queue;
  }

  #addToQueue(id: string, wait: QueuedCommand, once = false): void {
    const queue = this.#queueOf(id);
    const { command, input } = wait;
    // Only the last of several seeks counts.
    const newest = once || (command.operation === "controlPlayback" && command.body.do === "seek");
    const at = newest ? queue.waiting.findIndex((one) => one.input === input) : -1;
    if (at >= 0) queue.waiting[at] = wait;
    else if (!wait.hold && queue.waiting.length >= maxWaiting) return this.#deps.dropped(id, 1);
    else queue.waiting.push(wait);
    queue.draining ??= this.#drain(id, queue);
  }

  #startHold(hold: Hold, isTold: boolean): void {
    const queue = this.#queueOf(hold.id);
    queue.waiting = queue.waiting.filter(({ input }) => input !== hold.input);
    this.#hold = hold;
    this.#sendHold(hold, "down");
    this.#extendHold(isTold);
  }

  #extendHold(isTold: boolean): void {
    if (!this.#hold) return;
    clearTimeout(this.#hold.end);
    this.#hold.end = setTimeout(() => this.release(), isTold ? releaseAfterMs.told : releaseAfterMs.guessed);
  }

  #sendHold(hold: Hold, phase: "down" | "up"): void {
    const command = { operation: "pressKey", body: { key: hold.key, phase } } as const;
    this.#addToQueue(hold.id, { command, at: this.#deps.now(), hold });
  }

  async #drain(id: string, queue: DeviceQueue): Promise<void> {
    for (let next = queue.waiting.shift(); next; next = queue.waiting.shift()) {
      const { command, hold, at } = next;
      queue.current = next;
      if (!hold && this.#deps.now() - at > maxAgeMs) {
        const late = queue.waiting.filter((one) => !one.hold);
        this.#deps.dropped(id, 1 + late.length);
        queue.waiting = queue.waiting.filter((one) => one.hold);
        continue;
      }
      if (hold) hold.isDown = true;
      const failure = await this.#deps.send(id, command);
      // What waits was meant to follow this command.
      if (failure && failure.code !== "unsupported_key") queue.waiting = queue.waiting.filter((one) => one.hold);
      // A hold that failed stays here, so that its repeats are not sent as presses.
      if (hold && failure) hold.isDown = false;
      else if (hold && hold === this.#hold) hold.renewal = setTimeout(() => this.#sendHold(hold, "down"), renewMs);
    }
    queue.current = undefined;
    queue.draining = null;
  }
}
