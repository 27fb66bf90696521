/** Every setting there is: its type, range, default and what its change needs. The one statement of the config. */
import { isIPv4 } from "node:net";
import { z } from "zod";
import { logLevels } from "../log.ts";

const loopback = (host: string) => host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));

const origin = z.string().max(256).refine(isExactOrigin, {
  error:
    "must be an exact origin such as http://localhost:3000: scheme, host and port, lower case, no path, no trailing slash, no default port, never * or null",
});

/** Whether a text is an origin exactly as a browser writes it. */
function isExactOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*,]+$/.test(text) || !URL.canParse(text)) return false;
  if (!/^https?:/.test(text)) return text === text.toLowerCase();
  return new URL(text).origin === text;
}

const strings = (item: z.ZodType<string>, most: number) => z.array(item).max(most);
const address = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[A-Za-z0-9.:_[\]-]+$/, { error: "must be an address, a host name or an interface" });

export const configSchema = z.object({
  daemon: z.object({
    http_enabled: z.boolean().default(true),
    http_host: z
      .string()
      .refine(loopback, { error: "must be a loopback address: 127.0.0.1, ::1 or localhost" })
      .default("127.0.0.1"),
    http_port: z.int().min(1).max(65_535).default(7272),
    socket: z
      .string()
      .max(1_024)
      .refine((path) => path === "" || path.startsWith("/"), { error: "must be an absolute path" })
      .default(""),
    cors_enabled: z.boolean().default(false),
    cors_allowed_origins: strings(origin, 64).default([]),
    default_device: z
      .string()
      .max(128)
      .regex(/^[^/%\p{Cc}]*$/u, { error: "must be the name or the id of a device" })
      .default(""),
    log_level: z.enum(logLevels).default("info"),
  }),
  discovery: z.object({
    on_start: z.boolean().default(true),
    interval_s: z.int().min(0).max(86_400).default(300),
    timeout_ms: z.int().min(100).max(30_000).default(3_000),
    interfaces: strings(address, 64).default([]),
    hosts: strings(address, 256).default([]),
  }),
  devices: z.object({
    request_timeout_ms: z.int().min(100).max(30_000).default(5_000),
  }),
  dev: z.object({
    vendor_password: z
      .string()
      .max(256)
      .regex(/^[^\p{Cc}]*$/u, { error: "must not hold control characters" })
      .default(""),
  }),
});

/** The config, complete: what a file leaves out has its default. */
export type Config = z.infer<typeof configSchema>;

/** What a set password reads as, everywhere. */
export const redacted = "[redacted]";

/** Settings that the running daemon takes up only at its next start. */
export const restartKeys = ["daemon.http_enabled", "daemon.http_host", "daemon.http_port", "daemon.socket"] as const;

export interface Setting {
  readonly section: keyof Config;
  readonly key: string;
  readonly schema: z.ZodType;
  /** A list, written as a comma-separated text in a patch. */
  readonly list: boolean;
}

/** Every dotted key. A Map, so that `__proto__` is just another unknown key. */
export const settings: ReadonlyMap<string, Setting> = new Map(
  Object.entries(configSchema.shape).flatMap(([section, { shape }]) =>
    Object.entries(shape).map(([key, schema]): [string, Setting] => [
      `${section}.${key}`,
      {
        section: section as keyof Config,
        key,
        schema,
        list: schema instanceof z.ZodDefault && schema.def.innerType instanceof z.ZodArray,
      },
    ]),
  ),
);

/** The config with its password redacted, as every response shows it. */
export function redactConfig(config: Config): Config {
  const { vendor_password } = config.dev;
  return { ...config, dev: { vendor_password: vendor_password === "" ? "" : redacted } };
}

/** The value of a dotted key. */
export function settingOf(config: Config, dotted: string): unknown {
  const [section = "", key = ""] = dotted.split(".");
  return (config as Record<string, Record<string, unknown>>)[section]?.[key];
}
