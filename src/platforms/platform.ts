/**
 * The contract of a platform: how its devices are found, who answers at an address, and what one device can do. A capability is
 * a method that is present. Only index.ts and a platform's own folder name it.
 */

import type { z } from "zod";
import { DeviceError, pairingFailed, ZapdError } from "../api/errors.ts";
import type { Address, DiscoveryQuery, Lead, MdnsService } from "./query.ts";
import type { ServiceId } from "./services.ts";

export type { Address, DiscoveryQuery, Lead, MdnsService, SsdpAnswer } from "./query.ts";

/** The normalized remote keys (SPEC.md 2). */
export const keys = [
  ...(["home", "back", "up", "down", "left", "right", "select"] as const),
  ...(["play", "pause", "play-pause", "stop", "rewind", "fast-forward", "replay", "skip"] as const),
  ...(["volume-up", "volume-down", "mute"] as const),
  ...(["power", "power-on", "power-off"] as const),
  ...(["channel-up", "channel-down"] as const),
  ...(["input-hdmi1", "input-hdmi2", "input-hdmi3", "input-hdmi4", "input-av", "input-tuner"] as const),
  ...(["search", "info", "options"] as const),
] as const;

/** One normalized remote key. */
export type Key = (typeof keys)[number];

export const volumeKeys: ReadonlySet<Key> = new Set(["volume-up", "volume-down", "mute"]);

export function keysIn(table: Readonly<Partial<Record<Key, unknown>>>): Key[] {
  return Object.keys(table) as Key[];
}

/** The entry of a key in a table. Fails with `unsupported_key`. */
export function ofKey<T>(table: Readonly<Partial<Record<Key, T>>>, key: Key): T {
  const own = table[key];
  if (own === undefined) throw new ZapdError("unsupported_key", `has no ${key} key`);
  return own;
}

/** What a device may be able to do; `capabilities` of a Device lists those that work now. */
export const capabilities = [
  "state",
  "apps",
  "launch",
  "stop",
  "keys",
  "hold",
  "text",
  "power_on",
  "power_off",
  "volume",
  "mute",
  "seek",
  "media",
  "inputs",
  "channels",
  "playback",
  "icons",
  "artwork",
  "notify",
  "screenshot",
  "dev",
  "pair",
] as const;
export type Capability = (typeof capabilities)[number];

export const kinds = ["tv", "player", "soundbar", "unknown"] as const;
export const accessModes = ["full", "limited", "disabled", "unpaired"] as const;
export const powers = ["on", "standby", "off", "unknown"] as const;
export const appTypes = ["app", "input", "tuner", "dev"] as const;
export const playbackStatuses = ["playing", "paused", "buffering", "stopped"] as const;

export type Kind = (typeof kinds)[number];
export type Access = (typeof accessModes)[number];
export type Power = (typeof powers)[number];

/** Ports of a device beside its control port, by the platform's name of each (`installer`, `console`, `wake`). */
export type Ports = Readonly<Record<string, number>>;

/** What a device reports about itself; `null` where it does not report it. */
export interface Facts {
  readonly name: string | null;
  readonly kind: Kind;
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly serial: string | null;
  /** MAC addresses in lower case with colons, the one in use first. */
  readonly macs: readonly string[];
  readonly softwareVersion: string | null;
  /** `null` where the device did not report it: the known mode stays. */
  readonly access: Access | null;
}

/**
 * An id of the hardware that other platforms may report as well: `mac:…`, `upnp:…`, `serial:…`. A platform that reaches part of a
 * device may report `page:…`, the port at the same host of the device's page.
 */
export type HardwareId = `${string}:${string}`;

/** Who answered at an address. */
export interface Sighting<Memory = unknown> {
  /**
   * The platform's strongest identity of the hardware. The device's id is made from it, and so survives a changed address, a
   * changed name and a lost registry.
   */
  readonly identity: string;
  /** Further ids of the hardware; the MAC addresses and the serial number of `facts` need not be among them. */
  readonly ids?: readonly HardwareId[];
  /**
   * The identity of the hardware could not be learned now, and `identity` stands for it until the device at the same address
   * reports the real one.
   */
  readonly provisional?: boolean;
  /** It answered at another port than its control port, which does not answer now. A device that is known there has not moved. */
  readonly atSecondaryPort?: boolean;
  /**
   * It has no hardware of its own, as a group of speakers is not the speaker that leads it: it is never joined with other devices
   * at its host, and the neighbour table tells nothing of it.
   */
  readonly alone?: true;
  /** Where the device reports it together with its identity. */
  readonly power?: Power;
  /** The control port, where that is another than the one asked. */
  readonly port?: number;
  /**
   * SHA-256 of the certificate that it showed, in lower-case hex; `null` where it showed none. Compared with the
   * `certificate` of its credentials: a device that kept one is not believed to be elsewhere without it.
   */
  readonly certificate?: string | null;
  readonly facts: Facts;
  readonly memory: Memory;
  /** `required`: it must be paired with before it takes commands; whether it has been is found out with the first call. */
  readonly pairing: "none" | "required";
}

/**
 * A device as its platform drives it. Facts and memory are always what is known now; who and where it is does not change
 * while a connection lives.
 */
export interface Target<Memory = unknown, Secret = unknown> extends Address {
  readonly identity: string;
  /** The identity only stands for the hardware's own. */
  readonly provisional: boolean;
  readonly ports: Ports;
  readonly facts: Facts;
  readonly memory: Memory;
  readonly secret: KeptSecret<Secret>;
}

/** An app as a platform lists it; `id` is made from it by the catalog. */
export interface PlatformApp {
  readonly platformId: string;
  readonly name: string;
  readonly type: (typeof appTypes)[number];
  readonly version: string | null;
  /** The normalized id where the platform is sure of it: a well-known service, an input, the sideloaded package. */
  readonly id?: string | undefined;
}

export interface Playback {
  readonly status: (typeof playbackStatuses)[number];
  readonly position_ms: number | null;
  readonly duration_ms: number | null;
  readonly live: boolean | null;
  readonly title: string | null;
  /** The artist, such as that of a song; several are separated by commas. */
  readonly artist?: string | null;
  /** Whether it names a picture of it, which `artwork` reads. */
  readonly artwork?: boolean;
  /** How fast it plays; 1 while it plays and 0 while it does not, where the device says no more. */
  readonly rate?: number;
}

/** The state of a device. A part that it refuses or lacks is `null`. */
export interface PlatformState {
  readonly power: Power;
  /** `null`: the home screen, or unknown. */
  readonly app: PlatformApp | null;
  readonly screensaver: boolean | null;
  readonly playback: Playback | null;
  readonly volume: { readonly level: number | null; readonly muted: boolean | null } | null;
  /** The input that is shown, in the word of its key without `input-`: `hdmi1` … `av`, `tuner`; or the device's own. */
  readonly input: string | null;
}

/** A part of the state, which may be read or pushed by itself. */
export type StatePart = keyof PlatformState;
export const stateParts = ["power", "app", "screensaver", "playback", "volume", "input"] as const satisfies StatePart[];
/** The parts that change together with the app or the input. */
export const shownParts = ["app", "screensaver", "playback", "input"] as const satisfies StatePart[];

/** A package on disk, waiting to be sideloaded. */
export interface Archive {
  readonly path: string;
  readonly bytes: number;
  /** Called during the upload with the number of bytes that the device has taken so far, beginning with 0. */
  sent?(bytes: number): void;
}

export interface InstallResult {
  readonly package: { name: string; version: string; bytes: number; files: number };
  /** The messages of the device, in its words. */
  readonly messages: readonly string[];
}

/** The lines of a console since a cursor. */
export interface ConsoleLines {
  readonly lines: string[];
  readonly cursor: string;
  /** How many lines after the cursor are no longer kept. */
  readonly dropped?: number;
}

/** The developer console of a device; one for all readers. */
export interface Console {
  /** Waits for the replay of the device, then returns the lines after `cursor`; without one all that are kept. */
  read(cursor: string | null, signal: AbortSignal): Promise<ConsoleLines>;
  close(): void;
}

/** The parameters of a launch, by the platform's names. */
export type DeepLink = Readonly<Record<string, string>>;

/** Sideloading, for platforms with a developer mode. */
export interface Developer {
  /** Starts it, with `params` where given. `isOwn`: the password was given for this very device. */
  install(
    archive: Archive,
    password: string,
    signal: AbortSignal,
    options?: { readonly params?: DeepLink | undefined; readonly isOwn?: boolean },
  ): Promise<InstallResult>;
  /** Restarts the sideloaded package; `dev_package_missing` when there is none. */
  reload(signal: AbortSignal, params?: DeepLink): Promise<PlatformApp>;
  /** Removes the sideloaded package; `dev_package_missing` when there is none. */
  remove?(password: string, signal: AbortSignal): Promise<void>;
  console: Console;
}

/** The result of a pairing: the secret, and what the device reports only after it. */
export interface Paired<Memory = unknown, Secret = unknown> {
  /** `null` where the device gives none. */
  readonly secret: Secret | null;
  readonly facts?: Partial<Facts>;
  readonly memory?: Partial<Memory>;
}

/** The form of a code that a device shows: `digits` are 0 to 9, `hex` 0 to 9 and A to F. */
export const codeForms = ["digits", "hex"] as const;
export type CodeForm = (typeof codeForms)[number];

/** How a pairing continues: the user accepts it at the device, types the code that it shows, or the login that is set on it. */
export const pairingSteps = ["confirm", "code", "login"] as const;

/**
 * A pairing that has begun. `done` and `enter` fail with `pairing_failed`, whose reason says why; after `wrong` the same
 * pairing can be tried again. The platform keeps nothing: all that the device gave is in the result.
 */
export type Pairing<Memory = unknown, Secret = unknown> = {
  /** Milliseconds from now until the device ends it. */
  readonly expiresMs: number;
  /** Removes the prompt from the screen and releases the sockets; calls under way fail. Also called after the end. */
  cancel(): void;
} & (
  | { readonly step: "confirm"; readonly done: Promise<Paired<Memory, Secret>> }
  | {
      readonly step: "code";
      readonly form: CodeForm;
      /** Characters that it shows. */
      readonly length: number;
      enter(code: string): Promise<Paired<Memory, Secret>>;
      /** Fails when the device ends it by itself. */
      readonly ended?: Promise<never>;
    }
  | {
      readonly step: "login";
      /** Without a name, the usual one of the platform. */
      enter(user: string | undefined, password: string): Promise<Paired<Memory, Secret>>;
    }
);

/** Somebody cancelled a pairing that was under way, or its caller disconnected. */
export function pairingCancelled(): DeviceError {
  return pairingFailed("cancelled", "was not paired: the pairing was cancelled", {
    hint: "To start again: zapd pair {device}",
  });
}

/** `true`: read back from the device; `false`: it took the command, but does not show the effect yet; `null`: it cannot be read. */
export type Confirmed = boolean | null;

/** The device accepted a command, and did not do it; the message says what it accepted, and what it shows. */
export function noEffect(message: string, hint?: string): DeviceError {
  return new DeviceError("device_error", message, { phase: "answered", reason: "no_effect", hint });
}

/** The power of a device. Waiting, retries and magic packets are up to the core. */
export interface PowerControl {
  /**
   * Whether it is on, asked now; a device that refuses us is on. `null` where it answers, but does not report it. Fails as a command
   * does where it does not answer.
   */
  isOn(signal: AbortSignal): Promise<boolean | null>;
  /** Turns on a device that answers. Fails with the reason `asleep` where only a magic packet turns it on. */
  on?(signal: AbortSignal): Promise<void>;
  /**
   * Turns it off; does nothing where it is off. The keys `power` and `power-off` call this; without it they are pressed as keys
   * of the device.
   */
  off?(signal: AbortSignal): Promise<void>;
  /** Whether a magic packet may wake it now: not where the machine is up, and only the program that is driven has ended. */
  readonly wakesByPacket: boolean;
  /**
   * Connecting may turn it on: while it is known to be off, only commands and waking connect to it, and neither polling nor
   * discovery.
   */
  readonly wakesByConnecting?: boolean;
}

/** The largest pictures that are read, in bytes (SECURITY.md 4). */
export const pictureBytes = { icon: 2 * 1024 * 1024, screenshot: 16 * 1024 * 1024 } as const;

/** A file that a device is to play, by its address. */
export interface MediaItem {
  /** `http` or `https`, as the device reaches it. */
  readonly url: string;
  /** Its type, such as `video/mp4`; `null` where it is unknown. */
  readonly mime: string | null;
  readonly title: string | null;
  /** The address of a picture for it. */
  readonly image: string | null;
}

/** The type of a file, for a device that needs it. Fails with `unsupported_media` where it is unknown. */
export function mimeOf({ mime }: MediaItem): string {
  if (mime !== null) return mime;
  const problem = "needs the type of the file, and the address does not show it";
  throw new ZapdError("unsupported_media", problem, {
    hint: "Give its type, such as video/mp4: --type of zapd play, `mime` of the API",
  });
}

/** An input; its id is that of the state (`hdmi1`), else the device's own. */
export interface PlatformInput {
  readonly id: string;
  readonly name: string;
}

/** A channel; `id` is what the device tunes to. */
export interface PlatformChannel {
  readonly id: string;
  /** As the device shows it; `null` where it has none. */
  readonly number: string | null;
  readonly name: string;
}

/** The commands of a player, beside seeking. */
export type PlaybackCommand = "play" | "pause" | "stop" | "next" | "previous";

/** The statuses that show the effect of a command; none shows a change to the next title. */
export const statusAfter: Partial<Record<PlaybackCommand | "seek", readonly string[]>> = {
  play: ["playing", "buffering"],
  pause: ["paused"],
  stop: ["stopped"],
};

/** The volume of a device. The effect is read from its state. */
export interface VolumeControl {
  /** To a level, 0 to 100. */
  set?(level: number, signal: AbortSignal): Promise<void>;
  /** One step, as a key of its remote does. */
  step?(by: 1 | -1, signal: AbortSignal): Promise<void>;
  /** It may report 0 for what is louder and cannot be set: there it is stepped, a level with each step. */
  readonly stepsAtZero?: boolean;
  /** It may round a level back to the one before: then it is stepped. Its steps go to a level, so none is added to one that was late. */
  readonly rounds?: boolean;
  /** A device that only toggles is read first; where it does not report it, this fails with `unsupported_operation`. */
  mute?(muted: boolean, signal: AbortSignal): Promise<void>;
}

/**
 * One device, ready to be driven. Made without any traffic; its sockets are opened with the first call, shared, and kept between
 * calls. A part that is absent is a capability that the device lacks. Every failure is a ZapdError whose
 * message is a predicate. A hint may hold `{device}`, `{address}` and `{wake}`: the device's name as a word of a command, its
 * address, and how it is turned on. `device_unreachable` means that nothing of what was asked has reached the device, so that it may
 * be woken and asked again; `pairing_required`, that it lets nobody in before `pair`.
 */
export interface Connection {
  state?: {
    /**
     * What the device does now. A device that pushes costs no call while what it pushed is fresh; never an answer from
     * before the last command of this connection.
     */
    read(signal: AbortSignal): Promise<PlatformState>;
    /**
     * Single parts of it, for callers that read often; more than was asked for may be returned. Without it, a
     * device is read whole.
     */
    readParts?(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>>;
    /** Called after a whole read for somebody who follows the device: it may be asked to push from now on. */
    follow?(): void;
    /** What it pushes while it is connected, so that it need not be asked for it. */
    readonly pushes?: ReadonlySet<StatePart>;
    /** `false`: this very device does not show what it plays, as far as is known, so that no effect can be read back. */
    readonly showsPlayback?: boolean;
  };
  apps?: {
    list?(signal: AbortSignal): Promise<PlatformApp[]>;
    launch?(platformId: string, params: DeepLink, signal: AbortSignal): Promise<Confirmed>;
    /** Leaves the app that is shown; answers with it, or `null` when there was none. */
    stop?(signal: AbortSignal): Promise<PlatformApp | null>;
  };
  /** `power-on` is never pressed where there is `power`, nor is what that turns off. */
  keys?: {
    press(key: Key, signal: AbortSignal): Promise<void>;
    /**
     * Presses a key and leaves it down. The function that it returns releases the key; it is always called, also after `signal`
     * has aborted. Without it a key that is held is pressed again and again.
     */
    down?(key: Key, signal: AbortSignal): Promise<() => Promise<void>>;
  };
  /** Types text, by code point. `longestMs` is what a text takes at most, so that a deadline can be set. */
  text?: { type(text: string, signal: AbortSignal): Promise<void>; longestMs(text: string): number };
  /** What the core wakes it with (devices/wake.ts). */
  power?: PowerControl;
  volume?: VolumeControl;
  playback?: {
    readonly does: ReadonlySet<PlaybackCommand>;
    do(what: PlaybackCommand, signal: AbortSignal): Promise<void>;
    /** To a position in milliseconds. */
    seek?(positionMs: number, signal: AbortSignal): Promise<void>;
  };
  /** Hands a file to the device, which fetches it. Fails with `unsupported_media` where it cannot play that file. */
  media?: { play(item: MediaItem, signal: AbortSignal): Promise<void> };
  inputs?: {
    list(signal: AbortSignal): Promise<PlatformInput[]>;
    select(id: string, signal: AbortSignal): Promise<void>;
    /** `false`: it does not show which one is selected, so that no effect can be read back. */
    readonly isShown?: boolean;
  };
  channels?: {
    /** At most 5,000. */
    list(signal: AbortSignal): Promise<PlatformChannel[]>;
    select(id: string, signal: AbortSignal): Promise<Confirmed>;
  };
  /** The picture of an app, of what plays, of the screen: the bytes as the device gives them; `null` where it has none. */
  icon?(platformId: string, signal: AbortSignal): Promise<Uint8Array | null>;
  artwork?(signal: AbortSignal): Promise<Uint8Array | null>;
  /** `developerPassword` gives that of its developer mode, where it is needed, or fails. */
  screenshot?(signal: AbortSignal, developerPassword: () => string): Promise<Uint8Array | null>;
  /** Shows a message on top of what is shown. */
  notify?(message: string, signal: AbortSignal): Promise<void>;
  dev?: Developer;
  /** Refuses new calls; those under way may end, then every socket is released. */
  close(): void;
}

/** What the daemon gives to a platform. */
export interface PlatformHost {
  /** Milliseconds a device has for one answer (`devices.request_timeout_ms`). */
  requestTimeoutMs(): number;
  /** Whether an address is a listener of the daemon, which no call to a device may ever reach. */
  isOwnListener(address: Address): boolean;
  /** Local IPv4 addresses with their broadcast addresses, for magic packets. */
  broadcasts(): readonly string[];
  /**
   * Asks over mDNS for the services of a type (`_example._tcp`) at a host, and returns the first for which `isIt` holds, as one
   * machine may run several. `null` when none is announced soon.
   */
  announced(
    type: string,
    host: string,
    isIt: (service: MdnsService) => boolean,
    signal: AbortSignal,
  ): Promise<MdnsService | null>;
  debug(message: string): void;
}

/**
 * The secret of one device: the key that it gave, the password that its user set, the certificate that it showed. It is kept in
 * a file that only the user can read; its values appear nowhere else.
 */
export interface KeptSecret<Secret> {
  /** Fails with `device_unproven` while the device is on probation (SECURITY.md 2.4), so that no secret can reach it. */
  read(): Secret | null;
  /** The same, also on probation: to compare with what a device shows, never to send. */
  readAnyway(): Secret | null;
  /** On disk when it returns. */
  keep(secret: Secret): Promise<void>;
  drop(): Promise<void>;
}

/** SHA-256 of the certificate that a device showed when it was paired; `null` where it showed none. */
export function pinOf({ secret }: Target<unknown, { certificate?: string | undefined }>): string | null {
  return secret.readAnyway()?.certificate ?? null;
}

/** What a connection reports of its device at any time. */
export type DeviceEvent<Memory = unknown> =
  /** The device answers, and has told these parts of its state; power `off` means off or going off. */
  | { readonly type: "state"; readonly patch: Partial<PlatformState> }
  /** What was learned about it, such as its access mode or a new name; other facts stay. */
  | { readonly type: "facts"; readonly facts?: Partial<Facts>; readonly memory?: Partial<Memory> }
  /** Its state has changed, and is to be read. */
  | { readonly type: "hint" }
  /** The connection ended, or fell silent; `going_off`: the device goes off, or no longer runs there. */
  | { readonly type: "disconnected"; readonly why: "hung_up" | "going_off" };

export type Emit<Memory = unknown> = (event: DeviceEvent<Memory>) => void;

export const emptySet: ReadonlySet<never> = new Set();

/** What a device can do. */
export interface Description {
  readonly has: ReadonlySet<Capability>;
  /** Capabilities that its settings, or a missing pairing, withhold now. */
  readonly withheld: ReadonlySet<Capability>;
  /** What the user can do about that; may hold `{device}`. */
  readonly hint?: string | undefined;
  /** The keys of this model. */
  readonly keys: ReadonlySet<Key>;
}

/** One brand or family of devices. `Memory` is what is remembered of each, `Secret` the secret of one. */
export interface Platform<Memory = unknown, Secret = unknown> {
  readonly name: string;
  /** The usual control port, and the names and usual numbers of other ports that may be set per device. */
  readonly ports: Readonly<Record<string, number>> & { readonly control: number };
  readonly queries: readonly DiscoveryQuery[];
  /**
   * A device accepts one connection at a time, or prompts for each: while it is being paired no other connection is made to it.
   * Calls under way may end first; commands fail with `device_busy` until the pairing is over.
   */
  readonly oneConversation?: true;
  /** How the user sets a device up to be woken: the hint for one that does not wake. */
  readonly sleepHint?: string;
  /** Well-known services by this platform's ids of their apps: launched by name where a device does not list its apps. */
  readonly services?: ReadonlyMap<string, ServiceId>;
  /** Reads what was remembered, also as old files hold it; `{}` for a new device. */
  readonly memory: z.ZodType<Memory>;
  /** Reads what was kept; every value is a text. */
  readonly secret?: z.ZodType<Secret>;
  /** Whether a text has the form of this platform's app ids, so that it may be launched without being in the catalog. */
  isAppId(text: string): boolean;
  /** Identifies the device at an address. Fails with `device_unreachable`, or with `device_error` when it is not of this platform. */
  identify(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Sighting<Memory>>;
  /** What a device can do, from what is known of it, without any traffic. */
  describe(facts: Facts, memory: Memory, paired: boolean): Description;
  /**
   * Begins to pair. Only this may make the device show a prompt. The kept secret reads as `null` where it may be another device
   * that answers. `signal` ends the beginning; a pairing that has begun ends with `cancel`. Fails
   * with `unsupported_operation` and the reason `open` where the device needs no pairing.
   */
  pair?(
    target: Target<Memory, Secret>,
    platformHost: PlatformHost,
    signal: AbortSignal,
  ): Promise<Pairing<Memory, Secret>>;
  connect(target: Target<Memory, Secret>, platformHost: PlatformHost, emit: Emit<Memory>): Connection;
}

/** How several platforms that reach one device are combined. */
export interface Composition {
  /** Two platforms that one box often speaks: at one host and of one name or model, they are one device. */
  readonly pairs: readonly (readonly [string, string])[];
  /**
   * Platforms that reach only part of a device: they are joined with the one device that others reach at the same host, or with
   * one of the same name. What they report is used where no other platform reports it.
   */
  readonly partial?: readonly string[];
  /** Which platform leads a device, the best first: it gets commands before the others. */
  readonly leading: readonly string[];
  /** Whose facts are shown, where that is another order: a program knows little of the hardware on which it runs. */
  readonly facts?: readonly string[];
  /** The order for a capability, where it is another one. */
  readonly preferred: Readonly<Partial<Record<Capability, readonly string[]>>>;
  /** Parts of the state that a platform knows less well: its report is used where no other platform reports them. */
  readonly behind?: Readonly<Partial<Record<string, readonly StatePart[]>>>;
}
