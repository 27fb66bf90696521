/** JSON that came in, of whatever shape. */

export type Content = Readonly<Record<string, unknown>>;

/** An object as it is; whatever else came is as good as an empty one. */
export function contentIn(value: unknown): Content {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Content) : {};
}

/** The object that a text is; an empty one where it is none. */
export function contentOf(text: string): Content {
  try {
    return contentIn(JSON.parse(text));
  } catch {
    return {};
  }
}
