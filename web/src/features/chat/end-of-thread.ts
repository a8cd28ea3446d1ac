/** Keeps a thread at its end while it grows, until the reader scrolls back, and again once they return. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** How near the end, in pixels, counts as at the end. */
const NEAR = 60;
/** How far off rounding may put the end. */
const EXACT = 2;

interface EndOfThread {
  atEnd: boolean;
  toEnd: () => void;
  /** Lets go of the end, to go somewhere else. */
  letGo: () => void;
}

export function useEndOfThread(scroller: RefObject<HTMLElement | null>, startsAtEnd: boolean): EndOfThread {
  const held = useRef(startsAtEnd);
  const [atEnd, setAtEnd] = useState(startsAtEnd);

  const hold = useCallback(() => {
    const element = scroller.current;
    if (held.current && element && distanceOf(element) > 1) element.scrollTop = element.scrollHeight;
  }, [scroller]);
  // Content may have grown: measure after layout and before paint.
  useLayoutEffect(hold);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    let last = element.scrollTop;
    const scrolled = () => {
      const distance = distanceOf(element);
      if (element.scrollTop < last && distance > EXACT) held.current = false;
      else if (distance <= EXACT || (element.scrollTop > last && distance <= NEAR)) held.current = true;
      last = element.scrollTop;
      setAtEnd(held.current || distance <= NEAR);
    };
    // Heard before the list hears it and draws itself again, which would take the reader back.
    const first = { capture: true, passive: true };
    element.addEventListener("scroll", scrolled, first);
    const resized = new ResizeObserver(hold); // the box below grows and shrinks with what is written in it
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", scrolled, first);
      resized.disconnect();
    };
  }, [scroller, hold]);

  const toEnd = useCallback(() => {
    held.current = true;
    setAtEnd(true);
    hold();
  }, [hold]);
  const letGo = useCallback(() => {
    held.current = false;
  }, []);
  return { atEnd, toEnd, letGo };
}

function distanceOf({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number {
  return scrollHeight - scrollTop - clientHeight;
}
