/** What the fields of shared components, and the settings, mean in words. One without its text does not compile. */
import type { z } from "zod";
import { type Config, redacted, restartKeys } from "../config/schema.ts";
import type { FieldText } from "./openapi-texts.ts";
import type { App, ConfigReload, Device, State } from "./operations.ts";

type Fields<S> =
  S extends z.ZodNullable<infer Inner>
    ? Fields<Inner>
    : S extends z.ZodObject<infer Shape>
      ? Readonly<Record<keyof Shape, FieldText>>
      : never;
type Dotted = { [Section in keyof Config]: `${Section}.${string & keyof Config[Section]}` }[keyof Config];

const unsaid = "`null`, where the device did not say";

export const deviceFields = {
  id: "UUID v5 of platform and hardware: it survives a lost registry and a changed address",
  name: "What it is called, unique without case",
  platform: "The platform that drives it",
  kind: "What it is",
  manufacturer: unsaid,
  model: unsaid,
  serial: unsaid,
  mac: "The network address of its hardware, the one in use; `null`, where it is not known",
  software_version: unsaid,
  power: "Whether it is on: what is known now, without asking it",
  host: "Where it answers",
  port: "Its control port",
  ports: "Ports beside the control port, where they are not the platform's usual ones",
  status: "Whether it answered when it was last asked; `unknown` until then",
  access:
    "What its settings allow: `limited` withholds some capabilities, `disabled` nearly all, `unpaired` all until it is paired; `null`, where it did not say",
  capabilities: "What works on this very device, with its settings as they are",
  used: "Whether anybody ever drove it",
  is_default: "Whether `default` stands for it",
  added_at: "When it came into the registry",
  last_seen: "When it last answered; `null`, if it never did",
} satisfies Fields<typeof Device>;

export const appFields = {
  id: "Means the same on every platform: `netflix`, `youtube`, `prime-video`; unique in a catalog",
  name: "As the device shows it",
  platform_id: "The platform's own id",
  type: "`dev` is the sideloaded package",
  version: unsaid,
  installed: "`false`: the device no longer lists it",
} satisfies Fields<typeof App>;

export const stateFields = {
  power: "`unknown`, where the device does not know",
  app: "`null`: the home screen, or unknown",
  screensaver: "Whether one is shown",
  playback: "`null`, where nothing plays, or the device does not say",
  volume: "`null`, where the device has none, or does not say",
  input: "The input that is shown: `hdmi1` to `hdmi4`, `av`, `tuner`",
  observed_at: "When it was read",
} satisfies Fields<typeof State>;

export const playbackFields = {
  status: "What the player does",
  position_ms: unsaid,
  duration_ms: unsaid,
  live: "Whether it is a live stream",
  title: unsaid,
} satisfies Fields<typeof State.shape.playback>;

export const volumeFields = { level: "0 to 100", muted: unsaid } satisfies Fields<typeof State.shape.volume>;

export const reloadFields = {
  config: "As the file says it now",
  restart_required: `Dotted keys whose value in the file is not the one that the daemon runs with. A restart is needed for ${restartKeys.join(", ")}; all else takes effect at once`,
} satisfies Fields<typeof ConfigReload>;

/** Every setting by its dotted key. */
export const settingTexts: Readonly<Record<string, string>> = {
  "daemon.http_enabled": "The HTTP API on the loopback interface; off, only the control socket is left",
  "daemon.http_host": "A loopback address: 127.0.0.0/8, ::1 or localhost",
  "daemon.http_port": "Where the HTTP API listens",
  "daemon.socket": "The control socket, an absolute path of at most 107 bytes; empty means in the state folder",
  "daemon.cors_enabled": "Whether web pages of the listed origins may call the API",
  "daemon.cors_allowed_origins":
    "Exact origins, such as `http://localhost:3000`: scheme, host and port, no path, no trailing slash, never `*` or `null`",
  "daemon.default_device": "Name or id of the device that `default` stands for; empty means the only one there is",
  "daemon.log_level": "What is logged",
  "discovery.on_start": "Whether devices are looked for when the daemon starts",
  "discovery.interval_s": "They are looked for again after this many seconds; 0 means never",
  "discovery.timeout_ms": "How long one search listens",
  "discovery.interfaces": "Interfaces to ask on, by name or address; empty means all but loopback",
  "discovery.hosts": "Devices that no search reaches, by address or name, with or without a port",
  "devices.request_timeout_ms": "How long a device may take for one answer",
  "dev.vendor_password": `The password of developer mode. A set one reads as "${redacted}", an unset one as ""`,
} satisfies Record<Dotted, string>;
