/** Reading what devices say in JSON, of which nothing is sure. */
import { isObject } from "../system/json.ts";

export type Json = Readonly<Record<string, unknown>>;

export const isJson: (value: unknown) => value is Json = isObject;

/** What a text holds in JSON; `undefined` where it is none. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
