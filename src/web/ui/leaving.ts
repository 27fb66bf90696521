/** When held keys must be released: the page is left, or the daemon cannot be reached. */
import { connection } from "../store.ts";

/** Calls `release` when the window loses focus, the page is hidden or unloaded, or the daemon is lost. Returns the unsubscribe function. */
export function onPageLeave(release: () => void): () => void {
  const hidden = () => document.hidden && release();
  addEventListener("blur", release);
  addEventListener("pagehide", release);
  document.addEventListener("visibilitychange", hidden);
  const unsubscribe = connection.subscribe((now) => {
    if (now === "lost") release();
  });
  return () => {
    removeEventListener("blur", release);
    removeEventListener("pagehide", release);
    document.removeEventListener("visibilitychange", hidden);
    unsubscribe();
  };
}
