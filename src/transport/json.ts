/** Reading what devices say in JSON, of which nothing is sure. */
import { isObject } from "../system/json.ts";

export type Json = Readonly<Record<string, unknown>>;

export const isJson: (value: unknown) => value is Json = isObject;

/** Values of one text: the longest list of channels has some hundred thousand, and ten times as many fit into 8 MiB (SECURITY.md T34). */
const mostValues = 400_000;

/** What a text holds in JSON; `undefined` where it is none, or has more in it than anybody would look at. */
export function readJson(text: string): unknown {
  try {
    return holdsTooMuch(text) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Counts what begins a value, before anything is parsed. */
function holdsTooMuch(text: string): boolean {
  if (text.length <= mostValues) return false;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if ((letter === comma || letter === bracket || letter === brace) && ++values > mostValues) return true;
  }
  return false;
}

const [comma, bracket, brace] = [0x2c, 0x5b, 0x7b] as const;

/** The value, where it is an object; an empty one for anything else. */
export function asJson(value: unknown): Json {
  return isJson(value) ? value : {};
}

/** A text that says something, cut at 512 characters. */
export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value.slice(0, 512) : null;
}

export function flag(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

export function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The objects in a list under a name; what is empty may be left out. */
export function listOf(said: Json, name: string, most = 2_000): Json[] {
  const list = said[name];
  return Array.isArray(list) ? list.slice(0, most).filter(isJson) : [];
}
