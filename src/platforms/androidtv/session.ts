/**
 * One conversation with an Android TV (players.md 4.1): it speaks first, offers what it can, and tells by itself whether it is
 * on, its volume and the app on its screen. What it is told is never answered.
 */
import { DeviceError } from "../../api/errors.ts";
import { orAborted, until } from "../../system/sleep.ts";
import { type FramedLine, openFramed } from "../../transport/framed.ts";
import type { Ending, Session } from "../../transport/session.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { inPem, type Own } from "./certificate.ts";
import { turnedAway } from "./failures.ts";
import { features, framing, Message, ours, remote, says } from "./protocol.ts";

/** It asks for a sign of life every 5 s, and is gone when it has said nothing for three of them (4.1). */
const silentMs = 16_000;
const lookEveryMs = 1_000;
/** What has been silent for longer than it should is not told anything any more, but called anew. */
export const doubtfulMs = 8_000;
/** A set that does not tell its power is ready once it has been greeted. */
const startWithinMs = 1_500;
/** Its volume and its app come right behind that it is on, where they do. */
const restWithinMs = 500;

/** What a set has told. What it has not is `null`. */
export interface Told {
  readonly isOn: boolean | null;
  /** The package of the app on the screen. */
  readonly app: string | null;
  readonly volume: { readonly level: number; readonly most: number; readonly muted: boolean } | null;
  readonly model: string | null;
  readonly vendor: string | null;
  /** What it and we can do, as bits. */
  readonly features: number;
}

export class RemoteSession implements Session {
  told: Told = { isOn: null, app: null, volume: null, model: null, vendor: null, features: 0 };
  /** Whether it has said anything. */
  isGreeted = false;
  readonly #ready = Promise.withResolvers<void>();
  #line: FramedLine | undefined;
  #counters: { readonly ime: number; readonly field: number } | null = null;
  #held = 0;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #changed: () => void = () => {};
  #onEnd: (ending: Ending) => void = () => {};

  constructor() {
    this.#ready.promise.catch(() => {});
  }

  /** Opens the line, and waits until the set is ready. Nothing is said to one that shows another certificate. */
  async open(
    address: Address,
    { own, certificate }: { readonly own: Own; readonly certificate: string },
    platformHost: PlatformHost,
    { hasVolume, signal }: { readonly hasVolume: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const early: Buffer[] = [];
    const line = await openFramed(
      {
        address,
        platformHost,
        secure: inPem(own),
        ...framing,
        // What a stranger says is not read.
        onFrame: (body) => (this.#line ? this.#take(new Message(body)) : early.push(body)),
        onEnd: () => this.#ended(),
      },
      signal,
    );
    if (line.fingerprint !== certificate) {
      line.destroy();
      throw new DeviceError("device_unproven", "showed another certificate in the midst of things", {
        phase: "connect",
        reason: "wrong_device",
      });
    }
    this.#line = line;
    for (const body of early) this.#take(new Message(body));
    this.#pulse = setInterval(() => {
      if (performance.now() - line.heardAt > silentMs) line.destroy();
    }, lookEveryMs);
    this.#pulse.unref?.();
    await orAborted(this.#ready.promise, signal);
    const isWhole = ({ app, volume, isOn }: Told) =>
      isOn !== true || ((app !== null || !this.has("ime")) && (volume !== null || !hasVolume || !this.has("volume")));
    await until(() => !this.alive || isWhole(this.told), { timeoutMs: restWithinMs, everyMs: 10, signal });
    if (!this.alive) throw hungUp("hung up as it was greeted");
  }

  get alive(): boolean {
    return this.#line?.open === true;
  }

  /** One that holds a key is not hung up on before that is up. */
  get pending(): number {
    return this.#held;
  }

  /** It has been silent for longer than it should. */
  get isDoubtful(): boolean {
    return performance.now() - (this.#line?.heardAt ?? 0) > doubtfulMs;
  }

  has(feature: keyof typeof features): boolean {
    return (this.told.features & features[feature]) !== 0;
  }

  /** Has every change told from now on. */
  follow(changed: () => void, onEnd: (ending: Ending) => void): void {
    this.#changed = changed;
    this.#onEnd = onEnd;
  }

  /** Sends a message. Fails with `device_unreachable` where the line has ended. */
  send(message: Uint8Array): void {
    if (!this.alive) throw hungUp("hung up");
    this.#line?.send(message);
  }

  /** Types into the field that is open; of which a set may say nothing to who connects when it is. */
  async type(text: string, signal: AbortSignal): Promise<void> {
    await until(() => this.#counters !== null || !this.alive, { timeoutMs: restWithinMs, everyMs: 10, signal });
    const counters = this.#counters;
    this.send(says.text(text, counters ?? { ime: 0, field: 0 }));
    // What comes next needs the counters of after it, where a set counts.
    await until(() => this.#counters !== counters || !this.alive, { timeoutMs: restWithinMs, everyMs: 10, signal });
  }

  /** A key is down, or up again. */
  hold(by: 1 | -1): void {
    this.#held = Math.max(0, this.#held + by);
  }

  close(): void {
    this.#line?.close();
  }

  destroy(): void {
    this.#line?.destroy();
  }

  #take(said: Message): void {
    const ping = said.message(remote.ping);
    if (ping) return this.send(says.pong(ping.number(1)));
    const configure = said.message(remote.configure);
    const edit = said.message(remote.edit);
    const app = said.message(remote.app);
    const start = said.message(remote.start);
    const volume = said.message(remote.volume);
    if (configure) {
      const device = configure.message(2);
      const active = configure.number(1) & ours;
      this.isGreeted = true;
      this.told = { ...this.told, model: device?.text(1) ?? null, vendor: device?.text(2) ?? null, features: active };
      this.send(says.configure(active));
    } else if (said.message(remote.setActive)) {
      this.send(says.setActive(this.told.features));
      this.#grace ??= setTimeout(() => this.#ready.resolve(), this.has("power") ? startWithinMs : 0);
      this.#grace.unref?.();
    } else if (edit) {
      this.#counters = { ime: edit.number(1), field: edit.number(2) };
    } else if (app) {
      this.told = { ...this.told, app: app.message(1)?.text(12) ?? null };
      this.#changed();
    } else if (start) {
      const isOn = start.number(1) === 1;
      this.told = { ...this.told, isOn };
      this.#ready.resolve();
      this.#changed();
    } else if (volume) {
      const [most, level] = [volume.number(6), volume.number(7)];
      this.told = { ...this.told, volume: { most, level: Math.min(level, most), muted: volume.number(8) === 1 } };
      this.#changed();
    }
  }

  #ended(): void {
    clearInterval(this.#pulse);
    clearTimeout(this.#grace);
    this.#ready.reject(this.isGreeted ? hungUp("hung up before it was ready") : turnedAway());
    // What goes off is not called again unasked: that would wake some.
    this.#onEnd({ again: this.told.isOn !== false });
  }
}

function hungUp(problem: string): DeviceError {
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "closed" });
}
