/** The state of a renderer. */
import { digest, macOf, uuidOf } from "../bench/identity.ts";
import { type Emit, emitter, type SetOptions } from "../bench/set.ts";
import { STACKS, type Stack, type StackName } from "./stacks.ts";

/** The options with a default. */
class Defaults {
  host = "127.0.0.1";
  /** The program it is built with. */
  stack: StackName = "gmediarender";
  /** 0 is any free port. */
  port = 0;
  /** Whether it answers searches. */
  ssdp = true;
  /** The highest volume; null for a renderer without volume. */
  volumeMax: number | null = 100;
  /** The duration of all media. */
  durationMs = 120_000;
  /** It has no AVTransport service, so it cannot be given media. */
  soundOnly = false;
  /** The renderer is embedded in another device, as in some speakers. */
  embedded = false;
  /** It does not tell what it plays, as an Onkyo (players.md 8). */
  hidesPlayback = false;
  /** It accepts no subscriptions. */
  silent = false;
  /** How long it goes on playing after it has accepted Stop (jellyfin/jellyfin-plugin-dlna#245). */
  stopMs = 0;
  /** It accepts another file while it plays, and drops it (jellyfin/jellyfin-plugin-dlna#244: HEOS). */
  dropsWhilePlaying = false;
}

export interface DlnaSimulatorOptions extends SetOptions, Partial<Defaults> {
  uuid?: string;
  /** The port of its `presentationURL`: Kodi names its web server. By default there is none. */
  page?: number;
  model?: string;
  manufacturer?: string;
}

function resolve(options: DlnaSimulatorOptions) {
  const { uuid = uuidOf(`dlna ${options.name}`) } = options;
  return { ...new Defaults(), ...options, uuid, mac: macOf(digest(uuid)) };
}

export interface Media {
  readonly uri: string;
  readonly metadata: string;
}

type Transport = "STOPPED" | "NO_MEDIA_PRESENT" | "TRANSITIONING" | "PLAYING" | "PAUSED_PLAYBACK";

export class Model {
  readonly options: ReturnType<typeof resolve>;
  readonly stack: Stack;
  /** The actions that had an effect, in order, with their main arguments. */
  readonly commands: string[] = [];
  readonly emit: Emit;
  /** Called for each change with its service. */
  changed: (service: "AVTransport" | "RenderingControl") => void = () => {};
  name: string;
  transport: Transport;
  media: Media | null = null;
  /** Whether the media was set while something else played. */
  isTakenOver = false;
  volume: number;
  muted = false;
  #position = 0;
  #since = 0;
  #ends: ReturnType<typeof setTimeout> | undefined;

  constructor(options: DlnaSimulatorOptions) {
    this.options = resolve(options);
    this.name = options.name;
    this.stack = STACKS[this.options.stack];
    this.volume = Math.round((this.options.volumeMax ?? 0) / 2);
    this.transport = this.stack.idle;
    this.emit = emitter(options);
  }

  get positionMs(): number {
    const run = this.transport === "PLAYING" ? Date.now() - this.#since : 0;
    return Math.min(this.options.durationMs, this.#position + run);
  }

  load(media: Media): void {
    const wasPlaying = this.transport === "PLAYING";
    const isStuck = this.transport === "TRANSITIONING" && this.stack.waitsForFirst;
    this.#halt(isStuck ? "TRANSITIONING" : "STOPPED");
    this.media = media;
    this.#position = 0;
    if (wasPlaying) this.play();
    this.isTakenOver = wasPlaying;
    this.changed("AVTransport");
  }

  play(): void {
    if (this.transport === "PLAYING") return;
    if (this.transport !== "PAUSED_PLAYBACK") this.#position = 0;
    this.transport = "PLAYING";
    this.#run();
    this.changed("AVTransport");
  }

  /** Waits for its media. */
  wait(): void {
    this.#halt("TRANSITIONING");
    this.changed("AVTransport");
  }

  pause(): void {
    this.#halt("PAUSED_PLAYBACK");
    this.changed("AVTransport");
  }

  /** Stops playback, though not at once where the options say so. */
  stop(): void {
    const { stopMs } = this.options;
    if (stopMs === 0) return this.end();
    clearTimeout(this.#ends);
    this.#ends = setTimeout(() => this.end(), stopMs);
    this.#ends.unref?.();
  }

  /** Playback has stopped, or reached its end. */
  end(): void {
    this.#halt("STOPPED");
    this.#position = 0;
    this.changed("AVTransport");
  }

  seek(ms: number): void {
    this.#position = Math.min(ms, this.options.durationMs);
    if (this.transport === "PLAYING") this.#run();
    this.changed("AVTransport");
  }

  /** Ends everything that is under way. */
  unplug(): void {
    clearTimeout(this.#ends);
    this.media = null;
    this.transport = this.stack.idle;
    this.#position = 0;
  }

  #run(): void {
    this.#since = Date.now();
    clearTimeout(this.#ends);
    this.#ends = setTimeout(() => this.end(), this.options.durationMs - this.#position);
    this.#ends.unref?.();
  }

  #halt(transport: Transport): void {
    this.#position = this.positionMs;
    this.transport = transport;
    clearTimeout(this.#ends);
  }
}
