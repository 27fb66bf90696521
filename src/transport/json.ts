/** Reads JSON of devices, in which any value may be missing or wrong. */
import { isObject } from "../system/json.ts";
import { tryOr } from "../system/try-or.ts";

export type Json = Readonly<Record<string, unknown>>;

export const isJson: (value: unknown) => value is Json = isObject;

/** The longest list of channels has some hundred thousand values, and ten times as many fit into 8 MiB (SECURITY.md T34). */
const maxValues = 400_000;

/** Parses a text; `undefined` where it is no JSON, or has too many values. */
export function readJson(text: string): unknown {
  return hasTooManyValues(text) ? undefined : tryOr(() => JSON.parse(text), undefined);
}

/** Counts the values before parsing. */
function hasTooManyValues(text: string): boolean {
  if (text.length <= maxValues) return false;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if ((letter === comma || letter === bracket || letter === brace) && ++values > maxValues) return true;
  }
  return false;
}

const [comma, bracket, brace] = [0x2c, 0x5b, 0x7b] as const;

/** The value where it is an object, else an empty one. */
export function asJson(value: unknown): Json {
  return isJson(value) ? value : {};
}

/** A text that is not empty, cut at 512 characters. */
export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, 512) : null;
}

/** A boolean; `null` for anything else. */
export function flag(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

/** A finite number; `null` for anything else. */
export function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The objects of the list under a name; none where there is no list. */
export function listOf(source: Json, name: string, most = 2_000): Json[] {
  const list = source[name];
  return Array.isArray(list) ? list.slice(0, most).filter(isJson) : [];
}
