/** The settings as the OpenAPI document describes them: what each is, what it takes, and its default. */
import type { Result } from "../../api/client.ts";

/** The settings with their values. */
export type Config = Result<"readConfig">;

export type Value = boolean | number | string | readonly string[];

/** A setting with its texts. */
export interface Described {
  /** `daemon.http_port`. */
  readonly key: string;
  readonly section: string;
  readonly description: string;
  readonly kind: "toggle" | "choice" | "number" | "text" | "list" | "secret";
  readonly usual: Value;
  readonly choices: readonly string[];
  readonly least: number | undefined;
  readonly most: number | undefined;
}

/** What is read of the document; it comes from the daemon that served this page. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: Value;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

export interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** Every setting, in the order of the document. */
export function describedIn(document: Document): readonly Described[] {
  const sections = document.components?.schemas?.["Config"]?.properties ?? {};
  return Object.entries(sections).flatMap(([section, { properties = {} }]) =>
    Object.entries(properties).map(([key, schema]) => describe(section, key, schema)),
  );
}

function describe(section: string, key: string, schema: Schema): Described {
  const { description = "", enum: choices = [], minimum, maximum, default: usual = "" } = schema;
  return {
    key: `${section}.${key}`,
    section,
    description,
    kind: kindOf(schema),
    usual,
    choices,
    least: minimum,
    most: maximum,
  };
}

function kindOf({ type, enum: choices, format }: Schema): Described["kind"] {
  if (choices) return "choice";
  if (format === "password") return "secret";
  const kinds: Readonly<Record<string, Described["kind"]>> = { boolean: "toggle", integer: "number", array: "list" };
  return kinds[type ?? ""] ?? "text";
}

/** The value of a setting in a config. */
export function valueIn(config: Config, { key }: Pick<Described, "key">): Value {
  const [section = "", name = ""] = key.split(".");
  const sections = config as unknown as Readonly<Record<string, Readonly<Record<string, Value>>>>;
  return sections[section]?.[name] ?? "";
}

/** A value as it is written in a field, and as a patch takes it. */
export function textOf(value: Value): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** What a patch is given for a text that was typed; `null` for a number that is none. */
export function typed({ kind }: Described, text: string): Value | null {
  if (kind === "list")
    return text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean)
      .join(",");
  if (kind !== "number") return kind === "secret" ? text : text.trim();
  return /^-?\d+$/.test(text.trim()) ? Number(text) : null;
}

export const sectionWords: Readonly<Record<string, string>> = {
  daemon: "Daemon",
  discovery: "Looking for devices",
  devices: "Devices",
  dev: "Developing",
  mcp: "Agents",
  mqtt: "MQTT",
  fleet: "Many sites",
};
