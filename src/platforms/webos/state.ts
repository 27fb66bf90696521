/** What a set pushes, kept, and asked for where nothing was pushed since the last command (smart-tvs.md 2.4). */
import type { PlatformState, Playback, Power } from "../platform.ts";
import { appOf, inputOf, type Payload, readApp, readMedia, readPower, readVolume, uris } from "./protocol.ts";
import type { WebosSession } from "./session.ts";

const topics = ["power", "volume", "app", "media"] as const;
type Topic = (typeof topics)[number];

/** What was last said of something; `null`: this set does not say. */
interface Said {
  readonly payload: Payload | null;
  readonly at: number;
}

export interface StateListener {
  /** The set said this of its power by itself. `leaving`: it is on its way to be off. */
  power(power: Power | null, leaving: boolean): void;
}

export class WebosState {
  readonly #session: WebosSession;
  readonly #said = new Map<Topic, Said>();
  readonly #waiting = new Set<() => void>();
  #commandAt = Number.NEGATIVE_INFINITY;

  private constructor(session: WebosSession) {
    this.#session = session;
  }

  /** Subscribes to all that is pushed; what the set does not know stays unknown, and fails nothing. */
  static async follow(session: WebosSession, listener: StateListener, signal: AbortSignal): Promise<WebosState> {
    const state = new WebosState(session);
    const follow = async (topic: Topic) => {
      const told = (payload: Payload) => {
        state.#take(topic, payload);
        if (topic !== "power") return;
        const { power, leaving } = readPower(payload);
        listener.power(power, leaving);
      };
      await session.subscribe(uris[topic], told, signal).catch(() => state.#take(topic, null));
    };
    await Promise.all(topics.map(follow));
    return state;
  }

  /** From now on what was said before is old. */
  commanded(): void {
    this.#commandAt = performance.now();
  }

  /** Asks for what is older than the last command. */
  async refresh(signal: AbortSignal): Promise<void> {
    const old = topics.filter((topic) => {
      const said = this.#said.get(topic);
      return said?.payload !== null && (said?.at ?? Number.NEGATIVE_INFINITY) < this.#commandAt;
    });
    await Promise.all(
      old.map(async (topic) => {
        const payload = await this.#session.request(uris[topic], {}, signal).catch((error: unknown) => {
          if (signal.aborted || !this.#session.alive) throw error;
          return null;
        });
        if (payload) this.#take(topic, payload);
      }),
    );
  }

  /** Waits until something holds, by what is pushed; `false` when it does not within `ms`. */
  async until(holds: () => boolean, ms: number, signal: AbortSignal): Promise<boolean> {
    if (holds()) return true;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        signal.removeEventListener("abort", aborted);
        act();
      };
      const look = () => {
        if (holds()) settle(() => resolve(true));
      };
      const aborted = () => settle(() => reject(signal.reason));
      const timer = setTimeout(() => settle(() => resolve(holds())), ms);
      this.#waiting.add(look);
      signal.addEventListener("abort", aborted, { once: true });
    });
  }

  get power(): Power {
    const payload = this.#payload("power");
    if (payload) return readPower(payload).power ?? "unknown";
    // webOS 2 does not say; the app in front is empty when it is off (2.4).
    const app = this.#payload("app");
    return app === null ? "unknown" : app["appId"] === "" ? "standby" : "on";
  }

  get isScreenOn(): boolean {
    const payload = this.#payload("power");
    return payload === null || readPower(payload).screen;
  }

  /** The id of the app that is shown, `null` for home. */
  get app(): string | null {
    const payload = this.#payload("app");
    return payload && readApp(payload);
  }

  get playback(): Playback | null {
    const payload = this.#payload("media");
    return payload && readMedia(payload);
  }

  get muted(): boolean | null {
    const payload = this.#payload("volume");
    return payload && readVolume(payload).muted;
  }

  describe(title: (appId: string) => string | null): PlatformState {
    const { power, app } = this;
    if (power === "off" || power === "standby")
      return { power, app: null, screensaver: null, playback: null, volume: null, input: null };
    const volume = this.#payload("volume");
    const said = this.#payload("power");
    return {
      power,
      app: app === null ? null : appOf(app, title(app)),
      screensaver: said && readPower(said).screensaver,
      playback: this.playback,
      volume: volume && readVolume(volume),
      input: app === null ? null : inputOf(app),
    };
  }

  #payload(topic: Topic): Payload | null {
    return this.#said.get(topic)?.payload ?? null;
  }

  #take(topic: Topic, payload: Payload | null): void {
    this.#said.set(topic, { payload, at: performance.now() });
    for (const look of [...this.#waiting]) look();
  }
}
