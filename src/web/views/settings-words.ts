/** The settings as the OpenAPI document describes them: type, limits, default and text. */
import type { Result } from "../../api/client.ts";

/** The settings with their values. */
export type Config = Result<"readConfig">;

export type Value = boolean | number | string | readonly string[];

export interface Setting {
  /** `daemon.http_port`. */
  readonly key: string;
  readonly section: string;
  readonly description: string;
  readonly kind: "toggle" | "choice" | "number" | "text" | "list" | "secret";
  readonly defaultValue: Value;
  readonly choices: readonly string[];
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

/** The part of a JSON schema that is used here. */
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
export function settingsIn(document: Document): readonly Setting[] {
  const sections = document.components?.schemas?.["Config"]?.properties ?? {};
  return Object.entries(sections).flatMap(([section, { properties = {} }]) =>
    Object.entries(properties).map(([key, schema]) => ({
      key: `${section}.${key}`,
      section,
      description: schema.description ?? "",
      kind: kindOf(schema),
      defaultValue: schema.default ?? "",
      choices: schema.enum ?? [],
      minimum: schema.minimum,
      maximum: schema.maximum,
    })),
  );
}

function kindOf({ type, enum: choices, format }: Schema): Setting["kind"] {
  if (choices) return "choice";
  if (format === "password") return "secret";
  const kinds: Readonly<Record<string, Setting["kind"]>> = { boolean: "toggle", integer: "number", array: "list" };
  return kinds[type ?? ""] ?? "text";
}

export function valueIn(config: Config, { key }: Pick<Setting, "key">): Value {
  const [section = "", name = ""] = key.split(".");
  const sections = config as unknown as Readonly<Record<string, Readonly<Record<string, Value>>>>;
  return sections[section]?.[name] ?? "";
}

/** A value as text for a field. */
export function textOf(value: Value): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** The value of a typed text, for a patch, which takes a list as one text; `null` if a number is expected and the text is none. */
export function parseDraft({ kind }: Setting, text: string): Value | null {
  if (kind !== "number") return kind === "secret" ? text : text.trim();
  return /^-?\d+$/.test(text.trim()) ? Number(text) : null;
}

export const sectionWords: Readonly<Record<string, string>> = {
  daemon: "Daemon",
  discovery: "Discovery",
  devices: "Devices",
  dev: "Development",
  mcp: "Agents",
  mqtt: "MQTT",
  fleet: "Many sites",
};
