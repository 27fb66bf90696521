/**
 * The table of operations: input, output, error codes and documentation of each. Everything below `/v1` is answered in the
 * envelope of SPEC.md 2; the schemas describe its `data`. Absent facts are `null`, never missing. The routes, the OpenAPI
 * document, the typed client, the tools of MCP and the docs are made from this table.
 */
import { z } from "zod";
import { configSchema, restartKeys } from "../config/schema.ts";
import { codeForms, pairingSteps } from "../platforms/platform.ts";
import { isObject } from "../system/json.ts";
import { port } from "../system/schemas.ts";
import { splitCommas } from "../system/text.ts";
import { type ErrorCode, pairingReasons } from "./errors.ts";
import { ConsoleLine, ConsoleNews, EventLine, events, meansType, SceneLine, SceneNews } from "./events.ts";
import { leaseLimits, pressLimits, sequenceLimits } from "./limits.ts";
import {
  type Groupable,
  groupable,
  isForLeaseHolder,
  leaseHeader,
  type OperationName,
  type OperationRoute,
  operationRoutes,
} from "./routes.ts";
import { Mistake, SceneInfo, SceneInput, SceneRequest, SceneResult } from "./scenes.ts";
import {
  App,
  Channel,
  Device,
  FailureSummary,
  Input,
  KeyOrText,
  Labels,
  Lease,
  Picture,
  Playback,
  playbackCommands,
  State,
  text,
  time,
  Volume,
} from "./schemas.ts";

export const tags = {
  devices: "The registry, discovery and live state",
  apps: "The catalog of a device, launching and leaving",
  remote: "One key, text, or a timed sequence",
  scenes: "Steps that run one after another, from a file or from the request",
  dev: "Sideloading, for platforms with a developer mode",
  events: "What happens, as it happens",
  daemon: "zapd itself",
  config: "The config file: read, patched, reloaded",
} as const;

export interface Operation extends OperationRoute {
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  /** The codes it can fail with, beside `commonCodes`. */
  readonly codes: readonly ErrorCode[];
  /** Its `examples` are shown in the docs. */
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  /** The `data` of the envelope; of a stream, one line. */
  readonly data: z.ZodType;
  /** Where a caller may ask for a stream instead: an event of it, and a line of it. */
  readonly streams?: { readonly news: z.ZodType; readonly line: z.ZodType };
}

/** The columns of this table; the others are in `routes.ts`. */
type Description = Omit<Operation, keyof OperationRoute>;

/** Dotted key -> value. Not a zod record, which would silently drop a key called `__proto__`. */
const ConfigPatch = z
  .custom<Record<string, unknown>>(isObject, {
    error: 'must be an object of dotted keys, such as {"daemon.http_port": 7272}',
  })
  .meta({ examples: [{ "daemon.log_level": "debug", "daemon.default_device": "Living Room" }] });

export const ConfigReload = z.object({
  config: configSchema.describe("The settings in the file now"),
  restart_required: z
    .array(z.string())
    .describe(
      `Dotted keys whose value in the file differs from the one that the daemon runs with. A restart is needed for ${restartKeys.join(", ")}; all others take effect at once`,
    ),
});

/** The envelope of a success. */
export const success = <Data extends z.ZodType>(data: Data) => z.strictObject({ ok: z.literal(true), data });

/** The envelope of a failure. */
export const Failure = z.strictObject({
  ok: z.literal(false),
  error: z.strictObject({
    ...FailureSummary.shape,
    details: z
      .object({
        results: z
          .array(z.record(z.string(), z.unknown()))
          .optional()
          .describe("With a command to a group that failed on every device: the result of each, as in its answer"),
        problems: z
          .array(
            z.object({
              text: z.string(),
              file: z.string().nullable().describe("In the package; `null` where the device does not name it"),
              line: z.number().int().nullable().describe("In that file, counted from 1"),
            }),
          )
          .optional()
          .describe("With `package_rejected`: each reason that the device gave"),
        lease: Lease.nullable()
          .optional()
          .describe("With `device_leased`: who has the device; `null`: the lease of the caller has ended"),
        mistakes: z.array(Mistake).optional().describe("With `invalid_scene`: everything that is wrong with it"),
      })
      .optional()
      .describe("Data for programs; most failures have none"),
    reason: z
      .enum(pairingReasons)
      .optional()
      .describe(
        "Only with `pairing_failed`: the code or password is `wrong`, and can be entered again while the pairing lasts; it came too `late`; it was `denied` at the device, or `cancelled`; the device is `busy` pairing with another client; it `closed` the connection, or broke the `protocol`",
      ),
  }),
});

const device = Device.describe("The device after this operation");
const pictureQuery = z.object({
  missing: z
    .enum(["empty"])
    .optional()
    .describe(
      "With `empty`, the answer is 204 without a body instead of an error: for web pages, whose browser reports every 404",
    ),
});

const action = <Name extends string, Shape extends z.ZodRawShape>(name: Name, shape: Shape) =>
  z.object({ device, action: z.literal(name).describe("Which action this was"), ...shape });

/** A part of a deep link: lone surrogates cannot be encoded. */
const linkText = (most: number, least = 0) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((text) => text.isWellFormed(), { error: "contains half a character" });

export const DeepLinkParams = z
  .record(linkText(64, 1), linkText(1_024))
  .refine((params) => Object.keys(params).length <= 32, { error: "has more than 32 parameters" })
  .meta({
    description:
      "Passed to the app as a deep link: at most 32. `content_id` and `media_type` mean the same on every platform",
    maxProperties: 32,
  });

const ports = z
  .record(z.string(), port)
  .optional()
  .describe(
    "Ports other than the control port, by the platform's name for each, where they are not the usual ones; ports that are left out do not change",
  );
/** A text for other callers, who may print it on a terminal. */
const leaseText = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), { error: "contains control characters" });
const host = z.string().trim().min(1).max(253);
const webUrl = z.url({ protocol: /^https?$/ }).max(2_048);
/** A switch in a query. */
const flag = z.enum(["true", "false"]).optional();
const nameRules =
  "1 to 128 characters, no control characters, neither `/` nor `%`, not `default`, not `all`, nothing that begins with `label:`, not a UUID, unique regardless of case; spaces around it are removed";
const confirmed = z
  .boolean()
  .nullable()
  .describe(
    "Whether the device reports the effect: `true`, it does; `false`, it accepted the command, but does not report the effect yet; `null`, zapd cannot know it",
  );
const platform = z.string().describe("The device's platform");
const version = z.string().describe("zapd's own version");
const uptime = z.int().describe("Seconds since its start");

/** The codes that every operation can fail with: those of the guard, of the limits, and of zapd itself. */
export const commonCodes: readonly ErrorCode[] = [
  "invalid_payload",
  "forbidden_host",
  "forbidden_origin",
  "loop_detected",
  "payload_too_large",
  "internal_error",
];

const eventTypes = Object.keys(events);
const areTypes = (words: readonly string[]) =>
  words.length > 0 && words.every((word) => eventTypes.some((type) => meansType(word, type)));

/** The codes of names that mean no single device. */
const namingCodes: readonly ErrorCode[] = ["invalid_device_name", "ambiguous_device", "default_device_missing"];
/** The codes of finding `{id}`. */
const findingCodes: readonly ErrorCode[] = [...namingCodes, "device_not_found", "not_found"];

/** The codes of a request to a device. */
const deviceCodes: readonly ErrorCode[] = [
  ...findingCodes,
  "unsupported_operation",
  "device_unreachable",
  "device_timeout",
  "device_refused",
  "device_error",
  "device_unproven",
  "pairing_required",
];

/** Any object passes here: src/scenes reports all mistakes at once, as `invalid_scene`. */
const SceneBody = z
  .custom<SceneInput>(isObject, { error: 'must be an object with steps, such as {"steps": [{"key": "home"}]}' })
  .meta(SceneInput.meta() ?? {});

const runStream = { news: SceneNews, line: SceneLine };
const sceneCodes: readonly ErrorCode[] = ["invalid_scene", "scene_not_found", "device_busy", "too_many_streams"];

const runDescription =
  "The whole scene is checked first. If it has mistakes, none of it runs, and `invalid_scene` lists all of them, with their lines in a file. Each step is a normal command, to its device or to all devices of a group at the same moment. A step whose effect is already there (`power`, `launch` without `params`, a level of `volume`, `input`) is skipped, and so is a `wait_ms` after it. A step that fails at one of its devices stops the scene, unless its `on_error`, or that of the scene, is `continue`. One run at a time per device; the others wait. Beyond 32 runs in all, running or waiting, a call fails with `device_busy`. A caller that disconnects ends the run, and no further step begins; the run ends by itself after 10 minutes. The answer has the result of each step, with status 200 also where one failed: see `outcome`. For `accept: application/x-ndjson` (or `text/event-stream`) the answer is a stream of `scene.started`, a `scene.step` for each step that has ended, and `scene.finished` with the answer as `data`; `/events` has the same events. There are no loops and no expressions; 200 steps at most.";

const own = {
  listDevices: {
    tag: "devices",
    summary: "Every known device",
    description: "The registry, in the order in which devices were added. zapd sends nothing to the devices.",
    codes: [],
    data: z.array(Device),
  },
  addDevice: {
    tag: "devices",
    summary: "Add a device by its address",
    description:
      "Asks the address which device is there, and adds that device, or updates it if zapd knows it. It works where discovery does not reach; the device must be on. A device that is known at another address, and answers there or has secrets, is not moved: `device_elsewhere`. A leased device is not renamed and keeps its ports: `device_leased`.",
    codes: [
      "invalid_host",
      "device_elsewhere",
      "invalid_device_name",
      "device_name_taken",
      "device_unreachable",
      "device_timeout",
      "device_error",
      "device_leased",
      "storage_error",
    ],
    body: z
      .strictObject({
        host: host.describe(
          "An address or a host name, with or without a port: `192.168.1.40`, `tv.lan:8060`, `[fd00::40]:8060`",
        ),
        port: port.optional().describe("Its control port, if that is not the platform's usual one"),
        platform: z
          .string()
          .optional()
          .describe("Looks for a device of this platform only; without it, every platform is tried"),
        name: z
          .string()
          .optional()
          .describe(`Its name: ${nameRules}. Without it, the name that the device has for itself`),
        ports,
      })
      .meta({ examples: [{ host: "192.168.1.40", name: "Kitchen" }] }),
    data: Device,
  },
  removeUnusedDevices: {
    tag: "devices",
    summary: "Remove unused devices",
    description:
      "Removes every device that a scan found and nobody has used since, and answers with those devices as they were. Devices that a user added stay.",
    codes: ["storage_error"],
    query: z.object({
      unused: z.literal("true").meta({
        description: "Must be `true`; without it nothing is removed",
        // The viewer at `/docs` shows the only value as chosen, but sends it only if it is the example.
        examples: ["true"],
      }),
    }),
    data: z.object({ devices: z.array(Device).describe("The devices that were removed") }),
  },
  discoverDevices: {
    tag: "devices",
    summary: "Look for devices now",
    description:
      "Asks every platform at once over SSDP and mDNS on every interface, and the addresses in `discovery.hosts`, for `discovery.timeout_ms`; merges by hardware identity. A changed address is followed. Calls at the same time share one scan. One scan adds at most 16 new devices of one host, and 128 in all; when the registry is full, found devices that nobody has used make room for new ones.",
    codes: [],
    data: z.object({ devices: z.array(Device).describe("The devices that were found now, as registry entries") }),
  },
  getDevice: {
    tag: "devices",
    summary: "One device",
    description: "Its registry entry. zapd sends nothing to the device.",
    codes: findingCodes,
    data: Device,
  },
  changeDevice: {
    tag: "devices",
    summary: "Rename a device, label it, or set its ports",
    description:
      "A name that is given here is never overwritten by discovery. The default device stays the default under its new name.",
    codes: [...findingCodes, "device_name_taken", "storage_error"],
    body: z
      .strictObject({
        name: z.string().optional().describe(nameRules),
        ports,
        labels: Labels.optional().describe(
          "All its labels, each of which names a group: 1 to 64 of the characters `a` to `z`, `0` to `9`, `.`, `_`, `=` and `-`",
        ),
      })
      .meta({ examples: [{ name: "Den" }] }),
    data: Device,
  },
  pairDevice: {
    tag: "devices",
    summary: "Pair with a device",
    description:
      "For a device whose `access` is `unpaired`. Starts pairing, and answers when the user has accepted it at the device, or after 60 s without an answer. With `begin`, and where the device requires a code or a login that was not given, it answers at once with the next `step`, and the pairing goes on until `expires_at`: a second call with the `pin`, or with `user` and `password`, completes it, and so does accepting it at the device, which `access` and the event `pairing.changed` then show. Calls at the same time wait for the same prompt; with other arguments they are `device_busy`. The secret that the device gives is stored so that only this user can read it, and is never shown. A device that accepts every client is paired at once; one without the capability `pair` needs no pairing. With `host`, the device is looked for at that address and paired there without the stored key; from then on that is its address. A stored secret is replaced only when pairing succeeds.",
    codes: [...deviceCodes, "invalid_host", "device_elsewhere", "device_busy", "pairing_failed", "storage_error"],
    body: z
      .strictObject({
        begin: z
          .boolean()
          .optional()
          .describe("Answers at once with the next step, without waiting until somebody accepts it at the device"),
        pin: z.string().min(1).max(64).optional().describe("The code that the device shows, if it shows one"),
        user: z
          .string()
          .min(1)
          .max(256)
          .optional()
          .describe("The user name that is set on the device, if it requires one"),
        password: z.string().min(1).max(1_024).optional().describe("The password that is set on the device"),
        platform: z
          .string()
          .optional()
          .describe("The platform to pair over, if the device has several; by default the one that requires pairing"),
        host: host
          .optional()
          .describe(
            "The address of the device now, with or without a port, if it has moved or another device answered for it",
          ),
      })
      .meta({ examples: [{}] }),
    data: action("pair", {
      step: z
        .enum(pairingSteps)
        .optional()
        .describe(
          "The next step: `confirm`, accept it at the device; `code`, send the code that it shows as `pin`; `login`, send the `user` and `password` that are set on it. Without it, the device is paired",
        ),
      form: z.enum(codeForms).nullable().optional().describe("The kind of characters in the code; `null` without one"),
      length: z.int().nullable().optional().describe("How many characters the code has; `null` without one"),
      expires_at: time.optional().describe("When the pairing ends by itself"),
    }),
  },
  cancelPairing: {
    tag: "devices",
    summary: "Cancel a pairing",
    description:
      "Removes the prompt from the screen of the device, and ends the calls that wait for it. A secret that was stored before stays.",
    codes: findingCodes,
    data: action("cancel_pairing", { cancelled: z.boolean().describe("Whether there was one to cancel") }),
  },
  trustDevice: {
    tag: "devices",
    summary: "Trust a device again",
    description:
      "For a device on probation, which `warnings` of `GET /health` report: it has moved and has secrets, two devices answer for it, or other hardware has its address. From then on the device at its address gets its secrets and typed text again, and others that answered for it are ignored. zapd sends nothing to the device.",
    codes: [...findingCodes, "storage_error"],
    data: Device,
  },
  joinDevice: {
    tag: "devices",
    summary: "Join two devices into one",
    description:
      "For a device with several protocols that zapd does not recognize as one device by itself. From then on it is permanently one device: with the id of the one that was known first, while the other id also means it; with the name that the user gave the first, or else the second, or else the name of the first; and each command goes over the platform that supports it best. Devices of one platform are not joined. zapd sends nothing to them.",
    codes: [...findingCodes, "storage_error"],
    body: z
      .strictObject({ with: z.string().min(1).max(1_024).describe("The other device, by its name or id") })
      .meta({ examples: [{ with: "Media Box" }] }),
    data: Device,
  },
  splitDevice: {
    tag: "devices",
    summary: "Split a platform off from a device",
    description:
      "For a device that zapd or its user joined from two: the one of that platform is permanently a device of its own from then on, with its own id and name. Answers with the other, which keeps the name. A device that is reached over one platform cannot be split. zapd sends nothing to it.",
    codes: [...findingCodes, "storage_error"],
    body: z
      .strictObject({ platform: z.string().min(1).max(64).describe("One of its `platforms`") })
      .meta({ examples: [{ platform: "dlna" }] }),
    data: Device,
  },
  removeDevice: {
    tag: "devices",
    summary: "Remove a device",
    description:
      "Removes the device and its cached apps from the registry, and answers with the device as it was. A later scan finds it again, with the same id.",
    codes: [...findingCodes, "storage_error"],
    data: Device,
  },
  takeLease: {
    tag: "devices",
    summary: "Take a lease of a device",
    description: `For labs: while somebody has a lease of a device, every call that would change the device or its entry fails with \`device_leased\` for all others; reads stay free. The holder sends the token in the header \`${leaseHeader}\` (tokens for several devices are separated by commas). The same call with the token renews the lease: from then on it lasts \`ttl_s\`. With \`wait_s\` callers wait in order of arrival; a caller that disconnects no longer waits. Commands that are running on the device end before the lease is given. A lease ends by itself, when it is freed or broken, and when the device is removed: running commands of its holder then end, a held key is released, and a followed log and the console are closed. A call with the token of a lease that has ended fails with \`device_leased\`. Leases survive a restart of the daemon; callers that waited must call again.`,
    codes: [...findingCodes, "device_leased", "device_busy", "storage_error"],
    body: z
      .strictObject({
        owner: leaseText(leaseLimits.owner).describe("Its holder, for others to read: `ci@runner-3`"),
        ttl_s: z.int().min(1).max(leaseLimits.ttlS).describe("Seconds after which it ends by itself"),
        wait_s: z
          .int()
          .min(0)
          .max(leaseLimits.waitS)
          .default(0)
          .describe("Seconds to wait while somebody else has the device; by default the call fails at once"),
        note: leaseText(leaseLimits.note)
          .optional()
          .describe("Its purpose, for others to read; a renewal without it keeps the note"),
      })
      .meta({ examples: [{ owner: "ci@runner-3", ttl_s: 600, wait_s: 30, note: "nightly run" }] }),
    data: action("lease", {
      token: z.string().describe("The token, which only this answer contains"),
      until: time.describe("When it ends by itself"),
    }),
  },
  freeLease: {
    tag: "devices",
    summary: "Free a lease",
    description: `With its token in the header \`${leaseHeader}\`. Without the token, \`force\` breaks the lease of another holder, so that a person has the last word: the holder learns it with its next call, and everybody by \`lease.changed\`. It also succeeds for a device without a lease.`,
    codes: [...findingCodes, "device_leased", "storage_error"],
    query: z.object({
      force: flag.describe("`true`: frees it, whoever holds it"),
    }),
    data: action("free", { freed: z.boolean().describe("Whether there was a lease") }),
  },
  getState: {
    tag: "devices",
    summary: "What a device is doing",
    description:
      "Read live from the device. A part that the device refuses or lacks is `null`; one refused query does not fail the whole call. Calls at the same time share one reading, which is never older than the caller's last command.",
    codes: deviceCodes,
    query: z.object({
      wait_for: z
        .union([z.string().max(512), z.array(z.string().max(512)).max(8)])
        .optional()
        .describe(
          "Answers when this condition holds, or when the time is over: `power:on`, `power:off` (off or in standby), `app:netflix`, `app:none`, `playback:playing`, `input:hdmi1`, `muted:true`. Several must all hold",
        ),
      timeout_ms: z
        .string()
        .regex(/^\d{1,9}$/, "must be a whole number")
        .refine((ms) => Number(ms) <= 60_000, { error: "must be at most 60000" })
        .optional()
        .describe("How long to wait, in milliseconds: at most 60000, by default 10000"),
    }),
    data: z.object({
      device,
      state: State.describe("Read just now; where a wait ends without a match, as last known (`observed_at`)"),
      matched: z.boolean().optional().describe("Whether the conditions hold; left out without `wait_for`"),
    }),
  },
  listApps: {
    tag: "apps",
    summary: "The apps of a device",
    description: "From the cache on disk; an empty cache is first filled from the device.",
    codes: [...deviceCodes, "device_busy", "storage_error"],
    data: z.object({
      platform,
      apps: z.array(App).describe("The apps that it has, and those that it no longer lists (`installed: false`)"),
    }),
  },
  launchApp: {
    tag: "apps",
    summary: "Launch an app",
    description:
      "The app is found by platform id, then id, then by name: exact, then ignoring case, then with `&` and `+` as words, then without punctuation, each only if the one before finds nothing. A device that does not list its apps can still launch well-known services, such as `netflix`. A text in the form of the platform's own ids is sent to the device even if the catalog lacks it. zapd answers once the device has accepted the command.",
    codes: [...deviceCodes, "ambiguous_app", "app_not_found", "device_busy", "storage_error"],
    body: z
      .strictObject({
        app: z.string().trim().min(1).max(256).describe("A normalized id, an app name, or a platform id"),
        params: DeepLinkParams.optional(),
      })
      .meta({ examples: [{ app: "netflix", params: { content_id: "80057281", media_type: "series" } }] }),
    data: action("launch", { app: App.describe("The app that was launched"), confirmed }),
  },
  stopApp: {
    tag: "apps",
    summary: "Leave the app in the foreground",
    description: "Ends the app where the device allows it, and goes home. It succeeds if nothing is running.",
    codes: [...deviceCodes, "device_busy"],
    data: action("stop", { app: App.nullable().describe("The app that was left; `null`, when none was shown") }),
  },
  refreshApps: {
    tag: "apps",
    summary: "Refresh the apps of a device",
    description:
      "Merges the apps that the device lists now into the catalog; apps that it no longer lists stay, with `installed: false`. The body may be left out.",
    codes: [...deviceCodes, "device_busy", "storage_error"],
    body: z
      .strictObject({ clear: z.boolean().optional().describe("First clears the cache of the device's platform") })
      .meta({ examples: [{ clear: true }] }),
    data: action("refresh", {
      platform,
      apps: z.array(App).describe("The catalog as it is now"),
      added: z.array(z.string()).describe("Ids of apps that are new in it"),
      removed: z.array(z.string()).describe("Ids of apps that the device no longer lists"),
      cleared: z.boolean().describe("Whether the cache was cleared first"),
    }),
  },
  pressKey: {
    tag: "remote",
    summary: "Press a key, or type text",
    description:
      "zapd sends the key at most once, and answers once the device has accepted it. `power-on` wakes a sleeping device with magic packets and waits until it answers, up to 45 s. A key that the device does not have fails with `unsupported_key`; the hint lists those that it has. `hold_ms`, `repeat` or `phase`, of which only one can be given, hold the key: zapd presses it again every 150 ms, so that nothing scrolls on by itself. Text and the power keys cannot be held (`invalid_key`). The key is released when the time is over, when the caller disconnects, when the device is removed, when the machine slept, and when the daemon stops; after `down`, also when 2 s pass without another `down`, or without an answer of the device to a press.",
    codes: [...deviceCodes, "invalid_key", "unsupported_key", "device_busy"],
    body: z
      .strictObject({
        key: KeyOrText.describe("One of the keys, or `literal:<text>`, which types text"),
        hold_ms: z.int().min(1).max(pressLimits.holdMs).optional().describe("Holds it for this many milliseconds"),
        repeat: z.int().min(1).max(50).optional().describe("Presses it this many times"),
        phase: z
          .enum(["down", "up"])
          .optional()
          .describe("`down` holds it until `up`, or for 2 s after the last `down`, and answers after the first press"),
      })
      .refine(({ hold_ms, repeat, phase }) => [hold_ms, repeat, phase].filter((one) => one !== undefined).length < 2, {
        error: "must have only one of hold_ms, repeat and phase",
      })
      .meta({ examples: [{ key: "home" }] }),
    data: action("key", {
      key: z.string().describe("As in the request"),
      presses: z.int().optional().describe("How many times it was pressed, with `hold_ms` or `repeat`"),
    }),
  },
  pressKeys: {
    tag: "remote",
    summary: "Press keys one after another",
    description:
      "Every key is checked before the first is sent. One sequence at a time per device, in order of arrival; a caller that disconnects stops it. The delays may add up to 600 s; none follows the last key. A failure says how many keys were sent.",
    codes: [...deviceCodes, "invalid_key", "unsupported_key", "device_busy"],
    body: z
      .strictObject({
        keys: z
          .array(KeyOrText)
          .min(1)
          .max(sequenceLimits.keys)
          .describe("In the order of pressing: 1 to 256. Each is one of the keys, or `literal:<text>`"),
        delay_ms: z
          .int()
          .min(0)
          .max(sequenceLimits.delayMs)
          .default(sequenceLimits.defaultDelayMs)
          .describe("From one key to the next, in milliseconds"),
      })
      .meta({ examples: [{ keys: ["down", "down", "select"], delay_ms: 150 }] }),
    data: action("sequence", {
      keys: z.array(z.string()).describe("As in the request"),
      delay_ms: z.int().describe("The delay that was used"),
      sent: z.int().describe("How many the device accepted: all of them"),
      duration_ms: z.int().describe("From the first key to the last"),
    }),
  },
  setVolume: {
    tag: "remote",
    summary: "Set the volume",
    description:
      "Sets a level, changes it by a step, or mutes and unmutes. A step counts in points if the device supports levels, and in key presses if it only supports steps. A device that only supports steps, but reports its volume, is stepped until it reports the level; if it does not report its volume, it supports only steps, and a level fails with `unsupported_operation`. `volume` is what the device reports afterwards.",
    codes: [...deviceCodes, "device_busy"],
    body: z
      .strictObject({
        level: z.number().min(0).max(100).optional().describe("0 to 100"),
        step: z.int().min(-100).max(100).optional().describe("How far up or down"),
        muted: z.boolean().optional().describe("Whether it is muted"),
      })
      .refine(({ level, step, muted }) => level !== undefined || step !== undefined || muted !== undefined, {
        error: "must have level, step or muted",
      })
      .refine(({ level, step }) => level === undefined || step === undefined, {
        error: "must have level or step, not both",
      })
      .meta({ examples: [{ level: 20 }] }),
    data: action("volume", {
      volume: Volume.nullable().describe("As the device reports it afterwards; `null`, where it does not"),
      confirmed,
    }),
  },
  controlPlayback: {
    tag: "remote",
    summary: "Play, pause, seek",
    description: "Uses the player's own commands if the device has them; otherwise presses the keys.",
    codes: [...deviceCodes, "device_busy"],
    body: z
      .strictObject({
        do: z.enum(playbackCommands).describe("The command to the player"),
        position_ms: z.int().min(0).max(86_400_000).optional().describe("The position to seek to, with `seek`"),
      })
      .refine((body) => (body.do === "seek") === (body.position_ms !== undefined), {
        error: "must have position_ms with seek, and only with seek",
      })
      .meta({ examples: [{ do: "seek", position_ms: 750_000 }] }),
    data: action("playback", {
      playback: Playback.nullable().describe("As the device reports it afterwards; `null`, where it does not"),
      confirmed,
    }),
  },
  playMedia: {
    tag: "remote",
    summary: "Play a file by its address",
    description: "zapd sends the address to the device, which fetches the file; the daemon never fetches it.",
    codes: [...deviceCodes, "unsupported_media", "device_busy"],
    body: z
      .strictObject({
        url: webUrl.describe("An `http` or `https` address that the device can reach"),
        mime: z
          .string()
          .regex(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/, "must be a type such as video/mp4")
          .optional()
          .describe("Its type, such as `video/mp4`; without it, zapd derives it from the address"),
        title: linkText(256, 1).optional().describe("The title that the device shows"),
        image: webUrl.optional().describe("A picture for it"),
      })
      .meta({ examples: [{ url: "http://192.168.1.5/film.mp4", title: "Film" }] }),
    data: action("media", { url: z.string().describe("As it was given"), confirmed }),
  },
  listInputs: {
    tag: "remote",
    summary: "The inputs of a device",
    description: "As the device lists them now.",
    codes: [...deviceCodes, "device_busy"],
    data: z.object({ device, inputs: z.array(Input).describe("In the order of the device") }),
  },
  selectInput: {
    tag: "remote",
    summary: "Show an input",
    description:
      "By its id, or by its name if only one input has that name. If the device has no such input, the call fails with `invalid_payload`; the hint lists its inputs.",
    codes: [...deviceCodes, "app_not_found", "device_busy"],
    body: z
      .strictObject({ input: z.string().trim().min(1).max(256).describe("Its id or its name") })
      .meta({ examples: [{ input: "hdmi1" }] }),
    data: action("input", { input: Input.describe("The one that was selected"), confirmed }),
  },
  listChannels: {
    tag: "remote",
    summary: "The channels of a device",
    description: "As the device lists them now, 5,000 at most.",
    codes: [...deviceCodes, "device_busy"],
    data: z.object({ device, channels: z.array(Channel).describe("In the order of the device") }),
  },
  selectChannel: {
    tag: "remote",
    summary: "Tune to a channel",
    description:
      "By its id, its number, or its name if only one channel has that name. If the device has no such channel, the call fails with `invalid_payload`; the hint lists some of its channels.",
    codes: [...deviceCodes, "app_not_found", "device_busy"],
    body: z
      .strictObject({ channel: z.string().trim().min(1).max(256).describe("Its id, its number or its name") })
      .meta({ examples: [{ channel: "5.1" }] }),
    data: action("channel", { channel: Channel.describe("The one that was selected"), confirmed }),
  },
  notify: {
    tag: "remote",
    summary: "Show a message",
    description: "The device shows it on the screen for a few seconds.",
    codes: [...deviceCodes, "device_busy"],
    body: z
      .strictObject({ message: linkText(512, 1).describe("Its text") })
      .meta({ examples: [{ message: "Dinner is ready" }] }),
    data: action("notify", {}),
  },
  getIcon: {
    tag: "apps",
    summary: "The icon of an app",
    description:
      "The device's own picture, checked by its bytes (PNG, JPEG or WebP, 2 MiB at most), and cached on disk. The app is given by its id, its platform id or its name, as the device lists it.",
    codes: [...deviceCodes, "ambiguous_app", "app_not_found", "picture_not_found", "device_busy", "storage_error"],
    query: pictureQuery,
    data: Picture,
  },
  getArtwork: {
    tag: "remote",
    summary: "The picture of what plays",
    description: "As the device shows it, checked by its bytes (PNG, JPEG or WebP, 2 MiB at most).",
    codes: [...deviceCodes, "picture_not_found", "device_busy"],
    query: pictureQuery,
    data: Picture,
  },
  getScreenshot: {
    tag: "dev",
    summary: "What the device shows",
    description: "Taken now, checked by its bytes (PNG, JPEG or WebP, 16 MiB at most).",
    codes: [...deviceCodes, "picture_not_found", "dev_password_missing", "dev_auth_failed", "device_busy"],
    query: pictureQuery,
    data: Picture,
  },
  removePackage: {
    tag: "dev",
    summary: "Remove the sideloaded package",
    description: "If there is none, it fails with `dev_package_missing`.",
    codes: [...deviceCodes, "dev_package_missing", "dev_password_missing", "dev_auth_failed", "device_busy"],
    data: action("remove", {}),
  },
  listScenes: {
    tag: "scenes",
    summary: "All scenes",
    description:
      "The files `<name>.toml` in the folder `scenes` beside the config, each read and checked now. zapd sends nothing to the devices.",
    codes: [],
    data: z.object({
      folder: z.string().describe("Where the files are"),
      scenes: z.array(SceneInfo).describe("By their names"),
    }),
  },
  runScene: {
    tag: "scenes",
    summary: "Run a scene",
    description: `Its file is read with each call. ${runDescription}`,
    codes: sceneCodes,
    body: SceneRequest,
    data: SceneResult,
    streams: runStream,
  },
  runSteps: {
    tag: "scenes",
    summary: "Run steps from the request",
    description: runDescription,
    codes: sceneCodes.filter((code) => code !== "scene_not_found"),
    body: SceneBody,
    data: SceneResult,
    streams: runStream,
  },
  installPackage: {
    tag: "dev",
    summary: "Sideload a package",
    description:
      "A form with the file `archive`, a ZIP of up to 100 MiB, streamed and never extracted. Its directory, names, sizes and manifest are checked before it is sent to the device. One installation at a time per device, and two in all. Requires `dev.vendor_password`, or the password in the form. The form may also have two text fields: `params`, a JSON object that the package is started with, as `params` of a launch; and `password`, the password of this device alone, which takes precedence over the setting and is stored once the device has accepted it.",
    codes: [
      ...deviceCodes,
      "dev_password_missing",
      "invalid_archive",
      "package_rejected",
      "app_not_found",
      "device_busy",
      "dev_auth_failed",
      "dev_update_required",
      "storage_error",
    ],
    data: action("install", {
      package: z
        .object({ name: z.string(), version: z.string(), bytes: z.int(), files: z.int() })
        .describe("What was in the archive"),
      messages: z.array(z.string()).describe("The messages of the device, in its own words"),
    }),
  },
  reloadPackage: {
    tag: "dev",
    summary: "Restart the sideloaded package",
    description: "zapd answers once the device shows it.",
    codes: [...deviceCodes, "app_not_found", "dev_package_missing", "device_busy"],
    body: z
      .strictObject({ params: DeepLinkParams.optional() })
      .meta({ examples: [{ params: { content_id: "80057281" } }] }),
    data: action("reload", { app: App.describe("The sideloaded app") }),
  },
  readLogs: {
    tag: "dev",
    summary: "Read the developer console",
    description:
      "With a cursor, only the lines that are new. All readers share one connection to the device's console, which zapd closes after a minute without readers. A stream that was opened with the token of a lease (`zapd-lease`) ends with the lease. The last 5,000 lines are kept, of 1 MiB at most; `dropped` counts those that are no longer kept.",
    codes: [...deviceCodes, "console_in_use", "device_busy", "too_many_streams"],
    query: z.object({
      cursor: z
        .string()
        .max(64)
        .optional()
        .describe("The `cursor` of the previous answer; one from an earlier run of the daemon counts as none"),
      follow: flag.describe(
        "`true`: a stream of the lines as they come, each batch with its cursor as id (`Last-Event-ID` goes on from there); it ends when the device stops answering",
      ),
    }),
    data: z.object({
      device,
      lines: z.array(z.string()).describe("Without line ends, and without terminal control characters"),
      cursor: z.string().describe("Send it with the next call to continue"),
      dropped: z
        .int()
        .min(1)
        .optional()
        .describe(
          "How many lines came after `cursor` and before the first of `lines`, and are no longer kept; left out where there are none",
        ),
    }),
    streams: { news: ConsoleNews, line: ConsoleLine },
  },
  events: {
    tag: "events",
    summary: "Follow the events",
    description:
      "A stream: an event stream (SSE), or JSON Lines for `accept: application/x-ndjson`. First comes a snapshot of all devices, then every change: each event has the whole new value, and an id that grows by one. A reader that reconnects with the last id (`Last-Event-ID`, or `since`) gets the events that it missed, and none twice; if those are no longer kept (1,024 events, 1 MiB, 10 minutes), or the daemon has restarted, a snapshot says so. Every 15 s without an event a heartbeat has the newest id. At most ten changes of state a second are sent per device, always including the last one. A reader that is more than 256 events or 256 KiB behind gets a snapshot (`lagged`) instead of what it missed; one that reads nothing for 120 s is disconnected. While somebody follows, zapd polls devices that do not push changes; otherwise never. At most 64 streams over TCP.",
    codes: [...findingCodes, "too_many_streams"],
    query: z.object({
      devices: z
        .string()
        .max(4_096)
        .refine((text) => splitCommas(text).length > 0, { error: "must name a device" })
        .optional()
        .describe(
          "Only events of these devices: names or ids, separated by commas. Events that concern no device are also sent",
        ),
      types: z
        .string()
        .max(1_024)
        .refine((text) => areTypes(splitCommas(text)), {
          error: `contains an unknown type of event. The types are: ${eventTypes.join(", ")}`,
        })
        .optional()
        .describe(
          "Only these types, exact or by their beginning: `state.changed,device.*`. Snapshots and the end of the stream are always sent",
        ),
      snapshot: flag.describe("`false`: without a snapshot; a heartbeat has the newest id, then comes the next change"),
      since: z
        .string()
        .max(64)
        .optional()
        .describe(
          "The id of the last event that the reader has, or `oldest`; the header `Last-Event-ID` takes precedence",
        ),
    }),
    data: EventLine,
  },
  status: {
    tag: "daemon",
    summary: "The status of the daemon",
    description: "Where it listens, and how many devices it knows.",
    codes: [],
    data: z.object({
      pid: z.int().describe("Its process id"),
      version,
      uptime_s: uptime,
      socket: z.string().describe("The path of its control socket"),
      http_enabled: z.boolean().describe("Whether the HTTP API is enabled"),
      http_host: z.string().describe("The bound host"),
      http_port: z.int().describe("The bound port"),
      device_count: z.int().describe("How many devices are known"),
      default_device: text.describe("The name of the default device; `null`, when there is none"),
      config_file: z.string().optional().describe("The config file of the daemon; it need not exist yet"),
      state_folder: z.string().optional().describe("The folder of the registry and the other state files"),
      mqtt: z
        .object({
          url: z.string().describe("The broker, as in `mqtt.url`"),
          site: z.string().describe("The name of this daemon in topics"),
          state: z
            .enum(["connecting", "connected", "waiting", "stopped"])
            .describe(
              "`waiting`: zapd tries again by itself; `stopped`: zapd tries again only after the config is reloaded",
            ),
          commands: z.enum(["none", "control", "developer"]).describe("Which commands are accepted from the broker"),
          since: time.describe("When this state began"),
          problem: text.describe("What prevents the connection"),
          hint: text.describe("What to do about it"),
        })
        .optional()
        .describe("The connection to the MQTT broker; left out without one"),
    }),
  },
  readConfig: {
    tag: "config",
    summary: "The config",
    description:
      "The settings in the file now, which may differ from those that the daemon runs with; a setting that the file leaves out has its default. The password is redacted.",
    codes: ["config_invalid"],
    data: configSchema,
  },
  patchConfig: {
    tag: "config",
    summary: "Change settings",
    description:
      "All or nothing: with one wrong value, nothing changes. Comments, order and formatting of the file are kept; if there is no file yet, the first change writes one, with every setting and its description. `null` resets a setting to its default.",
    codes: ["unsupported_patch_value", "unknown_config_key", "invalid_config_value", "config_invalid", "storage_error"],
    body: ConfigPatch,
    data: ConfigReload,
  },
  reloadConfig: {
    tag: "config",
    summary: "Read the config file again",
    description: "After an edit by hand. A file with an error changes nothing.",
    codes: ["config_invalid"],
    data: ConfigReload,
  },
  health: {
    tag: "daemon",
    summary: "Whether the daemon is healthy",
    description:
      "With warnings for people: damaged files, state that could not be saved, unknown settings, devices on probation.",
    codes: [],
    data: z.object({
      status: z.literal("ok").describe("Always `ok`: the daemon answers"),
      version,
      uptime_s: uptime,
      warnings: z.array(z.string()).describe("For people"),
    }),
  },
  examine: {
    tag: "daemon",
    summary: "Look for problems",
    description:
      "Checks the daemon, its files, the network of this machine and every device, as `zapd doctor` does, and says what to do about each problem. It changes nothing, and takes a few seconds. Calls at the same time share one examination.",
    codes: [],
    data: z.object({
      checks: z
        .array(
          z.object({
            id: z.string().describe("What was checked: `multicast:eth0`, `device:<id>`"),
            status: z.enum(["ok", "warn", "fail"]).describe("Fine, a remark, or a problem"),
            text: z.string().describe("What was found"),
            hint: text.describe("What to do about it"),
          }),
        )
        .describe("In the order of their output"),
      problems: z.int().describe("How many are problems"),
      remarks: z.int().describe("How many are remarks"),
    }),
  },
} as const satisfies Record<Exclude<OperationName, `${Groupable}OfGroup`>, Description>;

type Own = { readonly [Name in keyof typeof own]: (typeof operationRoutes)[Name] & (typeof own)[Name] };

/** The answer to a command to a group. */
export interface GroupResults<Data> {
  readonly results: {
    readonly device: { readonly id: string; readonly name: string };
    readonly ok: boolean;
    readonly data?: Data | undefined;
    readonly error?: z.output<typeof Failure>["error"] | undefined;
  }[];
}

type OfGroups = {
  readonly [Name in Groupable as `${Name}OfGroup`]: Omit<
    (typeof own)[Name],
    "summary" | "description" | "codes" | "data"
  > &
    (typeof operationRoutes)[`${Name}OfGroup`] &
    Pick<Operation, "summary" | "description" | "codes"> & {
      readonly data: z.ZodType<GroupResults<z.output<(typeof own)[Name]["data"]>>, GroupResults<unknown>>;
    };
};

/** The operations of groups, derived from those of a device. */
const ofGroups = Object.fromEntries(
  groupable.map((name) => {
    const of: Description = own[name];
    const results = z.object({
      device: z.object({ id: z.uuid().describe("Its id"), name: z.string().describe("Its name") }),
      ok: z.boolean().describe("Whether the command succeeded"),
      data: of.data.optional().describe("What it answered"),
      error: Failure.shape.error.optional().describe("Why it failed"),
    });
    const made = {
      ...of,
      summary: `${of.summary}, on every device of a group`,
      description: `The group is \`all\`, or a label. All devices get the command at the same moment, each with its own timeout, so that one that hangs does not delay the others. The answer has the result of each; if it failed on every device, the answer is the failure of the first, with all results in \`details\`. ${of.description}`,
      codes: [...of.codes.filter((code) => !namingCodes.includes(code)), "group_not_found"],
      data: z.object({ results: z.array(results).describe("In the order in which they were added") }),
    };
    return [`${name}OfGroup`, made];
  }),
);

/** Both tables joined. Operations that a lease reserves can fail with `device_leased`, also for a device of a group. */
const joined = Object.entries<Description>({ ...own, ...ofGroups }).map(([name, description]) => {
  const operation: Operation = { ...operationRoutes[name as OperationName], ...description };
  const isLeasable = isForLeaseHolder(operation) || operation.path.startsWith("/groups/");
  return [name, isLeasable ? { ...operation, codes: [...operation.codes, "device_leased"] } : operation];
});

export { leaseHeader };

// Names and types are those of the two tables, which types cannot follow through entries.
export const operations = Object.fromEntries(joined) as Own & OfGroups;

/** The validated body of an operation. */
export type BodyOf<Name extends keyof Own> = Own[Name] extends { readonly body: infer Body extends z.ZodType }
  ? z.infer<Body>
  : undefined;
