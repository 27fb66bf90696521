/** Keeps the bridge to the broker as the settings want it. Without a broker this file is all of it that is loaded. */
import type { Config } from "../config/config.ts";
import type { Log } from "../system/log.ts";
import { withHint } from "../system/text.ts";
import type { Bridge, BridgeOptions, BridgeStatus } from "./bridge.ts";
import type { SiteTopics } from "./topics.ts";

export interface LinkOptions {
  /** The state folder. */
  readonly state: string;
  /** Calls the API of this daemon. */
  ask(request: Request): Response | Promise<Response>;
  readonly log: Log;
  /** Where packages may come from, and where they wait. */
  readonly artifacts: BridgeOptions["artifacts"];
  /** Where HTTP is served on this machine, such as `http://127.0.0.1:7272`; `null` where it is not. */
  address(): string | null;
  /** Whether the page for people is served there. */
  page(): boolean;
}

export class MqttLink {
  readonly #options: LinkOptions;
  #settings: Config["mqtt"] | undefined;
  #bridge: Bridge | undefined;
  /** The settings that the bridge was made with. */
  #bridged: Config["mqtt"] | undefined;
  #isStarted = false;
  #isOver = false;
  /** One change after another. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Takes new settings. The same ones again restart a bridge with a problem: a file that they name, or the broker, may have been mended. */
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

  /** Disconnects from the broker, for good. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#renew();
    await this.#turn;
  }

  /** The state of the connection; `null` without a broker. */
  get status(): BridgeStatus | null {
    return this.#bridge?.status ?? null;
  }

  /** What is wrong with it, for the health of the daemon. */
  warnings(): string[] {
    const { problem = null, hint = null } = this.status ?? {};
    return problem === null ? [] : [`MQTT: ${withHint(problem, hint)}`];
  }

  #renew(): void {
    if (!this.#bridge && (this.#isOver || !this.#settings?.url)) return;
    this.#turn = this.#turn.then(() => this.#replace());
  }

  async #replace(): Promise<void> {
    const before = this.#bridge;
    this.#bridge = undefined;
    const settings = this.#settings;
    await before?.stop({ renamed: !this.#isOver && isRenamed(this.#bridged, settings) });
    if (this.#isOver || !settings?.url) return;
    const [{ Bridge }, { HomeAssistant }] = await Promise.all([import("./bridge.ts"), import("./home-assistant.ts")]);
    const companions = (topics: SiteTopics) => [new HomeAssistant({ ...this.#options, settings, topics })];
    const bridge = await Bridge.open({ ...this.#options, settings, companions });
    if (this.#isOver) return;
    this.#bridge = bridge;
    this.#bridged = settings;
    bridge.start();
  }
}

/** Whether a site has other topics now, at the same broker. */
function isRenamed(before: Config["mqtt"] | undefined, now: Config["mqtt"] | undefined): boolean {
  if (!before || !now || before.url !== now.url) return false;
  return before.site !== now.site || before.prefix !== now.prefix;
}
