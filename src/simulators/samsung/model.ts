/** The state of a set, what it received, and the effects of its keys. */
import { randomInt } from "node:crypto";
import { type Emit, emitter, pushCapped } from "../bench/set.ts";
import { APPS, type Prompting, resolve, type SamsungOptions, type SamsungSimulatorOptions } from "./options.ts";

export interface ReceivedKey {
  readonly code: string;
  readonly how: "Click" | "Press" | "Release";
  /** `fast`: too soon after the previous key. `refused`: from a client that is not admitted. `asleep`: in standby. */
  readonly outcome: "taken" | "fast" | "refused" | "asleep";
}

/** A prompt on the screen. */
export interface OpenPrompt {
  end(how: "allowed" | "denied" | "over" | "cancelled"): void;
}

export class Model {
  readonly options: SamsungOptions;
  readonly tokens: Set<string>;
  readonly received = {
    keys: [] as ReceivedKey[],
    texts: [] as string[],
    launches: [] as { readonly id: string; readonly by: "rest" | "channel"; readonly link: string }[],
    /** Method and path of HTTP requests. */
    requests: [] as string[],
    /** The token of each client, or null. */
    tokens: [] as (string | null)[],
    /** How each closed prompt ended. */
    prompts: [] as string[],
  };
  readonly emit: Emit;
  name: string;
  prompting: Prompting;
  prompt: OpenPrompt | null = null;
  power: "on" | "standby" = "on";
  /** Whether a Frame shows art. */
  art = false;
  front: string | null = null;
  volume = 12;
  muted = false;
  focused = false;
  /** Whether its channels are open and handle nothing. */
  silent = false;
  text = "";
  togglePower = () => {};
  #keyAt = Number.NEGATIVE_INFINITY;

  constructor(options: SamsungSimulatorOptions) {
    this.options = resolve(options);
    this.tokens = new Set(this.options.tokens);
    this.name = options.name;
    this.prompting = this.options.prompt;
    this.emit = emitter(options);
  }

  /** Eight digits, as sets give (smart-tvs.md 3.2). */
  newToken(): string {
    const token = String(randomInt(10_000_000, 100_000_000));
    this.tokens.add(token);
    return token;
  }

  /** Handles a key of the channel. In standby only power has an effect; a key that comes too fast is lost (3.4). */
  receiveKey(code: string, how: ReceivedKey["how"]): void {
    const now = performance.now();
    const isFast = how !== "Release" && now - this.#keyAt < this.options.traits.keyMs;
    const outcome = isFast ? "fast" : this.power === "standby" && code !== "KEY_POWER" ? "asleep" : "taken";
    this.#keyAt = now;
    pushCapped(this.received.keys, { code, how, outcome });
    if (outcome !== "taken") return;
    this.emit("key", how === "Click" ? code : `${code} ${how.toLowerCase()}`);
    if (how === "Click") this.applyKey(code);
    else this.#receiveHeldKey(code, how, now);
  }

  #pressedAt = Number.NEGATIVE_INFINITY;

  #receiveHeldKey(code: string, how: "Press" | "Release", now: number): void {
    if (how === "Press") this.#pressedAt = now;
    else if (code === "KEY_POWER" && this.options.frame)
      now - this.#pressedAt >= 2_900 ? this.togglePower() : this.applyKey(code);
    else this.applyKey(code);
  }

  /** The effect of a key, from the network or the original remote. */
  applyKey(code: string): void {
    if (code === "KEY_POWER") {
      // A short press toggles the art of a Frame, which stays on (3.3).
      if (this.options.frame && this.power === "on") this.art = !this.art;
      if (!this.options.frame || this.power === "standby") this.togglePower();
    }
    if (code === "KEY_HOME") this.front = null;
    if (code === "KEY_VOLUP") this.volume = Math.min(100, this.volume + 1);
    if (code === "KEY_VOLDOWN") this.volume = Math.max(0, this.volume - 1);
    if (code === "KEY_MUTE") this.muted = !this.muted;
  }

  /** Starts an app; false for an unknown id or in standby. */
  launch(id: string, by: "rest" | "channel", link = ""): boolean {
    const app = APPS.find((one) => one.id === id);
    if (!app || this.power !== "on") return false;
    pushCapped(this.received.launches, { id, by, link });
    this.emit("launch", `launched ${app.name}${link === "" ? "" : ` with ${link}`}`);
    this.front = id;
    return true;
  }

  /** Leaves an app if it is in front. */
  stop(id: string): void {
    if (this.front !== id) return;
    this.front = null;
    this.emit("close", `closed ${APPS.find((one) => one.id === id)?.name ?? id}`);
  }
}
