/** Something is being worked on, and there is nothing to see of it yet. */
import type { ReactNode } from "react";

const DELAYS = ["", "[animation-delay:200ms]", "[animation-delay:400ms]"];

export function Working({ words = "Working" }: { words?: string }): ReactNode {
  return (
    <div role="status" className="flex h-8 items-center gap-1.5">
      <span className="sr-only">{words}</span>
      {DELAYS.map((delay) => (
        <span key={delay} aria-hidden className={`size-1.5 animate-shimmer rounded-full bg-soft ${delay}`} />
      ))}
    </div>
  );
}
