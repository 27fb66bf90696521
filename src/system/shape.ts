/**
 * Shapes of what the state files hold, as predicates. Not zod: building its schemas takes a third of the time to the
 * daemon's first answer and 9 MB of memory, for files that only zapd itself writes. The wire stays with zod.
 */

/** Whether a value has the shape. */
export type Shape<T> = (value: unknown) => value is T;

export const text =
  (most: number, least = 0): Shape<string> =>
  (value): value is string =>
    typeof value === "string" && value.length <= most && value.length >= least;

export const matching =
  (pattern: RegExp): Shape<string> =>
  (value): value is string =>
    typeof value === "string" && pattern.test(value);

export const integer: Shape<number> = (value): value is number => Number.isSafeInteger(value);

/** A TCP or UDP port. */
export const port: Shape<number> = (value): value is number => integer(value) && value >= 1 && value <= 65_535;

export const truth: Shape<boolean> = (value): value is boolean => typeof value === "boolean";

export const oneOf =
  <W extends string>(words: readonly W[]): Shape<W> =>
  (value): value is W =>
    words.includes(value as W);

export const orNull =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value): value is T | null =>
    value === null || shape(value);

/** A key that what was written before it came lacks. */
export const orMissing =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || shape(value);

export const listOf =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value): value is T[] =>
    Array.isArray(value) && holdsAll(value, shape);

export const recordOf =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value): value is Record<string, T> =>
    isObject(value) && holdsAll(Object.values(value), shape);

/** Every key has its shape. Other keys are passed over, so that an older zapd reads what a newer one wrote. */
export const object = <T extends object>(shapes: { readonly [K in keyof T]: Shape<T[K]> }): Shape<T> => {
  // Listed once, and walked by number: a catalog has thousands of objects of one shape, and at the start none of this
  // has been compiled yet, which makes iterators three times as slow.
  const keys = Object.keys(shapes);
  const wanted = Object.values<Shape<unknown>>(shapes);
  return (value): value is T => {
    if (!isObject(value)) return false;
    for (let at = 0; at < keys.length; at++) if (!wanted[at]?.(value[keys[at] ?? ""])) return false;
    return true;
  };
};

function holdsAll<T>(values: readonly unknown[], shape: Shape<T>): boolean {
  for (let at = 0; at < values.length; at++) if (!shape(values[at])) return false;
  return true;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An instant as zapd writes it: ISO 8601 in UTC. */
export const instant = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);

/** A UUID in lower case. */
export const uuid = matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
