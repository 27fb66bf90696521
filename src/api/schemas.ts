/** What the API speaks of: a device, an app, what a device does, a key. The operations and the events are made of these. */
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

export const text = z.string().nullable();
const unsaid = text.describe("`null`, where the device did not say");
export const time = z.iso.datetime();

/** A failure as it is told to those who follow: the hint may be left out, and details are. */
export const FailureSummary = z.object({
  code: z.enum(Object.keys(codes) as [ErrorCode]),
  message: z.string(),
  hint: z.string().optional(),
});

/** The keys by their names, the same on every platform. */
export const KeyName = z.enum(keys).describe("A key by its name, the same on every platform");

/** Words that a user gives a device, by which groups are meant. */
export const Labels = z
  .array(z.string().regex(/^[a-z0-9._=-]{1,64}$/, "must be 1 to 64 of the characters a to z, 0 to 9, . _ = -"))
  .max(32);

/** Who has a device to themselves, as everybody may see. */
export const Lease = z.object({
  owner: z.string().describe("Who has it, in their own words"),
  until: time.describe("When it ends by itself"),
  note: text.describe("What for; `null`, where they did not say"),
});
export type Lease = z.infer<typeof Lease>;

/** A registry entry. */
export const Device = z.object({
  id: z.uuid().describe("UUID v5 of platform and hardware: it survives a lost registry and a changed address"),
  name: z.string().describe("What it is called, unique without case"),
  platform: z.string().describe("The platform that leads it"),
  platforms: z.array(z.string()).describe("Every platform over which it is reached, the leading one first"),
  kind: z.enum(kinds).describe("What it is"),
  manufacturer: unsaid,
  model: unsaid,
  serial: unsaid,
  mac: text.describe("The network address of its hardware, the one in use; `null`, where it is not known"),
  software_version: unsaid,
  power: z.enum(powers).describe("Whether it is on: what is known now, without asking it"),
  host: z.string().describe("Where it answers"),
  port: port.describe("Its control port"),
  ports: z
    .record(z.string(), port)
    .describe("Ports beside the control port, where they are not the platform's usual ones"),
  status: z
    .enum(["online", "offline", "unknown"])
    .describe("Whether it answered when it was last asked; `unknown` until then"),
  access: z
    .enum(accessModes)
    .nullable()
    .describe(
      "What its settings allow: `limited` withholds some capabilities, `disabled` nearly all, `unpaired` all until it is paired; `null`, where it did not say",
    ),
  capabilities: z.array(z.enum(capabilities)).describe("What works on this very device, with its settings as they are"),
  labels: z
    .array(z.string())
    .optional()
    .describe("Words that its user gave it, by which groups are meant; left out where there are none"),
  withheld: z
    .array(
      z.object({
        capability: z.enum(capabilities),
        hint: text.describe("What its user does so that it works; `null`, where that is not known"),
      }),
    )
    .describe("What it has, but its settings or its pairing keep back"),
  keys: z.array(KeyName).describe("The keys that work on it now"),
  used: z.boolean().describe("Whether anybody ever drove it"),
  is_default: z.boolean().describe("Whether `default` stands for it"),
  lease: Lease.nullable().describe("Who alone may change it now; `null`: everybody"),
  added_at: time.describe("When it came into the registry"),
  last_seen: time.nullable().describe("When it last answered; `null`, if it never did"),
});
export type Device = z.infer<typeof Device>;

/** An app of a device. */
export const App = z.object({
  id: z.string().describe("Means the same on every platform: `netflix`, `youtube`, `prime-video`; unique in a catalog"),
  name: z.string().describe("As the device shows it"),
  platform_id: z.string().describe("The platform's own id"),
  type: z.enum(appTypes).describe("`dev` is the sideloaded package"),
  version: unsaid,
  installed: z.boolean().describe("`false`: the device no longer lists it"),
});
export type App = z.infer<typeof App>;

export const Playback = z.object({
  status: z.enum(playbackStatuses).describe("What the player does"),
  position_ms: z
    .int()
    .nullable()
    .describe("Where it was at `position_at`, from which it runs on by `rate`; `null`, where the device did not say"),
  duration_ms: z.int().nullable().describe("`null`, where the device did not say"),
  live: z.boolean().nullable().describe("Whether it is a live stream"),
  title: unsaid,
  artist: text.describe("Who made it, as of a song; `null`, where the device did not say"),
  artwork: z.boolean().describe("Whether the device has named a picture of it: `GET /devices/{id}/artwork`"),
  position_at: time.nullable().describe("When the position was read; `null` without one"),
  rate: z
    .number()
    .nullable()
    .describe("How fast it plays: 1, 0 while it is paused, 2, -4; `null`, where nothing is known"),
});

export const Volume = z.object({
  level: z.number().min(0).max(100).nullable().describe("0 to 100"),
  muted: z.boolean().nullable().describe("`null`, where the device did not say"),
});

export const Input = z.object({
  id: z
    .string()
    .describe(
      "The word that selects it, as `input` of the state has it: `hdmi1` to `hdmi4`, `av`, `tuner`, or the device's own",
    ),
  name: z.string().describe("As the device shows it"),
});
export type Input = z.infer<typeof Input>;

export const Channel = z.object({
  id: z.string().describe("What selects it"),
  number: text.describe("As the remote dials it: `5`, `5.1`; `null`, where it has none"),
  name: z.string().describe("As the device shows it"),
});
export type Channel = z.infer<typeof Channel>;

export const State = z.object({
  power: z.enum(powers).describe("`unknown`, where the device does not know"),
  app: App.nullable().describe("`null`: the home screen, or unknown"),
  screensaver: z.boolean().nullable().describe("Whether one is shown"),
  playback: Playback.nullable().describe("`null`, where nothing plays, or the device does not say"),
  volume: Volume.nullable().describe("`null`, where the device has none, or does not say"),
  input: text.describe("The input that is shown: `hdmi1` to `hdmi4`, `av`, `tuner`, or the device's own"),
  observed_at: time.describe("When it was read"),
});
export type State = z.infer<typeof State>;

/** Whether a state shows a volume as it was wanted; a level may be off by less than one. */
export function showsVolume({ volume }: State, level: number | undefined, muted: boolean | undefined): boolean {
  return (
    volume !== null &&
    (level === undefined || (volume.level !== null && Math.abs(volume.level - level) < 1)) &&
    (muted === undefined || volume.muted === muted)
  );
}

/** A key by its name, or text to type. */
export type KeyOrText = Key | `literal:${string}`;

/** Any text is let through: the remote judges it, and says which key was meant (`invalid_key`). */
export const KeyOrText = z
  .string()
  .describe(
    "A key by its name, or `literal:<text>` with 1 to 1,024 characters of any script, no control characters",
  ) as unknown as z.ZodType<KeyOrText, KeyOrText>;

/** What a player can be told to do. */
export const playbackCommands = ["play", "pause", "stop", "seek", "next", "previous"] as const;

/** A picture, which is answered as it is. */
export const Picture = z.custom<Uint8Array>((value) => value instanceof Uint8Array);
