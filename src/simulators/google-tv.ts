/** A simulated Google TV: one box that has a remote service, and takes what is cast. It has one volume, and one screen. */
import { type AndroidTvSimulator, type AndroidTvSimulatorOptions, createAndroidTvSimulator } from "./androidtv.ts";
import { type CastSimulator, type CastSimulatorOptions, createCastSimulator } from "./cast.ts";

export interface GoogleTvSimulatorOptions {
  /** What its owner called it. */
  name: string;
  host?: string;
  remote?: Partial<Omit<AndroidTvSimulatorOptions, "onEvent" | "volume">>;
  cast?: Partial<Omit<CastSimulatorOptions, "onEvent" | "volume" | "standBy">>;
  onEvent?: (event: { readonly text: string }) => void;
}

const MOST = 100;
/** What is cast runs in this app. */
const SHELL = "com.google.android.apps.mediashell";

export class GoogleTvSimulator {
  readonly host: string;
  readonly remote: AndroidTvSimulator;
  readonly cast: CastSimulator;

  constructor({ name, host, remote, cast, onEvent }: GoogleTvSimulatorOptions) {
    const place = { name, model: "Google TV Streamer", ...(host !== undefined && { host }) };
    this.remote = createAndroidTvSimulator({
      ...place,
      ...remote,
      volume: { level: MOST / 2, max: MOST },
      onEvent: (event) => {
        onEvent?.(event);
        const { level, muted, power } = this.remote.state;
        if (event.type === "volume") this.cast.setVolume(level / MOST, muted);
        // The remote turns it off, and Cast knows what became of the screen.
        if (event.type === "power") this.cast.setStandBy(power !== "on");
        queueMicrotask(() => this.#leaveCast());
      },
    });
    this.cast = createCastSimulator({
      ...place,
      ...cast,
      volume: { level: 0.5 },
      standBy: false,
      onEvent: (event) => {
        onEvent?.(event);
        const { level, muted } = this.cast.state;
        if (event.type === "volume") this.remote.setVolume(Math.round(level * MOST), muted);
        if (event.type === "launch") this.remote.show(SHELL);
        if (event.type === "stop" && this.remote.state.front === SHELL) this.remote.show(null);
      },
    });
    this.host = this.remote.host;
  }

  /** What is cast ends when something else comes to the front. */
  #leaveCast(): void {
    const { power, front } = this.remote.state;
    if (this.cast.state.app !== null && (power !== "on" || front !== SHELL)) this.cast.leave();
  }

  async start(): Promise<void> {
    await this.remote.start();
    await this.cast.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.remote.stop(), this.cast.stop()]);
  }
}

export function createGoogleTvSimulator(options: GoogleTvSimulatorOptions): GoogleTvSimulator {
  return new GoogleTvSimulator(options);
}
