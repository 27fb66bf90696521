import { X509Certificate } from "node:crypto";
import { bringToFront, setFocus, setMuted, setPlayback, setScreen, setVolume } from "./webos/actions.ts";
import { feelButton } from "./webos/buttons.ts";
import { sharedCertificate } from "./webos/certificate.ts";
import { createLife } from "./webos/life.ts";
import { createModel, type PlayState } from "./webos/model.ts";
import type { Prompting, SimulatedApp, WebosSimulatorOptions } from "./webos/options.ts";
import type { Received } from "./webos/received.ts";
import { snapshot, type WebosState } from "./webos/snapshot.ts";
import { createSockets } from "./webos/sockets.ts";

export { type Certificate, createCertificate } from "./webos/certificate.ts";
export type { Firmware, FirmwareYear } from "./webos/firmware.ts";
export type { PlayState } from "./webos/model.ts";
export type {
  Prompting,
  SimulatedApp,
  SimulatedChannel,
  SimulatedInput,
  Standby,
  WebosEvent,
  WebosSimulatorOptions,
} from "./webos/options.ts";
export type { Launched, Received, ReceivedRequest, ShownPrompt } from "./webos/received.ts";
export type { WebosState } from "./webos/snapshot.ts";

export interface WebosSimulator {
  /** `deviceUUID` of the hello. */
  readonly uuid: string;
  readonly mac: string;
  readonly wifiMac: string;
  readonly host: string;
  /** 0 before the first start when a free port was asked for, kept from then on; null is closed. */
  readonly ports: { secure: number | null; plain: number | null; wake: number; description: number };
  /** SHA-256 of the certificate on the secure port, as `getPeerCertificate().fingerprint256` says it. */
  readonly fingerprint: string;
  /** What came in, and the prompts that were shown for it. */
  readonly received: Received;
  /** What has been typed into the field in front. */
  readonly text: string;
  /** The keys that are known, with what each was granted. */
  readonly clientKeys: ReadonlyMap<string, ReadonlySet<string>>;
  readonly state: WebosState;

  /** What becomes of the next prompts. */
  setPrompting(prompting: Prompting): void;
  /** The person accepts or denies the prompt on the screen; false when there is none. */
  answerPrompt(accept: boolean): boolean;
  /** Every client has to pair again (home-assistant/core#82524). */
  forgetKeys(): void;
  /** A button of the remote that came with the set. */
  press(button: string): void;
  setName(name: string): void;
  setVolume(level: number): void;
  setMuted(muted: boolean): void;
  /** An app or an input, chosen with the remote. */
  open(id: string): void;
  /** The app in front plays, or null: it stops. */
  play(playState: PlayState | null): void;
  screensaver(on: boolean): void;
  /** A text field gets the focus, or loses it; its text is empty then. */
  focus(on: boolean): void;
  install(app: SimulatedApp): void;
  uninstall(id: string): void;
  /** A plug goes into an input, or out. */
  plug(inputId: string, connected: boolean): void;
  powerOff(): Promise<void>;
  wake(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** An LG set on real sockets. Nothing is opened before `start`. */
export function createWebosSimulator(options: WebosSimulatorOptions): WebosSimulator {
  const model = createModel(options);
  const certificate = options.certificate ?? sharedCertificate();
  const sockets = createSockets(model, options, certificate);
  const life = createLife(model, sockets, options);
  const { uuid, mac, wifiMac, host } = model.identity;
  return {
    uuid,
    mac,
    wifiMac,
    host,
    fingerprint: new X509Certificate(certificate.cert).fingerprint256,
    received: model.received,
    clientKeys: model.clientKeys,
    get ports() {
      const { secure, plain, discovery } = sockets;
      return {
        secure: secure?.port ?? null,
        plain: plain?.port ?? null,
        wake: life.wakePort,
        description: discovery.port,
      };
    },
    get text() {
      return model.text;
    },
    get state() {
      return snapshot(model, sockets);
    },
    setPrompting(prompting) {
      model.behaviour.prompting = prompting;
    },
    answerPrompt(accept) {
      if (model.prompt === null) return false;
      model.prompt.end(accept ? "accepted" : "denied");
      return true;
    },
    forgetKeys: () => model.clientKeys.clear(),
    press: (button) => feelButton(model, button),
    setName(name) {
      model.name = name;
    },
    setVolume: (level) => setVolume(model, level, "volumeUp"),
    setMuted: (muted) => setMuted(model, muted, "setMuted"),
    open: (id) => bringToFront(model, id),
    play: (playState) => setPlayback(model, playState),
    screensaver: (on) => setScreen(model, on ? "saver" : "on"),
    focus: (on) => setFocus(model, on),
    install(app) {
      model.apps.push({ ...app });
      model.feeds.changed("apps", { change: "added", app });
    },
    uninstall(id) {
      const at = model.apps.findIndex((app) => app.id === id);
      const [app] = at < 0 ? [] : model.apps.splice(at, 1);
      if (app !== undefined) model.feeds.changed("apps", { change: "removed", app });
    },
    plug(inputId, connected) {
      const input = model.inputs.find(({ id }) => id === inputId);
      if (input === undefined) throw new Error(`the set has no input "${inputId}"`);
      input.connected = connected;
      model.feeds.changed("inputs");
    },
    powerOff: life.powerOff,
    wake: life.wake,
    start: life.start,
    stop: life.stop,
  };
}
