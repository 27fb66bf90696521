/** One renderer: calls to its services, its events, and its state, as `state` of a connection. */
import { hasCode, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import { tryOr } from "../../system/try-or.ts";
import { DeviceHttp, type Read, type RequestOptions } from "../../transport/http.ts";
import { askSoap, type SoapAction, type SoapValues, soapFlag, tellSoap, unlessFault } from "../../transport/soap.ts";
import {
  type Emit,
  emptySet,
  type PlatformHost,
  type PlatformState,
  type Playback,
  type StatePart,
  stateParts,
} from "../platform.ts";
import { Events } from "./events.ts";
import type { DlnaMemory, DlnaTarget } from "./memory.ts";
import { levelOf, ownVolume, type Range, readDescription, readPosition, readStatus, usualRange } from "./protocol.ts";
import { type Stack, stacks } from "./stacks.ts";

export type Args = Readonly<Record<string, string | number>>;
type ServiceName = "transport" | "rendering" | "connections";
type Volume = NonNullable<PlatformState["volume"]>;

/** For the metadata of what is playing, and the list of all types that it accepts. */
const answerBytes = 512 * 1024;
/** Some answer only when they have begun to load the file; they may take 30 s (Device Architecture 1.0, 3.2.2). */
const loadTimeoutMs = 12_000;
const loads: ReadonlySet<string> = new Set(["SetAVTransportURI", "Play"]);
/** How long a proof of identity is valid for polling; a read of the whole state proves it again. */
const proofValidMs = 40_000;
/** How long the last state counts while events arrive. */
const pushedValidMs = 15_000;
/**
 * After a command the renderer is polled for this long, with or without events: some report the position before a seek
 * for a moment, and send no event (seen with Kodi).
 */
const settleMs = 4_000;
/** A renderer that reports volume 0 while muted reports the real one within this time. */
const unmuteMs = 3_000;

const nothing = { power: "unknown", app: null, screensaver: null, input: null } as const;
const allParts: ReadonlySet<StatePart> = new Set(stateParts);

export class Renderer {
  readonly #target: DlnaTarget;
  readonly #http: DeviceHttp;
  readonly #emit: Emit<DlnaMemory>;
  /** Calls to its services. */
  readonly #soap: Pick<DeviceHttp, "read" | "command"> = {
    read: (path, signal, options = {}) => {
      const proven = performance.now() - this.#provenAt >= proofValidMs;
      return this.#http.read(path, signal, { ...this.#withConnection(options), maxBytes: answerBytes, proven });
    },
    command: (path, signal, options = {}) => this.#http.command(path, signal, this.#withConnection(options)),
  };
  readonly #events: Events;
  /** Whether it tells what it plays; some cannot (players.md 8: 501 from an Onkyo). */
  showsPlayback = true;
  /** Whether it was told to play last, and not to pause or to stop. */
  isToldToPlay = false;
  /** Whether it was muted last by zapd: some do not report it. */
  isToldToMute = false;
  #provenAt = Number.NEGATIVE_INFINITY;
  /** The level that was set last, and its value in the renderer's range, which it may round. */
  #requestedVolume: { readonly own: number; readonly level: number } | undefined;
  /** The level that was read or set last. */
  #lastLevel: number | null = null;
  #unmutedAt = Number.NEGATIVE_INFINITY;
  /** Counts commands, so that a read from before one is dropped. */
  #commands = 0;
  #commandedAt = Number.NEGATIVE_INFINITY;
  /** The state as last read, while events arrive. */
  #lastState: { readonly playback: Playback | null; readonly volume: Volume | null; readonly at: number } | undefined;

  constructor(target: DlnaTarget, platformHost: PlatformHost, emit: Emit<DlnaMemory>) {
    this.#target = target;
    this.#emit = emit;
    this.#http = new DeviceHttp({ address: target, platformHost, prove: (read) => this.#prove(read) });
    this.#events = new Events({
      http: this.#http,
      target,
      debug: (message) => platformHost.debug(`${target.facts.name ?? target.host}: ${message}`),
      changed: (signal) => this.#readAndEmit(signal),
      ended: () => {
        this.#lastState = undefined;
        emit({ type: "hint" });
      },
    });
  }

  get memory(): DlnaMemory {
    return this.#target.memory;
  }

  get stack(): Stack {
    return stacks[this.memory.stack ?? "other"];
  }

  /** All parts, while events arrive. */
  get pushes(): ReadonlySet<StatePart> {
    return this.#events.isReceiving && this.#lastState !== undefined ? allParts : emptySet;
  }

  /** Reads values from a service. */
  async query(of: ServiceName, action: string, signal: AbortSignal, args: Args = {}): Promise<SoapValues> {
    return askSoap(this.#soap, this.#action(of, action, args), signal).catch((error: unknown) => {
      // A renderer that comes back has lost its subscriptions.
      if (hasCode(error, "device_unreachable")) this.#events.drop();
      throw error;
    });
  }

  /** Sends a command to a service, at most once; the last state no longer counts. */
  async command(of: ServiceName, action: string, signal: AbortSignal, args: Args = {}): Promise<void> {
    const sent = this.#action(of, action, args);
    try {
      await tellSoap(this.#soap, sent, signal);
      if (["Play", "Pause", "Stop"].includes(action)) this.isToldToPlay = action === "Play";
    } finally {
      this.#commands++;
      this.#commandedAt = performance.now();
      this.#lastState = undefined;
      this.#events.readSoon();
    }
  }

  /** Reads the state. A part that the renderer refuses is `null`; one that does not answer fails. */
  async read(signal: AbortSignal): Promise<PlatformState> {
    this.#provenAt = Number.NEGATIVE_INFINITY;
    const [at, last] = [performance.now(), this.#lastState];
    const playback = await this.playback(signal);
    const volume = await this.volume(signal);
    if (last && last === this.#lastState) this.#lastState = { playback, volume, at };
    return { ...nothing, playback, volume };
  }

  follow(): void {
    this.#events.subscribe();
  }

  /**
   * For polling: subscribes to events, and reads the renderer while none arrive. A renderer that was restarted sends
   * none; a full read now and then notices that.
   */
  async readParts(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const last = this.#lastState;
    const isPushed = this.#settleRemainingMs === 0 && this.#events.subscribe() && last !== undefined;
    if (isPushed && parts.length > 0 && performance.now() - last.at < pushedValidMs)
      return { ...nothing, playback: atCurrentPosition(last.playback, last.at), volume: last.volume };
    if (isPushed || parts.length === 0) return this.read(signal);
    const isVolumeOnly = parts.every((part) => part === "volume");
    return {
      ...nothing,
      ...(!isVolumeOnly && { playback: await this.playback(signal) }),
      ...(parts.includes("volume") && { volume: await this.volume(signal) }),
    };
  }

  /** What is playing; `null` for nothing, or where it does not report it. */
  async playback(signal: AbortSignal): Promise<Playback | null> {
    if (!this.memory.transport) return null;
    const asked = this.query("transport", "GetTransportInfo", signal);
    const info = await unlessFault(asked);
    const status = readStatus(info);
    // Any other fault may be gone at the next question.
    this.showsPlayback = await asked.then(
      () => true,
      (error: unknown) => !hasCode(error, "unsupported_operation"),
    );
    if (status === null) return null;
    const position = await unlessFault(this.query("transport", "GetPositionInfo", signal));
    return readPosition(status, new Map([...info, ...position]));
  }

  /** The volume; `null` where it does not report it. */
  async volume(signal: AbortSignal): Promise<Volume | null> {
    const { volume: range = usualRange, mutes = true } = this.memory;
    if (range === null && !mutes) return null;
    const channel = { Channel: "Master" };
    const volume = range && (await unlessFault(this.query("rendering", "GetVolume", signal, channel)));
    const mute = mutes ? await unlessFault(this.query("rendering", "GetMute", signal, channel)) : undefined;
    const own = Number(volume?.get("CurrentVolume") || Number.NaN);
    const muted = soapFlag(mute?.get("CurrentMute"));
    // A negative one is none, where the range has none (openhab-addons#17991).
    const isLevel = range && Number.isFinite(own) && own >= Math.min(0, range.min);
    const level = isLevel ? this.#levelOf(own, range, muted) : null;
    this.#lastLevel = level;
    return { level, muted };
  }

  #levelOf(own: number, range: Range, muted: boolean | null): number {
    const { hidesVolume, volumeSlack = 0 } = this.stack;
    const isHidden = hidesVolume && own === range.min && (muted || performance.now() - this.#unmutedAt < unmuteMs);
    if (isHidden && this.#lastLevel !== null) return this.#lastLevel;
    const requested = this.#requestedVolume;
    return requested && Math.abs(own - requested.own) <= volumeSlack ? requested.level : levelOf(own, range);
  }

  /** Sets a level of 0 to 100. */
  async setVolume(level: number, signal: AbortSignal): Promise<void> {
    const own = ownVolume(level, this.memory.volume ?? usualRange);
    await this.command("rendering", "SetVolume", signal, { Channel: "Master", DesiredVolume: own });
    this.#requestedVolume = { own, level };
    this.#lastLevel = level;
    this.#unmutedAt = Number.NEGATIVE_INFINITY;
  }

  async mute(muted: boolean, signal: AbortSignal): Promise<void> {
    await this.command("rendering", "SetMute", signal, { Channel: "Master", DesiredMute: muted ? 1 : 0 });
    this.isToldToMute = muted;
    if (!muted) this.#unmutedAt = performance.now();
  }

  close(): void {
    this.#events.close();
    this.#http.close();
  }

  /** Fails with `unsupported_operation` where it lacks the service. */
  #action(of: ServiceName, action: string, args: Args): SoapAction {
    const service = this.memory[of];
    if (!service) throw new ZapdError("unsupported_operation", `has no ${names[of]} service`);
    // The first argument of AVTransport and RenderingControl is the instance; 0 always exists.
    const all = of === "connections" ? args : { InstanceID: 0, ...args };
    const timeoutMs = loads.has(action) ? loadTimeoutMs : 0;
    return { path: service.control, service: service.type, action, args: all, timeoutMs };
  }

  #withConnection<T extends RequestOptions>(sent: T): T {
    return this.stack.keepsConnections ? sent : { ...sent, headers: { ...sent.headers, Connection: "close" } };
  }

  async #prove(read: Read): Promise<void> {
    const { path = "/" } = this.memory;
    const answer = await read(path, this.#withConnection({}));
    // Another device is at this address, or the description has moved.
    if (answer.status === 404) throw wrongDevice(this.#target.host);
    // A Panasonic TV that is off sends an empty one.
    if (answer.status !== 200 || answer.body.length === 0) throw protocolError("did not report its identity");
    // An old Samsung TV numbers its paths at each start, so another of its descriptions may be at this one
    // (sermayoral/ha-samsungtv-encrypted#6).
    const described = tryOr(() => readDescription(answer, this.#target, path), null);
    if (described?.identity !== this.#target.identity) throw wrongDevice(this.#target.host);
    const { facts, memory } = described;
    this.#provenAt = performance.now();
    this.#emit({ type: "facts", facts, memory });
  }

  /** Reads what has changed, and emits it. */
  async #readAndEmit(signal: AbortSignal): Promise<number | null> {
    const [at, commands] = [performance.now(), this.#commands];
    const [playback, volume] = [await this.playback(signal), await this.volume(signal)];
    if (signal.aborted || commands !== this.#commands) return null;
    const remainingMs = this.#settleRemainingMs;
    if (remainingMs === 0) this.#lastState = { playback, volume, at };
    this.#emit({ type: "state", patch: { playback, volume } });
    return remainingMs === 0 ? null : remainingMs;
  }

  /** Milliseconds until the effect of the last command can be read. */
  get #settleRemainingMs(): number {
    return Math.max(0, this.#commandedAt + settleMs - performance.now());
  }
}

const names: Readonly<Record<ServiceName, string>> = {
  transport: "AVTransport",
  rendering: "RenderingControl",
  connections: "ConnectionManager",
};

/** The playback with its position as of now. */
function atCurrentPosition(playback: Playback | null, since: number): Playback | null {
  if (playback?.status !== "playing" || playback.position_ms === null) return playback;
  const position = playback.position_ms + Math.round((performance.now() - since) * (playback.rate ?? 1));
  return { ...playback, position_ms: Math.max(0, Math.min(position, playback.duration_ms ?? position)) };
}
