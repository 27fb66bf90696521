/** What `work` gives; `otherwise` where it throws, whatever the reason. */
export function tryOr<T, Otherwise>(work: () => T, otherwise: Otherwise): T | Otherwise {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
