/**
 * One conversation with an Android TV (players.md 4.1). The TV sends the first message, offers its features, and pushes
 * its power, its volume and the app on its screen. It answers no command.
 */
import { closedBeforeSending, DeviceError } from "../../api/errors.ts";
import { orAborted, until } from "../../system/sleep.ts";
import { type FramedConnection, openFramed } from "../../transport/framed.ts";
import { hungUp } from "../../transport/http-connection.ts";
import { Message } from "../../transport/protobuf.ts";
import { RpcSession } from "../../transport/rpc.ts";
import type { ConnectionEnd } from "../../transport/sliced-connection.ts";
import type { Address, PlatformHost } from "../platform.ts";
import { inPem } from "./certificate.ts";
import { refusedMessage } from "./failures.ts";
import type { AndroidSecret } from "./memory.ts";
import { features, framing, messages, ours, remote } from "./protocol.ts";

/** The TV pings every 5 s; after three missing pings it is gone (4.1). */
const silenceTimeoutMs = 16_000;
const lookEveryMs = 1_000;
/** After this silence nothing more is sent over the session; a new one is opened. */
const doubtfulMs = 8_000;
/** A TV that does not report its power is ready this long after the greeting. */
const readyTimeoutMs = 1_500;
/** A TV that refuses commands sends the first one back within this time. */
const refusalDelayMs = 300;
/** Volume and app follow the report that the TV is on. */
const firstReportsTimeoutMs = 500;

/** What the TV has reported; `null` where it has not. */
export interface RemoteState {
  readonly isOn: boolean | null;
  /** The package of the app on the screen. */
  readonly app: string | null;
  readonly volume: { readonly level: number; readonly most: number; readonly muted: boolean } | null;
  readonly model: string | null;
  readonly vendor: string | null;
  /** The features that both sides support, as bits. */
  readonly features: number;
}

export class RemoteSession extends RpcSession<never, FramedConnection> {
  state: RemoteState = { isOn: null, app: null, volume: null, model: null, vendor: null, features: 0 };
  /** Whether the TV has sent its first message. */
  isGreeted = false;
  readonly #target: Address;
  readonly #secret: AndroidSecret;
  readonly #platformHost: PlatformHost;
  readonly #ready = Promise.withResolvers<void>();
  #early: Buffer[] | null = [];
  /** Whether it takes commands; `null` before the first. */
  #takes: boolean | null = null;
  #counters: { readonly ime: number; readonly field: number } | null = null;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #changed: () => void = () => {};

  constructor(target: Address, secret: AndroidSecret, platformHost: PlatformHost) {
    super({ platformHost, heartbeatMs: lookEveryMs, silenceTimeoutMs });
    this.#target = target;
    this.#secret = secret;
    this.#platformHost = platformHost;
    this.#ready.promise.catch(() => {});
    this.onEnd(() => this.#ready.reject(closedBeforeSending("closed the connection before it was ready")));
  }

  /** A TV with another certificate is sent nothing, and nothing from it is read. */
  protected async connect(onEnd: (why: ConnectionEnd) => void, signal: AbortSignal): Promise<FramedConnection> {
    const onFrame = (body: Buffer) => (this.#early ? this.#early.push(body) : this.#handle(new Message(body)));
    const secure = inPem(this.#secret);
    const options = { address: this.#target, platformHost: this.#platformHost, secure, ...framing };
    const line = await openFramed({ ...options, onFrame, onEnd }, signal);
    if (line.fingerprint === this.#secret.certificate) return line;
    line.destroy();
    throw new DeviceError(
      "device_unproven",
      "showed a different certificate than a moment ago: it may be another device",
      {
        phase: "connect",
        reason: "wrong_device",
      },
    );
  }

  /** Waits, once the line is open, until the TV accepts commands and has sent its first reports. */
  async whenReady(hasVolume: boolean, signal: AbortSignal): Promise<void> {
    const early = this.#early ?? [];
    this.#early = null;
    for (const body of early) this.#handle(new Message(body));
    await orAborted(this.#ready.promise, signal);
    const isComplete = ({ app, volume, isOn }: RemoteState) =>
      isOn !== true || ((app !== null || !this.has("ime")) && (volume !== null || !hasVolume || !this.has("volume")));
    await until(() => !this.alive || isComplete(this.state), { timeoutMs: firstReportsTimeoutMs, everyMs: 10, signal });
    if (!this.alive) throw closedBeforeSending("closed the connection before it was ready");
  }

  /** Whether the TV has been silent for longer than it should be. */
  get isDoubtful(): boolean {
    return this.silentForMs > doubtfulMs;
  }

  has(feature: keyof typeof features): boolean {
    return (this.state.features & features[feature]) !== 0;
  }

  /** Calls the listener with every change from now on. */
  follow(changed: () => void): void {
    this.#changed = changed;
  }

  /** Sends a message. Fails with `device_unreachable` where the connection has ended. */
  send(message: Uint8Array): void {
    this.sendWithoutAnswer((line) => line.send(message));
  }

  /** Sends a command; `requireTaken` then tells whether the TV has refused this one. */
  begin(message: Uint8Array): void {
    this.#takes ||= null;
    this.send(message);
  }

  /** Sends a command. The first one waits a moment for its refusal, since a TV answers no command that it takes. */
  async command(message: Uint8Array, signal: AbortSignal): Promise<void> {
    this.begin(message);
    const isOver = () => this.#takes !== null || !this.alive;
    await until(isOver, { timeoutMs: refusalDelayMs, everyMs: 10, signal });
    this.requireTaken();
    if (!this.alive) throw hungUp("closed the connection before it confirmed the command");
    this.#takes = true;
  }

  /** Fails with `device_refused` where the TV has refused the command that was sent last. */
  requireTaken(): void {
    if (this.#takes === false) throw refusedMessage();
  }

  /** Types into the focused text field. A TV may not report a field that was open before the session. */
  async type(text: string, signal: AbortSignal): Promise<void> {
    const soon = { timeoutMs: firstReportsTimeoutMs, everyMs: 10, signal };
    await until(() => this.#counters !== null || !this.alive, soon);
    const counters = this.#counters;
    this.begin(messages.text(text, counters ?? { ime: 0, field: 0 }));
    // The next text needs the counters that follow this one, where the TV counts.
    const isCounted = () => this.#counters !== counters;
    await until(() => isCounted() || !this.alive, soon);
    this.requireTaken();
    if (!isCounted() && !this.alive) throw hungUp("closed the connection before it confirmed the text");
  }

  #handle(message: Message): void {
    const ping = message.message(remote.ping);
    if (ping) return this.send(messages.pong(ping.number(1)));
    const refused = message.message(remote.error)?.message(2);
    const configure = message.message(remote.configure);
    const edit = message.message(remote.edit);
    const app = message.message(remote.app);
    const start = message.message(remote.start);
    const volume = message.message(remote.volume);
    if (configure) {
      const device = configure.message(2);
      const active = configure.number(1) & ours;
      this.isGreeted = true;
      this.state = { ...this.state, model: textIn(device, 1), vendor: textIn(device, 2), features: active };
      this.send(messages.configure(active));
    } else if (message.message(remote.setActive)) {
      this.send(messages.setActive(this.state.features));
      this.#grace ??= setTimeout(() => this.#ready.resolve(), this.has("power") ? readyTimeoutMs : 0);
      this.#grace.unref?.();
    } else if (edit) {
      this.#counters = { ime: edit.number(1), field: edit.number(2) };
    } else if (app) {
      this.state = { ...this.state, app: textIn(app.message(1), 12) };
      this.#changed();
    } else if (start) {
      const isOn = start.number(1) === 1;
      this.state = { ...this.state, isOn };
      // zapd does not reconnect by itself to a TV that turns off: that would wake some.
      this.leaving = !isOn;
      this.#ready.resolve();
      this.#changed();
    } else if (volume) {
      const [most, level] = [volume.number(6), volume.number(7)];
      this.state = { ...this.state, volume: { most, level: Math.min(level, most), muted: volume.number(8) === 1 } };
      this.#changed();
    } else if (refused && [remote.key, remote.edit, remote.link].some((field) => refused.message(field) !== null)) {
      this.#takes = false;
    }
  }
}

/** A text that is not empty, cut at 512 characters. */
function textIn(message: Message | null, field: number): string | null {
  return message?.text(field).slice(0, 512) || null;
}
