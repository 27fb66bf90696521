/** The last state of one device, as its endpoints have reported it: merged part by part, and published when it changes. */
import type { State } from "../api/schemas.ts";
import { type PlatformState, stateParts } from "../platforms/platform.ts";
import { type Catalog, describeApp } from "./catalog.ts";
import { mergeStates } from "./compose.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EndpointSet } from "./endpoints.ts";
import type { Cause, Feed } from "./feed.ts";
import { unknownState } from "./presence.ts";

/** A change within this time after a command is published as its effect. */
const effectWindowMs = 2_200;

interface LastStateDependencies {
  readonly deviceId: string;
  readonly catalog: Catalog;
  readonly feed: Feed;
  endpoints(): EndpointSet;
  /** Called after each observation; `isNew`: the state has changed. */
  onObserved(isNew: boolean): void;
}

export class LastState {
  readonly #deps: LastStateDependencies;
  readonly #observers = new Set<(state: State) => void>();
  #observedAt: string | undefined;
  /** The command that runs, or the one that ended last. */
  command: { readonly id: string; readonly endedAt: number } | undefined;
  #fullReads = 0;
  #isObserving = false;
  #isShown = false;
  /** Publishes what was observed during the first full read, once that has ended. */
  #publishLater: (() => void) | undefined;

  constructor(deps: LastStateDependencies) {
    this.#deps = deps;
  }

  /** The parts that were ever observed. */
  get parts(): Partial<PlatformState> {
    const endpoints = this.#deps.endpoints();
    const [first, ...others] = endpoints.sourcesOf(this.#credible.map((one) => [one, one.presence.state]));
    return first ? mergeStates(first, ...others) : {};
  }

  /** The endpoints whose last report still counts: not one that became unreachable without reporting that it is off. */
  get #credible(): readonly Endpoint[] {
    const { all } = this.#deps.endpoints();
    const credible = all.filter(({ presence }) => presence.availability.status !== "offline" || presence.isOff);
    return credible.length > 0 ? credible : all;
  }

  /**
   * The state as the API shows it; `null` where nothing was ever observed. Once shown, what an endpoint had observed that was
   * split off is unknown.
   */
  get view(): State | null {
    const { parts } = this;
    return this.#isShown || Object.keys(parts).length > 0 ? this.#merged(parts) : null;
  }

  /** The same; all unknown where nothing was ever observed. */
  get viewOrUnknown(): State {
    return this.#merged(this.parts);
  }

  /** What one endpoint has shown. */
  viewOf(endpoint: Endpoint): State {
    return this.show({ ...unknownState, ...endpoint.presence.state }, endpoint);
  }

  #merged(parts: Partial<PlatformState>): State {
    const { leading, power } = this.#deps.endpoints();
    return this.show({ ...unknownState, ...parts, power }, this.reporterOf("app", parts) ?? leading, {
      observedAt: this.#observedAt,
      positionAt: (this.reporterOf("playback", parts) ?? leading).presence.positionAt,
    });
  }

  /** The endpoint that has reported what is shown; `undefined` where nothing is. */
  reporterOf(part: "app" | "playback", parts = this.parts): Endpoint | undefined {
    const { all } = this.#deps.endpoints();
    return all.find(({ presence }) => parts[part] != null && presence.state[part] === parts[part]);
  }

  /** A platform's state as the API shows it; its app is known by the catalog of the endpoint that reported it. */
  show(
    { power, app, screensaver, playback, volume, input }: PlatformState,
    { id, presence }: Endpoint,
    times: { readonly observedAt?: string | undefined; readonly positionAt?: string | null } = {},
  ): State {
    const { observedAt = new Date().toISOString(), positionAt = presence.positionAt } = times;
    return {
      power,
      app: app && describeApp(app, this.#deps.catalog.apps(id)),
      screensaver,
      playback: playback && {
        ...playback,
        artist: playback.artist ?? null,
        artwork: playback.artwork ?? false,
        position_at: playback.position_ms === null ? null : (positionAt ?? observedAt),
        rate: playback.rate ?? (playback.status === "playing" ? 1 : 0),
      },
      volume,
      input,
      observed_at: observedAt,
    };
  }

  /** Takes what an endpoint reports; nothing else writes the last state. */
  observe(patch: Partial<PlatformState>, cause: Cause, endpoint: Endpoint): void {
    if (!endpoint.isKnown) return;
    this.#isObserving = true;
    endpoint.presence.noteState(patch, cause);
    this.#isObserving = false;
    this.#observedAt = new Date().toISOString();
    const { view } = this;
    if (view === null) return;
    const isIncomplete = this.#isIncomplete;
    this.#publishLater = isIncomplete ? () => this.#publish(cause) : undefined;
    if (!isIncomplete) this.#publish(cause);
    for (const observer of this.#observers) observer(view);
  }

  /** A read has found that it is off: that is its state, even where nothing of it was ever observed. */
  foundOff(): void {
    this.#isShown = true;
    this.#observedAt = new Date().toISOString();
    this.presenceChanged();
  }

  /** It answers, or no longer: what is known of its power may have changed. The other parts are as old as they were. */
  presenceChanged(): void {
    const { view } = this;
    if (this.#isObserving || view === null) return;
    // The read may fail, and then observes nothing.
    if (this.#isIncomplete) this.#publishLater ??= () => this.presenceChanged();
    else this.#publishView(view, "poll");
  }

  /** Published before the first full read has ended, parts not yet read would look as if there were nothing. */
  get #isIncomplete(): boolean {
    const { parts } = this;
    return this.#fullReads > 0 && stateParts.some((part) => parts[part] === undefined);
  }

  #publish(cause: Cause): void {
    this.#publishLater = undefined;
    const { view } = this;
    if (view !== null) this.#deps.onObserved(this.#publishView(view, cause));
  }

  #publishView(view: State, cause: Cause): boolean {
    const { id, endedAt } = this.command ?? { id: undefined, endedAt: 0 };
    this.#isShown = true;
    const actionId = performance.now() - endedAt < effectWindowMs ? id : undefined;
    return this.#deps.feed.publishState(this.#deps.deviceId, view, cause, actionId);
  }

  /** Runs a read of the whole state: until it ends, nothing is published that it has not read yet. */
  async readFully(read: () => Promise<State>): Promise<State> {
    this.#fullReads++;
    try {
      return await read();
    } finally {
      if (--this.#fullReads === 0) this.#publishLater?.();
    }
  }

  /** Calls `observer` with every state observed from now on, until the function that is returned is called. */
  onState(observer: (state: State) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }
}
