/**
 * The wire format: one zod schema per request and response, and the table of operations. Everything below `/v1` is
 * answered in the envelope of SPEC.md 2; these schemas describe its `data`. Absent facts are `null`, never missing.
 */
import { z } from "zod";
import { configSchema } from "../config/zod.ts";
import {
  accessModes,
  appTypes,
  capabilities,
  type Key,
  kinds,
  playbackStatuses,
  powers,
} from "../platforms/platform.ts";
import { isObject } from "../system/shape.ts";
import { codes, failureReasons } from "./errors.ts";
import { type Endpoint, type EndpointName, endpoints, sequenceLimits } from "./routes.ts";

const text = z.string().nullable();
const time = z.iso.datetime();
const port = z.int().min(1).max(65_535);

/** A registry entry. */
export const Device = z.object({
  id: z.uuid(),
  name: z.string(),
  platform: z.string(),
  kind: z.enum(kinds),
  manufacturer: text,
  model: text,
  serial: text,
  mac: text,
  software_version: text,
  /** What is known now, without asking it. */
  power: z.enum(powers),
  host: z.string(),
  port,
  /** Ports beside the control port, where they are not the platform's usual ones. */
  ports: z.record(z.string(), port),
  status: z.enum(["online", "offline", "unknown"]),
  access: z.enum(accessModes).nullable(),
  capabilities: z.array(z.enum(capabilities)),
  /** Whether anybody ever drove it. */
  used: z.boolean(),
  is_default: z.boolean(),
  added_at: time,
  last_seen: time.nullable(),
});
export type Device = z.infer<typeof Device>;

/** An app of a device. `id` means the same on every platform. */
export const App = z.object({
  id: z.string(),
  name: z.string(),
  platform_id: z.string(),
  type: z.enum(appTypes),
  version: text,
  installed: z.boolean(),
});
export type App = z.infer<typeof App>;

export const State = z.object({
  power: z.enum(powers),
  /** `null`: the home screen, or unknown. */
  app: App.nullable(),
  screensaver: z.boolean().nullable(),
  playback: z
    .object({
      status: z.enum(playbackStatuses),
      position_ms: z.int().nullable(),
      duration_ms: z.int().nullable(),
      live: z.boolean().nullable(),
      title: text,
    })
    .nullable(),
  volume: z.object({ level: z.number().min(0).max(100).nullable(), muted: z.boolean().nullable() }).nullable(),
  input: text,
  observed_at: time,
});
export type State = z.infer<typeof State>;

const action = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.object({ device: Device, action: z.literal(name), ...shape });

/** `true`: read back from the device; `false`: taken, not seen yet; `null`: it cannot be read. */
const confirmed = z.boolean().nullable();

/** A part of a deep link: half characters cannot be encoded. */
const linkText = (most: number, least = 0) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((text) => text.isWellFormed(), { error: "holds half a character" });

/** A key by its name, or text to type. */
export type KeyOrText = Key | `literal:${string}`;

/** Any text is let through: the remote judges it, and says which key was meant (`invalid_key`). */
const keyOrText = z.string() as unknown as z.ZodType<KeyOrText, KeyOrText>;

/** Dotted key -> value. Not a zod record: that would drop a key called `__proto__` in silence instead of refusing it. */
const ConfigPatch = z.custom<Record<string, unknown>>(isObject, {
  error: 'must be an object of dotted keys, such as {"daemon.http_port": 7272}',
});

export const ConfigReload = z.object({ config: configSchema, restart_required: z.array(z.string()) });

/** Each operation: where it is, what it takes (`body`, `query`) and what it answers (`data`). */
export const operations = {
  listDevices: { ...endpoints.listDevices, data: z.array(Device) },
  addDevice: {
    ...endpoints.addDevice,
    body: z.strictObject({
      host: z.string().trim().min(1).max(253),
      port: port.optional(),
      platform: z.string().optional(),
      name: z.string().optional(),
      ports: z.record(z.string(), port).optional(),
    }),
    data: Device,
  },
  removeUnusedDevices: {
    ...endpoints.removeUnusedDevices,
    query: z.object({ unused: z.literal("true") }),
    data: z.object({ devices: z.array(Device) }),
  },
  discoverDevices: { ...endpoints.discoverDevices, data: z.object({ devices: z.array(Device) }) },
  getDevice: { ...endpoints.getDevice, data: Device },
  changeDevice: {
    ...endpoints.changeDevice,
    body: z.strictObject({ name: z.string().optional(), ports: z.record(z.string(), port).optional() }),
    data: Device,
  },
  pairDevice: {
    ...endpoints.pairDevice,
    body: z.strictObject({
      /** What the device shows, where it shows one. */
      pin: z.string().min(1).max(64).optional(),
      /** The name and password that were set on the device, where it has some. */
      user: z.string().min(1).max(256).optional(),
      password: z.string().min(1).max(1_024).optional(),
      /** Where it is now, with or without a port: it is paired anew there, without the old key. */
      host: z.string().trim().min(1).max(253).optional(),
    }),
    data: action("pair", {}),
  },
  trustDevice: { ...endpoints.trustDevice, data: Device },
  removeDevice: { ...endpoints.removeDevice, data: Device },
  getState: { ...endpoints.getState, data: z.object({ device: Device, state: State }) },
  listApps: { ...endpoints.listApps, data: z.object({ platform: z.string(), apps: z.array(App) }) },
  launchApp: {
    ...endpoints.launchApp,
    body: z.strictObject({
      app: z.string().trim().min(1).max(256),
      params: z
        .record(linkText(64, 1), linkText(1_024))
        .refine((params) => Object.keys(params).length <= 32, { error: "holds more than 32 parameters" })
        .optional(),
    }),
    data: action("launch", { app: App, confirmed }),
  },
  stopApp: { ...endpoints.stopApp, data: action("stop", { app: App.nullable() }) },
  refreshApps: {
    ...endpoints.refreshApps,
    body: z.strictObject({ clear: z.boolean().optional() }),
    data: action("refresh", {
      platform: z.string(),
      apps: z.array(App),
      /** Ids of apps that are new in the catalog, and of those the device no longer lists. */
      added: z.array(z.string()),
      removed: z.array(z.string()),
      cleared: z.boolean(),
    }),
  },
  pressKey: {
    ...endpoints.pressKey,
    body: z.strictObject({ key: keyOrText }),
    data: action("key", { key: z.string() }),
  },
  pressKeys: {
    ...endpoints.pressKeys,
    body: z.strictObject({
      keys: z.array(keyOrText).min(1).max(sequenceLimits.keys),
      delay_ms: z.int().min(0).max(sequenceLimits.delayMs).default(sequenceLimits.usualDelayMs),
    }),
    data: action("sequence", { keys: z.array(z.string()), delay_ms: z.int(), sent: z.int(), duration_ms: z.int() }),
  },
  installPackage: {
    ...endpoints.installPackage,
    data: action("install", {
      package: z.object({ name: z.string(), version: z.string(), bytes: z.int(), files: z.int() }),
      messages: z.array(z.string()),
    }),
  },
  reloadPackage: { ...endpoints.reloadPackage, data: action("reload", { app: App }) },
  readLogs: {
    ...endpoints.readLogs,
    query: z.object({ cursor: z.string().max(64).optional() }),
    data: z.object({
      device: Device,
      lines: z.array(z.string()),
      cursor: z.string(),
      dropped: z.int().min(1).optional(),
    }),
  },
  status: {
    ...endpoints.status,
    data: z.object({
      pid: z.int(),
      version: z.string(),
      uptime_s: z.int(),
      socket: z.string(),
      http_enabled: z.boolean(),
      http_host: z.string(),
      http_port: z.int(),
      device_count: z.int(),
      default_device: text,
      config_file: z.string().optional(),
      state_folder: z.string().optional(),
    }),
  },
  readConfig: { ...endpoints.readConfig, data: configSchema },
  patchConfig: { ...endpoints.patchConfig, body: ConfigPatch, data: ConfigReload },
  reloadConfig: { ...endpoints.reloadConfig, data: ConfigReload },
  health: {
    ...endpoints.health,
    data: z.object({ status: z.literal("ok"), version: z.string(), uptime_s: z.int(), warnings: z.array(z.string()) }),
  },
} as const satisfies Record<EndpointName, Operation>;

export interface Operation extends Endpoint {
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  readonly data: z.ZodType;
}

const code = z.enum(Object.keys(codes) as [keyof typeof codes]);

/** Every refusal and failure. */
export const Failure = z.strictObject({
  ok: z.literal(false),
  error: z.strictObject({
    code,
    message: z.string(),
    hint: z.string().optional(),
    reason: z.enum(failureReasons).optional(),
  }),
});

/** Every success, around the `data` of its operation. */
export const success = <Data extends z.ZodType>(data: Data) => z.strictObject({ ok: z.literal(true), data });
