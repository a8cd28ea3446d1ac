/** The current time, for texts that change with it. */
import { createContext, useContext, useEffect, useState } from "react";

/** The time to show instead of the present, as in a replay. */
export const ShownTime = createContext<number | null>(null);

/** The present, updated at an interval while `ticking`. */
export function useNow(ticking: boolean, everyMs = 1_000): number {
  const shown = useContext(ShownTime);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!ticking) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [ticking, everyMs]);
  return shown ?? now;
}
