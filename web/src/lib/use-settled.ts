/** A text once it has not changed for a moment; one that is cleared counts at once. */
import { useEffect, useState } from "react";

const PAUSE_MS = 250;

export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), text ? PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
