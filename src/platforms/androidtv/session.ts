/**
 * One conversation with an Android TV (players.md 4.1): it speaks first, offers what it can, and tells by itself whether it is
 * on, its volume and the app on its screen. What it is told is never answered.
 */
import { closedBeforeSending, DeviceError } from "../../api/errors.ts";
import { orAborted, until } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { Message } from "../../transport/protobuf.ts";
import { RpcSession } from "../../transport/rpc.ts";
import type { SessionEnd } from "../../transport/session.ts";
import type { ConnectionEnd } from "../../transport/websocket.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { inPem, type Own } from "./certificate.ts";
import { turnedAway } from "./failures.ts";
import { features, framing, ours, remote, says } from "./protocol.ts";

/** It asks for a sign of life every 5 s, and is gone when it has said nothing for three of them (4.1). */
const silenceTimeoutMs = 16_000;
const lookEveryMs = 1_000;
/** What has been silent for longer than it should is not told anything any more, but called anew. */
const doubtfulMs = 8_000;
/** A TV that does not tell its power is ready once it has been greeted. */
const startWithinMs = 1_500;
/** Its volume and its app come right behind that it is on, where they do. */
const restWithinMs = 500;

/** What a TV has told. What it has not is `null`. */
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

/** What was agreed on with a TV: our certificate, and the fingerprint of its own. */
interface Agreed {
  readonly own: Own;
  readonly certificate: string;
}

export class RemoteSession extends RpcSession<never, FramedConnection> {
  told: Told = { isOn: null, app: null, volume: null, model: null, vendor: null, features: 0 };
  /** Whether it has said anything. */
  isGreeted = false;
  readonly #target: Address;
  readonly #agreed: Agreed;
  readonly #platformHost: PlatformHost;
  readonly #ready = Promise.withResolvers<void>();
  #early: Buffer[] | null = [];
  #counters: { readonly ime: number; readonly field: number } | null = null;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #changed: () => void = () => {};
  #over: (end: SessionEnd) => void = () => {};

  constructor(target: Address, agreed: Agreed, platformHost: PlatformHost) {
    super({ platformHost, heartbeatMs: lookEveryMs, silenceTimeoutMs });
    this.#target = target;
    this.#agreed = agreed;
    this.#platformHost = platformHost;
    this.#ready.promise.catch(() => {});
    this.onEnd((end) => {
      clearTimeout(this.#grace);
      this.#ready.reject(this.isGreeted ? closedBeforeSending("hung up before it was ready") : turnedAway());
      this.#over(end);
    });
  }

  /** Nothing is said to one that shows another certificate, and nothing is read of what it says. */
  protected async connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<FramedConnection> {
    const { own, certificate } = this.#agreed;
    const onFrame = (body: Buffer) => (this.#early ? this.#early.push(body) : this.#take(new Message(body)));
    const options = { address: this.#target, platformHost: this.#platformHost, secure: inPem(own), ...framing };
    const line = await openFramed({ ...options, onFrame, onEnd }, signal);
    if (line.fingerprint === certificate) return line;
    line.destroy();
    throw new DeviceError("device_unproven", "showed another certificate in the midst of things", {
      phase: "connect",
      reason: "wrong_device",
    });
  }

  /** Waits until the TV, once its line is open, can be told something, and has told what it tells at first. */
  async whenReady(hasVolume: boolean, signal: AbortSignal): Promise<void> {
    const early = this.#early ?? [];
    this.#early = null;
    for (const body of early) this.#take(new Message(body));
    await orAborted(this.#ready.promise, signal);
    const isWhole = ({ app, volume, isOn }: Told) =>
      isOn !== true || ((app !== null || !this.has("ime")) && (volume !== null || !hasVolume || !this.has("volume")));
    await until(() => !this.alive || isWhole(this.told), { timeoutMs: restWithinMs, everyMs: 10, signal });
    if (!this.alive) throw closedBeforeSending("hung up as it was greeted");
  }

  /** It asks us for a sign of life, and is not asked for one. */
  protected sendHeartbeat(): void {}

  /** It has been silent for longer than it should. */
  get isDoubtful(): boolean {
    return this.silentForMs > doubtfulMs;
  }

  has(feature: keyof typeof features): boolean {
    return (this.told.features & features[feature]) !== 0;
  }

  /** Has every change told from now on. */
  follow(changed: () => void, over: (end: SessionEnd) => void): void {
    this.#changed = changed;
    this.#over = over;
  }

  /** Sends a message. Fails with `device_unreachable` where the line has ended. */
  send(message: Uint8Array): void {
    this.sendWithoutAnswer((line) => line.send(message));
  }

  /** Types into the field that is open; of which a TV may say nothing to who connects when it is. */
  async type(text: string, signal: AbortSignal): Promise<void> {
    await until(() => this.#counters !== null || !this.alive, { timeoutMs: restWithinMs, everyMs: 10, signal });
    const counters = this.#counters;
    this.send(says.text(text, counters ?? { ime: 0, field: 0 }));
    // What comes next needs the counters of after it, where a TV counts.
    await until(() => this.#counters !== counters || !this.alive, { timeoutMs: restWithinMs, everyMs: 10, signal });
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
      this.told = { ...this.told, model: textIn(device, 1), vendor: textIn(device, 2), features: active };
      this.send(says.configure(active));
    } else if (said.message(remote.setActive)) {
      this.send(says.setActive(this.told.features));
      this.#grace ??= setTimeout(() => this.#ready.resolve(), this.has("power") ? startWithinMs : 0);
      this.#grace.unref?.();
    } else if (edit) {
      this.#counters = { ime: edit.number(1), field: edit.number(2) };
    } else if (app) {
      this.told = { ...this.told, app: textIn(app.message(1), 12) };
      this.#changed();
    } else if (start) {
      const isOn = start.number(1) === 1;
      this.told = { ...this.told, isOn };
      // What goes off is not called again unasked: that would wake some.
      this.leaving = !isOn;
      this.#ready.resolve();
      this.#changed();
    } else if (volume) {
      const [most, level] = [volume.number(6), volume.number(7)];
      this.told = { ...this.told, volume: { most, level: Math.min(level, most), muted: volume.number(8) === 1 } };
      this.#changed();
    }
  }
}

/** A text that says something, cut at 512 characters. */
function textIn(said: Message | null, field: number): string | null {
  return said?.text(field).slice(0, 512) || null;
}
