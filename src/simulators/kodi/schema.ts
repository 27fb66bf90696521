/** The schemas of parameters, and the errors of values that do not match; the texts are those of Kodi 20.1 (ran). */
export type Schema =
  | { readonly type: "string"; readonly enums?: readonly string[]; readonly name?: string }
  | { readonly type: "boolean" }
  | { readonly type: "integer" | "number"; readonly minimum?: number; readonly maximum?: number }
  | { readonly type: "array"; readonly items: Schema }
  | { readonly type: "object"; readonly properties?: Readonly<Record<string, Schema>> }
  | { readonly union: readonly Schema[] };

export interface Parameter {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** The `stack` of an error -32602. */
interface SchemaError {
  readonly message?: string;
  readonly name?: string;
  readonly type: string | readonly string[];
  readonly property?: SchemaError;
}

export const text: Schema = { type: "string" };
export const flag: Schema = { type: "boolean" };
export const number: Schema = { type: "number" };
export const anything: Schema = { type: "object" };
export const oneOf = (...enums: string[]): Schema => ({ type: "string", enums });
export const listOf = (items: Schema): Schema => ({ type: "array", items });
export const either = (...union: Schema[]): Schema => ({ union });
export const integer = (minimum?: number, maximum?: number): Schema => ({
  type: "integer",
  ...(minimum === undefined ? {} : { minimum }),
  ...(maximum === undefined ? {} : { maximum }),
});
/** A list of property names; `name` is Kodi's name of the type. */
export const names = (name: string, enums: readonly string[]): Schema => listOf({ type: "string", enums, name });

export function typeOf(schema: Schema): string | readonly string[] {
  if (!("union" in schema)) return schema.type;
  const [first = "", ...others] = new Set(schema.union.map((one) => String(typeOf(one))));
  return others.length === 0 ? first : [first, ...others];
}

export function missing({ name, schema }: Parameter): SchemaError {
  return { message: "Missing parameter", name, type: typeOf(schema) };
}

export function mismatch(value: unknown, schema: Schema, name?: string): SchemaError | null {
  const wrong = (message?: string, property?: SchemaError): SchemaError => ({
    ...(message === undefined ? {} : { message }),
    ...(name === undefined ? {} : { name }),
    ...(property === undefined ? {} : { property }),
    type: typeOf(schema),
  });
  const kind = kindOf(value);
  if ("union" in schema) {
    if (schema.union.some((one) => mismatch(value, one) === null)) return null;
    const type = typeOf(schema);
    if (typeof type === "string" && type !== kind) return wrong(`Invalid type ${kind} received`);
    return wrong("Received value does not match any of the union type definitions");
  }
  if (kind !== schema.type && !(schema.type === "number" && kind === "integer"))
    return wrong(`Invalid type ${kind} received`);
  if (schema.type === "string" && schema.enums?.includes(String(value)) === false)
    return wrong("Received value does not match any of the defined enum values");
  if (schema.type === "integer" || schema.type === "number") return outside(Number(value), schema, wrong);
  if (schema.type === "array" && Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const inner = mismatch(item, schema.items, "name" in schema.items ? schema.items.name : undefined);
      if (inner !== null) return wrong(`array element at index ${at} does not match`, inner);
    }
  }
  if (schema.type === "object" && typeof value === "object" && value !== null) return objects(value, schema, wrong);
  return null;
}

type Wrong = (message?: string, property?: SchemaError) => SchemaError;

function outside(value: number, schema: { minimum?: number; maximum?: number }, wrong: Wrong): SchemaError | null {
  // Without bounds of its own a number has those of 32 bits (Kodi 20.1, ran).
  const { minimum = -(2 ** 31), maximum = 2 ** 31 - 1 } = schema;
  if (value >= minimum && value <= maximum) return null;
  return wrong(`Value between ${minimum} (inclusive) and ${maximum} (inclusive) expected but ${value} received`);
}

/** Only the named properties are allowed, and at least one is required. */
function objects(value: object, schema: { properties?: Readonly<Record<string, Schema>> }, wrong: Wrong) {
  if (schema.properties === undefined) return null;
  const entries = Object.entries(value);
  if (entries.length === 0) return wrong("Missing property");
  for (const [key, item] of entries) {
    const inner = schema.properties[key];
    const inside =
      inner === undefined ? wrong("Unexpected additional properties received") : mismatch(item, inner, key);
    // The error of a property replaces a message of its own (Kodi 20.1, ran).
    if (inside !== null) return wrong(undefined, inside);
  }
  return null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
