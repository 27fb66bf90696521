/** What a renderer knows of itself. */
import { uuidOf } from "../bench/identity.ts";
import { STACKS, type Stack, type StackName } from "./stacks.ts";

export interface DlnaEvent {
  readonly type: "play" | "transport" | "volume" | "events" | "refused" | "discovery" | "wake";
  readonly text: string;
}

export interface DlnaSimulatorOptions {
  name: string;
  /** Default: derived from the name, so the same name is the same renderer. */
  uuid?: string;
  /** Which program it is built with. Default gmediarender. */
  stack?: StackName;
  /** Address to bind and to announce. */
  host?: string;
  /** 0 is a free one. */
  port?: number;
  /** The port of the page that it names, at its own address: a Kodi names its web server. Default: it names none. */
  page?: number;
  model?: string;
  manufacturer?: string;
  /** Answer searches. */
  ssdp?: boolean;
  ssdpDelayMs?: number;
  /** The end of its volume, in its own numbers; null: it has none. Default 100. */
  volumeMax?: number | null;
  /** Milliseconds of whatever it is handed. Default two minutes. */
  durationMs?: number;
  /** It has no transport: it is loud or not, and plays nothing that it is handed. */
  soundOnly?: boolean;
  /** A renderer within another device, as in some speakers. */
  embedded?: boolean;
  /** Takes no subscription. */
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
  /** What had an effect, in order: the action, and what it was given. */
  readonly commands: string[] = [];
  readonly emit: (type: DlnaEvent["type"], text: string) => void;
  /** Told of each change, with the service that it is of. */
  changed: (service: "AVTransport" | "RenderingControl") => void = () => {};
  name: string;
  transport: Transport;
  media: Media | null = null;
  /** What plays was handed over in the midst of something else. */
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

  /** Also its end by itself. */
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

  /** Nothing is under way any more. */
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
