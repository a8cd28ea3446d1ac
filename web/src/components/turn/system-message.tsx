/** A word to the model that is neither the person's nor the agent's: small, between the two. */
import { Settings2 } from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";
import type { TextPart } from "@/state/thread";
import { HIGHLIGHT } from "./looks";
import { MessageText } from "./message-text";

export function SystemMessage({ part, highlighted }: { part: TextPart; highlighted: boolean }): ReactNode {
  return (
    <div
      id={`message-${part.id}`}
      role="note"
      aria-label="System message"
      tabIndex={-1}
      className={cx(
        "my-3 flex scroll-mt-6 items-start gap-2.5 border-l-2 border-strong-line py-0.5 pl-3 text-[0.8125rem] text-soft outline-none",
        highlighted && HIGHLIGHT,
      )}
    >
      <Settings2 className="mt-1 size-3.5 shrink-0" aria-hidden />
      <div className="min-w-0">
        <p className="text-xs font-medium">System</p>
        <MessageText text={part.text} />
      </div>
    </div>
  );
}
