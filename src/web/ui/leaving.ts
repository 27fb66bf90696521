/** When held keys must be released: the page is left, or the daemon cannot be reached. */
import { connection } from "../store.ts";

/** Calls `release` when the window loses focus, the page is hidden or unloaded, or the daemon is lost. Returns the unsubscribe function. */
export function onPageLeave(release: () => void): () => void {
  const over = new AbortController();
  addEventListener("blur", release, { signal: over.signal });
  addEventListener("pagehide", release, { signal: over.signal });
  document.addEventListener("visibilitychange", () => document.hidden && release(), { signal: over.signal });
  const unsubscribe = connection.subscribe((now) => {
    if (now === "lost") release();
  });
  return () => {
    over.abort();
    unsubscribe();
  };
}
