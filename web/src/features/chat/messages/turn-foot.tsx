/** The foot of a turn that is over: what can be done with the answer, and what it took. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { QUIET } from "@/components/turn/looks";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import { formatCost, formatDuration } from "@/lib/format";
import { tokenWords, usageOfMetrics } from "@/lib/usage-words";
import type { Turn } from "@/state/thread";
import { Regenerate } from "./regenerate";

interface TurnFootProps {
  sessionId: string;
  turn: Turn;
  /** The last one's foot is there for all to see, the others' when they are pointed at. */
  last: boolean;
  /** Why no branch can be made now. */
  blocked: string | null;
  onRegenerate?: ((model?: string) => void) | undefined;
}

export function TurnFoot({ sessionId, turn, last, blocked, onRegenerate }: TurnFootProps): ReactNode {
  const text = answerOf(turn);
  const facts = factsOf(turn);
  return (
    <div className={cx("mt-1 -ml-2 flex flex-wrap items-center gap-x-0.5 text-soft", !last && QUIET)}>
      {text && <CopyButton text={text} label="Copy answer" />}
      {onRegenerate && <Regenerate sessionId={sessionId} blocked={blocked} onRegenerate={onRegenerate} />}
      <span className="px-2 text-xs">{facts.join(" · ")}</span>
      <Link
        to="/runs/$runId"
        params={{ runId: turn.runId }}
        className="rounded px-1.5 py-1 text-xs underline-offset-2 hover:text-ink hover:underline"
      >
        Details
      </Link>
    </div>
  );
}

/** The words of an answer, as Markdown. */
export function answerOf(turn: Turn): string {
  return turn.parts
    .flatMap((part) => (part.kind === "text" && part.text.trim() ? [part.text.trim()] : []))
    .join("\n\n");
}

export function factsOf({ metrics, spent, step, startedAt, endedAt }: Turn): string[] {
  const steps = metrics?.steps ?? step;
  const used = metrics ? usageOfMetrics(metrics) : spent;
  const tookMs = startedAt !== null && endedAt !== null ? endedAt - startedAt : null;
  return [
    steps > 0 ? `${steps} ${steps === 1 ? "step" : "steps"}` : "",
    used.inputTokens === 0 && used.outputTokens === 0 ? "" : tokenWords(used),
    used.cost === null ? "" : formatCost(used.cost),
    tookMs === null ? "" : formatDuration(tookMs),
  ].filter(Boolean);
}
