/**
 * Every setting: its type, bounds, default and description, and whether a change needs a restart. Everything else about
 * settings, and the annotated default config, is made from this table.
 */
import { isIPv4 } from "node:net";
import { z } from "zod";
import { longestSocketPath } from "../system/files.ts";
import { logLevels } from "../system/log.ts";
import { nearest } from "../system/nearest.ts";

/** What every response shows in place of a password that is set. */
export const redacted = "[redacted]";
/** The only secret setting. */
export const passwordKey = "dev.vendor_password";

/** A text of at most `most` characters. `must` is the error message, whatever is wrong. */
const limitedText = (most: number, must: string) => z.string(must).max(most, must);
const toggle = z.boolean("must be true or false");

function integer(least: number, most: number) {
  const must = `must be a whole number from ${least} to ${most}`;
  return z.int(must).min(least, must).max(most, must);
}

function list(most: number, of: z.ZodString) {
  const must = `must be a list of at most ${most} strings`;
  return z.array(of, must).max(most, must).default([]);
}

// No text may hold control characters, nor surrogates, which no file can hold.
const host = "must be a loopback address: 127.0.0.1, ::1 or localhost";
const socket = `must be an absolute path of at most ${longestSocketPath} bytes without control characters`;
const origin =
  "must be an exact origin such as http://localhost:3000: scheme, host and port, lower case, no path, no trailing slash, no default port, never * or null";
const device = "must be the name or the id of a device";
const artifacts =
  "must be an exact https origin, such as https://ci.example.org:8443, with no path and no trailing slash";
const address = (must: string) =>
  limitedText(253, must)
    .min(1, must)
    .regex(/^[A-Za-z0-9.:_[\]-]+$/, must);

/** An empty text, or one that matches the pattern. */
const optional = (most: number, pattern: RegExp, must: string) =>
  limitedText(most, must)
    .refine((given) => given === "" || pattern.test(given), must)
    .default("");
const broker =
  "must be mqtt://HOST[:PORT] or mqtts://HOST[:PORT], without a login: set that in mqtt.username and mqtt.password_file";
const site = "must have at most 64 of the characters A to Z, a to z, 0 to 9, . _ -";
const label = "must have at most 64 of the characters a to z, 0 to 9, . _ = -";
const prefix = "must be 1 to 64 of the characters A to Z, a to z, 0 to 9, . _ -, with / between them";
const plainText = "must have at most 256 characters, none of them a control character";
const file = "must be an absolute path without control characters";
const path = (description: string) =>
  optional(4_096, /^\/[^\p{Cc}\p{Cs}]*$|^[A-Za-z]:[\\/][^\p{Cc}\p{Cs}]*$/u, file).meta({ description });

/** Every section with every setting. A setting that the file leaves out has its default. */
export const configSchema = z.object({
  daemon: z.object({
    http_enabled: toggle.default(true).meta({
      description: "The HTTP API on the loopback interface; without it, only the control socket works",
      restart: true,
    }),
    page: toggle.default(true).meta({
      description: "Whether zapd serves the web page, at `/` of the HTTP API, and the documentation at `/docs`",
    }),
    http_host: limitedText(64, host)
      .refine((given) => given === "localhost" || given === "::1" || (isIPv4(given) && given.startsWith("127.")), host)
      .default("127.0.0.1")
      .meta({ description: "A loopback address: 127.0.0.0/8, ::1 or localhost", restart: true }),
    http_port: integer(1, 65_535).default(7272).meta({ description: "The port of the HTTP API", restart: true }),
    socket: limitedText(4_096, socket)
      .regex(/^(\/[^\p{Cc}\p{Cs}]*)?$/u, socket)
      .refine((path) => Buffer.byteLength(path) <= longestSocketPath, socket)
      .default("")
      .meta({
        description: `The control socket: an absolute path of at most ${longestSocketPath} bytes; empty means in the state folder`,
        restart: true,
      }),
    cors_enabled: toggle
      .default(false)
      .meta({ description: "Whether web pages of the listed origins may call the API" }),
    cors_allowed_origins: list(64, limitedText(256, origin).refine(isExactOrigin, origin)).meta({
      description:
        "Exact origins, such as `http://localhost:3000`: scheme, host and port, no path, no trailing slash, never `*` or `null`",
    }),
    default_device: limitedText(128, device)
      .regex(/^[^/%\p{Cc}\p{Cs}]*$/u, device)
      .default("")
      .meta({
        description: "Name or id of the device that `default` means; empty means the only known device",
      }),
    log_level: z
      .enum(logLevels, `must be one of ${logLevels.join(", ")}`)
      .default("info")
      .meta({ description: "The least important messages to log" }),
  }),
  discovery: z.object({
    on_start: toggle.default(true).meta({ description: "Whether zapd looks for devices when the daemon starts" }),
    interval_s: integer(0, 86_400)
      .default(300)
      .meta({ description: "Seconds between two searches for devices; 0 means no further search" }),
    timeout_ms: integer(100, 30_000).default(3_000).meta({ description: "How long one search listens" }),
    interfaces: list(64, address("must be the name or an address of an interface")).meta({
      description: "Interfaces to search on, by name or address; empty means all but loopback",
    }),
    hosts: list(256, address("must be an address or a host name, with or without a port")).meta({
      description: "Devices that no search reaches, by address or host name, with or without a port",
    }),
  }),
  devices: z.object({
    request_timeout_ms: integer(100, 30_000)
      .default(5_000)
      .meta({ description: "How long a device may take to answer a request" }),
  }),
  dev: z.object({
    vendor_password: limitedText(256, plainText)
      .regex(/^[^\p{Cc}\p{Cs}]*$/u, plainText)
      .default("")
      .meta({
        description: `The password of developer mode. Answers show it as "${redacted}" if it is set, as "" if not`,
        format: "password",
      }),
  }),
  mcp: z.object({
    http: toggle.default(false).meta({
      description: "Whether agents may call `/mcp` of the HTTP API, with the token that `zapd mcp token` prints",
    }),
  }),
  mqtt: z.object({
    url: optional(300, /^mqtts?:\/\/(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?\/?$/, broker)
      .refine((given) => given === "" || URL.canParse(given), broker)
      .meta({
        description:
          "The MQTT broker through which devices are reported and controlled, such as `mqtts://broker.lan:8883`; empty means no MQTT",
      }),
    site: optional(64, /^[A-Za-z0-9._-]+$/, site).meta({
      description: "The name of this daemon in topics; empty means a UUID, which zapd makes once and keeps",
    }),
    site_labels: list(32, limitedText(64, label).regex(/^[a-z0-9._=-]{1,64}$/, label)).meta({
      description: "Labels of this site, by which `zapd fleet` selects sites, such as `room=lab2`",
    }),
    username: optional(256, /^[^\p{Cc}\p{Cs}]*$/u, plainText).meta({
      description: "The user name of zapd at the broker",
    }),
    password_file: path("The file with its password, mode 0600; $ZAPD_MQTT_PASSWORD takes precedence"),
    ca: path("The PEM file of the CA that signed the broker's certificate; empty means the CAs that the system trusts"),
    cert: path("The PEM file of zapd's client certificate, if the broker requires one"),
    key: path("The PEM file of the key of that certificate, mode 0600"),
    prefix: limitedText(64, prefix)
      .regex(/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/, prefix)
      .default("zapd")
      .meta({ description: "The beginning of every topic" }),
    commands: z
      .enum(["none", "control", "developer"], "must be one of none, control, developer")
      .default("control")
      .meta({
        description: "Which commands zapd accepts from the broker: none, those of a remote, or sideloading as well",
      }),
    home_assistant: toggle.default(false).meta({
      description: "Whether zapd announces every device to Home Assistant, so that it appears there by itself",
    }),
  }),
  fleet: z.object({
    artifact_origins: list(64, limitedText(256, artifacts).refine(isArtifactOrigin, artifacts)).meta({
      description:
        "Origins from which zapd may fetch the packages of commands over the broker, such as `https://ci.example.org`; it fetches from no other",
    }),
  }),
});

/** The config with every setting. */
export type Config = z.output<typeof configSchema>;

export const sectionNames = Object.keys(configSchema.shape) as (keyof Config)[];

export interface Setting {
  readonly section: keyof Config;
  readonly key: string;
  readonly schema: z.ZodType;
  readonly defaultValue: unknown;
  /** A list: a patch gives it as a comma-separated text. */
  readonly list: boolean;
  /** A change takes effect only when the daemon starts again. */
  readonly restart: boolean;
}

/** Every setting by its dotted key. A Map, so that `__proto__` is just another unknown key. */
export const settings: ReadonlyMap<string, Setting> = new Map(
  sectionNames.flatMap((section) =>
    Object.entries<z.ZodType>(configSchema.shape[section].shape).map(([key, schema]): [string, Setting] => {
      const defaultValue = schema.parse(undefined);
      const restart = schema.meta()?.["restart"] === true;
      return [`${section}.${key}`, { section, key, schema, defaultValue, list: Array.isArray(defaultValue), restart }];
    }),
  ),
);

/** The keys of settings whose change takes effect only when the daemon starts again. */
export const restartKeys = [...settings].filter(([, { restart }]) => restart).map(([dotted]) => dotted);

/** A config with these values, by section and key, and the defaults for the rest. */
export function configOf(values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {}): Config {
  return configSchema.parse(Object.fromEntries(sectionNames.map((section) => [section, values[section] ?? {}])));
}

/** The config with the password redacted, as every response shows it. */
export function redactConfig(config: Config): Config {
  const { vendor_password } = config.dev;
  return { ...config, dev: { vendor_password: vendor_password === "" ? "" : redacted } };
}

export function settingOf(config: Config, dotted: string): unknown {
  const [section = "", key = ""] = dotted.split(".");
  return (config as Record<string, Record<string, unknown>>)[section]?.[key];
}

/** Why a value is not valid ("must be …"); `null` for a valid one. */
export function problemOf({ schema }: Setting, value: unknown): string | null {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const own = issues.find(({ path }) => path.length === 0);
  const [entry] = issues;
  if (own) return own.message;
  return entry ? `has an invalid entry: each ${entry.message}` : null;
}

/** Whether a text is an origin exactly as browsers send it. */
function isExactOrigin(given: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*,\p{Cc}\p{Cs}]+$/u.test(given) || !URL.canParse(given)) return false;
  if (!/^https?:/.test(given)) return given === given.toLowerCase();
  return new URL(given).origin === given;
}

function isArtifactOrigin(given: string): boolean {
  return given.startsWith("https://") && isExactOrigin(given);
}

/** "Did you mean …?" for an unknown key, or another word that is not among these; empty where none is similar. */
export function suggestion(given: string, among: readonly string[] = [...settings.keys()]): string {
  const meant = nearest(given, among);
  return meant ? `Did you mean ${meant}?` : "";
}

const preface = `# zapd's config. This is every setting with its default, which also applies to settings that you leave out.
# Edit it, then run zapd config reload, or change single settings with zapd config set, which
# keeps your comments and your formatting.
`;

/** The annotated default config, which the first change writes where there is no file. A test compares it with `config.toml` at the top of the project. */
export function defaultText(): string {
  const sections = sectionNames.map((section) => {
    const rows = [...settings.values()].filter((setting) => setting.section === section).map(annotated);
    return `\n[${section}]\n${rows.join("")}`;
  });
  return preface + sections.join("");
}

function annotated({ key, schema, defaultValue, restart }: Setting): string {
  const { description, minimum, maximum, enum: words } = z.toJSONSchema(schema);
  const bounds = words ? words.join(", ") : minimum === undefined ? "" : `${minimum} to ${maximum}`;
  const notes = [bounds, restart ? "restart" : ""].filter(Boolean).map((note) => ` (${note})`);
  return `# ${description}${notes.join("")}\n${key} = ${JSON.stringify(defaultValue)}\n`;
}
