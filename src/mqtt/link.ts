/** Starts and stops the bridge to the broker as the settings say. Without a broker only this file is loaded. */
import type { Config } from "../config/config.ts";
import { withHint } from "../system/text.ts";
import type { Bridge, BridgeOptions, BridgeStatus } from "./bridge.ts";

export type LinkOptions = Omit<BridgeOptions, "settings" | "left">;

export class MqttLink {
  readonly #options: LinkOptions;
  #settings: Config["mqtt"] | undefined;
  #bridge: Bridge | undefined;
  #isStarted = false;
  #isStopped = false;
  /** Changes run one after another. */
  #lastChange: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Applies settings. The same settings restart a bridge with a problem: a file that they name may have been fixed. */
  use(settings: Config["mqtt"]): void {
    const isSame = JSON.stringify(settings) === JSON.stringify(this.#settings);
    if (isSame && (this.#bridge?.status.problem ?? null) === null) return;
    this.#settings = settings;
    if (this.#isStarted) this.#renew();
  }

  start(): void {
    this.#isStarted = true;
    this.#renew();
  }

  /** Disconnects from the broker for good. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#renew();
    await this.#lastChange;
  }

  /** The state of the connection; `null` without a broker. */
  get status(): BridgeStatus | null {
    return this.#bridge?.status ?? null;
  }

  /** Its problem, for the warnings of the daemon. */
  warnings(): string[] {
    const { problem = null, hint = null } = this.status ?? {};
    return problem === null ? [] : [`MQTT: ${withHint(problem, hint)}`];
  }

  /** Also where there is neither a bridge nor a broker: an earlier change may still be opening one. */
  #renew(): void {
    this.#lastChange = this.#lastChange.then(() => this.#replace());
  }

  async #replace(): Promise<void> {
    const before = this.#bridge;
    this.#bridge = undefined;
    const settings = this.#settings;
    const left = await before?.stop(this.#isStopped ? undefined : settings);
    if (this.#isStopped || !settings?.url) return;
    const { Bridge } = await import("./bridge.ts");
    const bridge = await Bridge.open({ ...this.#options, settings, left });
    this.#bridge = bridge;
    bridge.start();
  }
}
