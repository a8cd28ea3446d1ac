/** Files that are dropped anywhere on the page. */
import { useEffect, useState } from "react";

/** Hands on dropped files; says whether some are held over the page right now. */
export function useFileDrop(add: (files: Iterable<File>) => void): boolean {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    let depth = 0;
    const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!carries(event)) return;
      depth += 1;
      setHeld(true);
    };
    const leave = (event: DragEvent) => {
      if (!carries(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setHeld(false);
    };
    const over = (event: DragEvent) => {
      if (carries(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!carries(event)) return;
      event.preventDefault();
      depth = 0;
      setHeld(false);
      add(event.dataTransfer?.files ?? []);
    };
    addEventListener("dragenter", enter);
    addEventListener("dragleave", leave);
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragenter", enter);
      removeEventListener("dragleave", leave);
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, [add]);
  return held;
}
