/**
 * What a set pushes, kept, and asked for where it was not said since the last command, or where it was never seen to push
 * (smart-tvs.md 2.4).
 */
import { ZapdError } from "../../api/errors.ts";
import { sleep, until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import type { PlatformState, Playback, Power, StatePart } from "../platform.ts";
import { hungUp, SetFailure } from "./failures.ts";
import {
  appOf,
  inputOf,
  type Payload,
  readApp,
  readMedia,
  readPower,
  readVolume,
  uris,
  type WebosInput,
} from "./protocol.ts";
import type { WebosSession } from "./session.ts";

const topics = ["power", "volume", "app", "media"] as const;
export type Topic = (typeof topics)[number];

/** What of the state each topic tells. */
const partsOf: Readonly<Record<Topic, readonly StatePart[]>> = {
  power: ["power", "screensaver"],
  volume: ["volume"],
  app: ["app", "input"],
  media: ["playback"],
};

/** The topics that tell parts of the state. */
export function topicsOf(parts: readonly StatePart[]): readonly Topic[] {
  return topics.filter((topic) => partsOf[topic].some((part) => parts.includes(part)));
}

/** What was said is taken for true this long: of what the set pushes, and of what it was never seen to push. */
const fresh = { pushed: 5_000, asked: 100 } as const;
/** A second word on a topic this long after the first is a push; before, it may belong to the first answer. */
const pushesAfter = 100;
/** Who lets that many questions pass while it answers others does not tell. */
const missesAtMost = 2;
/** While something is waited for: how often what was pushed is looked at, and how often the set is asked. */
const lookEvery = 20;
const askEvery = 300;

/** What was last said of something; `null`: this set does not say. */
interface Said {
  readonly payload: Payload | null;
  readonly at: number;
}

export interface StateListener {
  /** What the set said is another thing than before. */
  changed(patch: Partial<PlatformState>): void;
  /** It is off, or on its way to be. */
  leaves(): void;
  /** The name of an app, where a list has said it. */
  title(appId: string): string | null;
}

export class WebosState {
  readonly #session: WebosSession;
  readonly #listener: StateListener;
  readonly #said = new Map<Topic, Said>();
  readonly #pushed = new Set<Topic>();
  readonly #misses = new Map<Topic, number>();
  /** Its inputs, once it has listed them: an app that stands for one is told by its word. */
  inputs: readonly WebosInput[] = [];
  #commandAt = Number.NEGATIVE_INFINITY;

  private constructor(session: WebosSession, listener: StateListener) {
    this.#session = session;
    this.#listener = listener;
  }

  /** Subscribes to all that may be pushed; what the set does not tell stays unknown, and fails nothing. */
  static async follow(session: WebosSession, listener: StateListener, signal: AbortSignal): Promise<WebosState> {
    const state = new WebosState(session, listener);
    const follow = async (topic: Topic) => {
      let firstAt: number | undefined;
      const told = (payload: Payload) => {
        const now = performance.now();
        firstAt ??= now;
        if (now - firstAt > pushesAfter) state.#pushed.add(topic);
        state.#take(topic, payload);
      };
      // What fails here is asked for when it is wanted.
      await session.subscribe(uris[topic], told, deadline(session.graceMs, signal)).catch(() => {});
      signal.throwIfAborted();
    };
    await Promise.all(topics.map(follow));
    return state;
  }

  /** What it was seen to tell by itself. */
  get pushes(): ReadonlySet<StatePart> {
    return new Set([...this.#pushed].flatMap((topic) => partsOf[topic]));
  }

  /** From now on what was said before is old. */
  commanded(): void {
    this.#commandAt = performance.now();
  }

  /**
   * Asks for what is older than the last command, for what the set does not push, and whether it answers at all. Fails with
   * `device_timeout` when it answers nothing: what is known is not true any more then.
   */
  async refresh(signal: AbortSignal, wanted: readonly Topic[] = topics): Promise<void> {
    const due = wanted.filter((topic) => this.#isDue(topic));
    if (due.length === 0 && this.#session.quiet < fresh.asked) return;
    await this.#askAll(due.length === 0 ? ["power"] : due, signal);
  }

  /** Asks about one topic. Whether the set answered, and be it that it does not tell. */
  async ask(topic: Topic, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#session.read(uris[topic], (payload) => this.#take(topic, payload), signal);
      return true;
    } catch (error) {
      if (!(error instanceof SetFailure)) return false;
      const never = error.code === "unsupported_operation" || error.code === "device_refused";
      if (never) this.#take(topic, null);
      else this.#said.delete(topic);
      return true;
    }
  }

  /** Whether what is known of a topic is older than this, and would not have been pushed. */
  isOld(topic: Topic, ms: number): boolean {
    const said = this.#said.get(topic);
    if (said?.payload === null) return false;
    return performance.now() - (said?.at ?? Number.NEGATIVE_INFINITY) > (this.#pushed.has(topic) ? fresh.pushed : ms);
  }

  /** Whether the set said something of it after a moment. */
  saidSince(topic: Topic, moment: number): boolean {
    return (this.#said.get(topic)?.at ?? Number.NEGATIVE_INFINITY) >= moment;
  }

  /** Whether it tells of a topic, as far as is known. */
  tells(topic: Topic): boolean {
    return this.#said.get(topic)?.payload !== null;
  }

  /** Waits until something holds, by what is pushed and by asking; `false` when it does not in time. */
  async until(topic: Topic, holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const within = deadline(timeoutMs, signal);
    let isAsking = false;
    let asksAt = performance.now() + askEvery;
    const isOver = () => {
      if (holds() || !this.#session.alive) return true;
      if (performance.now() < asksAt || isAsking || !this.tells(topic)) return false;
      asksAt = performance.now() + askEvery;
      isAsking = true;
      void this.ask(topic, within).finally(() => {
        isAsking = false;
      });
      return false;
    };
    await until(isOver, { everyMs: lookEvery, timeoutMs, signal });
    return holds();
  }

  get power(): Power {
    const payload = this.#payload("power");
    const said = payload && readPower(payload).power;
    if (said) return said;
    // webOS 2 does not say; the app in front is empty when it is off (2.4).
    const app = this.#payload("app");
    return app === null ? "unknown" : app["appId"] === "" ? "standby" : "on";
  }

  get isOff(): boolean {
    return this.power === "standby" || this.power === "off";
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

  /** The id of what is shown, home included; `null` when it is not known. */
  get shown(): string | null {
    const id = this.#payload("app")?.["appId"];
    return typeof id === "string" ? id : null;
  }

  get playback(): Playback | null {
    const payload = this.#payload("media");
    return payload && readMedia(payload);
  }

  /** What was last said of the volume, as the set words it. */
  get volumeSaid(): Payload | null {
    return this.#payload("volume");
  }

  get muted(): boolean | null {
    const payload = this.#payload("volume");
    return payload && readVolume(payload).muted;
  }

  describe(title: (appId: string) => string | null): PlatformState {
    const { power, app } = this;
    if (this.isOff) return { power, app: null, screensaver: null, playback: null, volume: null, input: null };
    const volume = this.#payload("volume");
    const said = this.#payload("power");
    return {
      power,
      app: app === null ? null : appOf(app, title(app)),
      screensaver: said && readPower(said).screensaver,
      playback: this.playback,
      volume: volume && readVolume(volume),
      input: app === null ? null : (this.inputs.find(({ appId }) => appId === app)?.word ?? inputOf(app)),
    };
  }

  async #askAll(asked: readonly Topic[], signal: AbortSignal): Promise<void> {
    const session = this.#session;
    const begun = performance.now();
    const enough = new AbortController();
    const within = AbortSignal.any([signal, enough.signal]);
    const silent: Topic[] = [];
    const others = new ZapdError("device_timeout", "answered others, but not this");
    let answers = 0;
    const ask = async (topic: Topic) => {
      if (!(await this.ask(topic, within))) return void silent.push(topic);
      this.#misses.delete(topic);
      if (answers++ > 0) return;
      void sleep(session.graceMs, within).then(
        () => enough.abort(others),
        () => {},
      );
    };
    await Promise.all(asked.map(ask));
    enough.abort(others);
    signal.throwIfAborted();
    if (!session.alive) throw hungUp();
    if (silent.length === asked.length && session.quiet > performance.now() - begun) {
      session.destroy();
      throw new ZapdError("device_timeout", "takes what it is asked, and answers none of it", {
        hint: "It may be asleep, or hang: see what it shows, or turn it off and on with its own remote",
      });
    }
    for (const topic of silent) {
      if (this.saidSince(topic, begun)) continue;
      const misses = (this.#misses.get(topic) ?? 0) + 1;
      this.#misses.set(topic, misses);
      if (misses < missesAtMost) this.#said.delete(topic);
      else this.#take(topic, null);
    }
  }

  #isDue(topic: Topic): boolean {
    const said = this.#said.get(topic);
    if (said?.payload === null) return false;
    return (said?.at ?? Number.NEGATIVE_INFINITY) < this.#commandAt || this.isOld(topic, fresh.asked);
  }

  #payload(topic: Topic): Payload | null {
    return this.#said.get(topic)?.payload ?? null;
  }

  #tell(topic: Topic, payload: Payload): void {
    const { app, input, playback, volume } = this.describe((id) => this.#listener.title(id));
    if (topic !== "power")
      return this.#listener.changed(topic === "app" ? { app, input } : topic === "media" ? { playback } : { volume });
    const { power, screensaver, leaving } = readPower(payload);
    // What it shows and how loud it is counts only while it is on, and is not told anew when it comes on.
    const others = {
      ...(this.#said.has("app") && { app, input }),
      ...(this.#said.has("media") && { playback }),
      ...(this.#said.has("volume") && { volume }),
    };
    if (power !== null) this.#listener.changed({ power, screensaver, ...others });
    if (leaving || power === "off") this.#listener.leaves();
  }

  #take(topic: Topic, payload: Payload | null): void {
    const before = this.#payload(topic);
    this.#said.set(topic, { payload, at: performance.now() });
    if (payload && JSON.stringify(payload) !== JSON.stringify(before)) this.#tell(topic, payload);
  }
}
