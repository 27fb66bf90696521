/** JSON that came in, of whatever shape. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** An object as it is; whatever else came is as good as an empty one. */
export function objectIn(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** The object that a text is; an empty one where it is none. */
export function parseObject(text: string): JsonObject {
  try {
    return objectIn(JSON.parse(text));
  } catch {
    return {};
  }
}
