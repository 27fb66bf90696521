import { useEffect, useState } from "preact/hooks";

/** The time, renewed every so many milliseconds while `runs`, and while the page is seen. */
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
