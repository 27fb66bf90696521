/** The state of a renderer. */
import { uuidOf } from "../bench/identity.ts";
import { STACKS, type Stack, type StackName } from "./stacks.ts";

export interface DlnaEvent {
  readonly type: "play" | "transport" | "volume" | "events" | "refused" | "discovery" | "wake";
  readonly text: string;
}

export interface DlnaSimulatorOptions {
  name: string;
  /** Default: derived from the name. */
  uuid?: string;
  /** The program it is built with. Default gmediarender. */
  stack?: StackName;
  /** The address to bind and to announce. */
  host?: string;
  /** 0 is any free port. */
  port?: number;
  /** The port of its `presentationURL`: Kodi names its web server. Default: there is none. */
  page?: number;
  model?: string;
  manufacturer?: string;
  /** Whether it answers searches. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  /** The highest volume; null for a renderer without volume. Default 100. */
  volumeMax?: number | null;
  /** The duration of all media. Default two minutes. */
  durationMs?: number;
  /** It has no AVTransport service, so it cannot be given media. */
  soundOnly?: boolean;
  /** The renderer is embedded in another device, as in some speakers. */
  embedded?: boolean;
  /** It accepts no subscriptions. */
  silent?: boolean;
  onEvent?: (event: DlnaEvent) => void;
}

export interface Media {
  readonly uri: string;
  readonly metadata: string;
}

type Transport = "STOPPED" | "NO_MEDIA_PRESENT" | "PLAYING" | "PAUSED_PLAYBACK";

export class Model {
  readonly uuid: string;
  readonly host: string;
  readonly stack: Stack;
  readonly options: DlnaSimulatorOptions;
  readonly volumeMax: number | null;
  /** The actions that had an effect, in order, with their main arguments. */
  readonly commands: string[] = [];
  readonly emit: (type: DlnaEvent["type"], text: string) => void;
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
    this.options = options;
    this.name = options.name;
    this.uuid = options.uuid ?? uuidOf(`dlna ${options.name}`);
    this.host = options.host ?? "127.0.0.1";
    this.stack = STACKS[options.stack ?? "gmediarender"];
    this.volumeMax = options.volumeMax === undefined ? 100 : options.volumeMax;
    this.volume = Math.round((this.volumeMax ?? 0) / 2);
    this.transport = this.stack.idle;
    this.emit = (type, text) => options.onEvent?.({ type, text });
  }

  get durationMs(): number {
    return this.options.durationMs ?? 120_000;
  }

  get positionMs(): number {
    const run = this.transport === "PLAYING" ? Date.now() - this.#since : 0;
    return Math.min(this.durationMs, this.#position + run);
  }

  load(media: Media): void {
    const wasPlaying = this.transport === "PLAYING";
    this.#halt("STOPPED");
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

  pause(): void {
    this.#halt("PAUSED_PLAYBACK");
    this.changed("AVTransport");
  }

  /** Stops playback, also at its end. */
  end(): void {
    this.#halt("STOPPED");
    this.#position = 0;
    this.changed("AVTransport");
  }

  seek(ms: number): void {
    this.#position = Math.min(ms, this.durationMs);
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
    this.#ends = setTimeout(() => this.end(), this.durationMs - this.#position);
    this.#ends.unref?.();
  }

  #halt(transport: Transport): void {
    this.#position = this.positionMs;
    this.transport = transport;
    clearTimeout(this.#ends);
  }
}
