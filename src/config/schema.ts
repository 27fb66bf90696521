/**
 * Every setting there is: its type, range, default and what its change needs. The one statement of the config; the zod
 * schema of the wire is made from it (zod.ts), so that the daemon starts without building one.
 */

import { isIPv4 } from "../system/ip.ts";
import { logLevels } from "../system/log.ts";
import { nearest } from "../system/nearest.ts";

/** What a setting may hold. */
export type Kind =
  | { readonly type: "boolean" }
  | { readonly type: "integer"; readonly least: number; readonly most: number }
  | { readonly type: "word"; readonly words: readonly string[] }
  | ({ readonly type: "text" } & Text)
  | { readonly type: "list"; readonly most: number; readonly of: Text };

/** What a text may be. */
export interface Text {
  readonly least?: number;
  readonly most: number;
  /** Made when it is asked for: classes of Unicode take long to make, and few files need them. */
  readonly pattern?: () => RegExp;
  /** What holds beyond length and pattern. */
  readonly holds?: (text: string) => boolean;
  /** What it must be, for people: "must be …". */
  readonly must: string;
}

interface Stated<T> {
  readonly usual: T;
  readonly kind: Kind;
}

const toggle = (usual: boolean): Stated<boolean> => ({ usual, kind: { type: "boolean" } });
const whole = (usual: number, least: number, most: number): Stated<number> => ({
  usual,
  kind: { type: "integer", least, most },
});
const text = (usual: string, of: Text): Stated<string> => ({ usual, kind: { type: "text", ...of } });
const list = (most: number, of: Text): Stated<string[]> => ({ usual: [], kind: { type: "list", most, of } });
const word = <W extends string>(usual: W, words: readonly W[]): Stated<W> => ({ usual, kind: { type: "word", words } });

/** `sun_path` of unix(7) holds 108 bytes, one of them the end. */
const longestSocket = 107;
/** Neither control characters nor half characters, which no file can hold. */
const plain = () => /^[^\p{Cc}\p{Cs}]*$/u;

const loopback: Text = {
  most: 64,
  holds: (host) => host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127.")),
  must: "must be a loopback address: 127.0.0.1, ::1 or localhost",
};
const socket: Text = {
  most: 4_096,
  pattern: () => /^(\/[^\p{Cc}\p{Cs}]*)?$/u,
  holds: (path) => Buffer.byteLength(path) <= longestSocket,
  must: `must be an absolute path, must have at most ${longestSocket} bytes, and must not hold control characters`,
};
const origin: Text = {
  most: 256,
  holds: isExactOrigin,
  must: "must be an exact origin such as http://localhost:3000: scheme, host and port, lower case, no path, no trailing slash, no default port, never * or null",
};
const device: Text = {
  most: 128,
  pattern: () => /^[^/%\p{Cc}\p{Cs}]*$/u,
  must: "must be the name or the id of a device",
};
const address: Text = {
  ...{ least: 1, most: 253, pattern: () => /^[A-Za-z0-9.:_[\]-]+$/ },
  must: "must be an address, a host name or an interface",
};
const secret: Text = {
  most: 256,
  pattern: plain,
  must: "must have at most 256 characters, none of them a control character",
};

const sections = {
  daemon: {
    http_enabled: toggle(true),
    http_host: text("127.0.0.1", loopback),
    http_port: whole(7272, 1, 65_535),
    socket: text("", socket),
    cors_enabled: toggle(false),
    cors_allowed_origins: list(64, origin),
    default_device: text("", device),
    log_level: word("info", logLevels),
  },
  discovery: {
    on_start: toggle(true),
    interval_s: whole(300, 0, 86_400),
    timeout_ms: whole(3_000, 100, 30_000),
    interfaces: list(64, address),
    hosts: list(256, address),
  },
  devices: { request_timeout_ms: whole(5_000, 100, 30_000) },
  dev: { vendor_password: text("", secret) },
} as const;

type Sections = typeof sections;
/** The config, complete: what a file leaves out has its default. */
export type Config = {
  -readonly [S in keyof Sections]: {
    -readonly [K in keyof Sections[S]]: Sections[S][K] extends Stated<infer T> ? T : never;
  };
};

/** What a set password reads as, everywhere. */
export const redacted = "[redacted]";

/** Settings that the running daemon takes up only at its next start. */
export const restartKeys = ["daemon.http_enabled", "daemon.http_host", "daemon.http_port", "daemon.socket"] as const;

export const sectionNames = Object.keys(sections) as (keyof Config)[];

export interface Setting {
  readonly section: keyof Config;
  readonly key: string;
  readonly kind: Kind;
  readonly usual: unknown;
  /** A list, written as a comma-separated text in a patch. */
  readonly list: boolean;
}

/** Every dotted key. A Map, so that `__proto__` is just another unknown key. */
export const settings: ReadonlyMap<string, Setting> = new Map(
  sectionNames.flatMap((section) =>
    Object.entries<Stated<unknown>>(sections[section]).map(([key, { kind, usual }]): [string, Setting] => [
      `${section}.${key}`,
      { section, key, kind, usual, list: kind.type === "list" },
    ]),
  ),
);

/** A config of these values, by section and key; the rest has its defaults. The values have been checked. */
export function configOf(values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {}): Config {
  const config: Record<string, Record<string, unknown>> = {};
  for (const section of sectionNames) {
    const own: Record<string, unknown> = {};
    const stated: Readonly<Record<string, Stated<unknown>>> = sections[section];
    for (const key in stated) own[key] = fresh(stated[key]?.usual);
    config[section] = Object.assign(own, values[section]);
  }
  // Each section has each of its keys by construction, which types cannot follow.
  return config as unknown as Config;
}

/** A list of its own for each config; all other values are plain. */
function fresh(value: unknown): unknown {
  return Array.isArray(value) ? [...value] : value;
}

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

/** The default of a dotted key. */
export function defaultOf(dotted: string): unknown {
  return settings.get(dotted)?.usual;
}

/** Why a value is not valid ("must be …"), or `null`. */
export function problemOf({ kind }: Setting, value: unknown): string | null {
  switch (kind.type) {
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "integer":
      return Number.isSafeInteger(value) && Number(value) >= kind.least && Number(value) <= kind.most
        ? null
        : `must be a whole number from ${kind.least} to ${kind.most}`;
    case "word":
      return kind.words.some((one) => one === value) ? null : `must be one of ${kind.words.join(", ")}`;
    case "text":
      return isText(kind, value) ? null : kind.must;
    case "list":
      if (!Array.isArray(value) || value.length > kind.most) return `must be a list of at most ${kind.most} texts`;
      return value.every((item) => isText(kind.of, item))
        ? null
        : `holds an entry that is not right: each ${kind.of.must}`;
  }
}

function isText({ least = 0, most, pattern, holds }: Text, value: unknown): boolean {
  return (
    typeof value === "string" &&
    value.length >= least &&
    value.length <= most &&
    (pattern?.().test(value) ?? true) &&
    (holds?.(value) ?? true)
  );
}

/** Whether a text is an origin exactly as a browser writes it. */
function isExactOrigin(given: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*,]+$/.test(given) || !URL.canParse(given)) return false;
  if (!/^https?:/.test(given)) return given === given.toLowerCase();
  return new URL(given).origin === given;
}

/** "Did you mean …?" for a key that is none; an empty text when nothing is near it. */
export function suggestion(dotted: string): string {
  const meant = nearest(dotted, [...settings.keys()]);
  return meant ? `Did you mean ${meant}?` : "";
}
