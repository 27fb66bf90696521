/**
 * The state as the TV pushes it. It is polled for what was not reported since the last command, and for what it does
 * not push (smart-tvs.md 2.4).
 */
import { ZapdError } from "../../api/errors.ts";
import { sleep, until } from "../../system/sleep.ts";
import { deadline } from "../../transport/http.ts";
import type { PlatformState, Playback, Power, StatePart } from "../platform.ts";
import { turningOffOrStarting } from "../prompts.ts";
import { WebosError } from "./failures.ts";
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

/** The parts of the state that each topic reports. */
const partsOf: Readonly<Record<Topic, readonly StatePart[]>> = {
  power: ["power", "screensaver"],
  volume: ["volume"],
  app: ["app", "input"],
  media: ["playback"],
};

/** The topics that report these parts of the state. */
export function topicsOf(parts: readonly StatePart[]): readonly Topic[] {
  return topics.filter((topic) => partsOf[topic].some((part) => parts.includes(part)));
}

/** How long a report is valid: of a topic that is pushed, and of one that was never seen to be. */
const fresh = { pushed: 5_000, polled: 100 } as const;
/** A second report this long after the first is a push; an earlier one may belong to the first answer. */
const firstAnswerMs = 100;
/** A topic that goes unanswered this often, while others are answered, is not reported by this TV. */
const maxMisses = 2;
/** While waiting for a change: how often the pushed state is checked, and how often the TV is polled. */
const checkEveryMs = 20;
const pollEveryMs = 300;

/** The last report on a topic; `payload` is `null` where this TV does not report it. */
interface Report {
  readonly payload: Payload | null;
  readonly at: number;
}

interface StateListener {
  /** A report differs from the one before. */
  changed(patch: Partial<PlatformState>): void;
  /** The TV is off, or turning off. */
  goingOff(): void;
  /** The title of an app, where a list has named it. */
  title(appId: string): string | null;
}

export class WebosState {
  readonly #session: WebosSession;
  readonly #listener: StateListener;
  readonly #reports = new Map<Topic, Report>();
  readonly #pushed = new Set<Topic>();
  readonly #misses = new Map<Topic, number>();
  /** Its inputs, once listed: an app that stands for one is shown by the input's word. */
  inputs: readonly WebosInput[] = [];
  #commandAt = Number.NEGATIVE_INFINITY;

  private constructor(session: WebosSession, listener: StateListener) {
    this.#session = session;
    this.#listener = listener;
  }

  /** Subscribes to all topics. A topic that cannot be subscribed to stays unknown, and fails nothing. */
  static async follow(session: WebosSession, listener: StateListener, signal: AbortSignal): Promise<WebosState> {
    const state = new WebosState(session, listener);
    const follow = async (topic: Topic) => {
      let firstAt: number | undefined;
      const onReport = (payload: Payload) => {
        if (isBare(payload)) return;
        const now = performance.now();
        firstAt ??= now;
        if (now - firstAt > firstAnswerMs) state.#pushed.add(topic);
        state.#record(topic, payload);
      };
      // What fails here is polled later.
      await session.subscribe(uris[topic], onReport, deadline(session.graceMs, signal)).catch(() => {});
      signal.throwIfAborted();
    };
    await Promise.all(topics.map(follow));
    return state;
  }

  /** The parts that the TV was seen to push. */
  get pushes(): ReadonlySet<StatePart> {
    return new Set([...this.#pushed].flatMap((topic) => partsOf[topic]));
  }

  /** A command was sent: earlier reports no longer count. */
  invalidate(): void {
    this.#commandAt = performance.now();
  }

  /**
   * Polls what is older than the last command and what is not pushed, or else whether the TV answers at all. Fails with
   * `device_timeout` when it answers nothing.
   */
  async refresh(signal: AbortSignal, wanted: readonly Topic[] = topics): Promise<void> {
    const due = wanted.filter((topic) => this.#isDue(topic));
    if (due.length === 0 && this.#session.sinceMessageMs < fresh.polled) return;
    // Its answer to this, even "not supported", tells a TV that ignores a topic from one that answers nothing.
    await this.#pollAll([...new Set<Topic>(["power", ...due])], signal);
  }

  /** Polls one topic. Whether the TV answered, even with "not supported". */
  async poll(topic: Topic, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#session.read(uris[topic], (payload) => this.#record(topic, payload), signal);
      return true;
    } catch (error) {
      if (!(error instanceof WebosError)) return false;
      const isUnsupported = error.code === "unsupported_operation" || error.code === "device_refused";
      if (isUnsupported) this.#record(topic, null);
      else this.#reports.delete(topic);
      return true;
    }
  }

  /** Whether a report is older than this, and a change would not have been pushed. */
  isStale(topic: Topic, ms: number): boolean {
    if (!this.reports(topic)) return false;
    return performance.now() - this.#reportedAt(topic) > (this.#pushed.has(topic) ? fresh.pushed : ms);
  }

  isReportedSince(topic: Topic, moment: number): boolean {
    return this.#reportedAt(topic) >= moment;
  }

  /** Whether the TV reports a topic, as far as is known. */
  reports(topic: Topic): boolean {
    return this.#reports.get(topic)?.payload !== null;
  }

  /** Waits until a condition holds, by pushes and by polling; `false` when it does not in time. */
  async until(topic: Topic, holds: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const within = deadline(timeoutMs, signal);
    let isPolling = false;
    let nextPollAt = performance.now() + pollEveryMs;
    const isOver = () => {
      if (holds() || !this.#session.alive) return true;
      if (performance.now() < nextPollAt || isPolling || !this.reports(topic)) return false;
      nextPollAt = performance.now() + pollEveryMs;
      isPolling = true;
      void this.poll(topic, within).finally(() => {
        isPolling = false;
      });
      return false;
    };
    await until(isOver, { everyMs: checkEveryMs, timeoutMs, signal });
    return holds();
  }

  get power(): Power {
    const { power } = readPower(this.#payload("power") ?? {});
    if (power !== null) return power;
    // webOS 2 does not report its power; its foreground app is empty while it is off (2.4).
    const app = this.#payload("app");
    return app === null ? "unknown" : app["appId"] === "" ? "standby" : "on";
  }

  get isOff(): boolean {
    return this.power === "standby" || this.power === "off";
  }

  get isScreenOn(): boolean {
    return readPower(this.#payload("power") ?? {}).screen;
  }

  /** The id of the foreground app, `null` for the home screen. */
  get app(): string | null {
    const payload = this.#payload("app");
    return payload && readApp(payload);
  }

  /** The id of the foreground app, home screen included; `null` when it is not known. */
  get foregroundId(): string | null {
    const id = this.#payload("app")?.["appId"];
    return typeof id === "string" ? id : null;
  }

  get playback(): Playback | null {
    const payload = this.#payload("media");
    return payload && readMedia(payload);
  }

  get volumePayload(): Payload | null {
    return this.#payload("volume");
  }

  get volume(): PlatformState["volume"] {
    const payload = this.volumePayload;
    return payload && readVolume(payload);
  }

  describe(): PlatformState {
    const { power, app } = this;
    if (this.isOff) return { power, app: null, screensaver: null, playback: null, volume: null, input: null };
    const powerPayload = this.#payload("power");
    return {
      power,
      app: app === null ? null : appOf(app, this.#listener.title(app)),
      screensaver: powerPayload && readPower(powerPayload).screensaver,
      playback: this.playback,
      volume: this.volume,
      input: app === null ? null : (this.inputs.find(({ appId }) => appId === app)?.word ?? inputOf(app)),
    };
  }

  async #pollAll(asked: readonly Topic[], signal: AbortSignal): Promise<void> {
    const session = this.#session;
    const startedAt = performance.now();
    const enough = new AbortController();
    const within = AbortSignal.any([signal, enough.signal]);
    const silent: Topic[] = [];
    const others = new ZapdError("device_timeout", "answered other requests, but not this one");
    let answers = 0;
    const ask = async (topic: Topic) => {
      if (!(await this.poll(topic, within))) return void silent.push(topic);
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
    if (!session.alive) throw turningOffOrStarting();
    if (silent.length === asked.length && session.sinceMessageMs > performance.now() - startedAt) {
      session.destroy();
      throw new ZapdError("device_timeout", "accepts requests, but answers none of them", {
        hint: "It may be asleep or frozen: look at its screen, or turn it off and on with its own remote",
      });
    }
    for (const topic of silent) {
      if (this.isReportedSince(topic, startedAt)) continue;
      const misses = (this.#misses.get(topic) ?? 0) + 1;
      this.#misses.set(topic, misses);
      if (misses < maxMisses) this.#reports.delete(topic);
      else this.#record(topic, null);
    }
  }

  #isDue(topic: Topic): boolean {
    if (!this.reports(topic)) return false;
    return this.#reportedAt(topic) < this.#commandAt || this.isStale(topic, fresh.polled);
  }

  #reportedAt(topic: Topic): number {
    return this.#reports.get(topic)?.at ?? Number.NEGATIVE_INFINITY;
  }

  #payload(topic: Topic): Payload | null {
    return this.#reports.get(topic)?.payload ?? null;
  }

  #publish(topic: Topic, payload: Payload): void {
    const { app, input, playback, volume } = this.describe();
    if (topic !== "power")
      return this.#listener.changed(topic === "app" ? { app, input } : topic === "media" ? { playback } : { volume });
    const { power, screensaver, isTurningOff } = readPower(payload);
    // App and volume count only while the TV is on, and are not reported again when it comes on.
    const others = {
      ...(this.#reports.has("app") && { app, input }),
      ...(this.#reports.has("media") && { playback }),
      ...(this.#reports.has("volume") && { volume }),
    };
    if (power !== null) this.#listener.changed({ power, screensaver, ...others });
    if (isTurningOff || power === "off") this.#listener.goingOff();
  }

  #record(topic: Topic, payload: Payload | null): void {
    const before = this.#payload(topic);
    this.#reports.set(topic, { payload, at: performance.now() });
    if (payload && JSON.stringify(payload) !== JSON.stringify(before)) this.#publish(topic, payload);
  }
}

/** Whether an answer says no more than that it is one (2.4): it is no report. */
function isBare(payload: Payload): boolean {
  return Object.keys(payload).every((name) => name === "subscribed" || name === "returnValue");
}
