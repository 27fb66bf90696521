import { useEffect, useState } from "preact/hooks";

/** The current time, updated every `everyMs` while `runs` is true and the page is visible. */
export function useNow(everyMs: number, runs: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!runs) return;
    setNow(Date.now());
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, runs]);
  return now;
}
