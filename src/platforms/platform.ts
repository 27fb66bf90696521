/**
 * What a platform is: how its devices are found, who answers at an address, and what one device can do.
 * A capability is a method that is present. No file outside a platform's own folder knows its name, but index.ts.
 */

import type { z } from "zod";
import { ZapdError } from "../api/errors.ts";
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

/** The keys that a table has. */
export function keysIn(table: Readonly<Partial<Record<Key, unknown>>>): Key[] {
  return Object.keys(table) as Key[];
}

/** What a table has for a key. Fails with `unsupported_key`. */
export function ofKey<T>(table: Readonly<Partial<Record<Key, T>>>, key: Key): T {
  const own = table[key];
  if (own === undefined) throw new ZapdError("unsupported_key", `has no ${key} key`);
  return own;
}

/** What a device can be asked for; `capabilities` of a Device lists those that work on it now. */
export const capabilities = [
  "state",
  "apps",
  "launch",
  "stop",
  "keys",
  "hold",
  "text",
  "power_on",
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

/** Ports of a device beside its control port, by the platform's own word for each (`installer`, `console`, `wake`). */
export type Ports = Readonly<Record<string, number>>;

/** What a device says of itself. What it does not say is `null`. */
export interface Facts {
  readonly name: string | null;
  readonly kind: Kind;
  readonly manufacturer: string | null;
  readonly model: string | null;
  readonly serial: string | null;
  /** Network addresses of the hardware, lower case with colons, the one in use first. */
  readonly macs: readonly string[];
  readonly softwareVersion: string | null;
  /** `null` where the device did not say, so that what is known stays. */
  readonly access: Access | null;
}

/**
 * A name that hardware has for itself and that other platforms may know it by, too: `mac:…`, `upnp:…`, `serial:…`. From what
 * reaches a part of a device, `page:…` is the port at its own host where it says that the device's page is.
 */
export type HardwareId = `${string}:${string}`;

/** Who answered at an address. */
export interface Sighting<Memory = unknown> {
  /**
   * The platform's own strongest identity of the hardware, from which the device's id is made: it survives a changed address,
   * a changed name and a lost registry.
   */
  readonly identity: string;
  /** Further names of the hardware; its addresses and its serial number need not be among them. */
  readonly ids?: readonly HardwareId[];
  /**
   * The identity is not the hardware's own, which could not be learned now, but stands for it: a later word of the same
   * device, at the same address, may put the real one in its place.
   */
  readonly provisional?: true;
  /** It was met at a port beside its control port, which does not answer now: a device that is known there has not moved. */
  readonly atSecondaryPort?: true;
  /** It is none of what else lives at its host, whatever they agree in, as a group of speakers is not the speaker that leads it. */
  readonly alone?: true;
  /** Whether it is on, where it says so while it says who it is. */
  readonly power?: Power;
  /** The control port, where it is another than the one that was asked. */
  readonly port?: number;
  /**
   * SHA-256 of the certificate that it showed, in lower-case hex; `null` where it showed none. Compared with the
   * `certificate` of its credentials: a device that kept one is not believed to be elsewhere without it.
   */
  readonly certificate?: string | null;
  readonly facts: Facts;
  readonly memory: Memory;
  /** `required`: it lets nobody in before it is paired with; whether it is, its own platform finds out with the first call. */
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
  /** The normalized id where the platform is sure of it (inputs, the sideloaded package). */
  readonly id?: string;
}

export interface Playback {
  readonly status: (typeof playbackStatuses)[number];
  readonly position_ms: number | null;
  readonly duration_ms: number | null;
  readonly live: boolean | null;
  readonly title: string | null;
  /** Who made it, as of a song; several with a comma between. */
  readonly artist?: string | null;
  /** Whether it names a picture of it, which `artwork` reads. */
  readonly artwork?: boolean;
  /** How fast it plays; 1 while it plays and 0 while it does not, where the device says no more. */
  readonly rate?: number;
}

/** What a device is doing. A part that it refuses or lacks is `null`. */
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

/** A part of what a device is doing, which may be asked for, or pushed, by itself. */
export type StatePart = keyof PlatformState;
export const stateParts = ["power", "app", "screensaver", "playback", "volume", "input"] as const satisfies StatePart[];
/** What a device shows, and another app or input changes as a whole. */
export const shownParts = ["app", "screensaver", "playback", "input"] as const satisfies StatePart[];

/** A package on disk, waiting to be sideloaded. */
export interface Archive {
  readonly path: string;
  readonly bytes: number;
  /** Called while it is sent, with how many of its bytes the device has taken so far, from none on. */
  sent?(bytes: number): void;
}

export interface InstallResult {
  readonly package: { name: string; version: string; bytes: number; files: number };
  /** What the device said of it, in its own words. */
  readonly messages: readonly string[];
}

/** What a console has said since a cursor. */
export interface ConsoleLines {
  readonly lines: string[];
  readonly cursor: string;
  /** How many lines came after the cursor and are not kept any more. */
  readonly dropped?: number;
}

/** A live feed of a device's developer console. One per device, whoever asks. */
export interface Console {
  /** Waits until what the device replays has arrived, then gives the lines after `cursor` (all that are kept, without one). */
  read(cursor: string | null, signal: AbortSignal): Promise<ConsoleLines>;
  close(): void;
}

/** What an app is started with, by the platform's own names. */
export type DeepLink = Readonly<Record<string, string>>;

/** Sideloading, for platforms with a developer mode. */
export interface Developer {
  /** With `params`, a deep link, it is started with them. */
  install(archive: Archive, password: string, signal: AbortSignal, params?: DeepLink): Promise<InstallResult>;
  /** Starts the sideloaded package anew; `dev_package_missing` when there is none. */
  reload(signal: AbortSignal, params?: DeepLink): Promise<PlatformApp>;
  /** Removes the sideloaded package; `dev_package_missing` when there is none. */
  remove?(password: string, signal: AbortSignal): Promise<void>;
  console: Console;
}

/** What a device gave that has let us in: what lets us in again, and what it says of itself to those it knows. */
export interface Paired<Memory = unknown, Secret = unknown> {
  /** `null` where nothing is needed to come back with. */
  readonly secret: Secret | null;
  readonly facts?: Partial<Facts>;
  readonly memory?: Partial<Memory>;
}

/** What a device shows that is to be typed: `digits` are 0 to 9, `hex` 0 to 9 and A to F. */
export const codeForms = ["digits", "hex"] as const;
export type CodeForm = (typeof codeForms)[number];

/** How a pairing goes on: its user accepts at the device; a code is typed that it shows; or a login that was set on it. */
export const pairingSteps = ["confirm", "code", "login"] as const;

/**
 * A pairing that has begun. `done` and `enter` fail with `pairing_failed`, whose reason says why; after `wrong` the same
 * pairing can be tried again. Nothing is kept by the platform: what the device gave is in the result.
 */
export type Pairing<Memory = unknown, Secret = unknown> = {
  /** Milliseconds for which the device waits, from now on. */
  readonly expiresMs: number;
  /** Takes what is asked from the screen and releases the sockets; what is under way fails. Also called after the end. */
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

/** `true`: read back from the device; `false`: it took the command, but does not show the effect yet; `null`: it cannot be read. */
export type Confirmed = boolean | null;

/** What a device does about its power. Waiting, trying again and magic packets are the core's part. */
export interface PowerControl {
  /**
   * Whether it is on, asked now; one that lets nobody in is on, too. `null` where it answers, but does not say. Fails as a
   * command does where it does not answer.
   */
  isOn(signal: AbortSignal): Promise<boolean | null>;
  /** Tells one that answers to turn on. Fails by `asleep` where it does so for a magic packet alone. */
  on?(signal: AbortSignal): Promise<void>;
  /**
   * Turns it off, and leaves one that is off as it is. With it, the keys `power` and `power-off` are this; without it, the
   * device has keys of its own for them.
   */
  off?(signal: AbortSignal): Promise<void>;
  /** Whether a magic packet may wake it now: not where its machine is up and the program that is driven has ended. */
  readonly wakesByPacket: boolean;
  /**
   * Connecting to it now may turn it on: while its last word is that it is off nothing is read from it, no search asks who it
   * is, and only commands and waking call it.
   */
  readonly wakesByConnecting?: boolean;
}

/** Bytes that a picture may have; an adapter reads no more (SECURITY.md 4). */
export const pictureBytes = { icon: 2 * 1024 * 1024, screenshot: 16 * 1024 * 1024 } as const;

/** A file that a device is to play, by its address. */
export interface MediaItem {
  /** `http` or `https`, as the device reaches it. */
  readonly url: string;
  /** Its type, such as `video/mp4`; `null` where nobody knows. */
  readonly mime: string | null;
  readonly title: string | null;
  /** The address of a picture for it. */
  readonly image: string | null;
}

/** The type of a file, for a device that must be told it. Fails with `unsupported_media` where nobody knows. */
export function mimeOf({ mime }: MediaItem): string {
  if (mime !== null) return mime;
  const problem = "must be told what kind of file it is handed, and the address does not say";
  throw new ZapdError("unsupported_media", problem, {
    hint: "Give its type, such as video/mp4: --type of zapd play, `mime` of the API",
  });
}

/** An input, by the word that the state has for it (`hdmi1`), or the device's own where there is none. */
export interface PlatformInput {
  readonly id: string;
  readonly name: string;
}

/** A channel; `id` is what the device tunes to. */
export interface PlatformChannel {
  readonly id: string;
  readonly number: string | null;
  readonly name: string;
}

/** What a player can be told, beside seeking. */
export type PlaybackCommand = "play" | "pause" | "stop" | "next" | "previous";

/** How loud a device is, as it can be told. What it shows afterwards is read from its state. */
export interface VolumeControl {
  /** To a level, 0 to 100. */
  set?(level: number, signal: AbortSignal): Promise<void>;
  /** One step, as a key of its remote does. */
  step?(by: 1 | -1, signal: AbortSignal): Promise<void>;
  /** Silent or not; a device that only toggles is looked at first, and one that does not show it fails by `unsupported_operation`. */
  mute?(muted: boolean, signal: AbortSignal): Promise<void>;
}

/**
 * One device, ready to be driven. Made without any traffic; opens its sockets with the first call, shares them, and keeps
 * them between calls. A part that is absent is a capability this very device lacks. Every failure is a ZapdError whose
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
     * Parts of it asked for by themselves, for whoever looks often; more than was asked for may come with them. Without it, a
     * device is read whole.
     */
    readParts?(parts: readonly StatePart[], signal: AbortSignal): Promise<Partial<PlatformState>>;
    /** What it tells by itself while it is connected, so that it need not be asked for it. */
    readonly pushes?: ReadonlySet<StatePart>;
  };
  apps?: {
    list?(signal: AbortSignal): Promise<PlatformApp[]>;
    launch?(platformId: string, params: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Confirmed>;
    /** Leaves the app that is shown; answers with it, or `null` when there was none. */
    stop?(signal: AbortSignal): Promise<PlatformApp | null>;
  };
  /** `power-on` is never pressed where there is `power`, nor is what that turns off. */
  keys?: {
    press(key: Key, signal: AbortSignal): Promise<void>;
    /**
     * Presses a key and leaves it down. What it gives lets go of it, whatever has become of `signal` by then, and is called in
     * any case. Without it a key that is held is pressed again and again.
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
    /** `false`: this very device does not show what it plays, as far as is known, so that no effect can be read back. */
    readonly isShown?: boolean;
    do(what: PlaybackCommand, signal: AbortSignal): Promise<void>;
    /** To a position in milliseconds. */
    seek?(positionMs: number, signal: AbortSignal): Promise<void>;
  };
  /** Hands a file to the device, which fetches it. Fails by `unsupported_media` where it cannot play such a one. */
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
  /** Takes nothing new; what is under way may end, then every socket is released. */
  close(): void;
}

/** What the daemon gives to a platform. */
export interface PlatformHost {
  /** Milliseconds a device has for one answer (`devices.request_timeout_ms`). */
  requestTimeoutMs(): number;
  /** Whether an address is the daemon's own door, which no device call may ever reach. */
  isOwnListener(address: Address): boolean;
  /** Local IPv4 addresses with their broadcast addresses, for magic packets. */
  broadcasts(): readonly string[];
  /**
   * What a host announces over mDNS as a service of a type (`_example._tcp`), asked for now: the first that is the one that is
   * looked for, since one machine may run several. `null` when none is announced soon.
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
 * What lets us in at one device: the key that it gave us, the password that its user set, the certificate that it showed. Kept
 * in a file of the user alone; its values appear nowhere else.
 */
export interface KeptSecret<Secret> {
  /** Fails with `device_unproven` while the device is on probation (SECURITY.md 2.4), so that no secret can reach it. */
  read(): Secret | null;
  /** The same, on probation too: to compare what a device shows with what it showed before, never to send it. */
  readAnyway(): Secret | null;
  /** On disk when it returns. */
  keep(secret: Secret): Promise<void>;
  drop(): Promise<void>;
}

/** SHA-256 of the certificate that a device showed when it was paired; `null` where it showed none. */
export function pinOf({ secret }: Target<unknown, { certificate?: string | undefined }>): string | null {
  return secret.readAnyway()?.certificate ?? null;
}

/** What a connection tells of its device, whether anybody has asked or not. */
export type DeviceEvent<Memory = unknown> =
  /** The device answers, and this of its state was said anew; power `off` means that it is off, or on its way to be. */
  | { readonly type: "state"; readonly patch: Partial<PlatformState> }
  /** What was learned about it on the way (a new access mode, a new name); what is not said stays. */
  | { readonly type: "facts"; readonly facts?: Partial<Facts>; readonly memory?: Partial<Memory> }
  /** Something of its state is other than before, which whoever wants to know has to read. */
  | { readonly type: "hint" }
  /** It hung up, or fell silent; `going_off`: it said that it goes off, or nothing of it runs there any more. */
  | { readonly type: "disconnected"; readonly why: "hung_up" | "going_off" };

export type Emit<Memory = unknown> = (event: DeviceEvent<Memory>) => void;

/** No part of the state is pushed, or no capability withheld. */
export const emptySet: ReadonlySet<never> = new Set();

/** What a device can do. */
export interface Description {
  readonly has: ReadonlySet<Capability>;
  /** What it has but its settings withhold now, or its pairing. */
  readonly withheld: ReadonlySet<Capability>;
  /** What its user does so that nothing is withheld any more; may hold `{device}`. */
  readonly hint?: string | undefined;
  /** The keys of this very model. */
  readonly keys: ReadonlySet<Key>;
}

/** One brand or family of devices. `Memory` is what it remembers of each, `Secret` what lets us in at one. */
export interface Platform<Memory = unknown, Secret = unknown> {
  readonly name: string;
  /** The control port, and words for others that may be set per device, with their usual numbers. */
  readonly ports: Readonly<Record<string, number>> & { readonly control: number };
  readonly queries: readonly DiscoveryQuery[];
  /**
   * A device talks to one at a time, or shows its prompt again to each who comes: while it is being paired there is no other
   * conversation with it. What is under way may end first; commands are `device_busy` until the pairing is over.
   */
  readonly oneConversation?: true;
  /** What a user sets on a device so that it can be woken: the hint of one that does not wake. */
  readonly sleepHint?: string;
  /** Services that everybody knows, by this platform's ids of their apps: launched by name where a device keeps its list to itself. */
  readonly services?: ReadonlyMap<string, ServiceId>;
  /** Reads what was remembered, also in the words of the first edition; `{}` is what is known of a device at first. */
  readonly memory: z.ZodType<Memory>;
  /** Reads what was kept; every value is a text. */
  readonly secret?: z.ZodType<Secret>;
  /** Whether a text has the form of this platform's own app ids, so that it may be launched though the catalog lacks it. */
  isAppId(text: string): boolean;
  /** Who lives at an address. Fails with `device_unreachable`, or `device_error` when it is no device of this platform. */
  identify(lead: Lead, platformHost: PlatformHost, signal: AbortSignal): Promise<Sighting<Memory>>;
  /** What a device can do, told from what is known of it: a list of devices makes no connection. */
  describe(facts: Facts, memory: Memory, paired: boolean): Description;
  /**
   * Begins to pair: asks the device to let us in. Only this may make it show a prompt. The kept secret reads as `null` when it
   * is paired anew (`fresh`), since it may be another than the one that gave it. `signal` ends the beginning; what has begun
   * ends with `cancel`. Fails with `unsupported_operation` and the reason `open` where the device lets everybody in.
   */
  pair?(
    target: Target<Memory, Secret>,
    platformHost: PlatformHost,
    options: { readonly fresh: boolean },
    signal: AbortSignal,
  ): Promise<Pairing<Memory, Secret>>;
  connect(target: Target<Memory, Secret>, platformHost: PlatformHost, emit: Emit<Memory>): Connection;
}

/** How several platforms that reach one device go together: kept in index.ts, where alone platforms are named. */
export interface Composition {
  /** Two platforms that one box often speaks: at one host and of one name or model, they are one device. */
  readonly pairs: readonly (readonly [string, string])[];
  /**
   * Platforms that reach a part of a device, whatever else drives it: at the host of the one device that others reach there,
   * or of one of its name, they belong to that. What they say stands where nobody else says it.
   */
  readonly partial?: readonly string[];
  /** Who leads a device, the first first: what it says of the device is shown, and it is asked before the others. */
  readonly leading: readonly string[];
  /** Who comes first for a capability, where that is another order. */
  readonly preferred: Readonly<Partial<Record<Capability, readonly string[]>>>;
  /** Parts of the state of which others know more: what a platform says of them stands where nobody else does. */
  readonly behind?: Readonly<Partial<Record<string, readonly StatePart[]>>>;
}
