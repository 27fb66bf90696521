import { useEffect, useState } from "preact/hooks";
import { daemonNow } from "../calls.ts";

/** The current time at the daemon, updated every `everyMs` while `runs` is true and the page is visible. */
export function useNow(everyMs: number, runs: boolean): number {
  const [now, setNow] = useState(daemonNow());
  useEffect(() => {
    if (!runs) return;
    setNow(daemonNow());
    const timer = setInterval(() => {
      if (!document.hidden) setNow(daemonNow());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, runs]);
  return now;
}
