/** What the OpenAPI document says of each operation beyond its schemas: in words, and which codes it can answer. */
import type { z } from "zod";
import type { configSchema } from "../config/zod.ts";
import type { ErrorCode } from "./errors.ts";
import type { ConfigReload, Device, operations } from "./operations.ts";

/** What a field means; with keywords of JSON Schema where its zod schema keeps a rule to itself. */
export type FieldText = string | ({ readonly description: string } & Readonly<Record<string, string | number>>);

export interface OperationText {
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /** The codes it can answer, beside those of `everywhere`. */
  readonly codes: readonly ErrorCode[];
  /** Fields of its body, and a body to show. */
  readonly body?: Readonly<Record<string, FieldText>>;
  readonly example?: unknown;
  readonly query?: Readonly<Record<string, FieldText>>;
  /** Fields of its `data`, where that is no component that others share. */
  readonly data?: Readonly<Record<string, FieldText>>;
}

type Operations = typeof operations;
type Texts<Shape> = Readonly<Record<Exclude<keyof Shape, "device" | "action">, FieldText>>;
type Shared = typeof Device | typeof configSchema | typeof ConfigReload;
type BodyText<O> = O extends { body: infer Body extends z.ZodObject<infer Shape> }
  ? { readonly body: Texts<Shape>; readonly example: z.input<Body> }
  : unknown;
type QueryText<O> = O extends { query: z.ZodObject<infer Shape> } ? { readonly query: Texts<Shape> } : unknown;
type DataText<O> = O extends { data: Shared }
  ? unknown
  : O extends { data: z.ZodObject<infer Shape> }
    ? { readonly data: Texts<Shape> }
    : unknown;
type Complete = {
  readonly [Name in keyof Operations]: OperationText &
    BodyText<Operations[Name]> &
    QueryText<Operations[Name]> &
    DataText<Operations[Name]>;
};

export const tags = {
  devices: "The registry, discovery and live state",
  apps: "The catalog of a device, launching and leaving",
  remote: "One key, text, or a timed sequence",
  dev: "Sideloading, for platforms with a developer mode",
  daemon: "zapd itself",
  config: "The config file: read, patched, reloaded",
} as const;

/** What any route can answer: the door, the limits, and zapd's own failures. */
export const everywhere = [
  ...(["invalid_payload", "forbidden_host", "forbidden_origin", "loop_detected"] as const),
  ...(["payload_too_large", "internal_error"] as const),
] as const satisfies readonly ErrorCode[];

/** What `{id}` can lead to. */
const named = [
  ...(["invalid_device_name", "ambiguous_device"] as const),
  ...(["device_not_found", "default_device_missing", "not_found"] as const),
] as const satisfies readonly ErrorCode[];
/** What asking a device can lead to. */
const device = [
  ...(["unsupported_operation", "device_unreachable", "device_timeout", "device_refused", "device_error"] as const),
  "device_unproven",
  "pairing_required",
] as const satisfies readonly ErrorCode[];

const keyText = "One of the keys, or `literal:<text>`, which types text";
const ports =
  "Ports beside the control port, by the platform's own word for each, where they are not the usual ones; ports that are left out stay";

export const operationTexts = {
  listDevices: {
    ...{ tag: "devices", summary: "Every known device", codes: [] },
    description: "The registry, in the order of adding. Nothing is asked of the devices.",
  },
  addDevice: {
    ...{ tag: "devices", summary: "Add a device by its address" },
    description:
      "Asks the address which device lives there, and adds it, or brings what is known of it up to date. It works where no search reaches; the device must be on. A device that is known elsewhere, and answers there or has secrets, is not moved: `device_elsewhere`.",
    codes: [
      ...(["invalid_host", "device_elsewhere", "invalid_device_name", "device_name_taken"] as const),
      ...(["device_unreachable", "device_timeout", "device_error", "storage_error"] as const),
    ],
    body: {
      host: "An address or a host name, with or without a port: `192.168.1.40`, `tv.lan:8060`, `[fe80::1]:8060`",
      port: "Its control port, where that is not the platform's usual one",
      platform: "Asks for a device of this platform only; without it, every platform is tried",
      name: "What it shall be called: 1 to 128 characters, no control characters, neither `/` nor `%`, unique without case. Without it, what the device calls itself",
      ports,
    },
    example: { host: "192.168.1.40", name: "Kitchen" },
  },
  discoverDevices: {
    ...{ tag: "devices", summary: "Look for devices now", codes: [] },
    description:
      "Asks every platform at once over SSDP and mDNS on every interface, and the addresses in `discovery.hosts`, for `discovery.timeout_ms`; merges by hardware identity. A changed address is followed. Calls at the same time share one scan. One scan brings at most 16 new devices of one host, and 128 in all; when the registry is full, finds that nobody has used give way to new ones.",
    data: { devices: "Those found now, as registry entries" },
  },
  removeUnusedDevices: {
    ...{ tag: "devices", summary: "Forget what nobody has used", codes: ["storage_error"] },
    description:
      "Removes every device that a scan found and nobody has driven since, and answers with them as they were. What a user added stays.",
    query: { unused: "Must be `true`: without it nothing is removed" },
    data: { devices: "Those that were removed" },
  },
  getDevice: {
    ...{ tag: "devices", summary: "One device", codes: named },
    description: "Its registry entry. Nothing is asked of the device.",
  },
  changeDevice: {
    ...{ tag: "devices", summary: "Rename a device, or set its ports" },
    description:
      "A name that is given here is never overwritten by discovery. The default device stays the default under its new name.",
    codes: [...named, "device_name_taken", "storage_error", "config_invalid"],
    body: {
      name: "1 to 128 characters, no control characters, neither `/` nor `%`, not `default`, not a UUID, unique without case; blanks around it are dropped",
      ports,
    },
    example: { name: "Den" },
  },
  pairDevice: {
    ...{ tag: "devices", summary: "Have a device let zapd in" },
    description:
      "For a device whose `access` is `unpaired`. Asks it, and answers when its user has accepted what it shows, or has not within 60 s. What the device gives is kept for the user alone, and shown nowhere. A device that lets everybody in is paired at once; one without the capability `pair` has nothing to pair with. With `host`, the device is looked for at that address and paired anew there, without the key that was kept; it is known there from then on. What was kept is replaced only when that succeeds.",
    codes: [...named, ...device, "invalid_host", "device_elsewhere", "device_busy", "pairing_failed", "storage_error"],
    body: {
      pin: "What the device shows, where it shows something to type",
      user: "The name that is set on the device, where it asks for one",
      password: "The password that is set on the device",
      host: "Where the device is now, an address with or without a port, when it has moved or was replaced on probation",
    },
    example: {},
    data: {},
  },
  trustDevice: {
    ...{ tag: "devices", summary: "Say that a device is the one it claims to be" },
    description:
      "For a device on probation, which `warnings` of `GET /health` tell: it has moved and has secrets, two answer for it, or other hardware has its address. From then on what answers at its address gets its secrets and typed text again, and who else answered for it is passed over. Nothing is asked of the device.",
    codes: [...named, "storage_error"],
  },
  removeDevice: {
    ...{ tag: "devices", summary: "Forget a device" },
    description:
      "Removes it from the registry, with its cached apps, and answers with it as it was. A later scan finds it again, under the same id.",
    codes: [...named, "storage_error"],
  },
  getState: {
    ...{ tag: "devices", summary: "What a device is doing", codes: [...named, ...device] },
    description:
      "Live from the device. A part that the set refuses or lacks is `null`, and one refused query never fails the whole. Calls at the same time share one reading, never one from before the caller's last command.",
    data: { state: "Read just now" },
  },
  listApps: {
    ...{ tag: "apps", summary: "The apps of a device", codes: [...named, ...device, "storage_error"] },
    description: "From the cache on disk; a cold cache is filled from the device first.",
    data: { platform: "The device's platform", apps: "What it has, and what it no longer lists (`installed: false`)" },
  },
  launchApp: {
    ...{ tag: "apps", summary: "Launch an app" },
    description:
      "The app is found by platform id, then id, then by name: exact, then without case, then with `&` and `+` as words, then without punctuation, each only where the one before finds nothing. A device that keeps its list to itself is still asked for services that everybody knows, such as `netflix`. A text in the platform's own form of an id goes to the device even when the catalog lacks it. Answered once the device took it.",
    codes: [...named, ...device, "ambiguous_app", "app_not_found", "device_busy", "storage_error"],
    body: {
      app: "A normalized id, an app name, or a platform id",
      params: {
        description:
          "Passed to the app as a deep link: at most 32. `content_id` and `media_type` mean the same on every platform",
        maxProperties: 32,
      },
    },
    example: { app: "netflix", params: { content_id: "80057281", media_type: "series" } },
    data: {
      app: "The app that was launched",
      confirmed:
        "Whether the device was seen to show the app: `true`, it was; `false`, it took the command, but did not show it yet; `null`, it cannot be read",
    },
  },
  stopApp: {
    ...{ tag: "apps", summary: "Leave the app that is shown", codes: [...named, ...device, "device_busy"] },
    description: "Ends the app where the device allows it, and goes home. With nothing running it succeeds.",
    data: { app: "The app that was left; `null`, when none was shown" },
  },
  refreshApps: {
    ...{
      tag: "apps",
      summary: "Read the apps of a device anew",
      codes: [...named, ...device, "device_busy", "storage_error"],
    },
    description:
      "Merges what the device lists now into the catalog; what it no longer lists stays, with `installed: false`. The body may be left out.",
    body: { clear: "First drops all that is cached for the device's platform" },
    example: { clear: true },
    data: {
      platform: "The device's platform",
      apps: "The catalog as it is now",
      added: "Ids of apps that are new in it",
      removed: "Ids of apps that the device no longer lists",
      cleared: "Whether the cache was dropped first",
    },
  },
  pressKey: {
    ...{ tag: "remote", summary: "Press a key, or type text" },
    description:
      "Answered once the device took it, and sent at most once. `power-on` wakes a sleeping set with magic packets and waits until it answers, up to 45 s. A key that the device does not have is `unsupported_key`; the hint lists those that it has.",
    codes: [...named, ...device, "invalid_key", "unsupported_key", "device_busy"],
    body: { key: keyText },
    example: { key: "home" },
    data: { key: "As it was asked for" },
  },
  pressKeys: {
    ...{ tag: "remote", summary: "Press keys one after another" },
    description:
      "Every key is checked before the first is sent. One sequence at a time per device, in order of arrival; a caller that hangs up stops it. The delays may add up to 600 s; none follows the last key. A failure says how many keys were sent.",
    codes: [...named, ...device, "invalid_key", "unsupported_key", "device_busy"],
    body: {
      keys: `In the order of pressing: 1 to 256. Each is one of the keys, or \`literal:<text>\``,
      delay_ms: "From one key to the next, in milliseconds",
    },
    example: { keys: ["down", "down", "select"], delay_ms: 150 },
    data: {
      keys: "As they were asked for",
      delay_ms: "The delay that was kept",
      sent: "How many the device took: all of them",
      duration_ms: "From the first key to the last",
    },
  },
  installPackage: {
    ...{ tag: "dev", summary: "Sideload a package" },
    description:
      "A form with the file `archive`, a ZIP of up to 100 MiB, streamed and never extracted. Its directory, names, sizes and manifest are checked before the device sees it. One installation at a time per device, and two in all. Needs `dev.vendor_password`.",
    codes: [
      ...[...named, ...device],
      ...(["dev_password_missing", "invalid_archive", "package_rejected", "app_not_found"] as const),
      ...(["device_busy", "dev_auth_failed", "dev_update_required", "storage_error"] as const),
    ],
    data: { package: "What was in the archive", messages: "What the device said of it, in its own words" },
  },
  reloadPackage: {
    ...{ tag: "dev", summary: "Start the sideloaded package anew" },
    description: "Answered once the device shows it.",
    codes: [...named, ...device, "app_not_found", "dev_package_missing", "device_busy"],
    data: { app: "The sideloaded app" },
  },
  readLogs: {
    ...{ tag: "dev", summary: "Read the developer console", codes: [...named, ...device, "console_in_use"] },
    description:
      "With a cursor, only what is new. One connection to the device's console however many ask; it is let go after a minute without readers. The last 5,000 lines are kept, of 2 MiB at most; `dropped` counts those that are not kept any more.",
    query: { cursor: "The `cursor` of the answer before; one of an earlier run of the daemon counts as none" },
    data: {
      lines: "Without their ends, and without terminal controls",
      cursor: "Give it back to get what comes next",
      dropped:
        "How many lines came after `cursor` and before the first of `lines`, and are not kept any more; left out where there are none",
    },
  },
  status: {
    ...{ tag: "daemon", summary: "The status of the daemon", codes: [] },
    description: "Where it listens, and what it knows.",
    data: {
      pid: "Its process id",
      version: "zapd's own version",
      uptime_s: "Seconds since its start",
      socket: "The path of its control socket",
      http_enabled: "Whether the HTTP API is enabled",
      http_host: "The bound host",
      http_port: "The bound port",
      device_count: "How many devices are known",
      default_device: "The name of the default device; `null`, when there is none",
      config_file: "The config file that the daemon runs on; it need not be there yet",
      state_folder: "The folder of the registry and what else is kept",
    },
  },
  readConfig: {
    ...{ tag: "config", summary: "The config", codes: ["config_invalid"] },
    description:
      "As the file says it now, whatever the daemon runs with, with the default of each setting that it leaves out. The password is redacted.",
  },
  patchConfig: {
    ...{ tag: "config", summary: "Change settings" },
    description:
      "All or nothing: one value that is wrong, and not a byte changes. Comments, order and formatting of the file survive; where there is none yet, the first change writes one, with every setting and what it does. `null` puts a setting back to its default.",
    codes: [
      ...(["unsupported_patch_value", "unknown_config_key", "invalid_config_value"] as const),
      ...(["config_invalid", "storage_error"] as const),
    ],
    example: { "daemon.log_level": "debug", "daemon.default_device": "Living Room" },
  },
  reloadConfig: {
    ...{ tag: "config", summary: "Take up the config file", codes: ["config_invalid"] },
    description: "After an edit by hand. A file that is broken changes nothing.",
  },
  health: {
    ...{ tag: "daemon", summary: "Whether the daemon is well", codes: [] },
    description:
      "With what a person should know of: files that were damaged, settings that mean nothing, devices on probation.",
    data: {
      status: "It answers, so it is",
      version: "zapd's own version",
      uptime_s: "Seconds since its start",
      warnings: "In words",
    },
  },
} as const satisfies Complete;
