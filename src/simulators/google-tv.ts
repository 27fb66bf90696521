/** A simulated Google TV: a box with an Android TV remote service and a Cast receiver that share volume and screen. */
import { type AndroidTvSimulator, type AndroidTvSimulatorOptions, createAndroidTvSimulator } from "./androidtv.ts";
import { type CastSimulator, type CastSimulatorOptions, createCastSimulator } from "./cast.ts";

export interface GoogleTvSimulatorOptions {
  /** The name given by its owner. */
  name: string;
  host?: string;
  remote?: Partial<Omit<AndroidTvSimulatorOptions, "onEvent" | "volume">>;
  cast?: Partial<Omit<CastSimulatorOptions, "onEvent" | "volume" | "standBy">>;
  onEvent?: (event: { readonly text: string }) => void;
}

const MAX_LEVEL = 100;
/** The app that shows casts. */
const SHELL = "com.google.android.apps.mediashell";

export class GoogleTvSimulator {
  readonly host: string;
  readonly remote: AndroidTvSimulator;
  readonly cast: CastSimulator;

  constructor({ name, host, remote, cast, onEvent }: GoogleTvSimulatorOptions) {
    const common = { name, model: "Google TV Streamer", ...(host !== undefined && { host }) };
    this.remote = createAndroidTvSimulator({
      ...common,
      ...remote,
      volume: { level: MAX_LEVEL / 2, max: MAX_LEVEL },
      onEvent: (event) => {
        onEvent?.(event);
        const { level, muted, power } = this.remote.state;
        if (event.type === "volume") this.cast.setVolume(level / MAX_LEVEL, muted);
        // Cast reports the standby state that the remote caused.
        if (event.type === "power") this.cast.setStandBy(power !== "on");
        queueMicrotask(() => this.#endCast());
      },
    });
    this.cast = createCastSimulator({
      ...common,
      ...cast,
      volume: { level: 0.5 },
      standBy: false,
      onEvent: (event) => {
        onEvent?.(event);
        const { level, muted } = this.cast.state;
        if (event.type === "volume") this.remote.setVolume(Math.round(level * MAX_LEVEL), muted);
        if (event.type === "launch") {
          this.remote.turn(true);
          this.remote.show(SHELL);
        }
        if (event.type === "stop" && this.remote.state.front === SHELL) this.remote.show(null);
      },
    });
    this.host = this.remote.host;
  }

  /** A cast ends when another app comes to the front or the box turns off. */
  #endCast(): void {
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
