/** What the model thought before it spoke, folded. */
import "./reasoning.css";
import { Brain, ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { Markdown } from "@/components/markdown/markdown";
import { cx } from "@/lib/class-names";
import { formatDuration } from "@/lib/format";
import type { TextPart } from "@/state/thread";
import { useKeptState } from "./kept-state";

interface ReasoningProps {
  part: TextPart;
  live: boolean;
  unfolded?: boolean | undefined;
}

export function Reasoning({ part, live, unfolded = false }: ReasoningProps): ReactNode {
  const [open, setOpen] = useKeptState(`open ${part.id}`, unfolded);
  const id = useId();
  if (!part.text.trim() && !live) return null;
  return (
    <div id={`message-${part.id}`} className="my-2 scroll-mt-6">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="-ml-1.5 flex items-center gap-2 rounded-lg px-1.5 py-1 text-sm text-soft hover:bg-hover hover:text-ink"
      >
        <Brain className="size-4" aria-hidden />
        <span className={cx(live && "thinking")}>{live ? "Thinking…" : thoughtFor(part)}</span>
        <ChevronRight className={cx("size-4 transition-transform", open && "rotate-90")} aria-hidden />
      </button>
      <div id={id} hidden={!open}>
        {open && (
          <div className="mt-1 ml-2 border-l-2 border-line pl-4 text-sm text-soft">
            <Markdown text={part.text} live={live} />
          </div>
        )}
      </div>
    </div>
  );
}

function thoughtFor({ startedAt, endedAt }: TextPart): string {
  const known = startedAt !== null && endedAt !== null && endedAt > startedAt;
  return known ? `Thought for ${formatDuration(endedAt - startedAt)}` : "Thoughts";
}
