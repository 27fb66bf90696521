/**
 * What a platform is: how its devices are found, who answers at an address, and what one device can do.
 * A capability is a method that is present. No file outside a platform's own folder knows its name, but index.ts.
 */

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

/** What a device can be asked for; `capabilities` of a Device lists those that work on it now. */
export const capabilities = ["state", "apps", "launch", "stop", "keys", "text", "power_on", "dev"] as const;
export type Capability = (typeof capabilities)[number];

export const kinds = ["tv", "player", "soundbar", "unknown"] as const;
export const accessModes = ["full", "limited", "disabled", "unpaired"] as const;
export const powers = ["on", "standby", "off", "unknown"] as const;
export const appTypes = ["app", "input", "tuner", "dev"] as const;
export const playbackStatuses = ["playing", "paused", "buffering", "stopped"] as const;

export type Kind = (typeof kinds)[number];
export type Access = (typeof accessModes)[number];
export type Power = (typeof powers)[number];

/** Where a device answers: an IP address, never a name, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Ports of a device beside its control port, by the platform's own word for each (`installer`, `console`, `wake`). */
export type Ports = Readonly<Record<string, number>>;

/** What a device says of itself. What it does not say is `null`. */
export interface Facts {
  /** The hardware's own identity: survives a changed address, a changed name and a lost registry. */
  readonly identity: string;
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
  /** What else the platform wants to know when it connects; nobody else reads it. */
  readonly traits: Readonly<Record<string, string>>;
}

/** A device as a platform sees it: the facts, and where it answers. */
export interface Target extends Facts, Address {
  readonly ports: Ports;
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
}

/** What a device is doing. A part that it refuses or lacks is `null`. */
export interface PlatformState {
  readonly power: Power;
  /** `null`: the home screen, or unknown. */
  readonly app: PlatformApp | null;
  readonly screensaver: boolean | null;
  readonly playback: Playback | null;
  readonly volume: { readonly level: number | null; readonly muted: boolean | null } | null;
  /** The input that is shown, in the word of its key without `input-`: `hdmi1` … `av`, `tuner`. */
  readonly input: string | null;
}

/** A package on disk, waiting to be sideloaded. */
export interface Archive {
  readonly path: string;
  readonly bytes: number;
}

export interface InstallResult {
  readonly package: { name: string; version: string; bytes: number; files: number };
  /** What the device said of it, in its own words. */
  readonly messages: readonly string[];
}

/** A live feed of a device's developer console. One per device, whoever asks. */
export interface Console {
  /** Waits until what the device replays has arrived, then gives the lines after `cursor` (all that are kept, without one). */
  read(cursor: string | null, signal: AbortSignal): Promise<{ lines: string[]; cursor: string }>;
  close(): void;
}

/** Sideloading, for platforms with a developer mode. */
export interface Developer {
  install(archive: Archive, password: string, signal: AbortSignal): Promise<InstallResult>;
  /** Starts the sideloaded package anew; `dev_package_missing` when there is none. */
  reload(signal: AbortSignal): Promise<PlatformApp>;
  console: Console;
}

/** `true`: read back from the device; `false`: it took the command, but does not show the effect yet; `null`: it cannot be read. */
export type Confirmed = boolean | null;

/**
 * One device, ready to be driven. Made without any traffic; keeps its sockets between calls. A method that is absent is
 * a capability this very device lacks. Every failure is a ZapdError whose message is a predicate.
 */
export interface Connection {
  state?(signal: AbortSignal): Promise<PlatformState>;
  apps?(signal: AbortSignal): Promise<PlatformApp[]>;
  launch?(platformId: string, params: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Confirmed>;
  /** Leaves the app that is shown; answers with it, or `null` when there was none. */
  stop?(signal: AbortSignal): Promise<PlatformApp | null>;
  keys?: { readonly names: ReadonlySet<Key>; press(key: Key, signal: AbortSignal): Promise<void> };
  /** Types text, by code point. `msPerCharacter` is what one takes at most, so that a deadline can be set. */
  text?: { readonly msPerCharacter: number; type(text: string, signal: AbortSignal): Promise<void> };
  /** Turns the device on from any state and waits until it answers. */
  powerOn?(signal: AbortSignal): Promise<void>;
  dev?: Developer;
  /** Capabilities that the device has but its settings withhold now. */
  withheld?: ReadonlySet<Capability>;
  close(): void;
}

/** An answer to a search over SSDP: its headers (names in lower case) and who sent it. */
export interface SsdpAnswer {
  readonly headers: ReadonlyMap<string, string>;
  readonly source: string;
}

/** A service announced over mDNS. */
export interface MdnsService {
  readonly name: string;
  readonly type: string;
  readonly addresses: readonly string[];
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
}

/** What a platform asks the network, and how it reads an answer: where to look closer, or `null` for "not ours". */
export type Finder =
  | { readonly over: "ssdp"; readonly target: string; read(answer: SsdpAnswer): Address | null }
  | { readonly over: "mdns"; readonly type: string; read(service: MdnsService): Address | null };

/** What the daemon gives to a platform. */
export interface Surroundings {
  /** Milliseconds a device has for one answer (`devices.request_timeout_ms`). */
  requestTimeout(): number;
  /** Whether an address is the daemon's own door, which no device call may ever reach. */
  isOwnDoor(address: Address): boolean;
  /** Local IPv4 addresses with their broadcast addresses, for magic packets. */
  broadcasts(): readonly string[];
  /** What a connection learned on the way about its device (a new access mode, a new name). */
  learned(facts: Facts): void;
  debug(message: string): void;
}

/** One brand or family of devices. */
export interface Platform {
  readonly name: string;
  readonly defaultPort: number;
  /** Words for ports beside the control port that may be set per device, with their usual numbers. */
  readonly ports: Ports;
  readonly finders: readonly Finder[];
  /** Whether a text has the form of this platform's own app ids, so that it may be launched though the catalog lacks it. */
  isAppId(text: string): boolean;
  /** Who lives at an address. Fails with `device_unreachable`, or `device_error` when it is no device of this platform. */
  identify(address: Address, surroundings: Surroundings, signal: AbortSignal): Promise<Facts>;
  connect(target: Target, surroundings: Surroundings): Connection;
}
