/** One renderer: its services called, what it does read, and what it tells by itself. */
import { hasCode, protocolError, wrongDevice, ZapdError } from "../../api/errors.ts";
import { DeviceHttp, type Read, type ReadOptions, type Sent } from "../../transport/http.ts";
import { askSoap, type SoapValues, soapFlag, tellSoap, unlessFault } from "../../transport/soap.ts";
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
import type { DlnaMemory, DlnaTarget, Service } from "./memory.ts";
import { levelOf, ownVolume, type Range, readDescription, readPosition, readStatus, usualRange } from "./protocol.ts";
import { type Stack, stacks } from "./stacks.ts";

export type Args = Readonly<Record<string, string | number>>;
type Known = "transport" | "rendering" | "connections";
type Volume = NonNullable<PlatformState["volume"]>;

const descriptionBytes = 256 * 1024;
/** What it says of what it plays, and the list of all that it takes. */
const answerBytes = 512 * 1024;
/** Its word on who it is holds so long for looks at what it does; whoever asks for the whole state has it proven at once. */
const knownForMs = 40_000;
/** What it has told is taken to be so for this long. */
const toldForMs = 15_000;
/**
 * After a command it is asked for so long, whatever it tells: some show the place before a jump for a moment, and tell nothing
 * of it (Kodi, as run).
 */
const settlesWithinMs = 4_000;
/** A set that hides its volume while it is silent shows it again within this. */
const unmutesWithinMs = 3_000;

const nothing = { power: "unknown", app: null, screensaver: null, input: null } as const;
/** A renderer has nothing else that could change. */
const everything: ReadonlySet<StatePart> = new Set(stateParts);

export class Renderer {
  readonly #target: DlnaTarget;
  readonly #http: DeviceHttp;
  readonly #emit: Emit<DlnaMemory>;
  readonly #events: Events;
  #provenAt = Number.NEGATIVE_INFINITY;
  /** The level that it was last told, and what that is in its own numbers: it may round. */
  #asked: { readonly own: number; readonly level: number } | undefined;
  #heard: Volume | undefined;
  #unmutedAt = Number.NEGATIVE_INFINITY;
  /** Grows with each command: what was asked before says nothing any more. */
  #commands = 0;
  #commandedAt = Number.NEGATIVE_INFINITY;
  /** What it does, as it was last read while it tells of changes. */
  #seen: { readonly playback: Playback | null; readonly volume: Volume | null; readonly at: number } | undefined;

  constructor(target: DlnaTarget, platformHost: PlatformHost, emit: Emit<DlnaMemory>) {
    this.#target = target;
    this.#emit = emit;
    this.#http = new DeviceHttp({ address: target, platformHost, prove: (read) => this.#prove(read) });
    this.#events = new Events({
      http: this.#http,
      target,
      debug: (message) => platformHost.debug(`${target.facts.name ?? target.host}: ${message}`),
      changed: (signal) => this.#tell(signal),
      ended: () => {
        this.#seen = undefined;
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

  /** All there is, while it tells of its changes by itself. */
  get pushes(): ReadonlySet<StatePart> {
    return this.#events.isHeard && this.#seen !== undefined ? everything : emptySet;
  }

  /** Asks a service for values. */
  async ask(of: Known, action: string, signal: AbortSignal, args: Args = {}): Promise<SoapValues> {
    const { control: path, type } = this.#service(of);
    const isKnown = performance.now() - this.#provenAt < knownForMs;
    const read = (to: string, within: AbortSignal, options: ReadOptions = {}) =>
      this.#http.read(to, within, {
        ...this.#alone(options),
        maxBytes: answerBytes,
        proven: options.proven ?? !isKnown,
      });
    const http = { read, command: this.#http.command.bind(this.#http) };
    return askSoap(http, { path, service: type, action, args: argsOf(of, args) }, signal).catch((error: unknown) => {
      // One that comes back knows of no subscription any more.
      if (hasCode(error, "device_unreachable")) this.#events.drop();
      throw error;
    });
  }

  /** Tells a service to do something; at most once. What was read before says nothing any more. */
  async tell(of: Known, action: string, signal: AbortSignal, args: Args = {}): Promise<void> {
    const { control: path, type } = this.#service(of);
    const command = (to: string, within: AbortSignal, sent: Sent = {}) =>
      this.#http.command(to, within, this.#alone(sent));
    const http = { read: this.#http.read.bind(this.#http), command };
    try {
      await tellSoap(http, { path, service: type, action, args: argsOf(of, args) }, signal);
    } finally {
      this.#commands++;
      this.#commandedAt = performance.now();
      this.#seen = undefined;
      this.#events.look();
    }
  }

  /** What it does. A part that it refuses is `null`; one that does not answer fails. */
  async read(signal: AbortSignal): Promise<PlatformState> {
    this.#provenAt = Number.NEGATIVE_INFINITY;
    const [at, seen] = [performance.now(), this.#seen];
    const playback = await this.playback(signal);
    const volume = await this.volume(signal);
    if (seen && seen === this.#seen) this.#seen = { playback, volume, at };
    return { ...nothing, playback, volume };
  }

  /**
   * Somebody looks often: it is asked to tell of its changes, and asked itself for as long as it does not. One that has been
   * restarted meanwhile tells nothing, and is found out by being asked now and then.
   */
  async readParts(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>> {
    const seen = this.#seen;
    const isTold = this.#settlesIn === 0 && this.#events.want() && seen !== undefined;
    if (isTold && parts.length > 0 && performance.now() - seen.at < toldForMs)
      return { ...nothing, playback: running(seen.playback, seen.at), volume: seen.volume };
    if (isTold || parts.length === 0) return this.read(signal);
    const isLoudnessAlone = parts.every((part) => part === "volume");
    return {
      ...nothing,
      ...(!isLoudnessAlone && { playback: await this.playback(signal) }),
      ...(parts.includes("volume") && { volume: await this.volume(signal) }),
    };
  }

  /** What it plays; `null` where that is nothing, or it does not say (players.md 8: 501 from an Onkyo). */
  async playback(signal: AbortSignal): Promise<Playback | null> {
    if (!this.memory.transport) return null;
    const status = readStatus(await unlessFault(this.ask("transport", "GetTransportInfo", signal)));
    if (status === null) return null;
    return readPosition(status, await unlessFault(this.ask("transport", "GetPositionInfo", signal)));
  }

  /** How loud it is, as it shows it; `null` where it does not. */
  async volume(signal: AbortSignal): Promise<Volume | null> {
    const { volume: range = usualRange, mutes = true } = this.memory;
    if (range === null && !mutes) return null;
    const channel = { Channel: "Master" };
    const loud = range && (await unlessFault(this.ask("rendering", "GetVolume", signal, channel)));
    const mute = mutes ? await unlessFault(this.ask("rendering", "GetMute", signal, channel)) : undefined;
    const own = Number(loud?.get("CurrentVolume") ?? Number.NaN);
    const muted = soapFlag(mute?.get("CurrentMute"));
    const level = range && Number.isFinite(own) ? this.#levelOf(own, range, muted) : null;
    this.#heard = { level, muted };
    return this.#heard;
  }

  #levelOf(own: number, range: Range, muted: boolean | null): number {
    const { hidesVolume, volumeSlack = 0 } = this.stack;
    const isHidden =
      hidesVolume && own === range.min && (muted || performance.now() - this.#unmutedAt < unmutesWithinMs);
    if (isHidden && this.#heard?.level != null) return this.#heard.level;
    const asked = this.#asked;
    return asked && Math.abs(own - asked.own) <= volumeSlack ? asked.level : levelOf(own, range);
  }

  /** To a level of 0 to 100. */
  async setVolume(level: number, signal: AbortSignal): Promise<void> {
    const own = ownVolume(level, this.memory.volume ?? usualRange);
    await this.tell("rendering", "SetVolume", signal, { Channel: "Master", DesiredVolume: own });
    this.#asked = { own, level };
    this.#unmutedAt = Number.NEGATIVE_INFINITY;
  }

  async mute(muted: boolean, signal: AbortSignal): Promise<void> {
    await this.tell("rendering", "SetMute", signal, { Channel: "Master", DesiredMute: muted ? 1 : 0 });
    if (!muted) this.#unmutedAt = performance.now();
  }

  close(): void {
    this.#events.close();
    this.#http.close();
  }

  #service(of: Known): Service {
    const service = this.memory[of];
    if (service) return service;
    throw new ZapdError("unsupported_operation", `has no ${names[of]} that could be called`);
  }

  #alone<T extends Sent>(sent: T): T {
    return this.stack.oneCallEach ? { ...sent, headers: { ...sent.headers, Connection: "close" } } : sent;
  }

  async #prove(read: Read): Promise<void> {
    const { path = "/" } = this.memory;
    const answer = await read(path, this.#alone<ReadOptions>({ maxBytes: descriptionBytes }));
    // Where its description was is another's, or it has moved.
    if (answer.status === 404) throw wrongDevice(this.#target.host);
    if (answer.status !== 200) throw protocolError("did not say who it is");
    const { udn, facts, memory } = readDescription(answer, this.#target, path);
    if (udn !== this.#target.identity) throw wrongDevice(this.#target.host);
    this.#provenAt = performance.now();
    this.#emit({ type: "facts", facts, memory });
  }

  /** Something of it is other than before: it is read, and told. */
  async #tell(signal: AbortSignal): Promise<number | null> {
    const [at, commands] = [performance.now(), this.#commands];
    const [playback, volume] = [await this.playback(signal), await this.volume(signal)];
    if (signal.aborted || commands !== this.#commands) return null;
    const settles = this.#settlesIn;
    if (settles === 0) this.#seen = { playback, volume, at };
    this.#emit({ type: "state", patch: { playback, volume } });
    return settles === 0 ? null : settles;
  }

  /** Milliseconds until what a command does can be seen to have been done. */
  get #settlesIn(): number {
    return Math.max(0, this.#commandedAt + settlesWithinMs - performance.now());
  }
}

/** The instance that a device has in any case comes first; connections are not of one. */
function argsOf(of: Known, args: Args): Args {
  return of === "connections" ? args : { InstanceID: 0, ...args };
}

const names: Readonly<Record<Known, string>> = {
  transport: "AVTransport",
  rendering: "RenderingControl",
  connections: "ConnectionManager",
};

/** What plays, with its position as of now. */
function running(playback: Playback | null, since: number): Playback | null {
  if (playback?.status !== "playing" || playback.position_ms === null) return playback;
  const position = playback.position_ms + Math.round(performance.now() - since);
  return { ...playback, position_ms: Math.min(position, playback.duration_ms ?? position) };
}
