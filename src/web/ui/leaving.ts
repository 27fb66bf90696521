/** When whatever is held must be let go: the window or the page is left, or nobody hears any more what is done. */
import { connection } from "../store.ts";

/** Calls this whenever the page is left for another window, another tab or for good, or loses the daemon; the answer ends that. */
export function onLeaving(letGo: () => void): () => void {
  const hidden = () => document.hidden && letGo();
  addEventListener("blur", letGo);
  addEventListener("pagehide", letGo);
  document.addEventListener("visibilitychange", hidden);
  const unsubscribe = connection.subscribe((now) => {
    if (now === "lost") letGo();
  });
  return () => {
    removeEventListener("blur", letGo);
    removeEventListener("pagehide", letGo);
    document.removeEventListener("visibilitychange", hidden);
    unsubscribe();
  };
}
