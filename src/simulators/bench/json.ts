/** Reading received JSON of any shape. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value if it is an object, else an empty object. */
export function objectIn(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** Parses a JSON object; an empty object if the text is none. */
export function parseObject(text: string): JsonObject {
  try {
    return objectIn(JSON.parse(text));
  } catch {
    return {};
  }
}
