import type { RecordedRequest } from "./http.ts";
import { createLife } from "./roku/life.ts";
import { createModel, type InstallFault } from "./roku/model.ts";
import type { AccessMode, RokuSimulatorOptions } from "./roku/options.ts";
import { type Media, startPlayback } from "./roku/playback.ts";
import { type RokuState, snapshot } from "./roku/snapshot.ts";
import { createSockets } from "./roku/sockets.ts";

export type { RecordedRequest } from "./http.ts";
export type { InstallFault } from "./roku/model.ts";
export type {
  AccessMode,
  DeveloperOptions,
  RokuEvent,
  RokuKind,
  RokuSimulatorOptions,
  SimulatedApp,
  SimulatedChannel,
} from "./roku/options.ts";
export type { Media } from "./roku/playback.ts";
export type { RokuState } from "./roku/snapshot.ts";

export interface RokuSimulator {
  readonly serial: string;
  readonly mac: string;
  readonly host: string;
  /** 0 before the first start when a free port was asked for; kept from then on. */
  readonly port: number;
  readonly ports: { installer: number | null; console: number | null; wake: number };
  /** The keys accepted, as the set names them, in order; characters go to `text`. */
  readonly keys: readonly string[];
  readonly text: string;
  /** What came in on the ECP and installer ports: the last thousand. */
  readonly requests: readonly RecordedRequest[];
  readonly state: RokuState;
  setAccess(mode: AccessMode): void;
  setName(name: string): void;
  /** Starts playback in the app in front, or in the first app when the set is at home. */
  play(media: Media): void;
  screensaver(on: boolean): void;
  /** Standby still answers; deep is silent everywhere until a magic packet with its address comes. */
  sleep(kind: "standby" | "deep"): Promise<void>;
  wake(): Promise<void>;
  /** A line on the BrightScript console. */
  log(line: string): void;
  /** What goes wrong with the next installs, until null. */
  installFault(kind: InstallFault | null): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const KEPT_REQUESTS = 1000;

/** A Roku on real sockets. Nothing is opened before `start`. */
export function createRokuSimulator(options: RokuSimulatorOptions): RokuSimulator {
  const model = createModel(options);
  const requests: RecordedRequest[] = [];
  const sockets = createSockets(model, options, (request) => {
    requests.push(request);
    if (requests.length > KEPT_REQUESTS) requests.shift();
  });
  const life = createLife(model, sockets, options.wakePort ?? 0);
  const { serial, mac, host } = model.identity;
  return {
    serial,
    mac,
    host,
    requests,
    keys: model.keys,
    get port() {
      return sockets.ecp.port;
    },
    get ports() {
      const { installer, console } = sockets;
      return { installer: installer?.port ?? null, console: console?.port ?? null, wake: life.wakePort };
    },
    get text() {
      return model.text;
    },
    get state() {
      return snapshot(model, sockets.discoverable);
    },
    setAccess(mode) {
      model.access = mode;
    },
    setName(name) {
      model.name = name;
    },
    play(media) {
      model.active ??= model.apps.find(({ id }) => !id.startsWith("tvinput."))?.id ?? null;
      if (model.active !== null) model.playback = startPlayback(model.active, media);
    },
    screensaver(on) {
      model.screensaver = on;
    },
    start: life.start,
    stop: life.stop,
    sleep: life.sleep,
    wake: life.wake,
    log: (line) => model.console.print(line),
    installFault(kind) {
      model.installFault = kind;
    },
  };
}
