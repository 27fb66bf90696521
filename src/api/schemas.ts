/** The shared schemas: a device, an app, a state, a key. Operations and events are built of them. */
import { z } from "zod";
import {
  accessModes,
  appTypes,
  capabilities,
  type Key,
  keys,
  kinds,
  playbackStatuses,
  powers,
} from "../platforms/platform.ts";
import { port } from "../system/schemas.ts";
import { codes, type ErrorCode } from "./errors.ts";
import { maxLabels } from "./limits.ts";

export const text = z.string().nullable();
const reported = text.describe("`null`, where the device does not report it");
export const time = z.iso.datetime();

/** A failure in an event: without details. */
export const FailureSummary = z.object({
  code: z.enum(Object.keys(codes) as [ErrorCode]),
  message: z.string(),
  hint: z.string().optional(),
});

/** The keys by their names, the same on every platform. */
export const KeyName = z.enum(keys).describe("A key by its name, the same on every platform");

/** Labels that a user gives a device; each names a group. */
export const Labels = z
  .array(z.string().regex(/^[a-z0-9._=-]{1,64}$/, "must be 1 to 64 of the characters a to z, 0 to 9, . _ = -"))
  .max(maxLabels);

/** A lease as everybody may see it. */
export const Lease = z.object({
  owner: z.string().describe("Its holder, as the holder named itself"),
  until: time.describe("When it ends by itself"),
  note: text.describe("Its purpose; `null`, where none was given"),
});
export type Lease = z.infer<typeof Lease>;

/** A registry entry. */
export const Device = z.object({
  id: z
    .uuid()
    .describe("UUID v5 of its platform and hardware: it stays the same after a lost registry and a changed address"),
  name: z.string().describe("Its name, unique regardless of case"),
  platform: z.string().describe("The platform that leads it"),
  platforms: z.array(z.string()).describe("Every platform over which it is reached, the leading one first"),
  kind: z.enum(kinds).describe("What it is"),
  manufacturer: reported,
  model: reported,
  serial: reported,
  mac: text.describe("The MAC address of the network interface that it uses; `null`, where it is not known"),
  software_version: reported,
  power: z.enum(powers).describe("Whether it is on, as last known: the device is not asked"),
  host: z.string().describe("Its address"),
  port: port.describe("Its control port"),
  ports: z
    .record(z.string(), port)
    .describe("Ports other than the control port, where they are not the platform's usual ones"),
  status: z
    .enum(["online", "offline", "unknown"])
    .describe("Whether it answered the last request; `unknown` until then"),
  access: z
    .enum(accessModes)
    .nullable()
    .describe(
      "What its settings allow: `limited` withholds some capabilities, `disabled` nearly all, `unpaired` all until it is paired; `null`, where the device does not report it",
    ),
  capabilities: z.array(z.enum(capabilities)).describe("What works on this device with its current settings"),
  labels: z
    .array(z.string())
    .optional()
    .describe("Labels that its user gave it, each of which names a group; left out if there are none"),
  withheld: z
    .array(
      z.object({
        capability: z.enum(capabilities),
        hint: text.describe("How its user can enable it; `null`, where that is not known"),
      }),
    )
    .describe("What it has, but its settings or a missing pairing prevent"),
  keys: z.array(KeyName).describe("The keys that work on it now"),
  used: z.boolean().describe("Whether it has ever been used"),
  is_default: z.boolean().describe("Whether `default` means this device"),
  lease: Lease.nullable().describe("The current lease, whose holder alone may control it; `null`: none"),
  added_at: time.describe("When it was added to the registry"),
  last_seen: time.nullable().describe("When it last answered; `null`, if it never did"),
});
export type Device = z.infer<typeof Device>;

export const App = z.object({
  id: z.string().describe("Means the same on every platform: `netflix`, `youtube`, `prime-video`; unique in a catalog"),
  name: z.string().describe("As the device shows it"),
  platform_id: z.string().describe("The platform's own id"),
  type: z.enum(appTypes).describe("`dev` is the sideloaded package"),
  version: reported,
  installed: z.boolean().describe("`false`: the device no longer lists it"),
});
export type App = z.infer<typeof App>;

export const Playback = z.object({
  status: z.enum(playbackStatuses).describe("The status of the player"),
  position_ms: z
    .int()
    .nullable()
    .describe(
      "The position at `position_at`; since then it has moved by `rate`. `null`, where the device does not report it",
    ),
  duration_ms: z.int().nullable().describe("`null`, where the device does not report it"),
  live: z.boolean().nullable().describe("Whether it is a live stream"),
  title: reported,
  artist: text.describe("The artist, such as of a song; `null`, where the device does not report it"),
  artwork: z.boolean().describe("Whether the device has a picture of it: `GET /devices/{id}/artwork`"),
  position_at: time.nullable().describe("When the position was read; `null` without one"),
  rate: z
    .number()
    .nullable()
    .describe("How fast it plays: 1, 0 while it is paused, 2, -4; `null`, where it is not known"),
});

export const Volume = z.object({
  level: z.number().min(0).max(100).nullable().describe("0 to 100"),
  muted: z.boolean().nullable().describe("`null`, where the device does not report it"),
});

export const Input = z.object({
  id: z
    .string()
    .describe(
      "The id that selects it, as in `input` of the state: `hdmi1` to `hdmi4`, `av`, `tuner`, or the device's own",
    ),
  name: z.string().describe("As the device shows it"),
});
export type Input = z.infer<typeof Input>;

export const Channel = z.object({
  id: z.string().describe("The id that selects it"),
  number: text.describe("The number on the remote: `5`, `5.1`; `null`, where it has none"),
  name: z.string().describe("As the device shows it"),
});
export type Channel = z.infer<typeof Channel>;

export const State = z.object({
  power: z.enum(powers).describe("`unknown`, where the device does not report it"),
  app: App.nullable().describe("`null`: the home screen, or unknown"),
  screensaver: z.boolean().nullable().describe("Whether one is shown"),
  playback: Playback.nullable().describe("`null`, where nothing plays, or the device does not report it"),
  volume: Volume.nullable().describe("`null`, where the device has none, or does not report it"),
  input: text.describe("The current input: `hdmi1` to `hdmi4`, `av`, `tuner`, or the device's own"),
  observed_at: time.describe("When it was read"),
});
export type State = z.infer<typeof State>;

/** Whether a state has the wanted volume; the level may differ by less than one. */
export function showsVolume({ volume }: State, level: number | undefined, muted: boolean | undefined): boolean {
  return (
    volume !== null &&
    (level === undefined || (volume.level !== null && Math.abs(volume.level - level) < 1)) &&
    (muted === undefined || volume.muted === muted)
  );
}

/** A key by its name, or text to type. */
export type KeyOrText = Key | `literal:${string}`;

/** Any text passes here: `readPress` checks it, and suggests a key (`invalid_key`). */
export const KeyOrText = z
  .string()
  .describe(
    "A key by its name, or `literal:<text>` with 1 to 1,024 characters of any script, no control characters",
  ) as unknown as z.ZodType<KeyOrText, KeyOrText>;

export const playbackCommands = ["play", "pause", "stop", "seek", "next", "previous"] as const;

/** A picture, answered without an envelope. */
export const Picture = z.custom<Uint8Array>((value) => value instanceof Uint8Array);
